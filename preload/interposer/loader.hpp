// The dynamic loader's own dlsym and dlvsym, which this library stands in front of, and what is loaded where.
#pragma once

#include <string>
#include <vector>

namespace ktrace {

using DlsymFunction = void* (*)(void* handle, const char* name);
using DlvsymFunction = void* (*)(void* handle, const char* name, const char* version);

// Null only in a process without a C library that exports them. Safe at any time, also before constructors
// ran.
DlsymFunction real_dlsym();
DlvsymFunction real_dlvsym();

// The file that holds `address`, as the loader knows it; "" for the program itself or an unknown address.
std::string object_path(const void* address);

// Whether `address` lies in the program or a library, and so stays readable until that is unloaded.
bool is_in_loaded_object(const void* address);

// Whether a path names a HIP runtime: libamdhip64.so, libamdhip64.so.7, …
bool is_hip_library(const std::string& path);

// Every HIP runtime that is loaded, in load order.
std::vector<std::string> loaded_hip_libraries();

// Grows with every library that is loaded; cheap enough for every call.
unsigned long long objects_loaded_so_far();

// A handle of a library that is loaded already, or null. The library stays loaded as long as the process
// runs: its functions are called from hooks at any time.
void* handle_of_loaded(const std::string& path);

}  // namespace ktrace
