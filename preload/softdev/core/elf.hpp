// A code object's ELF, read with every access checked. Knows ELF, not what a kernel is.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "core/machine.hpp"

namespace ktrace::softdev {

class ElfFile {
 public:
  // Throws LoadError if the headers are not those of a 64-bit little-endian ELF.
  ElfFile(const uint8_t* data, size_t size) : m_data(data), m_size(size) {
    if (size < sizeof(Elf64_Ehdr) || std::memcmp(data, ELFMAG, SELFMAG) != 0) {
      throw LoadError("this is no ELF file (" + std::to_string(size) + " bytes)");
    }
    header = read<Elf64_Ehdr>(0, "the ELF header");
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
      throw LoadError("this is no 64-bit little-endian ELF file");
    }
    segments =
        read_table<Elf64_Phdr>(header.e_phoff, header.e_phnum, header.e_phentsize, "the program headers");
    sections =
        read_table<Elf64_Shdr>(header.e_shoff, header.e_shnum, header.e_shentsize, "the section headers");
  }

  Elf64_Ehdr header;
  std::vector<Elf64_Phdr> segments;
  std::vector<Elf64_Shdr> sections;

  size_t size() const { return m_size; }

  const uint8_t* bytes(uint64_t offset, uint64_t length, const char* what) const {
    if (offset > m_size || length > m_size - offset) {
      throw LoadError(std::string(what) + " reach to byte " + std::to_string(offset + length) +
                      " of a file of " + std::to_string(m_size) + " bytes");
    }
    return m_data + offset;
  }

  template <typename T>
  T read(uint64_t offset, const char* what) const {
    T value;
    std::memcpy(&value, bytes(offset, sizeof value, what), sizeof value);
    return value;
  }

  template <typename T>
  std::vector<T> read_table(uint64_t offset, uint64_t count, uint64_t stride, const char* what) const {
    if (count == 0) {
      return {};
    }
    if (stride != sizeof(T)) {
      throw LoadError(std::string(what) + " have entries of " + std::to_string(stride) + " bytes, not " +
                      std::to_string(sizeof(T)));
    }
    // Before anything is allocated: a damaged count may ask for terabytes, or overflow the product.
    const uint64_t length = count > m_size / stride ? m_size + 1 : count * stride;
    const uint8_t* source = bytes(offset, length, what);
    std::vector<T> table(static_cast<size_t>(count));
    std::memcpy(table.data(), source, static_cast<size_t>(length));
    return table;
  }

  // The string at `index` of a string table section; empty if it is out of bounds.
  std::string string(const Elf64_Shdr& table, uint64_t index) const {
    const uint8_t* text = bytes(table.sh_offset, table.sh_size, "the string table");
    if (index >= table.sh_size) {
      return {};
    }
    const auto* start = reinterpret_cast<const char*>(text + index);
    return std::string(start, strnlen(start, static_cast<size_t>(table.sh_size - index)));
  }

  // The content of a section, for what one can do without: empty if there is none, if it is compressed, or if
  // anything about it is wrong.
  std::vector<uint8_t> section(const char* name) const {
    if (header.e_shstrndx >= sections.size() || !holds(sections[header.e_shstrndx])) {
      return {};
    }
    for (const Elf64_Shdr& section : sections) {
      if (section.sh_type == SHT_PROGBITS && (section.sh_flags & SHF_COMPRESSED) == 0 && holds(section) &&
          string(sections[header.e_shstrndx], section.sh_name) == name) {
        const uint8_t* content = m_data + section.sh_offset;
        return std::vector<uint8_t>(content, content + section.sh_size);
      }
    }
    return {};
  }

 private:
  bool holds(const Elf64_Shdr& section) const {
    return section.sh_offset <= m_size && section.sh_size <= m_size - section.sh_offset;
  }

  const uint8_t* m_data;
  size_t m_size;
};

}  // namespace ktrace::softdev
