// Checking and running one kernel launch, for every call that launches.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "hip/arguments.hpp"
#include "hip/call.hpp"
#include "hip/runtime.hpp"

namespace ktrace::softdev::hip {

struct Launch {
  uint32_t global[3] = {0, 0, 0};  // work-items
  uint32_t block[3] = {0, 0, 0};   // work-items
  size_t dynamic_lds = 0;
  void** kernel_params = nullptr;
  void** extra = nullptr;
  hipEvent_t start = nullptr;  // recorded at the kernel's begin and end, as hipExt*Launch does
  hipEvent_t stop = nullptr;
  bool is_cooperative = false;
  const void* given = nullptr;  // what the program passed: a host function or a hipFunction_t
};

// `blocks` and `block` in the way of hipModuleLaunchKernel;
// hipErrorInvalidConfiguration if the work-items do not fit into 32 bits.
hipError_t set_shape(Launch& launch, const uint32_t blocks[3], const uint32_t block[3]);

// A launch that has been checked, with a copy of its arguments: all that is
// needed to run it, now or later.
struct PreparedLaunch {
  const void* given = nullptr;              // what the program passed
  std::shared_ptr<CodeObject> code_object;  // a graph may outlive the module
  const Kernel* kernel = nullptr;
  int device = 0;
  LaunchShape shape{};
  KernargSegment segment;
  hipEvent_t start = nullptr;
  hipEvent_t stop = nullptr;
  ArgumentCopy arguments;
};

hipError_t prepare_launch(const DeviceState& state, Function& function, const Launch& launch,
                          PreparedLaunch& prepared);

// Runs the kernel to its end and moves the stream's time there. A kernel that
// faults makes the device faulty; the launch has succeeded then, as on
// hardware, and the next call that needs the device returns the error. Needs
// the locks of stream_call.
hipError_t run_launch(Runtime& runtime, DeviceState& state, Stream& stream, DeviceWork& work,
                      PreparedLaunch& launch);

}  // namespace ktrace::softdev::hip
