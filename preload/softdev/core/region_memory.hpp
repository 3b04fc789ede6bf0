// Memory instructions of whole waves: one look at the regions, then all lanes at once.
#pragma once

#include <cstdint>

#include "core/dispatch.hpp"
#include "core/lane_memory.hpp"
#include "core/row_memory.hpp"

namespace ktrace::softdev {

struct LaneAddresses {
  alignas(64) uint64_t at[lanes];
};

// Lane l's address is base + at[l]. `at` may be the row of a register that the instruction overwrites.
struct LaneOffsets {
  uint64_t base;
  const uint32_t* at;

  LaneAddresses addresses() const {
    LaneAddresses result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      result.at[lane] = base + at[lane];
    }
    return result;
  }
};

// Whether every active lane has `size` bytes in the region.
inline bool holds(const Region& region, const LaneOffsets& from, const uint32_t* mask, uint64_t size) {
  constexpr uint64_t most = ~uint32_t{0};
  const uint64_t low = region.base > from.base ? region.base - from.base : 0;
  if (region.end < from.base + size || low > most) {
    return false;
  }
  const uint64_t high = region.end - from.base - size;
  if (high < low) {
    return false;
  }
  return are_within(from.at, mask, static_cast<uint32_t>(low),
                    static_cast<uint32_t>((high < most ? high : most) - low));
}

// The region that holds `size` bytes of every active lane, or null. EXEC is not 0.
inline const Region* region_of(Wave& wave, const LaneOffsets& from, uint64_t size, bool write) {
  const uint64_t first = from.base + from.at[__builtin_ctzll(wave.exec())];
  const Region* region = wave.dispatch->memory.find(first, size, write);
  return region && holds(*region, from, wave.mask(), size) ? region : nullptr;
}

// Performs the whole instruction if all of it lies in one region; otherwise nothing has happened.
template <typename Move>
bool move_rows(Wave& wave, const LaneOffsets& from, uint32_t* rows) {
  constexpr Traffic traffic = Move::writes_memory ? Traffic::store : Traffic::load;
  const uint64_t exec = wave.exec();
  if (exec == all_lanes && are_consecutive<Move::size>(from.at)) {
    const uint64_t begin = from.base + from.at[0];
    if (!wave.dispatch->memory.find(begin, uint64_t{lanes} * Move::size, Move::writes_memory)) {
      return false;
    }
    Move::move_all(rows, reinterpret_cast<uint8_t*>(begin));
    finish_consecutive_access(wave, begin, Move::size, traffic);
    return true;
  }
  if (!exec || !region_of(wave, from, Move::size, Move::writes_memory)) {
    return false;
  }
  const LaneAddresses addresses = from.addresses();
  move_lanes<Move>(exec, rows, [&](unsigned lane) { return reinterpret_cast<uint8_t*>(addresses.at[lane]); });
  finish_vector_access(wave, {addresses.at, exec, Move::size}, traffic);
  return true;
}

// Likewise for an atomic whose operand is in `data` and whose old value is wanted in `result`, unless null.
inline bool atomic_rows(Wave& wave, const LaneOffsets& from, AtomicOp op, const uint32_t* data,
                        uint32_t* result) {
  const unsigned dwords = atomic_dwords(op);
  const uint64_t exec = wave.exec();
  if (!exec || !region_of(wave, from, dwords * 4, true)) {
    return false;
  }
  const LaneAddresses addresses = from.addresses();
  perform_atomics(op, {exec, addresses.at, data, data + dwords * lanes, result});
  finish_vector_access(wave, {addresses.at, exec, dwords * 4}, Traffic::atomic);
  return true;
}

}  // namespace ktrace::softdev
