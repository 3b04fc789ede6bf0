// Loading a code object: segments, relocations, symbols, kernel descriptors.
#include <sys/mman.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "core/elf.hpp"
#include "core/machine.hpp"
#include "core/metadata.hpp"
#include "core/process_map.hpp"
#include "core/source_lines.hpp"
#include "core/text.hpp"

namespace ktrace::softdev {

namespace {

constexpr uint16_t machine_amdgpu = 224;
constexpr uint8_t os_abi_amdgpu_hsa = 64;
constexpr uint64_t page = 4096;
constexpr uint64_t descriptor_size = 64;
constexpr uint64_t size_limit = uint64_t{4}
                                << 30;  // of an image in memory: beyond it the headers are damaged

constexpr uint32_t kernarg_limit = 1 << 20;  // bytes; HIP's own is far below

constexpr uint32_t relocation_abs64 = 3;
constexpr uint32_t relocation_rel64 = 5;
constexpr uint32_t relocation_relative64 = 13;

struct Machine {
  uint32_t number;  // low byte of e_flags
  const char* name;
  bool supported;
  Arch arch;
};

constexpr Machine machines[] = {
    {0x3f, "gfx90a", true, Arch::gfx90a},   {0x4c, "gfx942", true, Arch::gfx942},
    {0x4f, "gfx950", true, Arch::gfx950},   {0x5f, "gfx9-4-generic", true, Arch::gfx942},
    {0x2a, "gfx803", false, Arch::gfx942},  {0x2c, "gfx900", false, Arch::gfx942},
    {0x2f, "gfx906", false, Arch::gfx942},  {0x30, "gfx908", false, Arch::gfx942},
    {0x32, "gfx90c", false, Arch::gfx942},  {0x33, "gfx1010", false, Arch::gfx942},
    {0x36, "gfx1030", false, Arch::gfx942}, {0x40, "gfx940", false, Arch::gfx942},
    {0x4b, "gfx941", false, Arch::gfx942},  {0x41, "gfx1100", false, Arch::gfx942},
    {0x46, "gfx1101", false, Arch::gfx942}, {0x47, "gfx1102", false, Arch::gfx942},
    {0x48, "gfx1200", false, Arch::gfx942}, {0x49, "gfx1250", false, Arch::gfx942},
    {0x4e, "gfx1201", false, Arch::gfx942},
};

std::string hexadecimal(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%" PRIx64, value);
  return text;
}

const Machine& machine_of(const Elf64_Ehdr& header) {
  if (header.e_machine != machine_amdgpu) {
    throw LoadError("this ELF file is for machine " + std::to_string(header.e_machine) +
                    ", not for an AMD GPU (224)");
  }
  const uint32_t number = header.e_flags & 0xff;
  const auto* found = std::find_if(std::begin(machines), std::end(machines),
                                   [&](const Machine& m) { return m.number == number; });
  if (found == std::end(machines) || !found->supported) {
    const std::string name = found == std::end(machines) ? "GPU number " + hexadecimal(number) : found->name;
    throw LoadError("this code object is for " + name +
                    "; the software device runs gfx90a, gfx942 and gfx950");
  }
  return *found;
}

// e_ident's ABI version is the code object version minus 2.
unsigned version_of(const Elf64_Ehdr& header) {
  const unsigned version = header.e_ident[EI_ABIVERSION] + 2u;
  if (header.e_ident[EI_OSABI] != os_abi_amdgpu_hsa || version < 4 || version > 6) {
    throw LoadError("this is code object version " + std::to_string(version) + " (OS ABI " +
                    std::to_string(header.e_ident[EI_OSABI]) +
                    "); the software device reads versions 4 to 6 of the HSA ABI (64)");
  }
  return version;
}

std::string target_of(const Elf64_Ehdr& header, const Machine& machine) {
  std::string target = std::string("amdgcn-amd-amdhsa--") + machine.name;
  const uint32_t sramecc = header.e_flags >> 10 & 3, xnack = header.e_flags >> 8 & 3;
  // 0: not supported, 1: any, 2: off, 3: on
  if (sramecc >= 2) {
    target += sramecc == 3 ? ":sramecc+" : ":sramecc-";
  }
  if (xnack >= 2) {
    target += xnack == 3 ? ":xnack+" : ":xnack-";
  }
  return target;
}

bool ends_with(const std::string& text, const char* suffix) {
  const size_t length = std::strlen(suffix);
  return text.size() > length && text.compare(text.size() - length, length, suffix) == 0;
}

}  // namespace

const char* arch_name(Arch arch) {
  switch (arch) {
    case Arch::gfx90a:
      return "gfx90a";
    case Arch::gfx942:
      return "gfx942";
    case Arch::gfx950:
      return "gfx950";
  }
  return "?";
}

class Loader {
 public:
  Loader(const uint8_t* image, size_t size, MemoryRegistry& registry)
      : m_file(image, size),
        m_machine(machine_of(m_file.header)),
        m_object(new CodeObject(registry, m_machine.arch)) {}

  std::shared_ptr<CodeObject> load() {
    m_object->m_version = version_of(m_file.header);
    m_object->m_target = target_of(m_file.header, m_machine);
    m_object->m_generic = std::strstr(m_machine.name, "generic") != nullptr;
    if (m_file.header.e_type != ET_DYN) {
      throw LoadError("this code object is not linked (ELF type " + std::to_string(m_file.header.e_type) +
                      "): link it with `ld.lld -shared`");
    }
    map_segments();
    read_symbols();
    relocate();
    read_kernels();
    m_object->m_lines =
        std::make_unique<SourceLines>(m_file.section(".debug_line"), m_file.section(".debug_line_str"));
    return m_object;
  }

 private:
  ElfFile m_file;
  const Machine& m_machine;
  std::shared_ptr<CodeObject> m_object;
  std::map<std::string, Symbol> m_descriptors;

  // Adds to what tables of one kind have in all. Those of a file do not overlap, so they fit into it: damaged
  // headers that name one table a thousand times would take memory and time without end.
  void add_to(uint64_t& total, uint64_t size, const char* what) const {
    total += std::min<uint64_t>(size, uint64_t{m_file.size()} + 1);
    if (total > m_file.size()) {
      throw LoadError(std::string(what) +
                      " overlap: together they have more bytes than the file, which has " +
                      std::to_string(m_file.size()));
    }
  }

  uint8_t* mapped(uint64_t address, uint64_t size, const char* what) {
    if (address > m_object->m_size || size > m_object->m_size - address) {
      throw LoadError(std::string(what) + " at " + hexadecimal(address) +
                      " lies outside of the loaded image of " + std::to_string(m_object->m_size) + " bytes");
    }
    return m_object->m_base + address;
  }

  void map_segments() {
    uint64_t end = 0, total = 0;
    for (const Elf64_Phdr& segment : m_file.segments) {
      if (segment.p_type == PT_LOAD) {
        m_file.bytes(segment.p_offset, segment.p_filesz, "a segment's bytes");
        add_to(total, segment.p_filesz, "the segments");
        if (segment.p_vaddr > size_limit || segment.p_memsz > size_limit ||
            segment.p_filesz > segment.p_memsz) {
          throw LoadError("a segment claims " + std::to_string(segment.p_memsz) + " bytes at " +
                          hexadecimal(segment.p_vaddr));
        }
        end = std::max(end, segment.p_vaddr + segment.p_memsz);
      }
    }
    if (end == 0) {
      throw LoadError("this code object has nothing to load: it has no PT_LOAD segment");
    }
    m_object->map(static_cast<size_t>((end + page - 1) / page * page));
    for (const Elf64_Phdr& segment : m_file.segments) {
      if (segment.p_type != PT_LOAD) {
        continue;
      }
      uint8_t* target = m_object->m_base + segment.p_vaddr;
      std::memcpy(target, m_file.bytes(segment.p_offset, segment.p_filesz, "a segment's bytes"),
                  static_cast<size_t>(segment.p_filesz));
      if (segment.p_flags & PF_X) {
        m_object->m_texts.push_back(std::make_unique<Text>(reinterpret_cast<uint64_t>(target),
                                                           segment.p_filesz & ~uint64_t{3}, m_machine.arch));
      }
    }
    if (m_object->m_texts.size() > 1) {  // one may listen to another
      for (const auto& text : m_object->m_texts) {
        text->assume_hearing();
      }
    }
  }

  void read_symbols() {
    uint64_t total = 0, names = 0;
    for (const Elf64_Shdr& section : m_file.sections) {
      if (section.sh_type != SHT_DYNSYM && section.sh_type != SHT_SYMTAB) {
        continue;
      }
      if (section.sh_link >= m_file.sections.size()) {
        throw LoadError("a symbol table names string table " + std::to_string(section.sh_link) + " of " +
                        std::to_string(m_file.sections.size()) + " sections");
      }
      const Elf64_Shdr& strings = m_file.sections[section.sh_link];
      add_to(total, section.sh_size, "the symbol tables");
      for (const Elf64_Sym& symbol : m_file.read_table<Elf64_Sym>(
               section.sh_offset, section.sh_size / sizeof(Elf64_Sym), section.sh_entsize, "the symbols")) {
        const std::string name = m_file.string(strings, symbol.st_name);
        add_to(names, name.size() / 16, "the names of symbols");  // some share one string
        add_symbol(name, symbol);
      }
    }
  }

  void add_symbol(const std::string& name, const Elf64_Sym& symbol) {
    if (name.empty() || symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= SHN_LORESERVE) {
      return;
    }
    if (!is_text(name)) {
      throw LoadError("the name of a symbol holds a control character");
    }
    if (symbol.st_value > m_object->m_size || symbol.st_size > m_object->m_size - symbol.st_value) {
      throw LoadError("symbol `" + name + "` at " + hexadecimal(symbol.st_value) +
                      " lies outside of the loaded image of " + std::to_string(m_object->m_size) + " bytes");
    }
    const Symbol loaded{reinterpret_cast<uint64_t>(m_object->m_base) + symbol.st_value, symbol.st_size};
    if (ends_with(name, ".kd")) {
      m_descriptors[name] = loaded;
    } else if (ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT && ELF64_ST_BIND(symbol.st_info) != STB_LOCAL) {
      m_object->m_symbols[name] = loaded;
    }
  }

  // The dynamic section's own tables: sections may have been stripped.
  void relocate() {
    bool is_done = false;
    for (const Elf64_Phdr& segment : m_file.segments) {
      if (segment.p_type == PT_DYNAMIC) {
        if (is_done) {
          throw LoadError("this code object has two dynamic sections");
        }
        is_done = true;
        relocate(m_file.read_table<Elf64_Dyn>(segment.p_offset, segment.p_filesz / sizeof(Elf64_Dyn),
                                              sizeof(Elf64_Dyn), "the dynamic section's entries"));
      }
    }
  }

  void relocate(const std::vector<Elf64_Dyn>& dynamic) {
    uint64_t table = 0, size = 0, symbols = 0;
    for (const Elf64_Dyn& entry : dynamic) {
      if (entry.d_tag == DT_NULL) {
        break;
      }
      table = entry.d_tag == DT_RELA ? entry.d_un.d_ptr : table;
      size = entry.d_tag == DT_RELASZ ? entry.d_un.d_val : size;
      symbols = entry.d_tag == DT_SYMTAB ? entry.d_un.d_ptr : symbols;
    }
    if (size > m_file.size()) {
      throw LoadError("the relocations have " + std::to_string(size) + " bytes in a file of " +
                      std::to_string(m_file.size()));
    }
    for (uint64_t offset = 0; offset + sizeof(Elf64_Rela) <= size; offset += sizeof(Elf64_Rela)) {
      Elf64_Rela relocation;
      std::memcpy(&relocation, mapped(table + offset, sizeof relocation, "a relocation"), sizeof relocation);
      apply(relocation, symbols);
    }
  }

  void apply(const Elf64_Rela& relocation, uint64_t symbols) {
    const auto base = reinterpret_cast<uint64_t>(m_object->m_base);
    const auto addend = static_cast<uint64_t>(relocation.r_addend);
    uint8_t* place = mapped(relocation.r_offset, 8, "a relocated place");
    uint64_t value = 0;
    switch (ELF64_R_TYPE(relocation.r_info)) {
      case 0:
        return;
      case relocation_relative64:
        value = base + addend;
        break;
      case relocation_abs64:
        value = symbol_address(relocation, symbols) + addend;
        break;
      case relocation_rel64:
        value = symbol_address(relocation, symbols) + addend - reinterpret_cast<uint64_t>(place);
        break;
      default:
        throw LoadError("relocation type " + std::to_string(ELF64_R_TYPE(relocation.r_info)) + " at " +
                        hexadecimal(relocation.r_offset) + " is not supported");
    }
    std::memcpy(place, &value, sizeof value);
  }

  uint64_t symbol_address(const Elf64_Rela& relocation, uint64_t symbols) {
    Elf64_Sym symbol;
    const uint64_t offset = symbols + ELF64_R_SYM(relocation.r_info) * sizeof symbol;
    std::memcpy(&symbol, mapped(offset, sizeof symbol, "a relocation's symbol"), sizeof symbol);
    if (symbol.st_shndx == SHN_UNDEF) {
      if (ELF64_ST_BIND(symbol.st_info) == STB_WEAK) {
        return 0;
      }
      throw LoadError("the relocation at " + hexadecimal(relocation.r_offset) + " needs a symbol (number " +
                      std::to_string(ELF64_R_SYM(relocation.r_info)) +
                      ") that this code object does not define");
    }
    return reinterpret_cast<uint64_t>(m_object->m_base) + symbol.st_value;
  }

  void read_kernels() {
    std::vector<Kernel> described;
    uint64_t total = 0;
    for (const Elf64_Phdr& segment : m_file.segments) {
      if (segment.p_type == PT_NOTE) {
        add_to(total, segment.p_filesz, "the notes");
        read_notes(segment, described);
      }
    }
    for (Kernel& kernel : described) {
      const auto descriptor = m_descriptors.find(kernel.symbol);
      if (descriptor == m_descriptors.end()) {
        throw LoadError("kernel `" + kernel.name + "` has no descriptor: there is no symbol `" +
                        kernel.symbol + "`");
      }
      read_descriptor(kernel, descriptor->second);
      m_descriptors.erase(descriptor);
      m_object->m_kernels.push_back(std::move(kernel));
    }
    // Hand-written kernels may have a descriptor only.
    for (const auto& [symbol, place] : m_descriptors) {
      Kernel kernel;
      kernel.symbol = symbol;
      kernel.name = symbol.substr(0, symbol.size() - 3);
      read_descriptor(kernel, place);
      m_object->m_kernels.push_back(std::move(kernel));
    }
  }

  void read_notes(const Elf64_Phdr& segment, std::vector<Kernel>& kernels) {
    constexpr uint32_t metadata_note = 32;
    uint64_t offset = segment.p_offset;
    const uint64_t end = segment.p_offset + segment.p_filesz;
    m_file.bytes(segment.p_offset, segment.p_filesz, "the notes");
    while (end - offset >= sizeof(Elf64_Nhdr)) {
      const auto note = m_file.read<Elf64_Nhdr>(offset, "a note");
      const uint64_t name = offset + sizeof note;
      const uint64_t payload = name + (note.n_namesz + uint64_t{3}) / 4 * 4;
      const uint64_t next = payload + (note.n_descsz + uint64_t{3}) / 4 * 4;
      const uint8_t* owner = m_file.bytes(name, note.n_namesz, "a note's owner");
      const uint8_t* data = m_file.bytes(payload, note.n_descsz, "a note's bytes");
      if (note.n_type == metadata_note && note.n_namesz >= 6 && std::memcmp(owner, "AMDGPU", 6) == 0) {
        std::vector<Kernel> found = read_metadata(data, note.n_descsz);
        kernels.insert(kernels.end(), found.begin(), found.end());
      }
      if (next >= end) {
        break;
      }
      offset = next;
    }
  }

  void read_descriptor(Kernel& kernel, const Symbol& symbol) {
    const uint64_t offset = symbol.address - reinterpret_cast<uint64_t>(m_object->m_base);
    const uint8_t* bytes = mapped(offset, descriptor_size, "a kernel descriptor");
    const auto field = [bytes](unsigned at, auto& value) { std::memcpy(&value, bytes + at, sizeof value); };
    int64_t entry = 0;
    uint32_t kernarg_size = 0;
    field(0, kernel.lds_bytes);
    field(4, kernel.private_bytes);
    field(8, kernarg_size);
    field(16, entry);
    field(44, kernel.rsrc3);
    field(48, kernel.rsrc1);
    field(52, kernel.rsrc2);
    field(56, kernel.properties);
    field(58, kernel.kernarg_preload);
    kernel.kernarg_size = std::max(kernel.kernarg_size, kernarg_size);
    if (kernel.kernarg_size > kernarg_limit) {
      throw LoadError("kernel `" + kernel.name + "` claims " + std::to_string(kernel.kernarg_size) +
                      " bytes of arguments");
    }
    kernel.descriptor = symbol.address;
    kernel.entry = symbol.address + static_cast<uint64_t>(entry);
    const uint32_t allocated = ((kernel.rsrc1 & 63) + 1) * 8;
    kernel.vgpr_count = std::max(kernel.vgpr_count, kernel.vgpr_count ? 0 : allocated);
    constexpr uint16_t wave32 = 1u << 10;
    if (kernel.properties & wave32) {
      throw LoadError("kernel `" + kernel.name + "` wants waves of 32 lanes, which " +
                      std::string(m_machine.name) + " does not have");
    }
    const bool inside = std::any_of(m_object->m_texts.begin(), m_object->m_texts.end(),
                                    [&](const auto& text) { return text->contains(kernel.entry); });
    if (!inside) {
      throw LoadError("kernel `" + kernel.name + "` begins outside of the code object's code");
    }
  }
};

CodeObject::CodeObject(MemoryRegistry& registry, Arch arch) : m_registry(registry), m_arch(arch) {}

void CodeObject::map(size_t size) {
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  m_base = static_cast<uint8_t*>(memory);
  m_size = size;
  m_registry.adopt(m_base, m_size, MemoryKind::adopted);
}

CodeObject::~CodeObject() {
  if (m_base) {
    m_registry.abandon(m_base);
    munmap(m_base, m_size);
  }
}

std::shared_ptr<CodeObject> CodeObject::load(const void* image, size_t size, MemoryRegistry& registry) {
  return Loader(static_cast<const uint8_t*>(image), size, registry).load();
}

size_t CodeObject::elf_size(const void* image, size_t limit) {
  // A bare pointer: nothing but the process's own map says how far it is safe to read.
  const uint64_t readable = std::min<uint64_t>(readable_bytes(image), limit);
  Elf64_Ehdr header;
  if (readable < sizeof header || std::memcmp(image, ELFMAG, SELFMAG) != 0) {
    return 0;
  }
  std::memcpy(&header, image, sizeof header);
  const uint64_t segments_end = header.e_phoff + uint64_t{header.e_phentsize} * header.e_phnum;
  const uint64_t sections_end = header.e_shoff + uint64_t{header.e_shentsize} * header.e_shnum;
  uint64_t end = std::max<uint64_t>({sizeof header, segments_end, sections_end});
  // Sections usually end before their headers, but nothing says that they must.
  if (header.e_phentsize == sizeof(Elf64_Phdr) && header.e_phoff < readable && segments_end <= readable) {
    for (unsigned k = 0; k < header.e_phnum; ++k) {
      Elf64_Phdr segment;
      std::memcpy(&segment, static_cast<const uint8_t*>(image) + header.e_phoff + k * sizeof segment,
                  sizeof segment);
      end = std::max(end, segment.p_offset + segment.p_filesz);
    }
  }
  return static_cast<size_t>(std::min(end, readable));
}

const Kernel* CodeObject::find_kernel(const std::string& name) const {
  for (const Kernel& kernel : m_kernels) {
    if (kernel.name == name || kernel.symbol == name || kernel.symbol == name + ".kd") {
      return &kernel;
    }
  }
  return nullptr;
}

std::string CodeObject::source_of(uint64_t pc) const {
  return m_lines->find(pc - reinterpret_cast<uint64_t>(m_base));
}

bool CodeObject::runs_on(Arch device) const {
  return device == m_arch || (m_generic && device == Arch::gfx950);
}

}  // namespace ktrace::softdev
