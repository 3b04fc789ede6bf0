// hipStream*: streams, waiting for them, and host functions in them.
#include <algorithm>
#include <vector>

#include "hip/call.hpp"
#include "hip/capture.hpp"
#include "hip/events.hpp"

namespace ktrace::softdev::hip {

namespace {

constexpr int least_priority = 1;
constexpr int greatest_priority = -1;
constexpr unsigned wait_external = 1;

hipError_t create(hipStream_t* stream, unsigned flags, int priority, std::vector<uint32_t> cu_mask = {}) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    if (stream == nullptr || (flags != hipStreamDefault && flags != hipStreamNonBlocking)) {
      return hipErrorInvalidValue;
    }
    Stream* created = runtime.create_stream(current_device(), flags,
                                            std::clamp(priority, greatest_priority, least_priority));
    created->cu_mask = std::move(cu_mask);
    *stream = reinterpret_cast<hipStream_t>(created);
    return hipSuccess;
  });
}

hipError_t synchronize(hipStream_t stream) {
  return stream_call(cost::call, stream, hipErrorContextIsDestroyed,
                     [](Runtime& runtime, DeviceState&, Stream& target, DeviceWork&) {
                       const hipError_t error = refuse_while_capturing(target);
                       if (error == hipSuccess) {
                         runtime.clock.advance_to(runtime.begin_time(target));
                       }
                       return error;
                     });
}

hipError_t query(hipStream_t stream) {
  return stream_call(cost::call, stream, hipErrorContextIsDestroyed,
                     [](Runtime& runtime, DeviceState&, Stream& target, DeviceWork&) {
                       const hipError_t error = refuse_while_capturing(target);
                       if (error != hipSuccess) {
                         return error;
                       }
                       const bool is_done = runtime.begin_time(target) <= runtime.clock.now();
                       return is_done ? hipSuccess : hipErrorNotReady;
                     });
}

hipError_t wait_event(hipStream_t stream, hipEvent_t handle, unsigned flags) {
  return stream_call(cost::enqueue, stream, hipErrorInvalidHandle,
                     [&](Runtime& runtime, DeviceState&, Stream& target, DeviceWork&) -> hipError_t {
                       const Event* event = runtime.find_event(handle);
                       if (event == nullptr) {
                         return hipErrorInvalidHandle;
                       }
                       if (flags > wait_external) {
                         return hipErrorInvalidValue;
                       }
                       if (target.capture != nullptr && flags == wait_external) {
                         return capture_work(target, NodeType::wait, EventWork{handle});
                       }
                       if (target.capture != nullptr || event->capture != nullptr) {
                         return join_capture(target, *event);
                       }
                       wait_for_event(target, *event);
                       return hipSuccess;
                     });
}

hipError_t run_host_function(hipStream_t stream, HostWork host) {
  return stream_call(cost::enqueue, stream, hipErrorContextIsDestroyed,
                     [&](Runtime& runtime, DeviceState& state, Stream& target, DeviceWork& work) {
                       return run_or_capture(runtime, state, target, work, NodeType::host, std::move(host));
                     });
}

hipError_t launch_host_function(hipStream_t stream, hipHostFn_t function, void* user_data) {
  if (function == nullptr) {
    return finish_call(hipErrorInvalidValue);
  }
  return run_host_function(stream, {{function, user_data}, nullptr});
}

hipError_t add_callback(hipStream_t stream, hipStreamCallback_t callback, void* user_data, unsigned flags) {
  if (callback == nullptr || flags != 0) {
    return finish_call(hipErrorInvalidValue);
  }
  return run_host_function(stream, {{}, [=] { callback(stream, hipSuccess, user_data); }});
}

// What can be asked about a stream without waiting for the device's queue.
template <class Value, class Read>
hipError_t read_stream(hipStream_t stream, Value* value, Read&& read) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    const Stream* found = runtime.find_stream(stream);
    if (value == nullptr) {
      return hipErrorInvalidValue;
    }
    if (found == nullptr) {
      return hipErrorContextIsDestroyed;
    }
    *value = static_cast<Value>(read(*found));
    return hipSuccess;
  });
}

hipError_t get_flags(hipStream_t stream, unsigned* flags) {
  return read_stream(stream, flags, [](const Stream& found) { return found.flags; });
}

hipError_t get_priority(hipStream_t stream, int* priority) {
  return read_stream(stream, priority, [](const Stream& found) { return found.priority; });
}

}  // namespace

}  // namespace ktrace::softdev::hip

using namespace ktrace::softdev::hip;

KTRACE_HIP_EXPORT hipError_t hipStreamCreate(hipStream_t* stream) {
  return create(stream, hipStreamDefault, 0);
}

KTRACE_HIP_EXPORT hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) {
  return create(stream, flags, 0);
}

KTRACE_HIP_EXPORT hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority) {
  return create(stream, flags, priority);
}

// The mask is kept and told, and changes nothing: the model does not place work
// by it.
KTRACE_HIP_EXPORT hipError_t hipExtStreamCreateWithCUMask(hipStream_t* stream, uint32_t size,
                                                          const uint32_t* mask) {
  if (size == 0 || mask == nullptr) {
    return finish_call(hipErrorInvalidValue);
  }
  return create(stream, hipStreamDefault, 0, {mask, mask + size});
}

KTRACE_HIP_EXPORT hipError_t hipExtStreamGetCUMask(hipStream_t stream, uint32_t size, uint32_t* mask) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    const Stream* found = runtime.find_stream(stream);
    if (mask == nullptr || size == 0) {
      return hipErrorInvalidValue;
    }
    if (found == nullptr) {
      return hipErrorContextIsDestroyed;
    }
    const uint32_t words = (runtime.device(found->device).machine.topology().cus() + 31) / 32;
    if (size < words) {
      return hipErrorInvalidValue;
    }
    std::fill_n(mask, size, found->cu_mask.empty() ? 0xffffffffu : 0u);
    std::copy_n(found->cu_mask.begin(), std::min<size_t>(size, found->cu_mask.size()), mask);
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipStreamDestroy(hipStream_t stream) {
  const auto value = reinterpret_cast<uintptr_t>(stream);
  if (value <= 2) {
    return finish_call(hipErrorInvalidResourceHandle);
  }
  return stream_call(cost::call, stream, hipErrorContextIsDestroyed,
                     [](Runtime& runtime, DeviceState& state, Stream& target, DeviceWork&) {
                       // What it still has to do gets done: hipDeviceSynchronize goes on
                       // waiting for it.
                       state.null_stream.ready = std::max(state.null_stream.ready, target.ready);
                       runtime.destroy_stream(&target);
                       return hipSuccess;
                     });
}

KTRACE_HIP_EXPORT hipError_t hipStreamSynchronize(hipStream_t stream) { return synchronize(stream); }
KTRACE_HIP_EXPORT hipError_t hipStreamSynchronize_spt(hipStream_t stream) {
  return synchronize(per_thread(stream));
}

KTRACE_HIP_EXPORT hipError_t hipStreamQuery(hipStream_t stream) { return query(stream); }
KTRACE_HIP_EXPORT hipError_t hipStreamQuery_spt(hipStream_t stream) { return query(per_thread(stream)); }

KTRACE_HIP_EXPORT hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags) {
  return wait_event(stream, event, flags);
}
KTRACE_HIP_EXPORT hipError_t hipStreamWaitEvent_spt(hipStream_t stream, hipEvent_t event, unsigned flags) {
  return wait_event(per_thread(stream), event, flags);
}

KTRACE_HIP_EXPORT hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void* user_data) {
  return launch_host_function(stream, function, user_data);
}
KTRACE_HIP_EXPORT hipError_t hipLaunchHostFunc_spt(hipStream_t stream, hipHostFn_t function,
                                                   void* user_data) {
  return launch_host_function(per_thread(stream), function, user_data);
}

KTRACE_HIP_EXPORT hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback,
                                                  void* user_data, unsigned flags) {
  return add_callback(stream, callback, user_data, flags);
}
KTRACE_HIP_EXPORT hipError_t hipStreamAddCallback_spt(hipStream_t stream, hipStreamCallback_t callback,
                                                      void* user_data, unsigned flags) {
  return add_callback(per_thread(stream), callback, user_data, flags);
}

KTRACE_HIP_EXPORT hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return call(cost::query, [&](Runtime&) {
    if (least != nullptr) {
      *least = least_priority;
    }
    if (greatest != nullptr) {
      *greatest = greatest_priority;
    }
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipStreamGetFlags(hipStream_t stream, unsigned* flags) {
  return get_flags(stream, flags);
}
KTRACE_HIP_EXPORT hipError_t hipStreamGetFlags_spt(hipStream_t stream, unsigned* flags) {
  return get_flags(per_thread(stream), flags);
}

KTRACE_HIP_EXPORT hipError_t hipStreamGetPriority(hipStream_t stream, int* priority) {
  return get_priority(stream, priority);
}
KTRACE_HIP_EXPORT hipError_t hipStreamGetPriority_spt(hipStream_t stream, int* priority) {
  return get_priority(per_thread(stream), priority);
}

KTRACE_HIP_EXPORT hipError_t hipStreamGetDevice(hipStream_t stream, int* device) {
  return read_stream(stream, device, [](const Stream& found) { return found.device; });
}

KTRACE_HIP_EXPORT hipError_t hipStreamGetId(hipStream_t stream, unsigned long long* id) {
  return read_stream(stream, id, [](const Stream& found) { return found.id; });
}

// Returns the device, not an error code; -1 for a handle that is none.
KTRACE_HIP_EXPORT int hipGetStreamDeviceId(hipStream_t stream) {
  Runtime& runtime = Runtime::get();
  const std::lock_guard<std::mutex> lock(runtime.mutex);
  if (runtime.start_error != hipSuccess) {
    return -1;
  }
  const Stream* found = runtime.find_stream(stream);
  return found == nullptr ? -1 : found->device;
}
