// hipCtx*, hipDevicePrimaryCtx*: a context is a device; each thread has a stack of them.
#include "hip/call.hpp"

namespace ktrace::softdev::hip {

namespace {

hipCtx_t context_of(Runtime& runtime, int device) {
  return reinterpret_cast<hipCtx_t>(&runtime.device(device));
}

std::optional<int> device_of(const Runtime& runtime, hipCtx_t context) {
  for (const auto& device : runtime.devices) {
    if (reinterpret_cast<hipCtx_t>(device.get()) == context) {
      return device->machine.index();
    }
  }
  return std::nullopt;
}

void push(int device) {
  ThreadState& thread = ThreadState::get();
  thread.device = device;
  thread.contexts.push_back(device);
}

}  // namespace

}  // namespace ktrace::softdev::hip

using namespace ktrace::softdev::hip;

KTRACE_HIP_EXPORT hipError_t hipCtxCreate(hipCtx_t* context, unsigned flags, hipDevice_t device) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    if (context == nullptr || !runtime.is_device(device)) {
      return hipErrorInvalidValue;
    }
    runtime.device(device).flags = flags;
    *context = context_of(runtime, device);
    push(device);
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipCtxDestroy(hipCtx_t context) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    const auto device = device_of(runtime, context);
    if (!device) {
      return hipErrorInvalidValue;
    }
    auto& contexts = ThreadState::get().contexts;
    if (!contexts.empty() && contexts.back() == *device) {
      contexts.pop_back();
    }
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipCtxPushCurrent(hipCtx_t context) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    const auto device = device_of(runtime, context);
    if (!device) {
      return hipErrorInvalidContext;
    }
    push(*device);
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipCtxPopCurrent(hipCtx_t* context) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    auto& contexts = ThreadState::get().contexts;
    if (contexts.empty()) {
      return hipErrorInvalidContext;
    }
    if (context != nullptr) {
      *context = context_of(runtime, contexts.back());
    }
    contexts.pop_back();
    if (!contexts.empty()) {
      ThreadState::get().device = contexts.back();
    }
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipCtxSetCurrent(hipCtx_t context) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    auto& contexts = ThreadState::get().contexts;
    if (context != nullptr && !device_of(runtime, context)) {
      return hipErrorInvalidContext;
    }
    if (!contexts.empty()) {
      contexts.pop_back();
    }
    if (context != nullptr) {
      push(*device_of(runtime, context));
    }
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipCtxGetCurrent(hipCtx_t* context) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    if (context == nullptr) {
      return hipErrorInvalidValue;
    }
    *context = context_of(runtime, current_device());
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipCtxGetDevice(hipDevice_t* device) {
  return call(cost::query, [&](Runtime&) -> hipError_t {
    if (device == nullptr) {
      return hipErrorInvalidValue;
    }
    *device = current_device();
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipCtxSynchronize() {
  return device_call(cost::call, current_device(), [](Runtime& runtime, DeviceState& state, DeviceWork&) {
    runtime.clock.advance_to(runtime.idle_time(state));
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipDevicePrimaryCtxRetain(hipCtx_t* context, hipDevice_t device) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    if (!runtime.is_device(device)) {
      return hipErrorInvalidDevice;
    }
    if (context == nullptr) {
      return hipErrorInvalidValue;
    }
    runtime.device(device).is_active = true;
    *context = context_of(runtime, device);
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipDevicePrimaryCtxRelease(hipDevice_t device) {
  return call(cost::call, [&](Runtime& runtime) {
    return runtime.is_device(device) ? hipSuccess : hipErrorInvalidDevice;
  });
}

KTRACE_HIP_EXPORT hipError_t hipDevicePrimaryCtxReset(hipDevice_t device) {
  return call(cost::call, [&](Runtime& runtime) {
    return runtime.is_device(device) ? hipSuccess : hipErrorInvalidDevice;
  });
}

KTRACE_HIP_EXPORT hipError_t hipDevicePrimaryCtxGetState(hipDevice_t device, unsigned* flags, int* active) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    if (!runtime.is_device(device)) {
      return hipErrorInvalidDevice;
    }
    if (flags != nullptr) {
      *flags = runtime.device(device).flags;
    }
    if (active != nullptr) {
      *active = runtime.device(device).is_active ? 1 : 0;
    }
    return hipSuccess;
  });
}

// HIP's contexts are always in use.
KTRACE_HIP_EXPORT hipError_t hipDevicePrimaryCtxSetFlags(hipDevice_t device, unsigned) {
  return call(cost::query, [&](Runtime& runtime) {
    return runtime.is_device(device) ? hipErrorContextAlreadyInUse : hipErrorInvalidDevice;
  });
}
