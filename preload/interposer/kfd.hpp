// The kernel driver's clock counters: the reference clock of a GPU and CLOCK_BOOTTIME at one moment.
#pragma once

#include <string>

#include "ktrace/format.h"

namespace ktrace {

// `bus_id` as HIP prints it: "0000:c1:00.0". False if there is no driver, or if several of its nodes share
// the address (a partitioned GPU), so that the right one cannot be told.
bool sample_kfd_clock(const std::string& bus_id, ktrace_clock_record* record);

}  // namespace ktrace
