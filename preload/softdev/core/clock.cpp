// The clock model's table of units and occupancies.
#include "core/clock.hpp"

namespace ktrace::softdev {

namespace {

struct Cost {
  Unit unit;
  uint16_t cycles;            // the unit is occupied for this long ...
  uint16_t cycles_per_dword;  // ... plus this for each dword per lane
};

constexpr Cost costs[] = {
    /* salu */ {Unit::none, 0, 0},
    /* valu */ {Unit::valu, 4, 0},
    /* valu_slow */ {Unit::valu, 8, 0},
    /* transcendental */ {Unit::valu, 16, 0},
    /* matrix */ {Unit::matrix, 0, 0},
    /* smem_load */ {Unit::smem, 4, 0},
    /* smem_store */ {Unit::smem, 4, 0},
    /* smem_clock */ {Unit::smem, 4, 0},
    /* lds: 128 bytes a cycle */ {Unit::lds, 2, 2},
    /* vmem_load: 64 bytes a cycle */ {Unit::vmem, 4, 4},
    /* vmem_store */ {Unit::vmem, 4, 4},
    /* vmem_atomic */ {Unit::vmem, 16, 8},
};
static_assert(sizeof costs / sizeof costs[0] == static_cast<unsigned>(TimeClass::count), "one row per class");

}  // namespace

void set_cost(Inst& inst) {
  const Cost& cost = costs[static_cast<unsigned>(inst.time_class)];
  inst.unit = static_cast<uint8_t>(cost.unit);
  const unsigned cycles = inst.time_class == TimeClass::matrix
                              ? inst.passes * 4u
                              : cost.cycles + inst.data_dwords * unsigned{cost.cycles_per_dword};
  inst.busy_cycles = static_cast<uint16_t>(cycles);
}

}  // namespace ktrace::softdev
