// When LDS is done.
#include "core/clock_memory.hpp"
#include "core/counters.hpp"

namespace ktrace::softdev {

void finish_lds(Wave& wave, uint32_t extra) {
  wave.clock->units.extend(Unit::lds, extra);
  push_lgkmcnt(wave, wave.time + clock_model::lds_latency + extra);
}

}  // namespace ktrace::softdev
