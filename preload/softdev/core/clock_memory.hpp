// What an access to memory or LDS costs in virtual cycles: lines and levels, bandwidth.
// Handlers of memory instructions call these once per instruction, after the access.
#pragma once

#include <cstdint>

#include "core/clock.hpp"
#include "core/clock_cache.hpp"
#include "core/wave.hpp"

namespace ktrace::softdev {

// What the CUs of an XCD share.
struct XcdClock {
  LineCache l2{static_cast<uint32_t>(clock_model::l2_lines)};
  Bandwidth memory{clock_model::memory_bandwidth};
  void clear() {
    l2.clear();
    memory.clear();
  }
};

struct CuClock {
  CuUnits units;
  LineCache l1{static_cast<uint32_t>(clock_model::l1_lines)};
  LineCache scalar{static_cast<uint32_t>(clock_model::scalar_lines)};
  XcdClock* xcd = nullptr;
  void clear() {
    units = {};
    l1.clear();
    scalar.clear();
  }
};

enum class Traffic : uint8_t { load, store, atomic };

// One vector memory instruction: the first byte of each active lane, and the lanes' bytes.
struct Footprint {
  const uint64_t* addresses;
  uint64_t exec;
  unsigned size;
};

// These count the access in vmcnt or lgkmcnt, and keep the unit busy for as long as it takes.
void finish_vector_access(Wave& wave, const Footprint& footprint, Traffic traffic);
// Bit l of `changes`: lane l is in another line than the active lane before it, or there is none.
void finish_vector_access(Wave& wave, const Footprint& footprint, Traffic traffic, uint64_t changes);
// The same for all lanes, each next to the one before, from `begin` on.
void finish_consecutive_access(Wave& wave, uint64_t begin, unsigned size, Traffic traffic);
// The same for all lanes, of which each of the four groups of 16 is side by side from begins[k] on.
void finish_group_runs(Wave& wave, const uint64_t* begins, unsigned size, Traffic traffic);
// Scratch: every wave has its own, and it is in L1.
void finish_scratch_access(Wave& wave, const Inst& inst, Traffic traffic);
// buffer_wbl2, buffer_inv and the like.
void finish_cache_control(Wave& wave);
void finish_scalar_access(Wave& wave, uint64_t address, uint64_t size, Traffic traffic);
// Scalar memory instructions that read no memory.
void finish_scalar(Wave& wave, uint64_t latency);

// LDS: `extra` cycles for bank conflicts, those of all its accesses.
void finish_lds(Wave& wave, uint32_t extra = 0);

}  // namespace ktrace::softdev
