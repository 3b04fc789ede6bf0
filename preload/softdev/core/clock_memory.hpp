// What an access to memory or LDS costs in virtual cycles: lines and levels, bank conflicts, bandwidth.
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
// The same for all lanes, each next to the one before, from `begin` on.
void finish_consecutive_access(Wave& wave, uint64_t begin, unsigned size, Traffic traffic);
// Scratch: every wave has its own, and it is in L1.
void finish_scratch_access(Wave& wave, const Inst& inst, Traffic traffic);
// buffer_wbl2, buffer_inv and the like.
void finish_cache_control(Wave& wave);
void finish_scalar_access(Wave& wave, uint64_t address, uint64_t size, Traffic traffic);
// Scalar memory instructions that read no memory.
void finish_scalar(Wave& wave, uint64_t latency);

// An LDS instruction without addresses of its own, or one that is known to be free of conflicts.
void finish_lds(Wave& wave);
// `accesses` of `dwords` per lane at `addresses`; atomics of one dword do not share a bank's answer.
struct LdsAccess {
  const uint32_t* addresses;
  unsigned dwords;
  unsigned accesses = 1;
  bool is_atomic = false;
};
void finish_lds(Wave& wave, const LdsAccess& access);

// Conflicts by pattern of addresses: kernels have few of them.
class LdsConflicts {
 public:
  // Cycles on top of those of an access without conflicts.
  uint32_t extra_cycles(Wave& wave, const LdsAccess& access);

 private:
  struct Pattern {
    uint64_t exec = 0;
    uint32_t dwords = 0;  // 0: empty
    bool is_atomic = false;
    uint32_t extra = 0;  // for one access
    uint32_t offsets[lanes] = {};
  };
  static constexpr unsigned slots = 64;
  Pattern m_patterns[slots];
};

}  // namespace ktrace::softdev
