#include "clocks.hpp"

#include <ctime>

#include "hsa.hpp"
#include "kfd.hpp"

namespace ktrace {
namespace {

std::uint64_t read_clock(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1000000000u + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

std::uint64_t host_now_ns(const HipLibrary& hip) {
  return hip.is_software() ? hip.ktrace_softdev_now_ns() : read_clock(CLOCK_BOOTTIME);
}

HostClocks read_host_clocks() {
  return {read_clock(CLOCK_BOOTTIME), read_clock(CLOCK_MONOTONIC), read_clock(CLOCK_REALTIME)};
}

ktrace_clock_record sample_clock(const HipLibrary& hip, int device, const std::string& bus_id,
                                 std::uint64_t newest_tick) {
  ktrace_clock_record record{};
  record.device = static_cast<ktrace_u32>(device);
  if (hip.is_software()) {
    record.method = KTRACE_CLOCK_SOFTWARE;
    if (hip.ktrace_softdev_clock) hip.ktrace_softdev_clock(device, &record.realtime, &record.host_ns);
    return record;
  }
  if (sample_hsa_clock(bus_id, &record) ||
      (newest_tick != 0 && convert_hsa_tick(bus_id, newest_tick, &record)) ||
      sample_kfd_clock(bus_id, &record))
    return record;
  record.method = KTRACE_CLOCK_BOUNDS;
  record.realtime = 0;
  record.host_ns = host_now_ns(hip);
  record.uncertainty_ns = 0;
  return record;
}

}  // namespace ktrace
