// The clock model: how many virtual cycles things take. It is a model, not a measurement: its numbers are of
// the right order of magnitude for MI300X and make phases, overlap and contention visible; nothing may be
// concluded from them about real hardware.
//
// A wave issues at most one instruction per 4 cycles. An instruction occupies a unit: of its SIMD (vector
// ALU, matrix unit) or of its CU (scalar memory, LDS, vector memory); a busy unit makes the next wave wait.
// Memory results arrive after a latency, which is paid at s_waitcnt.
#pragma once

#include <cstdint>

#include "core/inst.hpp"

namespace ktrace::softdev {

namespace clock_model {
constexpr uint64_t issue = 4;           // every instruction
constexpr uint64_t smem_latency = 180;  // scalar load that hits the scalar cache's next level
constexpr uint64_t smem_store_latency = 300;
constexpr uint64_t clock_latency = 44;  // s_memtime
constexpr uint64_t lds_latency = 64;
constexpr uint64_t vmem_load_latency = 620;
constexpr uint64_t vmem_store_latency = 400;
constexpr uint64_t vmem_atomic_latency = 760;
constexpr uint64_t barrier = 16;  // from the last wave's arrival to the first instruction after it
constexpr uint64_t branch_taken = 12;
constexpr uint64_t sleep_unit = 64;             // s_sleep counts in these
constexpr uint64_t dispatch_overhead = 6300;    // 3 us: packet processing before the first workgroup
constexpr uint64_t completion_overhead = 2100;  // 1 us: cache flush and signal after the last
constexpr uint64_t workgroup_start = 12;        // between two workgroups started by one XCD
constexpr uint64_t wave_start = 8;              // between two waves of a workgroup
constexpr uint64_t refill = 160;                // from a workgroup's end to its successor's first instruction
}  // namespace clock_model

enum class Unit : uint8_t { none, valu, matrix, smem, lds, vmem };

// The units that waves of one CU compete for: the cycle at which each is free again.
class CuUnits {
 public:
  static constexpr unsigned simds = 4;
  // `unit` is Inst::unit and not `none`.
  uint64_t& free_at(uint8_t unit, unsigned simd) {
    const bool of_simd = unit <= static_cast<uint8_t>(Unit::matrix);
    return m_free[of_simd ? simd : 0][unit];
  }

 private:
  uint64_t m_free[simds][static_cast<unsigned>(Unit::vmem) + 1] = {};
};

// Fills in `unit` and `busy_cycles` from the instruction's time class.
void set_cost(Inst& inst);

}  // namespace ktrace::softdev
