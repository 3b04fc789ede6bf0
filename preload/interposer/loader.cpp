#include "loader.hpp"

#include <dlfcn.h>
#include <elf.h>

#include <atomic>
#include <cstring>

namespace ktrace {
namespace {

const char* base_name(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash ? slash + 1 : path;
}

const char* soname_of(const dl_phdr_info& object) {
  const DynamicTables tables = dynamic_tables(object);
  return tables.strings && tables.soname ? tables.strings + tables.soname : "";
}

std::uint32_t gnu_hash_of(const char* name) {
  std::uint32_t hash = 5381;
  for (; *name; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

// Any version of the symbol will do: glibc's two versions of dlsym are one function.
void* find_symbol(const dl_phdr_info& object, const char* name) {
  const DynamicTables tables = dynamic_tables(object);
  if (!tables.symbols || !tables.strings || !tables.gnu_hash) return nullptr;
  const std::uint32_t bucket_count = tables.gnu_hash[0];
  const std::uint32_t first_symbol = tables.gnu_hash[1];
  const std::uint32_t bloom_words = tables.gnu_hash[2];
  const std::uint32_t* buckets = tables.gnu_hash + 4 + bloom_words * (sizeof(ElfW(Addr)) / 4);
  const std::uint32_t* chains = buckets + bucket_count;
  const std::uint32_t hash = gnu_hash_of(name);
  std::uint32_t index = bucket_count ? buckets[hash % bucket_count] : 0;
  if (index < first_symbol) return nullptr;
  for (;; ++index) {
    const std::uint32_t chain = chains[index - first_symbol];
    const ElfW(Sym)& symbol = tables.symbols[index];
    if ((chain | 1) == (hash | 1) && symbol.st_shndx != SHN_UNDEF &&
        std::strcmp(tables.strings + symbol.st_name, name) == 0)
      return reinterpret_cast<void*>(object.dlpi_addr + symbol.st_value);
    if (chain & 1) return nullptr;
  }
}

// References come before everything that the hash table holds, which is what the object defines.
bool has_reference(const dl_phdr_info& object, const char* name) {
  const DynamicTables tables = dynamic_tables(object);
  if (!tables.symbols || !tables.strings || !tables.gnu_hash) return false;
  for (std::uint32_t i = 1; i < tables.gnu_hash[1]; ++i)
    if (tables.symbols[i].st_shndx == SHN_UNDEF &&
        std::strcmp(tables.strings + tables.symbols[i].st_name, name) == 0)
      return true;
  return false;
}

struct Search {
  const char* name;
  void* found;
};

int search_c_library(dl_phdr_info* object, std::size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  const char* file = base_name(object->dlpi_name);
  // Before glibc 2.34 they are in libdl.
  if (std::strncmp(file, "libc.so", 7) == 0 || std::strncmp(file, "libdl.so", 8) == 0)
    if (void* found = find_symbol(*object, search->name)) search->found = found;
  return search->found != nullptr;
}

// The library exports these names itself, so every ordinary way of asking for them finds its own.
void* find_in_c_library(const char* name) {
  Search search{name, nullptr};
  dl_iterate_phdr(search_c_library, &search);
  return search.found;
}

struct StemSearch {
  const char* stem;
  Search symbol;
};

int search_by_stem(dl_phdr_info* object, std::size_t, void* data) {
  auto* search = static_cast<StemSearch*>(data);
  const bool is_wanted =
      std::strncmp(base_name(object->dlpi_name), search->stem, std::strlen(search->stem)) == 0;
  if (is_wanted) search->symbol.found = find_symbol(*object, search->symbol.name);
  return is_wanted;
}

}  // namespace

void* find_in_loaded(const char* stem, const char* name) {
  StemSearch search{stem, {name, nullptr}};
  dl_iterate_phdr(search_by_stem, &search);
  return search.symbol.found;
}

bool holds(const dl_phdr_info& object, const void* address) {
  const auto value = reinterpret_cast<std::uintptr_t>(address);
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[i];
    const std::uintptr_t begin = object.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && value >= begin && value < begin + segment.p_memsz) return true;
  }
  return false;
}

std::vector<void*> definitions_of(const char* name) {
  struct Query {
    const char* name;
    std::vector<void*> found;
  } query{name, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        auto* asked = static_cast<Query*>(data);
        if (holds(*object, reinterpret_cast<const void*>(&definitions_of))) return 0;
        if (void* found = find_symbol(*object, asked->name)) asked->found.push_back(found);
        return 0;
      },
      &query);
  return query.found;
}

DynamicTables dynamic_tables(const dl_phdr_info& object) {
  DynamicTables tables;
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < object.dlpi_phnum; ++i)
    if (object.dlpi_phdr[i].p_type == PT_DYNAMIC)
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
  for (; dynamic && dynamic->d_tag != DT_NULL; ++dynamic) {
    if (dynamic->d_tag == DT_SONAME) tables.soname = dynamic->d_un.d_val;
    // glibc relocates these in place; the vDSO and some other C libraries leave them relative.
    ElfW(Addr) address = dynamic->d_un.d_ptr;
    if (address < object.dlpi_addr) address += object.dlpi_addr;
    if (dynamic->d_tag == DT_SYMTAB) tables.symbols = reinterpret_cast<const ElfW(Sym)*>(address);
    if (dynamic->d_tag == DT_STRTAB) tables.strings = reinterpret_cast<const char*>(address);
    if (dynamic->d_tag == DT_JMPREL) tables.plt_relocations = reinterpret_cast<const ElfW(Rela)*>(address);
    if (dynamic->d_tag == DT_PLTRELSZ) tables.plt_bytes = dynamic->d_un.d_val;
    if (dynamic->d_tag == DT_RELA) tables.relocations = reinterpret_cast<const ElfW(Rela)*>(address);
    if (dynamic->d_tag == DT_RELASZ) tables.relocation_bytes = dynamic->d_un.d_val;
    if (dynamic->d_tag == DT_GNU_HASH) tables.gnu_hash = reinterpret_cast<const std::uint32_t*>(address);
  }
  return tables;
}

// Another preloaded library may want to see it after us.
DlopenFunction real_dlopen() {
  static std::atomic<void*> found{nullptr};
  void* function = found.load(std::memory_order_relaxed);
  if (!function) {
    function = real_dlsym() ? real_dlsym()(RTLD_NEXT, "dlopen") : nullptr;
    if (!function) function = find_in_c_library("dlopen");
    found.store(function, std::memory_order_relaxed);
  }
  return reinterpret_cast<DlopenFunction>(function);
}

DlsymFunction real_dlsym() {
  static std::atomic<void*> found{nullptr};
  void* function = found.load(std::memory_order_relaxed);
  if (!function) found.store(function = find_in_c_library("dlsym"), std::memory_order_relaxed);
  return reinterpret_cast<DlsymFunction>(function);
}

DlvsymFunction real_dlvsym() {
  static std::atomic<void*> found{nullptr};
  void* function = found.load(std::memory_order_relaxed);
  if (!function) found.store(function = find_in_c_library("dlvsym"), std::memory_order_relaxed);
  return reinterpret_cast<DlvsymFunction>(function);
}

std::string object_path(const void* address) {
  Dl_info info;
  if (!dladdr(address, &info) || !info.dli_fname) return "";
  return info.dli_fname;
}

LoadedObject object_of(const void* address) {
  Dl_info info;
  link_map* map = nullptr;
  if (!dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) || !map) return {};
  return {map->l_name, map->l_addr};
}

LoadedObject object_of_handle(void* handle) {
  link_map* map = nullptr;
  if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || !map) return {};
  return {map->l_name, map->l_addr};
}

bool is_in_loaded_object(const void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0;
}

bool is_hip_library(const std::string& path) {
  constexpr char stem[] = "libamdhip64";
  const char* file = base_name(path.c_str());
  if (std::strncmp(file, stem, sizeof stem - 1) != 0) return false;
  const char* rest = file + sizeof stem - 1;
  const char* suffix = *rest == '-' ? std::strstr(rest, ".so") : rest;
  return suffix && std::strncmp(suffix, ".so", 3) == 0 && (suffix[3] == '\0' || suffix[3] == '.');
}

std::vector<LoadedObject> loaded_hip_libraries() {
  std::vector<LoadedObject> found;
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        if (is_hip_library(object->dlpi_name))
          static_cast<std::vector<LoadedObject>*>(data)->push_back({object->dlpi_name, object->dlpi_addr});
        return 0;
      },
      &found);
  return found;
}

bool imports(const LoadedObject& object, const char* name) {
  struct Query {
    std::uintptr_t base;
    const char* name;
    bool is_imported;
  } query{object.base, name, false};
  dl_iterate_phdr(
      [](dl_phdr_info* seen, std::size_t, void* data) {
        auto* asked = static_cast<Query*>(data);
        if (seen->dlpi_addr != asked->base) return 0;
        asked->is_imported = has_reference(*seen, asked->name);
        return 1;
      },
      &query);
  return query.is_imported;
}

unsigned long long object_changes_so_far() {
  unsigned long long changes = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        *static_cast<unsigned long long*>(data) = object->dlpi_adds + object->dlpi_subs;
        return 1;  // it is the same number in every entry
      },
      &changes);
  return changes;
}

std::string path_of_loaded(const std::string& name) {
  struct Query {
    const std::string& name;
    std::string path;
  } query{name, ""};
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        auto* asked = static_cast<Query*>(data);
        if (asked->name == base_name(object->dlpi_name) || asked->name == soname_of(*object))
          asked->path = object->dlpi_name;
        return asked->path.empty() ? 0 : 1;
      },
      &query);
  return query.path;
}

void* handle_of_loaded(const std::string& path) {
  return real_dlopen()(path.empty() ? nullptr : path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
}

}  // namespace ktrace
