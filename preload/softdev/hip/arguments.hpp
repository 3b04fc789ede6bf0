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

// Fills in what the program passed, as `kernelParams` or as `extra`.
// hipErrorInvalidValue if both or neither are given though the kernel has
// arguments, if `extra` is malformed or if its buffer is too short.
hipError_t fill_explicit_arguments(const Kernel& kernel, void** kernel_params, void** extra,
                                   KernargSegment& segment);

// Fills in what code object versions 4 to 6 ask for by value kind. `queue` is
// the address for hidden_queue_ptr.
void fill_hidden_arguments(const Kernel& kernel, const LaunchShape& shape, uint64_t queue,
                           KernargSegment& segment);

// What hipGraphKernelNodeGetParams hands out: the node's own copies, in the
// form in which they were passed. The pointers stay as they are until the node
// gets other parameters.
class ArgumentCopy {
 public:
  ArgumentCopy() = default;
  // `extra` as the program passed it, checked; null if it passed the other
  // form.
  explicit ArgumentCopy(void** extra);
  ArgumentCopy(const ArgumentCopy& other) : m_buffer(other.m_buffer), m_has_buffer(other.m_has_buffer) {}
  ArgumentCopy& operator=(const ArgumentCopy& other);

  // One pointer per explicit argument, into the segment; null if the program
  // passed a buffer.
  void** kernel_params(const Kernel& kernel, KernargSegment& segment);
  // The five words around the own copy of the buffer, null if the program
  // passed none.
  void** extra();

 private:
  std::vector<void*> m_pointers;  // made when first asked for
  std::vector<uint8_t> m_buffer;
  size_t m_buffer_size = 0;
  bool m_has_buffer = false;
};

}  // namespace ktrace::softdev::hip
