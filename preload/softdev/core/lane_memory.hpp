// Moving one lane's data between VGPRs and memory, shared by FLAT, MUBUF and DS.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/atomic.hpp"
#include "core/row_memory.hpp"
#include "core/wave.hpp"

namespace ktrace::softdev {

enum class Half : uint8_t { whole, low, high };  // which part of the VGPR a 16-bit instruction uses

// Visits the lanes in EXEC, lowest first.
template <typename Visit>
inline void for_each_lane(uint64_t exec, Visit visit) {
  if (exec == ~uint64_t{0}) {
    for (unsigned lane = 0; lane < lanes; ++lane) {
      visit(lane);
    }
    return;
  }
  for (; exec; exec &= exec - 1) {
    visit(static_cast<unsigned>(__builtin_ctzll(exec)));
  }
}

// `rows` is the first of the instruction's VGPR rows; register k of lane l is rows[k * lanes + l].
template <unsigned bytes, bool is_signed, Half half>
struct LoadLane {
  static constexpr unsigned size = bytes;
  static constexpr bool writes_memory = false;

  static void move(uint32_t* rows, unsigned lane, const uint8_t* memory) {
    if constexpr (bytes >= 4) {
      for (unsigned k = 0; k < bytes / 4; ++k) {
        std::memcpy(&rows[k * lanes + lane], memory + 4 * k, 4);
      }
    } else {
      put(rows[lane], extended(memory));
    }
  }
  // All lanes, from memory that has them side by side.
  static void move_all(uint32_t* rows, const uint8_t* memory) {
    if constexpr (bytes == 4) {
      std::memcpy(rows, memory, lanes * 4);
    } else if constexpr (bytes > 4) {
      split_lanes<bytes / 4>(rows, memory);
    } else {
#pragma GCC ivdep
      for (unsigned lane = 0; lane < lanes; ++lane) {
        put(rows[lane], extended(memory + lane * bytes));
      }
    }
  }
  // All lanes, from wherever `place` says.
  template <class PlaceOf>
  static void move_each(uint32_t* rows, PlaceOf place) {
    if constexpr (bytes >= 4) {
      gather_lanes<bytes / 4>(rows, place);
    } else {
      for (unsigned lane = 0; lane < lanes; ++lane) {
        move(rows, lane, place(lane));
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
      for (unsigned k = 0; k < bytes / 4; ++k) {
        std::memcpy(memory + 4 * k, &rows[k * lanes + lane], 4);
      }
    } else {
      const uint32_t value = half == Half::high ? rows[lane] >> 16 : rows[lane];
      std::memcpy(memory, &value, bytes >= 4 ? 0 : bytes);
    }
  }
  static void move_all(const uint32_t* rows, uint8_t* memory) {
    if constexpr (bytes == 4) {
      std::memcpy(memory, rows, lanes * 4);
    } else if constexpr (bytes > 4) {
      join_lanes<bytes / 4>(rows, memory);
    } else {
#pragma GCC ivdep
      for (unsigned lane = 0; lane < lanes; ++lane) {
        move(rows, lane, memory + lane * bytes);
      }
    }
  }
  template <class PlaceOf>
  static void move_each(const uint32_t* rows, PlaceOf place) {
    if constexpr (bytes >= 4) {
      scatter_lanes<bytes / 4>(rows, place);
    } else {
      for (unsigned lane = 0; lane < lanes; ++lane) {
        move(rows, lane, place(lane));
      }
    }
  }
};

// The active lanes, from wherever `place` says, which is not in the instruction's registers.
template <typename Move, class Rows, class PlaceOf>
inline void move_lanes(uint64_t exec, Rows* rows, PlaceOf place) {
  if (exec == all_lanes) {
    Move::move_each(rows, place);
  } else {
    for_each_lane(exec, [&](unsigned lane) { Move::move(rows, lane, place(lane)); });
  }
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

}  // namespace ktrace::softdev
