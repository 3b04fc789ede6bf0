// The environment variables of the core and of the vector instructions, read strictly: what cannot be
// understood is never taken for something else.
#pragma once

#include <cstdint>

#include "core/lane_code.hpp"

namespace ktrace::softdev {

// KTRACE_SOFT_BUDGET: wave instructions that one dispatch may execute. Throws LoadError.
uint64_t budget_from_environment();

// KTRACE_SOFT_THREADS: threads that may run a dispatch, at least 1. Throws LoadError.
unsigned threads_from_environment();

// KTRACE_SOFT_LANES: the fastest copy of the code over lanes that may run. Throws LoadError.
LaneCode lane_code_from_environment();

// KTRACE_SOFT_CHECK: whether kernels are checked (check.hpp). Throws LoadError.
bool check_from_environment();

// KTRACE_SOFT_HOST_MEMORY: whether kernels reach host memory that HIP knows nothing of. Throws LoadError.
bool host_memory_from_environment();

}  // namespace ktrace::softdev
