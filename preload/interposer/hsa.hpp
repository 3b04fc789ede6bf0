// The HSA runtime below HIP, for its conversion of device ticks to host time: the one that rocprofv3's kernel
// times go through.
#pragma once

#include <cstdint>
#include <string>

#include "ktrace/format.h"

namespace ktrace {

// What HSA says of the tick that its device counts now, bracketed by CLOCK_BOOTTIME. False where no HSA
// runtime is loaded, none of its agents (or more than one) is at `bus_id`, or it cannot read the counter.
bool sample_hsa_clock(const std::string& bus_id, ktrace_clock_record* record);

// What HSA says of a tick that a wave recorded.
bool convert_hsa_tick(const std::string& bus_id, std::uint64_t tick, ktrace_clock_record* record);

}  // namespace ktrace
