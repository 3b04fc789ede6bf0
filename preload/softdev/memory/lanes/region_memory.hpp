// Memory instructions of whole waves: one look at the regions, then all lanes at once.
#pragma once

#include <cstdint>

#include "core/dispatch.hpp"
#include "memory/lanes/lane_memory.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

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

// The region that holds `size` bytes of the lowest active lane, or null. EXEC is not 0.
inline const Region* region_of(Wave& wave, const LaneOffsets& from, uint64_t size, bool write) {
  return wave.dispatch->memory.find(from.base + from.at[first_lane(wave.exec())], size, write);
}

// Whether the region, which holds the lowest active lane's `size` bytes, also holds those of the others: lane
// l's are at offset first + l * step, which does not wrap.
inline bool holds(const Region& region, const LaneOffsets& from, const Progression& steps, uint64_t exec,
                  uint64_t size) {
  const uint64_t lowest = from.at[first_lane(exec)];
  const int64_t distance = steps.distance(exec);
  const int64_t highest = static_cast<int64_t>(lowest) + distance;
  if (highest < 0 || highest > int64_t{~uint32_t{0}}) {
    return false;
  }
  const uint64_t last = from.base + static_cast<uint64_t>(highest);
  return last >= region.base && last <= region.end - size;
}

// Counts the access: which lanes are in another line than the one before them is found out here, where the
// host's widest instructions are.
inline void finish_lanes(Wave& wave, const Footprint& footprint, Traffic traffic) {
  if ((footprint.exec & (footprint.exec + 1)) != 0) {  // gaps between the lanes
    finish_vector_access(wave, footprint, traffic);
    return;
  }
  const uint64_t* at = footprint.addresses;
  uint64_t others = 0;  // bit l - 1: lanes l - 1 and l
  for (unsigned lane = 1; lane < lanes; ++lane) {
    others |= uint64_t{(at[lane] ^ at[lane - 1]) >= clock_model::line} << (lane - 1);
  }
  finish_vector_access(wave, footprint, traffic, (others << 1 | 1) & footprint.exec);
}

template <typename Move>
constexpr Traffic traffic_of = Move::writes_memory ? Traffic::store : Traffic::load;

// What the wave after the next will want, as far as anybody can know: the host fetches it meanwhile.
template <typename Move>
inline void prefetch_next(uint64_t begin) {
  constexpr unsigned host_line = 64;
  if constexpr (!Move::writes_memory) {
    const uint64_t next = begin + 2 * uint64_t{lanes} * Move::size;
    for (unsigned k = 0; k < lanes * Move::size; k += host_line) {
      __builtin_prefetch(reinterpret_cast<const void*>(next + k));
    }
  }
}

// Some lanes, or lanes that are not side by side.
template <typename Move>
bool move_scattered(Wave& wave, const LaneOffsets& from, uint32_t* rows) {
  const uint64_t exec = wave.exec();
  const Region* region = exec ? region_of(wave, from, Move::size, Move::writes_memory) : nullptr;
  if (!region) {
    return false;
  }
  Progression steps;
  const bool is_regular =
      find_progression(wave, from.at, Move::size, steps) && holds(*region, from, steps, exec, Move::size);
  const uint32_t* mask = wave.mask();
  if (!is_regular && !holds(*region, from, mask, Move::size)) {
    return false;
  }
  const LaneAddresses addresses = from.addresses();
  if (is_regular) {
    const auto step = int64_t{static_cast<int32_t>(steps.step)};
    const unsigned lowest = first_lane(exec);
    const uint64_t origin = addresses.at[lowest] - static_cast<uint64_t>(lowest * step);
    move_progression<Move>(exec, rows, reinterpret_cast<uint8_t*>(origin), step);
  } else {
    for_each_group(exec, [&](unsigned first, uint32_t active) {
      const Layout layout = layout_of(from.at + first, mask + first, active, Move::size);
      move_group<Move>(layout, rows + first, active,
                       [&](unsigned lane) { return reinterpret_cast<uint8_t*>(addresses.at[first + lane]); });
    });
  }
  finish_lanes(wave, {addresses.at, exec, Move::size}, traffic_of<Move>);
  return true;
}

// All lanes, of which each group is side by side.
template <typename Move>
bool move_group_runs(Wave& wave, const LaneOffsets& from, uint32_t* rows) {
  uint64_t begins[groups];
  for (unsigned k = 0; k < groups; ++k) {
    begins[k] = from.base + from.at[k * group_lanes];
    if (!wave.dispatch->memory.find(begins[k], uint64_t{group_lanes} * Move::size, Move::writes_memory)) {
      return false;
    }
  }
  for (unsigned k = 0; k < groups; ++k) {
    Move::move_run(rows + k * group_lanes, reinterpret_cast<uint8_t*>(begins[k]), whole_group);
  }
  finish_group_runs(wave, begins, Move::size, traffic_of<Move>);
  return true;
}

// Performs the whole instruction if all of it lies in one region; otherwise nothing has happened.
template <typename Move>
bool move_rows(Wave& wave, const LaneOffsets& from, uint32_t* rows) {
  if (wave.exec() != all_lanes) {
    return move_scattered<Move>(wave, from, rows);
  }
  if (!is_run<Move::size>(from.at)) {
    return (are_group_runs<Move::size>(from.at) && move_group_runs<Move>(wave, from, rows)) ||
           move_scattered<Move>(wave, from, rows);
  }
  const uint64_t begin = from.base + from.at[0];
  if (!wave.dispatch->memory.find(begin, uint64_t{lanes} * Move::size, Move::writes_memory)) {
    return false;
  }
  move_run<Move>(rows, reinterpret_cast<uint8_t*>(begin));
  prefetch_next<Move>(begin);
  finish_consecutive_access(wave, begin, Move::size, traffic_of<Move>);
  return true;
}

// Likewise for an atomic whose operand is in `data` and whose old value is wanted in `result`, unless null.
inline bool atomic_rows(Wave& wave, const LaneOffsets& from, AtomicOp op, const uint32_t* data,
                        uint32_t* result) {
  const unsigned dwords = atomic_dwords(op);
  const uint64_t exec = wave.exec();
  const Region* region = exec ? region_of(wave, from, dwords * 4, true) : nullptr;
  if (!region || !holds(*region, from, wave.mask(), dwords * 4)) {
    return false;
  }
  const LaneAddresses addresses = from.addresses();
  const AtomicRows rows{exec, data, data + dwords * lanes, result};
  const bool in_run = dwords == 1 && exec == all_lanes && is_run<4>(from.at) &&
                      perform_atomic_run(op, rows, reinterpret_cast<uint8_t*>(addresses.at[0]));
  if (!in_run) {
    perform_atomics(op, rows, addresses.at);
  }
  finish_lanes(wave, {addresses.at, exec, dwords * 4}, Traffic::atomic);
  return true;
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
