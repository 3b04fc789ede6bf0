// hipEvent*: moments on a device's timeline, in virtual time.
#include "hip/events.hpp"

#include <algorithm>

#include "hip/call.hpp"
#include "hip/capture.hpp"

namespace ktrace::softdev::hip {

namespace {

constexpr unsigned record_external = 1;

// At most one of the release flags, and an event for other processes cannot be
// timed.
bool are_legal(unsigned flags) {
  constexpr unsigned release = hipEventReleaseToDevice | hipEventReleaseToSystem | hipEventDisableSystemFence;
  constexpr unsigned known = release | hipEventBlockingSync | hipEventDisableTiming | hipEventInterprocess;
  const unsigned released = flags & release;
  return (flags & ~known) == 0 && (released & (released - 1)) == 0 &&
         ((flags & hipEventInterprocess) == 0 || (flags & hipEventDisableTiming) != 0);
}

hipError_t create(hipEvent_t* event, unsigned flags) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    if (event == nullptr || !are_legal(flags)) {
      return hipErrorInvalidValue;
    }
    auto created = std::make_unique<Event>();
    created->device = current_device();
    created->flags = flags;
    *event = reinterpret_cast<hipEvent_t>(created.get());
    runtime.events.emplace(*event, std::move(created));
    return hipSuccess;
  });
}

// `flags` says whether a capture keeps the record as a node of its own, for the
// world outside.
hipError_t record(hipEvent_t handle, hipStream_t stream, unsigned flags = 0) {
  if (handle == nullptr) {
    return finish_call(hipErrorInvalidHandle);
  }
  return stream_call(cost::enqueue, stream, hipErrorContextIsDestroyed,
                     [&](Runtime& runtime, DeviceState&, Stream& target, DeviceWork&) -> hipError_t {
                       Event* event = runtime.find_event(handle);
                       if (event == nullptr || event->device != target.device) {
                         return hipErrorInvalidHandle;
                       }
                       if (target.capture != nullptr && flags == record_external) {
                         return capture_work(target, NodeType::record, EventWork{handle});
                       }
                       if (target.capture != nullptr) {
                         return capture_event(target, *event);
                       }
                       record_event(runtime, target, *event);
                       return hipSuccess;
                     });
}

// What the event's device has to say, before anything about the event.
hipError_t fault_of(Runtime& runtime, const Event& event) {
  auto& fault = runtime.device(event.device).fault;
  if (!fault) {
    return hipSuccess;
  }
  fault->is_reported = true;
  return fault->error;
}

// `look` gets an event whose device is well.
template <class Look>
hipError_t look_at(hipEvent_t handle, Nanoseconds duration, Look&& look) {
  return call(duration, [&](Runtime& runtime) -> hipError_t {
    const Event* event = runtime.find_event(handle);
    if (event == nullptr) {
      return hipErrorInvalidHandle;
    }
    if (event->capture != nullptr && event->capture->is_active) {
      event->capture->is_valid = false;
      return hipErrorCapturedEvent;
    }
    // A thread with its own clock cannot see an event before it was recorded.
    runtime.clock.advance_to(event->enqueued);
    const hipError_t fault = fault_of(runtime, *event);
    return fault != hipSuccess ? fault : look(runtime, *event);
  });
}

}  // namespace

void record_event(Runtime& runtime, Stream& stream, Event& event) {
  event.capture = nullptr;
  event.is_recorded = true;
  event.enqueued = runtime.clock.now();
  event.time = runtime.begin_time(stream);
  stream.ready = event.time;
}

void wait_for_event(Stream& stream, const Event& event) {
  if (event.is_recorded) {
    stream.ready = std::max(stream.ready, event.time);
  }
}

}  // namespace ktrace::softdev::hip

using namespace ktrace::softdev::hip;

KTRACE_HIP_EXPORT hipError_t hipEventCreate(hipEvent_t* event) { return create(event, 0); }

KTRACE_HIP_EXPORT hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
  return create(event, flags);
}

KTRACE_HIP_EXPORT hipError_t hipEventDestroy(hipEvent_t event) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    if (event == nullptr) {
      return hipErrorInvalidHandle;
    }
    return runtime.events.erase(event) == 0 ? hipErrorContextIsDestroyed : hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return record(event, stream);
}

KTRACE_HIP_EXPORT hipError_t hipEventRecord_spt(hipEvent_t event, hipStream_t stream) {
  return record(event, per_thread(stream));
}

KTRACE_HIP_EXPORT hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream, unsigned flags) {
  return flags <= record_external ? record(event, stream, flags) : finish_call(hipErrorInvalidValue);
}

// An event that was never recorded is done, as in HIP.
KTRACE_HIP_EXPORT hipError_t hipEventSynchronize(hipEvent_t event) {
  return look_at(event, cost::call, [](Runtime& runtime, const Event& found) {
    if (found.is_recorded) {
      runtime.clock.advance_to(found.time);
    }
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipEventQuery(hipEvent_t event) {
  return look_at(event, cost::call, [](Runtime& runtime, const Event& found) {
    return !found.is_recorded || found.time <= runtime.clock.now() ? hipSuccess : hipErrorNotReady;
  });
}

KTRACE_HIP_EXPORT hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    if (milliseconds == nullptr) {
      return hipErrorInvalidValue;
    }
    const Event* first = runtime.find_event(start);
    const Event* last = runtime.find_event(stop);
    if (first == nullptr || last == nullptr || !first->is_recorded || !last->is_recorded ||
        first->device != last->device || ((first->flags | last->flags) & hipEventDisableTiming) != 0) {
      return hipErrorInvalidHandle;
    }
    const hipError_t fault = fault_of(runtime, *last);
    if (fault != hipSuccess) {
      return fault;
    }
    if (std::max(first->time, last->time) > runtime.clock.now()) {
      return hipErrorNotReady;
    }
    const auto elapsed = static_cast<int64_t>(last->time - first->time);
    *milliseconds = static_cast<float>(static_cast<double>(elapsed) / 1e6);
    return hipSuccess;
  });
}
