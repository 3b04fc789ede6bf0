// Which of the virtual devices the environment lets the process see.
#pragma once

#include <string>
#include <vector>

namespace ktrace::softdev::hip {

// The numbers of the devices that are left of `count`, in the order in which the process sees them:
// ROCR_VISIBLE_DEVICES chooses among all, HIP_VISIBLE_DEVICES (CUDA_VISIBLE_DEVICES if that is empty) among
// what is left. A list ends at its first entry that names no device, or one that it has named before.
std::vector<int> visible_devices(int count);

// The 16 characters by which a list may name a device, behind `GPU-`.
std::string device_name(int number);

}  // namespace ktrace::softdev::hip
