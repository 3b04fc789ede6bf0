// hipDevice*, hipGetDevice*, hipSetDevice: which devices there are and which one is current.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "hip/call.hpp"
#include "hip/capture.hpp"
#include "hip/memory.hpp"
#include "hip/properties.hpp"

namespace ktrace::softdev::hip {

namespace {

constexpr int hip_version = 70200000;  // 7.2.0

// `read` gets a device that exists; `out` must not be null.
template <class Out, class Read>
hipError_t read_device(int index, Out* out, Read&& read) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    if (!runtime.is_device(index)) {
      return hipErrorInvalidDevice;
    }
    return out == nullptr ? hipErrorInvalidValue : read(runtime.device(index));
  });
}

hipError_t store_version(int* version) {
  return call(cost::query, [&](Runtime&) -> hipError_t {
    if (version == nullptr) {
      return hipErrorInvalidValue;
    }
    *version = hip_version;
    return hipSuccess;
  });
}

void pci_name(char* text, size_t size, int index) {
  std::snprintf(text, size, "0000:%02x:00.0", static_cast<unsigned>(index + 1));
}

// Frees what the program made on the device and clears its fault; handles of it are then unknown.
void reset(Runtime& runtime, DeviceState& state) {
  const int index = state.machine.index();
  runtime.clock.advance_to(runtime.idle_time(state));
  const std::set<Stream*> streams = state.streams;
  for (Stream* stream : streams) {
    runtime.destroy_stream(stream);
  }
  release_device_memory(runtime, index);
  for (auto pool = runtime.pools.begin(); pool != runtime.pools.end();) {
    pool = pool->second->device == index ? runtime.pools.erase(pool) : std::next(pool);
  }
  state.default_pool = nullptr;
  state.current_pool = nullptr;
  state.null_stream.ready = 0;
  state.fault.reset();
  state.peers.clear();
  state.flags = 0;
}

hipError_t check_peers(const Runtime& runtime, int device, int peer) {
  return runtime.is_device(device) && runtime.is_device(peer) ? hipSuccess : hipErrorInvalidDevice;
}

}  // namespace

}  // namespace ktrace::softdev::hip

using namespace ktrace::softdev;
using namespace ktrace::softdev::hip;

KTRACE_HIP_EXPORT hipError_t hipInit(unsigned flags) {
  return call(cost::call, [&](Runtime&) { return flags == 0 ? hipSuccess : hipErrorInvalidValue; });
}

KTRACE_HIP_EXPORT hipError_t hipDriverGetVersion(int* version) { return store_version(version); }
KTRACE_HIP_EXPORT hipError_t hipRuntimeGetVersion(int* version) { return store_version(version); }

KTRACE_HIP_EXPORT hipError_t hipGetDeviceCount(int* count) {
  if (count != nullptr) {
    *count = static_cast<int>(Runtime::get().devices.size());
  }
  return call(cost::query, [&](Runtime&) { return count == nullptr ? hipErrorInvalidValue : hipSuccess; });
}

KTRACE_HIP_EXPORT hipError_t hipSetDevice(int device) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    if (!runtime.is_device(device)) {
      return hipErrorInvalidDevice;
    }
    ThreadState::get().device = device;
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipGetDevice(int* device) {
  return call(cost::query, [&](Runtime&) -> hipError_t {
    if (device == nullptr) {
      return hipErrorInvalidValue;
    }
    *device = current_device();
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipDeviceGet(hipDevice_t* device, int ordinal) {
  return read_device(ordinal, device, [&](DeviceState&) {
    *device = ordinal;
    return hipSuccess;
  });
}

// The first of the list that exists becomes current.
KTRACE_HIP_EXPORT hipError_t hipSetValidDevices(int* list, int count) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    if (count < 0 || (count > 0 && list == nullptr)) {
      return hipErrorInvalidValue;
    }
    if (!std::all_of(list, list + count, [&](int device) { return runtime.is_device(device); })) {
      return hipErrorInvalidDevice;
    }
    ThreadState::get().device = count == 0 ? 0 : list[0];
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipDeviceGetAttribute(int* value, int attribute, int device) {
  return read_device(device, value, [&](DeviceState& state) {
    const std::optional<int> known = attribute_of(state, attribute);
    if (!known) {
      return hipErrorInvalidValue;
    }
    *value = *known;
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600* properties, int device) {
  return read_device(device, properties, [&](DeviceState& state) {
    *properties = properties_of(state);
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipGetDevicePropertiesR0000(hipDeviceProp_tR0000* properties, int device) {
  return read_device(device, properties, [&](DeviceState& state) {
    *properties = old_properties_of(state);
    return hipSuccess;
  });
}

// The plain name kept its old meaning; headers of HIP 6 and later ask for the R0600 one.
KTRACE_HIP_EXPORT hipError_t hipGetDeviceProperties(hipDeviceProp_tR0000* properties, int device) {
  return read_device(device, properties, [&](DeviceState& state) {
    *properties = old_properties_of(state);
    return hipSuccess;
  });
}

// All virtual devices are alike, so the first is as good a choice as any.
KTRACE_HIP_EXPORT hipError_t hipChooseDeviceR0600(int* device, const hipDeviceProp_tR0600* wanted) {
  return read_device(0, device, [&](DeviceState&) {
    *device = 0;
    return wanted == nullptr ? hipErrorInvalidValue : hipSuccess;
  });
}
KTRACE_HIP_EXPORT hipError_t hipChooseDevice(int* device, const hipDeviceProp_tR0000* wanted) {
  return read_device(0, device, [&](DeviceState&) {
    *device = 0;
    return wanted == nullptr ? hipErrorInvalidValue : hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipDeviceGetName(char* name, int size, hipDevice_t device) {
  return read_device(device, name, [&](DeviceState& state) {
    if (size <= 0) {
      return hipErrorInvalidValue;
    }
    std::snprintf(name, static_cast<size_t>(size), "%s", state.machine.topology().product_name);
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipDeviceGetUuid(hipUUID* uuid, hipDevice_t device) {
  return read_device(device, uuid, [&](DeviceState& state) {
    *uuid = properties_of(state).uuid;
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipDeviceGetPCIBusId(char* text, int size, int device) {
  return read_device(device, text, [&](DeviceState& state) {
    constexpr int needed = 13;  // "0000:01:00.0" and its end
    if (size < needed) {
      return hipErrorInvalidValue;
    }
    pci_name(text, static_cast<size_t>(size), state.number);
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipDeviceGetByPCIBusId(int* device, const char* text) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    if (device == nullptr || text == nullptr) {
      return hipErrorInvalidValue;
    }
    for (const auto& state : runtime.devices) {
      char name[16];
      pci_name(name, sizeof name, state->number);
      if (std::strcmp(name, text) == 0) {
        *device = state->machine.index();
        return hipSuccess;
      }
    }
    return hipErrorInvalidValue;
  });
}

KTRACE_HIP_EXPORT hipError_t hipDeviceTotalMem(size_t* bytes, hipDevice_t device) {
  return read_device(device, bytes, [&](DeviceState& state) {
    *bytes = state.machine.topology().memory_bytes;
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipDeviceComputeCapability(int* major, int* minor, hipDevice_t device) {
  return read_device(device, major, [&](DeviceState& state) {
    if (minor == nullptr) {
      return hipErrorInvalidValue;
    }
    const ComputeCapability capability = capability_of(state.machine.arch());
    *major = capability.major;
    *minor = capability.minor;
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipDeviceSynchronize() {
  return device_call(cost::call, current_device(), [](Runtime& runtime, DeviceState& state, DeviceWork&) {
    const hipError_t error = refuse_all_captures(runtime, hipErrorStreamCaptureUnsupported);
    if (error == hipSuccess) {
      runtime.clock.advance_to(runtime.idle_time(state));
    }
    return error;
  });
}

KTRACE_HIP_EXPORT hipError_t hipDeviceReset() {
  try {
    Runtime& runtime = Runtime::get();
    if (runtime.start_error != hipSuccess) {
      return finish_call(runtime.start_error);
    }
    runtime.clock.advance(cost::load);
    const DeviceWork work(runtime, current_device());
    reset(runtime, runtime.device(current_device()));
    ThreadState::get().last_error = hipSuccess;
    return hipSuccess;
  } catch (...) {
    return finish_with_current_exception();
  }
}

KTRACE_HIP_EXPORT hipError_t hipDeviceCanAccessPeer(int* can_access, int device, int peer) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    if (can_access == nullptr) {
      return hipErrorInvalidValue;
    }
    const hipError_t error = check_peers(runtime, device, peer);
    *can_access = error == hipSuccess && device != peer ? 1 : 0;
    return error;
  });
}

// Devices share the host's memory, so access works either way; the calls keep HIP's rules.
KTRACE_HIP_EXPORT hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    if (flags != 0) {
      return hipErrorInvalidValue;
    }
    if (!runtime.is_device(peer) || peer == current_device()) {
      return hipErrorInvalidDevice;
    }
    return runtime.device(current_device()).peers.insert(peer).second ? hipSuccess
                                                                      : hipErrorPeerAccessAlreadyEnabled;
  });
}

KTRACE_HIP_EXPORT hipError_t hipDeviceDisablePeerAccess(int peer) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    if (!runtime.is_device(peer)) {
      return hipErrorInvalidDevice;
    }
    return runtime.device(current_device()).peers.erase(peer) != 0 ? hipSuccess
                                                                   : hipErrorPeerAccessNotEnabled;
  });
}

// Attributes: performance rank, access, native atomics, array access.
KTRACE_HIP_EXPORT hipError_t hipDeviceGetP2PAttribute(int* value, int attribute, int device, int peer) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    if (value == nullptr || attribute < 0 || attribute > 3) {
      return hipErrorInvalidValue;
    }
    if (check_peers(runtime, device, peer) != hipSuccess || device == peer) {
      return hipErrorInvalidDevice;
    }
    *value = attribute == 1 || attribute == 2 ? 1 : 0;
    return hipSuccess;
  });
}
