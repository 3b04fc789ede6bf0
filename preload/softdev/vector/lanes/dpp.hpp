// Data-parallel primitives: how a DPP source operand takes its value from another lane.
#pragma once

#include "vector/lanes/lanes.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

// Fills `to` with the moved row (0 where the source lane is invalid) and returns the lanes that may be
// written.
uint64_t permute_dpp(const Wave& wave, const Inst& inst, const uint32_t* from, uint32_t* to);

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
