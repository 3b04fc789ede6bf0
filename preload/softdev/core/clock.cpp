// The clock model's table of units and occupancies.
#include "core/clock.hpp"

namespace ktrace::softdev {

namespace {

struct Cost {
  Unit unit;
  uint64_t cycles;            // the unit is occupied for this long ...
  uint64_t cycles_per_dword;  // ... plus this for each dword per lane
};

constexpr Cost costs[] = {
    /* salu */ {Unit::salu, clock_model::salu_cycles, 0},
    /* valu */ {Unit::valu, clock_model::valu_cycles, 0},
    /* valu_slow */ {Unit::valu, clock_model::valu_wide_cycles, 0},
    /* transcendental */ {Unit::valu, clock_model::transcendental_cycles, 0},
    /* matrix */ {Unit::matrix, 0, 0},
    /* smem_load */ {Unit::smem, clock_model::smem_cycles, 0},
    /* smem_store */ {Unit::smem, clock_model::smem_cycles, 0},
    /* smem_clock */ {Unit::smem, clock_model::smem_cycles, 0},
    /* lds */ {Unit::lds, 0, clock_model::lds_cycles},
    // What the lines of an access cost on top is known when it is executed (clock_memory.cpp).
    /* vmem_load */ {Unit::vmem, clock_model::vmem_cycles, 0},
    /* vmem_store */ {Unit::vmem, clock_model::vmem_cycles, 0},
    /* vmem_atomic */ {Unit::vmem, clock_model::vmem_cycles, 0},
};
static_assert(sizeof costs / sizeof costs[0] == static_cast<unsigned>(TimeClass::count), "one row per class");

// f32 and f64 go through another matrix pipeline than the narrow types do.
bool is_narrow(const Inst& inst) {
  switch (inst.op - vop3p_base) {
    case 64:
    case 65:
    case 66:
    case 68:
    case 69:
    case 110:
    case 111:
      return false;
    default:
      return true;
  }
}

uint64_t matrix_result(const Inst& inst, bool is_gfx950) {
  // gfx950 wants one pass more, but for the shortest instructions.
  const uint64_t more = is_gfx950 && inst.passes != 2 ? 1 : 0;
  const uint64_t after =
      is_narrow(inst) ? clock_model::matrix_read_xdl + more : clock_model::matrix_read_other;
  return (inst.passes + after) * clock_model::matrix_pass + clock_model::issue;
}

}  // namespace

void set_cost(Inst& inst, bool is_gfx950) {
  // Branches, waits and messages are executed in front of the units.
  if (inst.encoding == Encoding::sopp || inst.encoding == Encoding::unknown) {
    return;
  }
  const Cost& cost = costs[static_cast<unsigned>(inst.time_class)];
  inst.unit = static_cast<uint8_t>(cost.unit);
  uint64_t cycles = cost.cycles + inst.data_dwords * cost.cycles_per_dword;
  if (inst.time_class == TimeClass::matrix) {
    cycles = inst.passes * clock_model::matrix_pass;
    inst.result_cycles = static_cast<uint16_t>(matrix_result(inst, is_gfx950));
  }
  inst.busy_cycles = static_cast<uint16_t>(cycles);
}

}  // namespace ktrace::softdev
