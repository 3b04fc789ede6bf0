// What the memory calls share.
#pragma once

#include "hip/runtime.hpp"

namespace ktrace::softdev::hip {

// hipMalloc on a device. Needs Runtime::mutex.
hipError_t allocate_device_memory(Runtime& runtime, void** pointer, size_t size, int device);

// Frees all device and managed memory of a device that the program allocated. Needs Runtime::mutex.
void release_device_memory(Runtime& runtime, int device);

// Whether [pointer, pointer + size) stays within the range that it starts in. Memory that HIP does not know
// is the host's own: whether it is there at all is asked.
bool is_within_allocation(const Runtime& runtime, const void* pointer, size_t size);

}  // namespace ktrace::softdev::hip
