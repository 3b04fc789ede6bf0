#include "elf_image.hpp"

#include <algorithm>

#include "target.hpp"

namespace ktrace {
namespace {

constexpr std::uint64_t no_offset = ~std::uint64_t{0};
constexpr std::uint64_t most_symbols = 1u << 22;

bool is_elf(const std::uint8_t* identification) {
  return std::memcmp(identification, ELFMAG, SELFMAG) == 0 && identification[EI_CLASS] == ELFCLASS64 &&
         identification[EI_DATA] == ELFDATA2LSB;
}

std::uint64_t end_of(std::uint64_t offset, std::uint64_t size) {
  return offset + size < offset ? 0 : offset + size;
}

// More than the header's field can hold are counted by the first section.
std::uint64_t section_count(Bytes file, const Elf64_Ehdr& header) {
  if (header.e_shoff == 0 || header.e_shentsize != sizeof(Elf64_Shdr)) return 0;
  Elf64_Shdr first;
  if (header.e_shnum != 0 || !file.read(header.e_shoff, &first)) return header.e_shnum;
  return std::min(first.sh_size, file.size / sizeof first);
}

}  // namespace

std::optional<ElfImage> ElfImage::open(Bytes file, std::string* trouble) {
  ElfImage image(file);
  if (!image.read_tables(trouble)) return std::nullopt;
  return image;
}

bool ElfImage::read_tables(std::string* trouble) {
  if (!m_file.read(0, &m_header) || !is_elf(m_header.e_ident)) return *trouble = "it is no 64-bit ELF", false;
  if (m_header.e_machine != elf_machine_amdgpu)
    return *trouble = "its machine is " + std::to_string(m_header.e_machine) + ", not AMDGPU (224)", false;
  if (m_header.e_phnum > 0 && m_header.e_phentsize != sizeof(Elf64_Phdr))
    return *trouble = "its program headers have " + std::to_string(m_header.e_phentsize) + " bytes each",
           false;
  for (std::uint64_t i = 0; i < m_header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!m_file.read(m_header.e_phoff + i * m_header.e_phentsize, &segment))
      return *trouble = "its program headers leave the file", false;
    m_segments.push_back(segment);
  }
  read_sections();
  if (m_sections.empty() && m_segments.empty())
    return *trouble = "it has neither sections nor segments that lie in the file", false;
  return true;
}

// Everything that a loader needs is in the program headers, so the file is read without sections where they
// are cut off.
void ElfImage::read_sections() {
  const std::uint64_t count = section_count(m_file, m_header);
  for (std::uint64_t i = 0; i < count; ++i) {
    Elf64_Shdr section;
    if (!m_file.read(m_header.e_shoff + i * m_header.e_shentsize, &section)) return m_sections.clear();
    m_sections.push_back(section);
  }
}

std::string ElfImage::target() const {
  return target_of_header(m_header.e_flags, m_header.e_ident[EI_ABIVERSION]);
}

std::uint64_t ElfImage::end_of_tables(const Elf64_Ehdr& header) {
  return std::max(
      end_of(header.e_phoff, std::uint64_t{header.e_phnum} * header.e_phentsize),
      end_of(header.e_shoff, std::uint64_t{std::max<Elf64_Half>(header.e_shnum, 1)} * header.e_shentsize));
}

std::size_t ElfImage::size_of(Bytes image) {
  Elf64_Ehdr header;
  if (!image.read(0, &header) || !is_elf(header.e_ident)) return 0;
  std::uint64_t end = sizeof header;
  const std::uint64_t sections = section_count(image, header);
  end = std::max(end, end_of(header.e_phoff, std::uint64_t{header.e_phnum} * header.e_phentsize));
  end = std::max(end, end_of(header.e_shoff, sections * header.e_shentsize));
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!image.read(header.e_phoff + i * header.e_phentsize, &segment)) break;
    end = std::max(end, end_of(segment.p_offset, segment.p_filesz));
  }
  for (std::uint64_t i = 0; i < sections; ++i) {
    Elf64_Shdr section;
    if (!image.read(header.e_shoff + i * header.e_shentsize, &section)) break;
    if (section.sh_type != SHT_NOBITS) end = std::max(end, end_of(section.sh_offset, section.sh_size));
  }
  return static_cast<std::size_t>(end);
}

std::vector<NoteArea> ElfImage::note_areas(bool* damaged) const {
  std::vector<NoteArea> areas;
  const auto add = [&](std::uint64_t offset, std::uint64_t size, std::uint64_t address,
                       std::uint64_t alignment) {
    if (m_file.holds(offset, size))
      areas.push_back({m_file.part(offset, size), address, alignment});
    else
      *damaged = true;
  };
  for (const Elf64_Shdr& section : m_sections)
    if (section.sh_type == SHT_NOTE)
      add(section.sh_offset, section.sh_size, section.sh_addr, section.sh_addralign);
  if (!areas.empty()) return areas;
  for (const Elf64_Phdr& segment : m_segments)
    if (segment.p_type == PT_NOTE) add(segment.p_offset, segment.p_filesz, segment.p_vaddr, segment.p_align);
  return areas;
}

bool ElfImage::is_executable(std::uint64_t address) const {
  const auto holds = [address](std::uint64_t begin, std::uint64_t size) {
    return address >= begin && address - begin < size;
  };
  if (m_sections.empty())
    return std::any_of(m_segments.begin(), m_segments.end(), [&](const Elf64_Phdr& segment) {
      return segment.p_type == PT_LOAD && (segment.p_flags & PF_X) && holds(segment.p_vaddr, segment.p_memsz);
    });
  return std::any_of(m_sections.begin(), m_sections.end(), [&](const Elf64_Shdr& section) {
    return (section.sh_flags & SHF_EXECINSTR) && holds(section.sh_addr, section.sh_size);
  });
}

std::uint64_t ElfImage::offset_of(std::uint64_t address) const {
  for (const Elf64_Phdr& segment : m_segments)
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz)
      return segment.p_offset + (address - segment.p_vaddr);
  return no_offset;
}

Bytes ElfImage::at_address(std::uint64_t address, std::uint64_t length) const {
  const std::uint64_t offset = offset_of(address);
  return offset == no_offset ? Bytes{} : m_file.part(offset, length);
}

void ElfImage::append_symbols(std::uint64_t table, std::uint64_t count, Bytes strings,
                              std::vector<ElfSymbol>* out) const {
  for (std::uint64_t i = 0; i < std::min(count, most_symbols); ++i) {
    Elf64_Sym symbol;
    if (!m_file.read(table + i * sizeof symbol, &symbol)) return;
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_name == 0) continue;
    out->push_back({strings.string_at(symbol.st_name), symbol.st_value, symbol.st_size,
                    ELF64_ST_TYPE(symbol.st_info) == STT_FUNC});
  }
}

// Without section headers the number of symbols is known from the old hash table only; the AMDGPU linker
// writes both.
void ElfImage::append_dynamic_symbols(std::vector<ElfSymbol>* out) const {
  std::uint64_t symbols = 0, strings = 0, strings_size = 0, hash = 0;
  for (const Elf64_Phdr& segment : m_segments) {
    if (segment.p_type != PT_DYNAMIC) continue;
    Elf64_Dyn entry;
    for (std::uint64_t at = 0; at + sizeof entry <= segment.p_filesz; at += sizeof entry) {
      if (!m_file.read(segment.p_offset + at, &entry) || entry.d_tag == DT_NULL) break;
      if (entry.d_tag == DT_SYMTAB) symbols = entry.d_un.d_ptr;
      if (entry.d_tag == DT_STRTAB) strings = entry.d_un.d_ptr;
      if (entry.d_tag == DT_STRSZ) strings_size = entry.d_un.d_val;
      if (entry.d_tag == DT_HASH) hash = entry.d_un.d_ptr;
    }
  }
  std::uint32_t chain_count = 0;
  if (!symbols || !strings || !at_address(hash, 8).read(4, &chain_count)) return;
  append_symbols(offset_of(symbols), chain_count, at_address(strings, strings_size), out);
}

std::vector<ElfSymbol> ElfImage::symbols() const {
  std::vector<ElfSymbol> all;
  // A kernel that nobody may name from outside is in .symtab only, and a stripped object has .dynsym only.
  for (const Elf64_Shdr& section : m_sections) {
    if (section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) continue;
    if (section.sh_link >= m_sections.size()) continue;
    const Elf64_Shdr& names = m_sections[section.sh_link];
    append_symbols(section.sh_offset, section.sh_size / sizeof(Elf64_Sym),
                   m_file.part(names.sh_offset, names.sh_size), &all);
  }
  if (all.empty()) append_dynamic_symbols(&all);
  return all;
}

}  // namespace ktrace
