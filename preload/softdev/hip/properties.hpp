// What a virtual device says about itself.
#pragma once

#include "hip/device_properties.hpp"
#include "hip/runtime.hpp"

namespace ktrace::softdev::hip {

hipDeviceProp_tR0600 properties_of(const DeviceState& device);
hipDeviceProp_tR0000 old_properties_of(const DeviceState& device);

// hipDeviceGetAttribute; nothing for an attribute that is unknown.
std::optional<int> attribute_of(const DeviceState& device, int attribute);

struct ComputeCapability {
  int major;
  int minor;
};
ComputeCapability capability_of(Arch arch);

}  // namespace ktrace::softdev::hip
