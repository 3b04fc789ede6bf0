// Host time and pairs of device and host time, from the software device's model or from the machine.
#pragma once

#include <cstdint>
#include <string>

#include "hip_library.hpp"
#include "ktrace/format.h"

namespace ktrace {

// CLOCK_BOOTTIME, as rocprofv3 uses it; the model's time on the software device.
std::uint64_t host_now_ns(const HipLibrary& hip);

struct HostClocks {
  std::uint64_t boottime_ns, monotonic_ns, realtime_ns;
};
HostClocks read_host_clocks();

// One sample for `device`, which is on the PCI bus at `bus_id`: by HSA, else by the kernel's driver.
// `newest_tick`, of a wave that has ended, is for an HSA that cannot read its device's counter; 0 if there is
// none. The method is KTRACE_CLOCK_BOUNDS where no sample can be taken: the times of launches and completions
// must do then.
ktrace_clock_record sample_clock(const HipLibrary& hip, int device, const std::string& bus_id,
                                 std::uint64_t newest_tick = 0);

}  // namespace ktrace
