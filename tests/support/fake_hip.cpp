// A stand-in for HIP on hardware, where a fault or a moment must be forced: it runs no kernel.
//
// A launch writes, in place of the kernel, one finished wave with a MARK into slot 0 of the trace buffer,
// which is the launch's last argument. Environment: FAKE_POLLS (an event is ready at its nth query),
// FAKE_HANGING_STREAM (events on the first stream that was created are never ready), FAKE_MEMORY (largest
// hipMalloc), FAKE_FAILING (name of a function that fails), FAKE_UNFINISHED (the wave has not ended),
// FAKE_ASYNC_ERROR (the code that every event ends with), FAKE_FORK (in a child of the process that first
// called it: `dead`, every call fails; `deadly`, only launches are answered), FAKE_TICKS (ticks of 10 ns have
// been counted since this nanosecond of CLOCK_BOOTTIME; the core clock is 21 times as fast).
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include "ktrace/format.h"

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int out_of_memory = 2, not_initialized = 3, not_ready = 600, unknown = 999;
constexpr int hip_version = 70200000;

struct Event {
  std::atomic<int> queries{0};
  void* stream = nullptr;
};
struct Stream {
  int number;
  unsigned flags;
};

std::atomic<int> streams{0};
thread_local int last_error = 0;

long number_of(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtol(text, nullptr, 0) : otherwise;
}

// How this process stands to the one that began HIP: "" in that one itself.
const char* state_after_fork() {
  static const pid_t first = getpid();
  const char* state = std::getenv("FAKE_FORK");
  return state && getpid() != first ? state : "";
}

// As HIP up to 6.3: every call sets the last error, a success too.
int answer(const char* function, int error = 0) {
  const char* failing = std::getenv("FAKE_FAILING");
  if (failing && std::strcmp(failing, function) == 0) error = unknown;
  if (std::strcmp(state_after_fork(), "dead") == 0) error = not_initialized;
  if (std::strcmp(state_after_fork(), "deadly") == 0 && std::strcmp(function, "hipModuleLaunchKernel") != 0)
    std::abort();
  return last_error = error;
}

// Application streams are numbered before ours, which is non-blocking.
bool is_hanging(const void* stream) {
  const auto* known = static_cast<const Stream*>(stream);
  return std::getenv("FAKE_HANGING_STREAM") && reinterpret_cast<std::uintptr_t>(stream) > 2 &&
         known->number == 0 && known->flags == 0;
}

std::uint64_t ticks_now() {
  const char* origin = std::getenv("FAKE_TICKS");
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  const auto now =
      static_cast<std::uint64_t>(time.tv_sec) * 1000000000u + static_cast<std::uint64_t>(time.tv_nsec);
  return origin ? (now - std::strtoull(origin, nullptr, 10)) / 10 : 0;
}

// A wave that has opened a range and goes on, its word in the side stream as an eager wave has it.
void leave_unfinished(std::uint8_t* region, ktrace_wave_header header, const ktrace_control& control) {
  header.state = KTRACE_WAVE_BEGUN;
  header.main_cursor = 0;
  header.side_cursor -= 8;
  header.memtime_begin = 1000;
  header.realtime_begin = 100;
  std::memcpy(region, &header, sizeof header);
  const ktrace_word word{1017, KTRACE_KIND_PUSH << KTRACE_TAG_KIND_SHIFT | KTRACE_TAG_SIDE | 1};
  std::memcpy(region + (std::size_t{1} << control.region_log2) - 8, &word, sizeof word);
  if ((control.flags & KTRACE_CONTROL_EAGER) == 0) std::abort();
}

void run_kernel(void* const* params) {
  if (!params) return;
  std::uint64_t buffer = 0;
  std::memcpy(&buffer, params[4], sizeof buffer);
  auto* control = reinterpret_cast<ktrace_control*>(buffer);
  if (!control) return;
  if (control->magic != KTRACE_CONTROL_MAGIC) std::abort();
  auto* region = reinterpret_cast<std::uint8_t*>(control->regions);
  for (std::uint64_t i = 0; i < (std::uint64_t{control->wave_slots} << control->region_log2); ++i)
    if (region[i] != 0) std::abort();  // a buffer must be clean
  ktrace_wave_header header{};
  header.state = KTRACE_WAVE_ENDED;
  header.side_cursor = (1u << control->region_log2) - 8;
  header.main_cursor = KTRACE_REGION_HEADER + 8;
  header.dispatch = control->dispatch;
  header.realtime_begin = ticks_now();
  header.realtime_end = header.realtime_begin + (header.realtime_begin ? 100 : 0);
  header.memtime_begin = header.realtime_begin * 21;
  header.memtime_end = header.realtime_end * 21;
  if (std::getenv("FAKE_UNFINISHED")) return leave_unfinished(region, header, *control);
  std::memcpy(region, &header, sizeof header);
  if (control->mode == KTRACE_MODE_CLAIM) control->claimed = 1;
  const ktrace_word word{static_cast<ktrace_u32>(header.memtime_begin) + 17,
                         KTRACE_KIND_MARK << KTRACE_TAG_KIND_SHIFT | 1};
  std::memcpy(region + KTRACE_REGION_HEADER, &word, sizeof word);
}

void copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
               std::size_t height) {
  for (std::size_t row = 0; row < height; ++row)
    std::memcpy(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch,
                width);
}

}  // namespace

FAKE_EXPORT int hipInit(unsigned) { return answer("hipInit"); }
FAKE_EXPORT int hipGetDevice(int* device) { return *device = 0, answer("hipGetDevice"); }
FAKE_EXPORT int hipSetDevice(int) { return answer("hipSetDevice"); }
FAKE_EXPORT int hipGetLastError() { return std::exchange(last_error, 0); }
FAKE_EXPORT int hipPeekAtLastError() { return last_error; }
FAKE_EXPORT const char* hipGetErrorName(int error) {
  return error == out_of_memory ? "hipErrorOutOfMemory"
         : error == unknown     ? "hipErrorUnknown"
                                : "hipErrorOther";
}
FAKE_EXPORT int hipMalloc(void** memory, std::size_t size) {
  *memory = nullptr;
  if (size > static_cast<std::size_t>(number_of("FAKE_MEMORY", 1L << 40)))
    return answer("hipMalloc", out_of_memory);
  *memory = std::malloc(size);
  std::memset(*memory, 0xcd, size);  // what was there before
  return answer("hipMalloc");
}
FAKE_EXPORT int hipFree(void* memory) { return std::free(memory), answer("hipFree"); }
FAKE_EXPORT int hipHostMalloc(void** memory, std::size_t size, unsigned) {
  *memory = std::malloc(size);
  return answer("hipHostMalloc");
}
FAKE_EXPORT int hipHostFree(void* memory) { return std::free(memory), answer("hipHostFree"); }
FAKE_EXPORT int hipMemcpy(void* to, const void* from, std::size_t size, int) {
  return std::memcpy(to, from, size), answer("hipMemcpy");
}
FAKE_EXPORT int hipMemcpyAsync(void* to, const void* from, std::size_t size, int, void*) {
  return std::memcpy(to, from, size), answer("hipMemcpyAsync");
}
FAKE_EXPORT int hipMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                 std::size_t width, std::size_t height, int, void*) {
  return copy_rows(to, to_pitch, from, from_pitch, width, height), answer("hipMemcpy2DAsync");
}
FAKE_EXPORT int hipMemsetAsync(void* memory, int value, std::size_t size, void*) {
  return std::memset(memory, value, size), answer("hipMemsetAsync");
}
FAKE_EXPORT int hipMemset2DAsync(void* memory, std::size_t pitch, int value, std::size_t width,
                                 std::size_t height, void*) {
  for (std::size_t row = 0; row < height; ++row)
    std::memset(static_cast<char*>(memory) + row * pitch, value, width);
  return answer("hipMemset2DAsync");
}
FAKE_EXPORT int hipStreamCreateWithFlags(void** stream, unsigned flags) {
  *stream = new Stream{flags == 0 ? streams++ : -1, flags};
  return answer("hipStreamCreateWithFlags");
}
FAKE_EXPORT int hipStreamSynchronize(void*) { return answer("hipStreamSynchronize"); }
FAKE_EXPORT int hipStreamWaitEvent(void*, void*, unsigned) { return answer("hipStreamWaitEvent"); }
FAKE_EXPORT int hipDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 10017 && std::getenv("FAKE_TICKS") ? 100000 : 0;  // wall clock rate in kHz
  return answer("hipDeviceGetAttribute");
}
FAKE_EXPORT int hipDeviceGetPCIBusId(char* id, int size, int) {
  std::strncpy(id, "0000:c1:03.0", static_cast<std::size_t>(size));
  return answer("hipDeviceGetPCIBusId");
}
FAKE_EXPORT void** __hipRegisterFatBinary(const void*) {
  static void* handle = nullptr;
  return &handle;
}
// Frees nothing: what touches what is gone is then no crash, but a call that a test can look for.
FAKE_EXPORT int hipDeviceReset() { return answer("hipDeviceReset"); }
FAKE_EXPORT int hipDeviceSynchronize() { return answer("hipDeviceSynchronize"); }
FAKE_EXPORT int hipGetStreamDeviceId(void*) { return 0; }
FAKE_EXPORT int hipEventCreateWithFlags(void** event, unsigned) {
  *event = new Event;
  return answer("hipEventCreateWithFlags");
}
FAKE_EXPORT int hipEventDestroy(void* event) {
  return delete static_cast<Event*>(event), answer("hipEventDestroy");
}
FAKE_EXPORT int hipEventRecord(void* event, void* stream) {
  static_cast<Event*>(event)->stream = stream;
  static_cast<Event*>(event)->queries = 0;
  return answer("hipEventRecord");
}
FAKE_EXPORT int hipEventQuery(void* event) {
  auto* known = static_cast<Event*>(event);
  if (is_hanging(known->stream) || ++known->queries < number_of("FAKE_POLLS", 1))
    return last_error = not_ready;
  return answer("hipEventQuery", static_cast<int>(number_of("FAKE_ASYNC_ERROR", 0)));
}
FAKE_EXPORT int hipModuleLoadData(void** module, const void*) {
  *module = std::malloc(1);
  return answer("hipModuleLoadData");
}
FAKE_EXPORT int hipModuleUnload(void* module) { return std::free(module), answer("hipModuleUnload"); }
FAKE_EXPORT int hipModuleGetFunction(void** function, void*, const char*) {
  *function = std::malloc(1);
  return answer("hipModuleGetFunction");
}
// A newer call that gives functions, and a HIP whose hipKernel_t is not its hipFunction_t.
FAKE_EXPORT int hipModuleEnumerateFunctions(void** functions, unsigned count, void*) {
  for (unsigned i = 0; i < count; ++i) functions[i] = std::malloc(1);
  return answer("hipModuleEnumerateFunctions");
}
FAKE_EXPORT int hipLibraryLoadData(void** library, const void*, void*, void**, unsigned, void*, void**,
                                   unsigned) {
  *library = std::malloc(1);
  return answer("hipLibraryLoadData");
}
FAKE_EXPORT int hipLibraryUnload(void* library) { return std::free(library), answer("hipLibraryUnload"); }
FAKE_EXPORT int hipLibraryGetKernel(void** kernel, void*, const char*) {
  *kernel = std::malloc(1);
  return answer("hipLibraryGetKernel");
}
FAKE_EXPORT int hipLibraryGetKernelCount(unsigned* count, void*) {
  return *count = 1, answer("hipLibraryGetKernelCount");
}
FAKE_EXPORT int hipLibraryEnumerateKernels(void** kernels, unsigned, void*) {
  *kernels = std::malloc(1);
  return answer("hipLibraryEnumerateKernels");
}
FAKE_EXPORT int hipKernelGetName(const char** name, void*) {
  return *name = "saxpy", answer("hipKernelGetName");
}
FAKE_EXPORT int hipKernelGetFunction(void** function, void*) {
  *function = std::malloc(1);
  return answer("hipKernelGetFunction");
}
FAKE_EXPORT int hipModuleLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                      unsigned, void*, void** params, void**) {
  const int error = answer("hipModuleLaunchKernel");
  if (error == 0) run_kernel(params);
  return error;
}
FAKE_EXPORT int hipRuntimeGetVersion(int* version) {
  return *version = hip_version, answer("hipRuntimeGetVersion");
}
