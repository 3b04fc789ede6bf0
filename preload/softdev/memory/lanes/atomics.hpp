// Performs the atomics of one lane, or of a whole wave.
#pragma once

#include <cstdint>

#include "core/atomic.hpp"
#include "vector/lanes/lanes.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

// Performs `op` at `memory` and returns the old value. `data` is the operand, `compare` the expected value of
// a compare-and-swap, or the mask of mskor. A dispatch executes its atomics on one thread, but the host may
// look at the same memory at the same time: naturally aligned accesses are single ones.
uint64_t perform_atomic(AtomicOp op, uint8_t* memory, uint64_t data, uint64_t compare);

// One atomic of every active lane, lowest first. Rows of 64 dwords, two for 64-bit operations; `result` may
// be null, or overlap the others.
struct AtomicRows {
  uint64_t exec;
  const uint32_t* data;
  const uint32_t* compare;
  uint32_t* result;
};
void perform_atomics(AtomicOp op, const AtomicRows& rows, const uint64_t* addresses);

// The same for all lanes, each of which has the dword next to that of the one before. Does nothing and
// returns false if that has to go lane by lane.
bool perform_atomic_run(AtomicOp op, const AtomicRows& rows, uint8_t* memory);

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
