// Executing one wave for a while.
#pragma once

#include <cstdint>

#include "core/clock.hpp"
#include "core/wave.hpp"

namespace ktrace::softdev {

// Executes until the wave's clock passes `deadline`, it ends, it waits at a barrier, or the dispatch's
// instruction budget is used up (a fault). False if its next instruction has to wait for other CUs to come
// near (Start::in_order): there is nothing to do on its CU until then.
bool run_wave(Wave& wave, CuUnits& units, uint64_t deadline);

}  // namespace ktrace::softdev
