// What this library exports beyond HIP: virtual time, for tools that record it.
#include "hip/call.hpp"

#ifndef KTRACE_VERSION_STRING
#define KTRACE_VERSION_STRING "0"
#endif

using namespace ktrace::softdev;
using namespace ktrace::softdev::hip;

// The virtual host clock, ns; it began at 1 s. Wants no lock, so that it may be asked while a kernel runs.
KTRACE_HIP_EXPORT uint64_t ktrace_softdev_now_ns() { return Runtime::get().clock.now(); }

// One moment on both clocks: s_memrealtime of the device, and the virtual host clock. Returns 0, or HIP's
// error code for an unknown device. Both clocks are of one model, so the pair is exact.
KTRACE_HIP_EXPORT int ktrace_softdev_clock(int device, uint64_t* realtime_ticks, uint64_t* host_ns) {
  Runtime& runtime = Runtime::get();
  if (!runtime.is_device(device)) {
    return hipErrorInvalidDevice;
  }
  if (realtime_ticks == nullptr || host_ns == nullptr) {
    return hipErrorInvalidValue;
  }
  constexpr uint64_t ns_per_tick = 1'000'000'000 / realtime_hz;
  *realtime_ticks = runtime.clock.now() / ns_per_tick;
  *host_ns = *realtime_ticks * ns_per_tick;
  return 0;
}

// Says that the calling thread is a tool's, not the program's: its calls take no time of the program. From
// then on ktrace_softdev_now_ns() is this thread's own clock.
KTRACE_HIP_EXPORT void ktrace_softdev_tool_thread() { HostClock::detach_thread(); }

KTRACE_HIP_EXPORT const char* ktrace_softdev_version() { return KTRACE_VERSION_STRING; }
