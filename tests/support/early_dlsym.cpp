// dlsym in front of an interposer that a sanitizer watches: the C library's own until the sanitizer's runtime
// is ready, the interposer's from then on.
//
// The runtime looks up what it replaces before any code that it watches may run, and the interposer's dlsym
// is such code. Preloaded between the two, linked to the runtime, and not watched itself. It calls nothing:
// the runtime stands in front of everything.
#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

#define EARLY_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using Dlsym = void* (*)(void*, const char*) noexcept;
using Dlvsym = void* (*)(void*, const char*, const char*) noexcept;

Dlsym next_dlsym;
Dlvsym next_dlvsym;

bool is_same(const char* one, const char* other) {
  for (; *one && *one == *other; ++one, ++other) {
  }
  return *one == *other;
}

const char* base_name(const char* path) {
  const char* name = path;
  for (; *path; ++path)
    if (*path == '/') name = path + 1;
  return name;
}

struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const std::uint32_t* hash = nullptr;
};

Tables tables_of(const link_map& object) {
  Tables tables;
  for (const ElfW(Dyn)* entry = object.l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_SYMTAB) tables.symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRTAB) tables.strings = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_GNU_HASH) tables.hash = reinterpret_cast<const std::uint32_t*>(entry->d_un.d_ptr);
  }
  return tables;
}

std::uint32_t hash_of(const char* name) {
  std::uint32_t hash = 5381;
  for (; *name; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

void* find_symbol(const link_map& object, const char* name) {
  const Tables tables = tables_of(object);
  const std::uint32_t buckets = tables.hash[0], first = tables.hash[1], bloom_words = tables.hash[2];
  const std::uint32_t* const bucket = tables.hash + 4 + 2 * std::size_t{bloom_words};
  const std::uint32_t* const chain = bucket + buckets;
  std::uint32_t index = bucket[hash_of(name) % buckets];
  if (index < first) return nullptr;
  for (;; ++index) {
    const ElfW(Sym)& symbol = tables.symbols[index];
    if (symbol.st_shndx != SHN_UNDEF && is_same(tables.strings + symbol.st_name, name))
      return reinterpret_cast<void*>(object.l_addr + symbol.st_value);
    if (chain[index - first] & 1) return nullptr;
  }
}

// False where `library` is not loaded.
bool go_on_with(const char* library) {
  for (const link_map* object = _r_debug.r_map; object; object = object->l_next) {
    if (!is_same(base_name(object->l_name), library)) continue;
    next_dlsym = reinterpret_cast<Dlsym>(find_symbol(*object, "dlsym"));
    next_dlvsym = reinterpret_cast<Dlvsym>(find_symbol(*object, "dlvsym"));
    return true;
  }
  return false;
}

__attribute__((constructor)) void go_on_with_interposer() { go_on_with("libktrace_preload.so"); }

}  // namespace

// Built with optimisation, both are jumps: the loader looks at the return address to know who asks.
EARLY_EXPORT void* dlsym(void* handle, const char* name) noexcept {
  if (!next_dlsym) go_on_with("libc.so.6");
  return next_dlsym(handle, name);
}
EARLY_EXPORT void* dlvsym(void* handle, const char* name, const char* version) noexcept {
  if (!next_dlvsym) go_on_with("libc.so.6");
  return next_dlvsym(handle, name, version);
}
