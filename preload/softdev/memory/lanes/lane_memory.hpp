// Moving lanes' data between VGPRs and memory, shared by FLAT, MUBUF and DS.
#pragma once

#include <cstdint>
#include <cstring>

#include "memory/lanes/atomics.hpp"
#include "memory/lanes/groups.hpp"
#include "vector/lanes/lanes.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

enum class Half : uint8_t { whole, low, high };  // which part of the VGPR a 16-bit instruction uses

// `rows` is the first of the instruction's VGPR rows; register k of lane l is rows[k * lanes + l]. Where a
// group of lanes is moved, it begins with the group.
template <unsigned bytes, bool is_signed, Half half>
struct LoadLane {
  static constexpr unsigned size = bytes;
  static constexpr bool writes_memory = false;

  static void move(uint32_t* rows, unsigned lane, const uint8_t* memory) {
    if constexpr (bytes >= 4) {
      load_dwords<bytes / 4>(rows, lane, memory);
    } else {
      put(rows[lane], extended(memory));
    }
  }
  // A group's active lanes, from memory that has the group side by side.
  static void move_run(uint32_t* rows, const uint8_t* memory, uint32_t active) {
    if constexpr (bytes >= 4) {
      load_run<bytes / 4>(rows, memory, active);
    } else if (active == whole_group) {
      KTRACE_EACH_OF(group_lanes, lane) { put(rows[lane], extended(memory + lane * bytes)); }
    } else {
      for_each_lane(active, [&](unsigned lane) { move(rows, lane, memory + lane * bytes); });
    }
  }
  // A group's active lanes, all from one place.
  static void move_together(uint32_t* rows, const uint8_t* memory, uint32_t active) {
    if constexpr (bytes >= 4) {
      load_together<bytes / 4>(rows, memory, active);
    } else {
      for_each_lane(active, [&](unsigned lane) { move(rows, lane, memory); });
    }
  }
  // A whole group, from wherever `place` says.
  template <class PlaceOf>
  static void move_group(uint32_t* rows, PlaceOf place) {
    if constexpr (bytes >= 4) {
      gather_group<bytes / 4>(rows, place);
    } else {
      for (unsigned lane = 0; lane < group_lanes; ++lane) {
        move(rows, lane, place(lane));
      }
    }
  }
  // All lanes, each `step` bytes from the one before.
  static void move_steps(uint32_t* rows, const uint8_t* memory, int64_t step) {
    if constexpr (bytes >= 4) {
      gather_steps<bytes / 4>(rows, memory, step);
    } else {
      for (unsigned lane = 0; lane < lanes; ++lane) {
        move(rows, lane, memory + lane * step);
      }
    }
  }
  // A lane outside a buffer's range reads 0.
  static void zero(uint32_t* rows, unsigned lane) {
    if constexpr (bytes >= 4) {
      for (unsigned k = 0; k < bytes / 4; ++k) {
        rows[k * lanes + lane] = 0;
      }
    } else {
      put(rows[lane], 0);
    }
  }

 private:
  static uint32_t extended(const uint8_t* memory) {
    uint16_t value = 0;
    std::memcpy(&value, memory, bytes >= 4 ? 0 : bytes);
    if constexpr (!is_signed) {
      return value;
    }
    return static_cast<uint32_t>(bytes == 1 ? int32_t{static_cast<int8_t>(value)}
                                            : int32_t{static_cast<int16_t>(value)});
  }
  static void put(uint32_t& reg, uint32_t value) {
    switch (half) {
      case Half::whole:
        reg = value;
        break;
      case Half::low:
        reg = (reg & 0xffff0000u) | (value & 0xffffu);
        break;
      case Half::high:
        reg = (reg & 0xffffu) | value << 16;
        break;
    }
  }
};

template <unsigned bytes, Half half>
struct StoreLane {
  static constexpr unsigned size = bytes;
  static constexpr bool writes_memory = true;

  static void move(const uint32_t* rows, unsigned lane, uint8_t* memory) {
    if constexpr (bytes >= 4) {
      store_dwords<bytes / 4>(rows, lane, memory);
    } else {
      const uint32_t value = half == Half::high ? rows[lane] >> 16 : rows[lane];
      std::memcpy(memory, &value, bytes >= 4 ? 0 : bytes);
    }
  }
  static void move_run(const uint32_t* rows, uint8_t* memory, uint32_t active) {
    if constexpr (bytes >= 4) {
      store_run<bytes / 4>(rows, memory, active);
    } else if (active == whole_group) {
      KTRACE_EACH_OF(group_lanes, lane) { move(rows, lane, memory + lane * bytes); }
    } else {
      for_each_lane(active, [&](unsigned lane) { move(rows, lane, memory + lane * bytes); });
    }
  }
  // The last lane's data stay.
  static void move_together(const uint32_t* rows, uint8_t* memory, uint32_t active) {
    move(rows, last_lane(active), memory);
  }
  template <class PlaceOf>
  static void move_group(const uint32_t* rows, PlaceOf place) {
    if constexpr (bytes >= 4) {
      scatter_group<bytes / 4>(rows, place);
    } else {
      for (unsigned lane = 0; lane < group_lanes; ++lane) {
        move(rows, lane, place(lane));
      }
    }
  }
  static void move_steps(const uint32_t* rows, uint8_t* memory, int64_t step) {
    for (unsigned first = 0; first < lanes; first += group_lanes) {
      move_group(rows + first, [&](unsigned lane) { return memory + (first + lane) * step; });
    }
  }
};

// All lanes, from memory that has them side by side.
template <typename Move, class Rows>
inline void move_run(Rows* rows, uint8_t* memory) {
  for (unsigned first = 0; first < lanes; first += group_lanes) {
    Move::move_run(rows + first, memory + first * Move::size, whole_group);
  }
}

// The active lanes of a group of that layout, from wherever `place` says.
template <typename Move, class Rows, class PlaceOf>
inline void move_group(Layout layout, Rows* rows, uint32_t active, PlaceOf place) {
  const unsigned lowest = first_lane(active);
  switch (layout) {
    case Layout::run:
      Move::move_run(rows, place(lowest) - lowest * Move::size, active);
      break;
    case Layout::together:
      Move::move_together(rows, place(lowest), active);
      break;
    case Layout::anyhow:
      if (active == whole_group) {
        Move::move_group(rows, place);
      } else {
        for_each_lane(active, [&](unsigned lane) { Move::move(rows, lane, place(lane)); });
      }
      break;
  }
}

// The active lanes, of which lane l is at origin + l * step.
template <typename Move, class Rows>
inline void move_progression(uint64_t exec, Rows* rows, uint8_t* origin, int64_t step) {
  const Layout layout = step == Move::size ? Layout::run : step == 0 ? Layout::together : Layout::anyhow;
  if (layout == Layout::anyhow && exec == all_lanes) {
    Move::move_steps(rows, origin, step);
    return;
  }
  for_each_group(exec, [&](unsigned first, uint32_t active) {
    uint8_t* const begin = origin + first * step;
    move_group<Move>(layout, rows + first, active, [&](unsigned lane) { return begin + lane * step; });
  });
}

// A 32- or 64-bit value out of one or two registers.
inline uint64_t lane_value(const uint32_t* rows, unsigned lane, unsigned dwords) {
  return dwords == 2 ? rows[lane] | uint64_t{rows[lanes + lane]} << 32 : rows[lane];
}
inline void set_lane_value(uint32_t* rows, unsigned lane, unsigned dwords, uint64_t value) {
  rows[lane] = static_cast<uint32_t>(value);
  if (dwords == 2) {
    rows[lanes + lane] = static_cast<uint32_t>(value >> 32);
  }
}

// A memory atomic: the operand's registers are followed by those of the expected value.
inline void atomic_lane(AtomicOp op, const uint32_t* data, uint32_t* result, unsigned lane, uint8_t* memory) {
  const unsigned dwords = atomic_dwords(op);
  const uint64_t compare = is_compare(op) ? lane_value(data + dwords * lanes, lane, dwords) : 0;
  const uint64_t old = perform_atomic(op, memory, lane_value(data, lane, dwords), compare);
  if (result) {
    set_lane_value(result, lane, dwords, old);
  }
}

// FLAT and MUBUF number their loads and stores alike.
template <template <typename Move> class Access>
Handler move_handler(uint16_t op) {
  switch (op) {
    case 16:
      return Access<LoadLane<1, false, Half::whole>>::run;
    case 17:
      return Access<LoadLane<1, true, Half::whole>>::run;
    case 18:
      return Access<LoadLane<2, false, Half::whole>>::run;
    case 19:
      return Access<LoadLane<2, true, Half::whole>>::run;
    case 20:
      return Access<LoadLane<4, false, Half::whole>>::run;
    case 21:
      return Access<LoadLane<8, false, Half::whole>>::run;
    case 22:
      return Access<LoadLane<12, false, Half::whole>>::run;
    case 23:
      return Access<LoadLane<16, false, Half::whole>>::run;
    case 24:
      return Access<StoreLane<1, Half::whole>>::run;
    case 25:
      return Access<StoreLane<1, Half::high>>::run;
    case 26:
      return Access<StoreLane<2, Half::whole>>::run;
    case 27:
      return Access<StoreLane<2, Half::high>>::run;
    case 28:
      return Access<StoreLane<4, Half::whole>>::run;
    case 29:
      return Access<StoreLane<8, Half::whole>>::run;
    case 30:
      return Access<StoreLane<12, Half::whole>>::run;
    case 31:
      return Access<StoreLane<16, Half::whole>>::run;
    case 32:
      return Access<LoadLane<1, false, Half::low>>::run;
    case 33:
      return Access<LoadLane<1, false, Half::high>>::run;
    case 34:
      return Access<LoadLane<1, true, Half::low>>::run;
    case 35:
      return Access<LoadLane<1, true, Half::high>>::run;
    case 36:
      return Access<LoadLane<2, false, Half::low>>::run;
    case 37:
      return Access<LoadLane<2, false, Half::high>>::run;
    default:
      return nullptr;
  }
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
