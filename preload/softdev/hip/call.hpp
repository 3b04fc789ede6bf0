// The frame of every HIP call: locks, virtual time, errors. No exception passes it.
#pragma once

#include <mutex>
#include <new>
#include <utility>

#include "hip/runtime.hpp"

#define KTRACE_HIP_EXPORT extern "C" __attribute__((visibility("default")))

namespace ktrace::softdev::hip {

// Notes the answer of a call, and a failure as the thread's last error; returns it. A success does not erase
// an earlier failure.
hipError_t finish_call(hipError_t error);
hipError_t finish_with_current_exception();

// What work on the null stream returns while a stream that waits for it captures (graph.hpp).
hipError_t refuse_implicit_capture(const Runtime& runtime, const Stream& stream);

// A call that does not touch a device's queues: holds Runtime::mutex.
template <class Body>
hipError_t call(Nanoseconds duration, Body&& body) {
  try {
    Runtime& runtime = Runtime::get();
    const std::lock_guard<std::mutex> lock(runtime.mutex);
    runtime.clock.advance(duration);
    if (runtime.start_error != hipSuccess) {
      return finish_call(runtime.start_error);
    }
    return finish_call(body(runtime));
  } catch (...) {
    return finish_with_current_exception();
  }
}

// Access to one device's queues: nobody else enqueues to it meanwhile, and no stream of it disappears.
class DeviceWork {
 public:
  DeviceWork(Runtime& runtime, int device)
      : m_work(runtime.device(device).work_mutex), m_state(runtime.mutex) {}

  // Long work and the program's callbacks run without the state's lock.
  template <class Body>
  auto without_state_lock(Body&& body) {
    struct Relock {
      std::unique_lock<std::mutex>& lock;
      ~Relock() { lock.lock(); }
    };
    m_state.unlock();
    const Relock relock{m_state};
    return body();
  }

  // Callbacks may wait for other threads that call HIP: they run without any lock.
  template <class Body>
  void without_locks(Body&& body) {
    m_state.unlock();
    m_work.unlock();
    body();
    m_work.lock();
    m_state.lock();
  }

 private:
  std::unique_lock<std::mutex> m_work;
  std::unique_lock<std::mutex> m_state;
};

// A call that enqueues to, waits for, or frees memory of `device`. A device that has faulted answers with its
// fault.
template <class Body>
hipError_t device_call(Nanoseconds duration, int device, Body&& body) {
  try {
    Runtime& runtime = Runtime::get();
    runtime.clock.advance(duration);
    if (runtime.start_error != hipSuccess) {
      return finish_call(runtime.start_error);
    }
    DeviceWork work(runtime, device);
    DeviceState& state = runtime.device(device);
    state.is_active = true;
    if (state.fault) {
      state.fault->is_reported = true;
      return finish_call(state.fault->error);
    }
    return finish_call(body(runtime, state, work));
  } catch (...) {
    return finish_with_current_exception();
  }
}

// The same for a stream: `unknown_stream` is what HIP returns for a handle that is none.
template <class Body>
hipError_t stream_call(Nanoseconds duration, hipStream_t handle, hipError_t unknown_stream, Body&& body) {
  int device = 0;
  try {
    Runtime& runtime = Runtime::get();
    const std::lock_guard<std::mutex> lock(runtime.mutex);
    if (runtime.start_error != hipSuccess) {
      return finish_call(runtime.start_error);
    }
    const Stream* stream = runtime.find_stream(handle);
    if (stream == nullptr) {
      return finish_call(unknown_stream);
    }
    device = stream->device;
  } catch (...) {
    return finish_with_current_exception();
  }
  return device_call(duration, device, [&](Runtime& runtime, DeviceState& state, DeviceWork& work) {
    Stream* stream = runtime.find_stream(handle);  // it may have been destroyed meanwhile
    if (stream == nullptr) {
      return unknown_stream;
    }
    const hipError_t error = refuse_implicit_capture(runtime, *stream);
    return error != hipSuccess ? error : body(runtime, state, *stream, work);
  });
}

inline int current_device() { return ThreadState::get().device; }

// The `_spt` calls: null and legacy mean the calling thread's own default stream.
inline hipStream_t per_thread(hipStream_t stream) {
  return reinterpret_cast<uintptr_t>(stream) <= 1 ? reinterpret_cast<hipStream_t>(uintptr_t{2}) : stream;
}

}  // namespace ktrace::softdev::hip
