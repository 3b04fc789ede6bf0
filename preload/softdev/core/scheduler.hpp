// Running a dispatch.
#pragma once

#include <cstdint>

#include "core/machine.hpp"
#include "core/wave_pool.hpp"

namespace ktrace::softdev {

// Throws Fault for a dispatch that this device cannot run.
void check_dispatch(const Device& device, const Dispatch& dispatch);

// Runs `dispatch` from `begin` on. `end` follows the virtual clock, also when a Fault is thrown.
DispatchResult run_dispatch(const Device& device, const MemoryRegistry& registry, DevicePools& pools,
                            const Dispatch& dispatch, uint64_t dispatch_id, uint64_t begin, uint64_t& end);

}  // namespace ktrace::softdev
