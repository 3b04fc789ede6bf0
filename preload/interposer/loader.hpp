// The dynamic loader's own dlsym and dlvsym, which this library stands in front of, and what is loaded where.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ktrace {

using DlsymFunction = void* (*)(void* handle, const char* name);
using DlvsymFunction = void* (*)(void* handle, const char* name, const char* version);

// Null only in a process without a C library that exports them. Safe at any time, also before constructors
// ran.
DlsymFunction real_dlsym();
DlvsymFunction real_dlvsym();

// The program or a library, as it is loaded: one file may be loaded once per namespace (dlmopen).
struct LoadedObject {
  std::string path;  // as the loader knows it; "" for the program
  std::uintptr_t base = 0;
};

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

// A handle of a library that is loaded already, or null. The library stays loaded as long as the process
// runs: its functions are called from hooks at any time.
void* handle_of_loaded(const std::string& path);

}  // namespace ktrace
