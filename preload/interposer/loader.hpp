// The dynamic loader's own dlopen, dlsym and dlvsym, which this library stands in front of, and what is
// loaded where.
#pragma once

#include <link.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ktrace {

using DlopenFunction = void* (*)(const char* name, int flags);
using DlsymFunction = void* (*)(void* handle, const char* name);
using DlvsymFunction = void* (*)(void* handle, const char* name, const char* version);

// Null only in a process without a C library that exports them. Safe at any time, also before constructors
// ran.
DlopenFunction real_dlopen();
DlsymFunction real_dlsym();
DlvsymFunction real_dlvsym();

// Looking around changes errno where the call that it is done for would not.
class ErrnoKept {
 public:
  ErrnoKept() : m_before(errno) {}
  ~ErrnoKept() { errno = m_before; }
  ErrnoKept(const ErrnoKept&) = delete;
  ErrnoKept& operator=(const ErrnoKept&) = delete;

 private:
  const int m_before;
};

// The program or a library, as it is loaded: one file may be loaded once per namespace (dlmopen).
struct LoadedObject {
  std::string path;  // as the loader knows it; "" for the program
  std::uintptr_t base = 0;
};

// What an object's dynamic section says, as it lies in memory; what it does not have is null.
struct DynamicTables {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const std::uint32_t* gnu_hash = nullptr;
  std::size_t soname = 0;  // in the strings; 0: none
  const ElfW(Rela) * plt_relocations = nullptr;
  const ElfW(Rela) * relocations = nullptr;
  std::size_t plt_bytes = 0, relocation_bytes = 0;
};
DynamicTables dynamic_tables(const dl_phdr_info& object);

// Whether `address` lies in what is loaded of the object.
bool holds(const dl_phdr_info& object, const void* address);

// The file that holds `address`; "" for the program itself or an unknown address.
std::string object_path(const void* address);
LoadedObject object_of(const void* address);
LoadedObject object_of_handle(void* handle);

// Whether `address` lies in the program or a library, and so stays readable until that is unloaded.
bool is_in_loaded_object(const void* address);

// Whether a path names a HIP runtime: libamdhip64.so, libamdhip64.so.7, and as wheels rename it,
// libamdhip64-1a2b3c4d.so.
bool is_hip_library(const std::string& path);

// Every HIP runtime that is loaded in our namespace, in load order. Takes none of the loader's long locks.
std::vector<LoadedObject> loaded_hip_libraries();

// Whether a loaded object has a reference to `name` that another one is to define.
bool imports(const LoadedObject& object, const char* name);

// Changes with every library that is loaded or unloaded; cheap enough for every call.
unsigned long long object_changes_so_far();

// The definitions of `name` in all that is loaded but in ourselves, in load order. Without the lock that
// dlopen holds while it runs constructors.
std::vector<void*> definitions_of(const char* name);

// The definition of `name` in the first loaded library whose file's name begins with `stem`, or null. Without
// the lock that dlopen holds while it runs constructors: threads of ours may ask at any time.
void* find_in_loaded(const char* stem, const char* name);

// The file of a loaded library by its file's name or its SONAME; "" if there is none.
std::string path_of_loaded(const std::string& name);

// A handle of a library that is loaded already, or null; of the program for "". The library stays loaded as
// long as the process runs: its functions are called from hooks at any time.
void* handle_of_loaded(const std::string& path);

}  // namespace ktrace
