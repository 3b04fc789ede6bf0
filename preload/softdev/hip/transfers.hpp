// Copies and fills as values: checked and run when they are enqueued, and again
// at each replay of a graph.
#pragma once

#include "hip/graph_abi.hpp"
#include "hip/runtime.hpp"

namespace ktrace::softdev::hip {

// Rows of `width` bytes, each so many bytes after the other, as a box of one
// layer.
hipMemcpy3DParms box_of(void* destination, size_t destination_pitch, const void* source, size_t source_pitch,
                        size_t width, size_t height, hipMemcpyKind kind);

// The error that HIP gives for the box; images are hipErrorNotSupported.
hipError_t check_copy(const Runtime& runtime, const hipMemcpy3DParms& box);
// Moves the bytes, and the stream's time.
hipError_t run_copy(Runtime& runtime, Stream& stream, const hipMemcpy3DParms& box);
// The host does not wait for copies within the device, also not in the
// synchronous calls.
bool stays_on_device(const Runtime& runtime, const hipMemcpy3DParms& box);

hipError_t check_fill(const Runtime& runtime, const hipMemsetParams& fill);
hipError_t run_fill(Runtime& runtime, Stream& stream, const hipMemsetParams& fill);

}  // namespace ktrace::softdev::hip
