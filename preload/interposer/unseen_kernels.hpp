// Kernels of handles that no call showed: their code came from where only HIP reads, and their names are all
// that HIP tells.
#pragma once

#include "session.hpp"

namespace ktrace {

// Asks HIP for the name and looks it up among the machine code that HIP handed to the HSA runtime. Calls no
// HIP function in a process where none was seen on that way. Not kept: a handle may stand for another kernel
// next time.
FoundFunction find_unseen_kernel(Session& session, const HipLibrary& hip, const void* function,
                                 bool is_host_function, hipStream_t stream);

}  // namespace ktrace
