// From the parameters that a program passes to a node's work, and back. Needs
// Runtime::mutex.
#pragma once

#include "hip/graph.hpp"

namespace ktrace::softdev::hip {

hipError_t make_kernel(Runtime& runtime, const hipKernelNodeParams* params, NodeWork& work);
// The pointers in the answer are the launch's own.
void read_kernel(PreparedLaunch& launch, hipKernelNodeParams& params);

hipError_t make_copy(const Runtime& runtime, const hipMemcpy3DParms* box, NodeWork& work);
hipError_t make_linear_copy(const Runtime& runtime, void* destination, const void* source, size_t size,
                            hipMemcpyKind kind, NodeWork& work);
hipError_t make_copy_to_symbol(Runtime& runtime, const void* symbol, const void* source, size_t size,
                               size_t offset, hipMemcpyKind kind, NodeWork& work);
hipError_t make_copy_from_symbol(Runtime& runtime, void* destination, const void* symbol, size_t size,
                                 size_t offset, hipMemcpyKind kind, NodeWork& work);
hipError_t make_fill(const Runtime& runtime, const hipMemsetParams* params, NodeWork& work);
hipError_t make_host(const hipHostNodeParams* params, NodeWork& work);
hipError_t make_event(Runtime& runtime, hipEvent_t event, NodeWork& work);
// A copy of the graph: later changes to the original do not reach it.
hipError_t make_child(Runtime& runtime, void* graph, NodeWork& work);

}  // namespace ktrace::softdev::hip
