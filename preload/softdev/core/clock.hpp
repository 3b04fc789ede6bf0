// The clock model: how many virtual cycles things take. It is a model, not a measurement: its numbers
// (clock_parameters.hpp) are of the right order of magnitude for MI300X and make phases, overlap and
// contention visible; nothing may be concluded from them about real hardware.
//
// A wave issues at most one instruction per 4 cycles. An instruction occupies a unit: of its SIMD (scalar,
// vector, matrix) or of its CU (scalar memory, LDS, vector memory); a busy unit makes the next wave wait.
// Matrix results are waited for when they are read, memory results at s_waitcnt.
#pragma once

#include <cstdint>

#include "core/clock_parameters.hpp"
#include "core/inst.hpp"

namespace ktrace::softdev {

enum class Unit : uint8_t { none, salu, valu, matrix, smem, lds, vmem };

// The units that waves of one CU compete for: the cycle at which each is free again.
class CuUnits {
 public:
  static constexpr unsigned simds = 4;
  // `unit` is Inst::unit and not `none`.
  uint64_t& free_at(uint8_t unit, unsigned simd) {
    return m_free[unit <= static_cast<uint8_t>(Unit::matrix) ? simd * 4 + unit : simds * 4 + unit];
  }
  uint64_t& free_at(Unit unit) { return free_at(static_cast<uint8_t>(unit), 0); }

 private:
  uint64_t m_free[simds * 4 + static_cast<unsigned>(Unit::vmem) + 1] = {};
};

// Fills in `unit`, `busy_cycles` and `result_cycles` from the instruction's time class.
void set_cost(Inst& inst, bool is_gfx950);

}  // namespace ktrace::softdev
