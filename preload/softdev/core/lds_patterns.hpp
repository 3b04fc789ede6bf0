// What is known of the patterns in which a dispatch's waves have addressed LDS: kernels have few of them.
#pragma once

#include <cstdint>

#include "core/wave.hpp"

namespace ktrace::softdev {

struct LdsPattern {
  uint64_t exec = 0;
  uint32_t dwords = 0;  // of a lane; 0: empty
  bool is_atomic = false;
  uint32_t extra = 0;  // cycles for bank conflicts, of one access
  // The active lanes' bytes begin between base + low and base + low + span.
  uint32_t low = 0;
  uint32_t span = 0;
  uint8_t layouts[lanes / 16] = {};          // of groups of lanes; the handlers' own
  bool is_whole = false;                     // no atomic's; all lanes are on, and they are no progression
  bool is_tiled = false;                     // likewise, and all groups lie alike
  alignas(64) uint32_t offsets[lanes] = {};  // from the base
};

// Reads or writes of addresses that grow by the same step from lane to lane.
struct LdsSteps {
  uint64_t exec = 0;
  uint32_t step = 0;
  uint32_t phase = 0;  // where in the banks the first one is
  uint32_t dwords = 0;
  uint32_t extra = 0;
};

struct LdsPatterns {
  static constexpr unsigned slots = 64;
  static constexpr unsigned step_slots = 32;
  static constexpr unsigned met_slots = 256;
  LdsPattern at[slots];
  LdsSteps steps[step_slots];
  uint8_t met[met_slots] = {};  // by instruction: which of `at` it met last; several may share an entry

  [[gnu::always_inline]] uint8_t& met_by(const Inst& inst) {
    constexpr uint32_t golden = 0x9e3779b1;
    return met[static_cast<uint32_t>(reinterpret_cast<uint64_t>(&inst) >> 4) * golden >> 24];
  }
};
static_assert(LdsPatterns::slots <= 256 && LdsPatterns::met_slots == 256, "a slot in a byte, by 8 bits");

}  // namespace ktrace::softdev
