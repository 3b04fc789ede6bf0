// The kernarg segment of a launch: the program's arguments and the hidden ones.
#pragma once

#include <cstdint>
#include <vector>

#include "core/machine.hpp"
#include "hip/hip_abi.hpp"

namespace ktrace::softdev::hip {

struct LaunchShape {
  uint32_t grid[3];    // workgroups, partial ones included
  uint32_t block[3];   // work-items
  uint32_t global[3];  // work-items in all
  uint32_t dynamic_lds;
};

// The 8-byte aligned segment; `bytes` is its size.
struct KernargSegment {
  std::vector<uint64_t> words;
  size_t bytes = 0;

  uint8_t* data() { return reinterpret_cast<uint8_t*>(words.data()); }
};

// Fills in what the program passed, as `kernelParams` or as `extra`. hipErrorInvalidValue if both or neither
// are given though the kernel has arguments, if `extra` is malformed or if its buffer is too short.
hipError_t fill_explicit_arguments(const Kernel& kernel, void** kernel_params, void** extra,
                                   KernargSegment& segment);

// Fills in what code object versions 4 to 6 ask for by value kind. `queue` is the address for
// hidden_queue_ptr.
void fill_hidden_arguments(const Kernel& kernel, const LaunchShape& shape, uint64_t queue,
                           KernargSegment& segment);

// One pointer per explicit argument, into the segment: the `kernelParams` that it was filled from, so to
// speak.
std::vector<void*> parameter_pointers(const Kernel& kernel, KernargSegment& segment);

}  // namespace ktrace::softdev::hip
