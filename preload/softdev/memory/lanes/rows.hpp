// Looks at the 64 addresses of an instruction at once: how they lie to each other, and whether they are where
// they may be.
#pragma once

#include <cstdint>

#include "memory/lanes/chunk.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

constexpr uint64_t all_lanes = ~uint64_t{0};

constexpr unsigned first_lane(uint64_t exec) { return static_cast<unsigned>(__builtin_ctzll(exec)); }
constexpr unsigned last_lane(uint64_t exec) { return 63 - static_cast<unsigned>(__builtin_clzll(exec)); }

// Visits the lanes in EXEC, lowest first.
template <typename Visit>
inline void for_each_lane(uint64_t exec, Visit visit) {
  if (exec == all_lanes) {
    for (unsigned lane = 0; lane < lanes; ++lane) {
      visit(lane);
    }
    return;
  }
  for (; exec; exec &= exec - 1) {
    visit(first_lane(exec));
  }
}

// Lanes are moved in groups, for which a pattern may hold although it does not for the whole wave: tiles of a
// matrix are often 16 wide.
constexpr unsigned group_lanes = 16;
constexpr unsigned groups = lanes / group_lanes;
constexpr uint32_t whole_group = 0xffff;

// Visits the groups with lanes in EXEC: visit(first lane, the group's bits of EXEC).
template <typename Visit>
[[gnu::always_inline]] inline void for_each_group(uint64_t exec, Visit visit) {
  for (unsigned first = 0; first < lanes; first += group_lanes) {
    if (const auto active = static_cast<uint32_t>(exec >> first) & whole_group) {
      visit(first, active);
    }
  }
}

inline bool are_equal(const uint32_t* values, const uint32_t* mask, uint32_t wanted) {
  Chunk difference{};
  for (unsigned lane = 0; lane < lanes; lane += chunk_lanes) {
    difference |= (load_chunk(values + lane) ^ wanted) & load_chunk(mask + lane);
  }
  return !any_bit(difference);
}

// offsets[l] - low <= span modulo 2^32, for all lanes of the mask.
inline bool are_within(const uint32_t* offsets, const uint32_t* mask, uint32_t low, uint32_t span) {
  Chunk outside{};
  for (unsigned lane = 0; lane < lanes; lane += chunk_lanes) {
    const Chunk distance = load_chunk(offsets + lane) - low;
    outside |= reinterpret_cast<Chunk>(distance > splat(span)) & load_chunk(mask + lane);
  }
  return !any_bit(outside);
}

// Offsets that grow by the same step from lane to lane, modulo 2^32: most are like that.
struct Progression {
  uint32_t first;  // of lane 0, active or not
  uint32_t step;   // as a signed number

  // From the lowest active lane to the highest.
  int64_t distance(uint64_t exec) const {
    return int64_t{static_cast<int32_t>(step)} * static_cast<int64_t>(last_lane(exec) - first_lane(exec));
  }
  uint32_t at(unsigned lane) const { return first + lane * step; }
};

// Whether lane l's offset is lane 0's + l * size, for all lanes, without wrapping: the usual case.
template <unsigned size>
inline bool is_run(const uint32_t* offsets) {
  if (offsets[lanes - 1] - offsets[0] != (lanes - 1) * size || offsets[lanes - 1] < offsets[0]) {
    return false;
  }
  Chunk expected = progress(offsets[0], size), difference{};
  for (unsigned lane = 0; lane < lanes; lane += chunk_lanes) {
    difference |= load_chunk(offsets + lane) ^ expected;
    expected += chunk_lanes * size;
  }
  return !any_bit(difference);
}

// Whether each group of 16 lanes is such a run: rows of a tile.
template <unsigned size>
inline bool are_group_runs(const uint32_t* offsets) {
  constexpr uint32_t distance = (group_lanes - 1) * size;
  if (offsets[1] - offsets[0] != size) {
    return false;
  }
  Chunk difference{};
  for (unsigned first = 0; first < lanes; first += group_lanes) {
    if (offsets[first] > ~uint32_t{0} - distance) {
      return false;
    }
    Chunk expected = progress(offsets[first], size);
    for (unsigned lane = 0; lane < group_lanes; lane += chunk_lanes) {
      difference |= load_chunk(offsets + first + lane) ^ expected;
      expected += chunk_lanes * size;
    }
  }
  return !any_bit(difference);
}

template <bool masked>
inline bool is_progression(const uint32_t* offsets, const uint32_t* mask, const Progression& wanted) {
  Chunk expected = progress(wanted.first, wanted.step), difference{};
  for (unsigned lane = 0; lane < lanes; lane += chunk_lanes) {
    const Chunk wrong = load_chunk(offsets + lane) ^ expected;
    if constexpr (masked) {
      difference |= wrong & load_chunk(mask + lane);
    } else {
      difference |= wrong;
    }
    expected += chunk_lanes * wanted.step;
  }
  return !any_bit(difference);
}

// Whether the active lanes' offsets are a progression. The lowest two tell its step; if the second of them is
// switched off it must be `size`. EXEC is not 0.
inline bool find_progression(Wave& wave, const uint32_t* offsets, unsigned size, Progression& found) {
  const uint64_t exec = wave.exec();
  if (exec == all_lanes) {
    found = {offsets[0], offsets[1] - offsets[0]};
    return offsets[lanes - 1] == found.at(lanes - 1) && is_progression<false>(offsets, nullptr, found);
  }
  const unsigned lowest = first_lane(exec), highest = last_lane(exec);
  found.step = exec >> lowest & 2 ? offsets[lowest + 1] - offsets[lowest] : size;
  found.first = offsets[lowest] - lowest * found.step;
  return offsets[highest] == found.at(highest) && is_progression<true>(offsets, wave.mask(), found);
}

// How the active lanes of a group lie to each other.
enum class Layout : uint8_t {
  anyhow,
  run,
  together
};  // run: each next to the one before; together: at one place

inline bool is_group_progression(const uint32_t* offsets, const uint32_t* mask, uint32_t first,
                                 uint32_t step) {
  Chunk expected = progress(first, step), difference{};
  for (unsigned k = 0; k < group_lanes; k += chunk_lanes) {
    difference |= (load_chunk(offsets + k) ^ expected) & load_chunk(mask + k);
    expected += chunk_lanes * step;
  }
  return !any_bit(difference);
}

// `offsets` and `mask` are those of the group. A run does not wrap, not even in lanes that are switched off.
inline Layout layout_of(const uint32_t* offsets, const uint32_t* mask, uint32_t active, uint32_t size) {
  const auto lowest = static_cast<unsigned>(__builtin_ctz(active));
  const auto second = static_cast<unsigned>(__builtin_ctz((active & (active - 1)) | 1u << 31));
  if (second >= group_lanes) {
    return Layout::anyhow;
  }
  const uint32_t first = offsets[lowest], step = offsets[second] - first;
  if (step == 0) {
    return is_group_progression(offsets, mask, first, 0) ? Layout::together : Layout::anyhow;
  }
  const bool may_run = step == (second - lowest) * size && first <= ~uint32_t{0} - group_lanes * size;
  return may_run && is_group_progression(offsets, mask, first - lowest * size, size) ? Layout::run
                                                                                     : Layout::anyhow;
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
