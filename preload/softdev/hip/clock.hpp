// The virtual host clock: what host time is in a process that uses the software device.
//
// Nothing reads the machine's clock, so that two runs of one program see the same times. The clock starts at
// 1 s, as the devices' clocks do, and moves by a fixed cost per HIP call and to the completion time of
// whatever a call waits for.
#pragma once

#include <atomic>
#include <cstdint>

namespace ktrace::softdev::hip {

using Nanoseconds = uint64_t;

constexpr Nanoseconds clock_epoch_ns = 1'000'000'000;

// What calls cost the host. Round numbers of the right magnitude; they are a model, not a measurement.
namespace cost {
constexpr Nanoseconds query = 200;
constexpr Nanoseconds call = 500;
constexpr Nanoseconds enqueue = 2'000;
constexpr Nanoseconds allocation = 10'000;
constexpr Nanoseconds load = 100'000;
}  // namespace cost

// What work costs the device, besides the kernels, which the core times.
namespace device_cost {
constexpr Nanoseconds dispatch_latency = 3'000;
constexpr Nanoseconds copy_latency = 5'000;
constexpr uint64_t host_bytes_per_us = 50'000;       // over the host link: 50 GB/s
constexpr uint64_t device_bytes_per_us = 2'000'000;  // within one device: 2 TB/s
}  // namespace device_cost

// Threads of the program share one clock, which keeps cause before effect. A tool's own thread (see
// ktrace_softdev_tool_thread) has a clock of its own: it polls at a pace that differs from run to run, and
// must not move the program's times.
class HostClock {
 public:
  Nanoseconds now() const;
  void advance(Nanoseconds duration);
  void advance_to(Nanoseconds moment);

  // From now on the calling thread has its own clock. It starts with the epoch and is moved by what the
  // thread looks at, so it is never behind an event that the thread has seen.
  static void detach_thread();
  static bool is_thread_detached();

 private:
  std::atomic<Nanoseconds> m_now{clock_epoch_ns};
};

}  // namespace ktrace::softdev::hip
