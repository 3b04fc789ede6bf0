// Start of the runtime, and the life of streams and handles.
#include "hip/runtime.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "hip/call.hpp"
#include "hip/capture.hpp"
#include "hip/fat_binary.hpp"
#include "hip/libraries.hpp"
#include "hip/virtual_memory.hpp"
#include "hip/visible_devices.hpp"

namespace ktrace::softdev::hip {

namespace {

constexpr int most_devices = 64;

int device_count_from_environment() {
  const char* text = std::getenv("KTRACE_SOFT_DEVICES");
  if (text == nullptr || *text == '\0') {
    return 1;
  }
  char* end = nullptr;
  const long count = std::strtol(text, &end, 10);
  if (*end != '\0' || count < 1 || count > most_devices) {
    say("KTRACE_SOFT_DEVICES is `%s`, not a number from 1 to %d: there are no "
        "devices",
        text, most_devices);
    return 0;
  }
  return static_cast<int>(count);
}

// A child of fork() gets a copy of the devices; it must not get a lock that another thread held.
void lock_before_fork() {
  Runtime& runtime = Runtime::get();
  for (const auto& device : runtime.devices) {
    device->work_mutex.lock();
  }
  runtime.mutex.lock();
}

void unlock_after_fork() {
  Runtime& runtime = Runtime::get();
  runtime.mutex.unlock();
  for (const auto& device : runtime.devices) {
    device->work_mutex.unlock();
  }
}

// Of a thread that ends, its state. The main thread's stays, with its device: handlers of atexit and
// destructors of libraries run after its thread-local objects are gone, and call HIP.
struct ThreadEnd {
  ThreadState*& state;
  ~ThreadEnd() {
    if (syscall(SYS_gettid) != getpid()) {
      delete std::exchange(state, nullptr);
    }
  }
};

}  // namespace

Runtime& Runtime::get() {
  static Runtime* const runtime = [] {
    auto* created = new Runtime;
    pthread_atfork(lock_before_fork, unlock_after_fork, unlock_after_fork);
    return created;
  }();
  return *runtime;
}

Runtime::Runtime()
    : fat_binaries(std::make_unique<FatBinaries>()),
      graph_registry(std::make_unique<GraphRegistry>()),
      virtual_memory(std::make_unique<VirtualMemory>()) {
  Arch arch = Arch::gfx942;
  try {
    arch = arch_from_environment();
  } catch (const LoadError& error) {
    say("%s: there are no devices", error.what());
    start_error = hipErrorNoDevice;
    return;
  }
  for (const int number : visible_devices(device_count_from_environment())) {
    const int index = static_cast<int>(devices.size());
    devices.push_back(std::make_unique<DeviceState>(index, number, arch, registry));
    DeviceState& state = *devices.back();
    state.null_stream.device = index;
    state.null_stream.is_legacy = true;
    for (void*& queue : state.queues) {
      queue = registry.allocate(queue_bytes, MemoryKind::internal, index);
    }
  }
  start_error = devices.empty() ? hipErrorNoDevice : hipSuccess;
}

Stream* Runtime::create_stream(int device_index, unsigned flags, int priority) {
  auto stream = std::make_unique<Stream>();
  stream->device = device_index;
  stream->flags = flags;
  stream->priority = priority;
  stream->id = next_stream_id++;
  Stream* const created = stream.get();
  streams.emplace(reinterpret_cast<hipStream_t>(created), std::move(stream));
  device(device_index).streams.insert(created);
  return created;
}

void Runtime::destroy_stream(Stream* stream) {
  if (stream->capture != nullptr) {
    stream->capture->is_valid = false;
    end_capture_of(*this, *stream);
  }
  device(stream->device).streams.erase(stream);
  streams.erase(reinterpret_cast<hipStream_t>(stream));
}

Stream* Runtime::find_stream(hipStream_t handle) {
  const auto value = reinterpret_cast<uintptr_t>(handle);
  ThreadState& thread = ThreadState::get();
  if (value <= 1) {
    return &device(thread.device).null_stream;
  }
  if (value == 2) {
    Stream*& own = thread.stream_by_device[thread.device];
    // hipDeviceReset destroys it behind the thread's back.
    if (own == nullptr || streams.count(reinterpret_cast<hipStream_t>(own)) == 0) {
      own = create_stream(thread.device, hipStreamDefault, 0);
    }
    return own;
  }
  const auto found = streams.find(handle);
  return found == streams.end() ? nullptr : found->second.get();
}

Event* Runtime::find_event(hipEvent_t handle) {
  const auto found = events.find(handle);
  return found == events.end() ? nullptr : found->second.get();
}

Function* Runtime::find_function(hipFunction_t handle) {
  auto* function = reinterpret_cast<Function*>(handle);
  return functions.count(function) == 0 ? nullptr : function;
}

Nanoseconds Runtime::begin_time(const Stream& stream) const {
  Nanoseconds begin = std::max(stream.ready, clock.now());
  const DeviceState& state = *devices[static_cast<size_t>(stream.device)];
  if (stream.is_legacy) {
    for (const Stream* other : state.streams) {
      if ((other->flags & hipStreamNonBlocking) == 0) {
        begin = std::max(begin, other->ready);
      }
    }
  } else if ((stream.flags & hipStreamNonBlocking) == 0) {
    begin = std::max(begin, state.null_stream.ready);
  }
  return begin;
}

Nanoseconds Runtime::idle_time(const DeviceState& state) const {
  Nanoseconds idle = state.null_stream.ready;
  for (const Stream* stream : state.streams) {
    idle = std::max(idle, stream->ready);
  }
  return idle;
}

ThreadState& ThreadState::get() {
  thread_local ThreadState* state = nullptr;
  if (state == nullptr) {
    state = new ThreadState;
    thread_local const ThreadEnd end{state};
    (void)end;
  }
  return *state;
}

ThreadState::~ThreadState() {
  if (stream_by_device.empty()) {
    return;
  }
  Runtime& runtime = Runtime::get();
  const std::lock_guard<std::mutex> lock(runtime.mutex);
  for (const auto& [index, stream] : stream_by_device) {
    if (runtime.streams.count(reinterpret_cast<hipStream_t>(stream)) != 0) {
      // Its work is not lost: the null stream still waits for it.
      DeviceState& state = runtime.device(index);
      state.null_stream.ready = std::max(state.null_stream.ready, stream->ready);
      runtime.destroy_stream(stream);
    }
  }
}

void say(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  va_list again;
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  if (length > 0) {  // whole: names of kernels can have thousands of characters, and the cause comes last
    std::string text(static_cast<size_t>(length) + 1, '\0');
    std::vsnprintf(text.data(), text.size(), format, again);
    std::fprintf(stderr, "ktrace softdev: %s\n", text.c_str());
  }
  va_end(again);
}

hipError_t finish_call(hipError_t error) {
  ThreadState& thread = ThreadState::get();
  thread.last_answer = error;
  // Work that is not done yet is an answer and no failure.
  if (error != hipSuccess && error != hipErrorNotReady) {
    thread.last_error = error;
  }
  return error;
}

hipError_t finish_with_current_exception() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return finish_call(hipErrorOutOfMemory);
  } catch (const std::exception& error) {
    say("%s", error.what());
    return finish_call(hipErrorUnknown);
  } catch (...) {
    say("an error without a description");
    return finish_call(hipErrorUnknown);
  }
}

}  // namespace ktrace::softdev::hip
