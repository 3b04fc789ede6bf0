// The HIP runtimes of this process: one entry per loaded copy, and which of them a caller means.
#pragma once

#include <string>

#include "hip.hpp"

namespace ktrace {

// A process may hold several copies (torch/lib and /opt/rocm): a call must reach the one that its caller is
// bound to.
inline constexpr int most_hip_libraries = 4;

struct HipLibrary : HipFunctions {
  int index = 0;
  std::string path;
  bool is_software() const { return ktrace_softdev_now_ns != nullptr; }
};

// The name of an error, as HIP gives it.
std::string error_words(const HipLibrary& hip, hipError_t error);

// By index, for hooks that belong to one copy. Index 0 without any HIP at all is a table of null pointers.
HipLibrary& hip_library(int index);

// The copy that the code at `return_address` is bound to for `name`; 0 where that cannot be told.
int hip_library_of_caller(const void* return_address, const char* name);

// The copy that `address`, a function of it, belongs to; -1 if it is none, or one too many.
int hip_library_of_function(const void* address);

// Around fork, so that the child does not inherit a lock whose owner it does not have.
void lock_hip_libraries_for_fork();
void unlock_hip_libraries_in_parent();
void renew_hip_libraries_lock_in_child();

}  // namespace ktrace
