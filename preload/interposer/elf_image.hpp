// An AMDGPU ELF image: segments, note areas, symbols. Every number in it is distrusted.
#pragma once

#include <elf.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bytes.hpp"

namespace ktrace {

inline constexpr std::uint16_t elf_machine_amdgpu = 224;

struct NoteArea {
  Bytes bytes;
  std::uint64_t address = 0;    // of its first byte in the loaded object
  std::uint64_t alignment = 4;  // as declared
};

struct ElfSymbol {
  std::string name;
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  bool is_function = false;
};

class ElfImage {
 public:
  // None, with the reason in `trouble`, if this is no 64-bit little-endian AMDGPU ELF with readable tables.
  static std::optional<ElfImage> open(Bytes file, std::string* trouble);

  // The size of the ELF whose tables `image` holds, as they claim; 0 if it is none.
  static std::size_t size_of(Bytes image);
  static std::uint64_t end_of_tables(const Elf64_Ehdr& header);

  const Bytes& file() const { return m_file; }
  // As far as the header tells it: "gfx942:sramecc+:xnack-", or "".
  std::string target() const;
  // Before linking: HIP does not load it.
  bool is_relocatable() const { return m_header.e_type == ET_REL; }
  // Of sections if there are any, else of segments: a segment joins sections of different alignment.
  // `damaged` is set if one leaves the file.
  std::vector<NoteArea> note_areas(bool* damaged) const;
  std::vector<ElfSymbol> symbols() const;
  // The file's bytes at a loaded address; empty where the file has none.
  Bytes at_address(std::uint64_t address, std::uint64_t length) const;
  bool is_executable(std::uint64_t address) const;

 private:
  explicit ElfImage(Bytes file) : m_file(file) {}
  bool read_tables(std::string* trouble);
  void read_sections();
  void append_symbols(std::uint64_t table, std::uint64_t count, Bytes strings,
                      std::vector<ElfSymbol>* out) const;
  void append_dynamic_symbols(std::vector<ElfSymbol>* out) const;
  std::uint64_t offset_of(std::uint64_t address) const;

  Bytes m_file;
  Elf64_Ehdr m_header{};
  std::vector<Elf64_Phdr> m_segments;
  std::vector<Elf64_Shdr> m_sections;
};

}  // namespace ktrace
