// A stand-in for HIP whose calls cost next to nothing and are counted, to measure and to stress what stands
// in front of it. It runs no kernel.
//
// A launch writes, in place of the kernel, one finished wave with a MARK into each slot of the trace buffer,
// which is the launch's last argument. Environment: STAND_IN_ASYNC=1 (each stream is a thread that works off
// what was put on it; without, everything is done at once), STAND_IN_WORDS (words that each wave writes; 0:
// no wave), STAND_IN_DEVICES.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "ktrace/format.h"

#define STAND_IN_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int not_ready = 600;

int number_of(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atoi(text) : otherwise;
}

struct Settings {
  bool is_async = number_of("STAND_IN_ASYNC", 0) != 0;
  std::uint32_t words = static_cast<std::uint32_t>(number_of("STAND_IN_WORDS", 1));
  int devices = number_of("STAND_IN_DEVICES", 1);
};
const Settings& settings() {
  static const Settings all;
  return all;
}

thread_local std::uint64_t calls = 0;
thread_local int current_device = 0;
std::atomic<std::uint64_t> bytes_to_device{0}, bytes_to_host{0};
std::atomic<std::uint64_t> waves_run{0}, waits{0};

// Made before anything that ends the recording is registered, and so said after it.
struct Totals {
  ~Totals() {
    std::printf("to_device %llu to_host %llu waves %llu\n",
                static_cast<unsigned long long>(bytes_to_device.load()),
                static_cast<unsigned long long>(bytes_to_host.load()),
                static_cast<unsigned long long>(waves_run.load()));
    std::fflush(stdout);
  }
};
const Totals totals;

int answer() { return ++calls, 0; }

// What a reset of the device frees.
struct Memory {
  std::mutex mutex;
  std::set<void*> all;
};
Memory& memory_in_use() {
  static auto* memory = new Memory;
  return *memory;
}

void* allocate(std::size_t size) {
  void* memory = std::malloc(size);
  const std::lock_guard lock(memory_in_use().mutex);
  return *memory_in_use().all.insert(memory).first;
}

int release(void* memory) {
  {
    const std::lock_guard lock(memory_in_use().mutex);
    memory_in_use().all.erase(memory);
  }
  return std::free(memory), answer();
}

struct Event {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t recorded = 0, completed = 0;
};

class Stream {
 public:
  explicit Stream(int device) : m_device(device) {
    if (settings().is_async) m_worker = std::thread([this] { work(); });
  }
  ~Stream() {
    if (!m_worker.joinable()) return;
    add({});
    m_worker.join();
  }
  int device() const { return m_device; }

  void add(std::function<void()> operation) {
    if (!settings().is_async) return operation();
    const std::lock_guard lock(m_mutex);
    m_operations.push_back(std::move(operation));
    m_changed.notify_all();
  }
  void wait() {
    std::unique_lock lock(m_mutex);
    m_changed.wait(lock, [this] { return m_operations.empty() && !m_is_busy; });
  }

 private:
  void work() {
    std::unique_lock lock(m_mutex);
    for (;;) {
      m_changed.wait(lock, [this] { return !m_operations.empty(); });
      const std::function<void()> operation = std::move(m_operations.front());
      m_operations.pop_front();
      if (!operation) return;
      m_is_busy = true;
      lock.unlock();
      operation();
      lock.lock();
      m_is_busy = false;
      m_changed.notify_all();
    }
  }

  const int m_device;
  std::mutex m_mutex;
  std::condition_variable m_changed;
  std::deque<std::function<void()>> m_operations;
  bool m_is_busy = false;
  std::thread m_worker;
};

// Never destroyed, as HIP's own is not before the process has ended.
Stream& null_stream() {
  static auto* stream = new Stream(0);
  return *stream;
}
Stream& stream_of(void* stream) {
  return reinterpret_cast<std::uintptr_t>(stream) <= 2 ? null_stream() : *static_cast<Stream*>(stream);
}

void write_wave(const ktrace_control& control, std::uint8_t* region, std::uint32_t slot) {
  for (std::uint64_t i = 0; i < (std::uint64_t{1} << control.region_log2); ++i)
    if (region[i] != 0) std::abort();  // a buffer must be clean
  const std::uint32_t room = (1u << control.region_log2) - KTRACE_REGION_HEADER;
  const std::uint32_t words = std::min(settings().words, room / 8);
  ktrace_wave_header header{};
  header.state = KTRACE_WAVE_ENDED;
  header.side_cursor = (1u << control.region_log2) - 8;
  header.main_cursor = KTRACE_REGION_HEADER + 8 * words;
  header.dispatch = control.dispatch;
  header.block[0] = slot;
  std::memcpy(region, &header, sizeof header);
  for (std::uint32_t i = 0; i < words; ++i) {
    const ktrace_word word{17 + i, KTRACE_KIND_MARK << KTRACE_TAG_KIND_SHIFT | 1};
    std::memcpy(region + KTRACE_REGION_HEADER + 8 * i, &word, sizeof word);
  }
  ++waves_run;
}

void run_kernel(std::uint64_t buffer) {
  if (buffer == 0 || settings().words == 0) return;
  auto* control = reinterpret_cast<ktrace_control*>(buffer);
  if (control->magic != KTRACE_CONTROL_MAGIC) std::abort();
  auto* regions = reinterpret_cast<std::uint8_t*>(control->regions);
  if (control->mode == KTRACE_MODE_CLAIM) control->claimed = control->wave_slots;
  for (std::uint32_t slot = 0; slot < control->wave_slots; ++slot)
    write_wave(*control, regions + (std::uint64_t{slot} << control->region_log2), slot);
}

void copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
               std::size_t height) {
  for (std::size_t row = 0; row < height; ++row)
    std::memcpy(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch,
                width);
}

}  // namespace

// What the calling thread called since it asked last.
STAND_IN_EXPORT std::uint64_t stand_in_calls() { return std::exchange(calls, 0); }
// How often a stream was told to wait for an event, which is once for each dispatch that is copied back.
STAND_IN_EXPORT std::uint64_t stand_in_waits() { return waits; }

STAND_IN_EXPORT int hipInit(unsigned) { return answer(); }
STAND_IN_EXPORT int hipGetDeviceCount(int* count) { return *count = settings().devices, answer(); }
STAND_IN_EXPORT int hipGetDevice(int* device) { return *device = current_device, answer(); }
STAND_IN_EXPORT int hipSetDevice(int device) { return current_device = device, answer(); }
STAND_IN_EXPORT int hipGetStreamDeviceId(void* stream) { return ++calls, stream_of(stream).device(); }
STAND_IN_EXPORT int hipGetLastError() { return answer(); }
STAND_IN_EXPORT int hipPeekAtLastError() { return answer(); }
STAND_IN_EXPORT const char* hipGetErrorName(int) { return "hipErrorOther"; }
STAND_IN_EXPORT int hipMalloc(void** memory, std::size_t size) {
  *memory = allocate(size);
  std::memset(*memory, 0xcd, size);  // what was there before
  return answer();
}
STAND_IN_EXPORT int hipFree(void* memory) { return release(memory); }
STAND_IN_EXPORT int hipHostMalloc(void** memory, std::size_t size, unsigned) {
  return *memory = allocate(size), answer();
}
STAND_IN_EXPORT int hipHostFree(void* memory) { return release(memory); }
STAND_IN_EXPORT int hipMemcpyAsync(void* to, const void* from, std::size_t size, int kind, void* stream) {
  (kind == 2 ? bytes_to_host : bytes_to_device) += size;
  stream_of(stream).add([=] { std::memcpy(to, from, size); });
  return answer();
}
STAND_IN_EXPORT int hipMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                     std::size_t width, std::size_t height, int kind, void* stream) {
  (kind == 2 ? bytes_to_host : bytes_to_device) += width * height;
  stream_of(stream).add([=] { copy_rows(to, to_pitch, from, from_pitch, width, height); });
  return answer();
}
STAND_IN_EXPORT int hipMemsetAsync(void* memory, int value, std::size_t size, void* stream) {
  stream_of(stream).add([=] { std::memset(memory, value, size); });
  return answer();
}
STAND_IN_EXPORT int hipMemset2DAsync(void* memory, std::size_t pitch, int value, std::size_t width,
                                     std::size_t height, void* stream) {
  stream_of(stream).add([=] {
    for (std::size_t row = 0; row < height; ++row)
      std::memset(static_cast<char*>(memory) + row * pitch, value, width);
  });
  return answer();
}
STAND_IN_EXPORT int hipStreamCreateWithFlags(void** stream, unsigned) {
  return *stream = new Stream(current_device), answer();
}
STAND_IN_EXPORT int hipStreamDestroy(void* stream) { return delete static_cast<Stream*>(stream), answer(); }
STAND_IN_EXPORT int hipStreamSynchronize(void* stream) {
  if (settings().is_async) stream_of(stream).wait();
  return answer();
}
STAND_IN_EXPORT int hipEventCreateWithFlags(void** event, unsigned) { return *event = new Event, answer(); }
STAND_IN_EXPORT int hipEventDestroy(void* event) { return delete static_cast<Event*>(event), answer(); }
STAND_IN_EXPORT int hipEventRecord(void* event, void* stream) {
  auto* known = static_cast<Event*>(event);
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(known->mutex);
    number = ++known->recorded;
  }
  stream_of(stream).add([=] {
    const std::lock_guard lock(known->mutex);
    known->completed = number;
    known->changed.notify_all();
  });
  return answer();
}
STAND_IN_EXPORT int hipEventQuery(void* event) {
  auto* known = static_cast<Event*>(event);
  ++calls;
  const std::lock_guard lock(known->mutex);
  return known->completed == known->recorded ? 0 : not_ready;
}
STAND_IN_EXPORT int hipStreamWaitEvent(void* stream, void* event, unsigned) {
  auto* known = static_cast<Event*>(event);
  std::uint64_t number = 0;
  ++waits;
  {
    const std::lock_guard lock(known->mutex);
    number = known->recorded;
  }
  stream_of(stream).add([=] {
    std::unique_lock lock(known->mutex);
    known->changed.wait(lock, [=] { return known->completed >= number; });
  });
  return answer();
}
// The caller has no work under way, except for what he does not know of. Streams and events stay.
STAND_IN_EXPORT int hipDeviceReset() {
  if (settings().is_async) null_stream().wait();
  const std::lock_guard lock(memory_in_use().mutex);
  for (void* memory : memory_in_use().all) std::free(memory);
  return memory_in_use().all.clear(), answer();
}
STAND_IN_EXPORT int hipStreamBeginCapture(void*, int) { return answer(); }
STAND_IN_EXPORT int hipStreamEndCapture(void*, void** graph) { return *graph = nullptr, answer(); }
STAND_IN_EXPORT int hipStreamIsCapturing(void*, int* status) { return *status = 0, answer(); }
STAND_IN_EXPORT int hipModuleLoadData(void** module, const void*) {
  return *module = std::malloc(1), answer();
}
STAND_IN_EXPORT int hipModuleGetFunction(void** function, void*, const char*) {
  return *function = std::malloc(1), answer();
}
STAND_IN_EXPORT int hipModuleUnload(void* module) { return std::free(module), answer(); }
// The function's name is not looked at: an annotated kernel has its buffer in its fifth argument.
STAND_IN_EXPORT int hipModuleLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                          unsigned, void* stream, void** params, void**) {
  std::uint64_t buffer = 0;
  if (params && params[4]) std::memcpy(&buffer, params[4], sizeof buffer);
  stream_of(stream).add([buffer] { run_kernel(buffer); });
  return answer();
}
