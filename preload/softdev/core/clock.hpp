// The clock model: how many virtual cycles things take. It is a model, not a measurement: its numbers
// (clock_parameters.hpp) are of the right order of magnitude for MI300X and make phases, overlap and
// contention visible; nothing may be concluded from them about real hardware.
//
// A wave issues at most one instruction per 4 cycles. An instruction occupies a unit: of its SIMD (scalar,
// vector, matrix) or of its CU (scalar memory, LDS, vector memory); a busy unit makes the next wave wait.
// Matrix results are waited for when they are read, memory results at s_waitcnt.
#pragma once

#include <cstdint>

#include "core/busy_slots.hpp"
#include "core/clock_parameters.hpp"
#include "core/inst.hpp"

namespace ktrace::softdev {

enum class Unit : uint8_t { none, salu, valu, matrix, smem, lds, vmem };

// Which of a SIMD's turns one of its units is busy in: the last 64 are known. Waves run ahead of each other
// by fewer, so each finds the turns that the others have left.
class Turns {
 public:
  static constexpr uint64_t cycles = clock_model::issue;
  // The first turn that begins at `time` or later.
  static uint64_t of(uint64_t time) { return (time + cycles - 1) / cycles; }
  // The usual case: `count` free turns side by side, the first of them `turn` or, if that is busy, not much
  // later and `latest` at the latest. They are taken, and the first is returned; 0 if it is not that simple.
  uint64_t take_adjacent(uint64_t turn, unsigned count, uint64_t latest) {
    const uint64_t free = free_from(turn);
    const uint64_t wanted = (uint64_t{1} << count) - 1;
    const unsigned delay = free ? static_cast<unsigned>(__builtin_ctzll(free)) : 64;
    if (delay + count > 16 || turn + delay > latest || (free >> delay & wanted) != wanted) {
      return 0;
    }
    m_busy |= wanted << (turn + delay - m_base);
    return turn + delay;
  }
  // Bit k: whether turn + k is known to be free, for the next 16 at least; 0 if `turn` is too long past.
  uint64_t free_from(uint64_t turn) {
    if (__builtin_expect(turn - m_base > 48, 0)) {
      if (turn < m_base) {
        return 0;
      }
      move_to(turn);
    }
    return ~m_busy >> (turn - m_base);
  }
  // Bit k: turn + k, which was free.
  void take_all(uint64_t turn, uint64_t turns) { m_busy |= turns << (turn - m_base); }
  // The first turn from `turn` on in which the unit is free.
  uint64_t first_free(uint64_t turn) const {
    if (turn >= m_base + 64) {
      return turn;
    }
    const uint64_t begin = turn < m_base ? m_base : turn;
    const uint64_t left = ~m_busy >> (begin - m_base);
    return left ? begin + static_cast<unsigned>(__builtin_ctzll(left)) : m_base + 64;
  }
  // `turn` is free; if `count` is more than 1, the next free ones are taken too.
  void take(uint64_t turn, unsigned count) {
    if (__builtin_expect(turn + count > m_base + 64, 0)) {
      move_to(turn);
    }
    // Free turns are adjacent more often than not.
    const uint64_t adjacent = count < 32 ? ((uint64_t{1} << count) - 1) << (turn - m_base) : ~uint64_t{0};
    if (__builtin_expect((m_busy & adjacent) == 0, 1)) {
      m_busy |= adjacent;
      return;
    }
    m_busy |= uint64_t{1} << (turn - m_base);
    for (; count > 1; --count) {
      turn = first_free(turn + 1);
      if (turn >= m_base + 64) {
        move_to(turn);
      }
      m_busy |= uint64_t{1} << (turn - m_base);
    }
  }

 private:
  static constexpr uint64_t kept = 40;  // turns before the latest: more than waves run ahead of each other
  uint64_t m_base = 0;
  uint64_t m_busy = 0;

  void move_to(uint64_t turn) {
    const uint64_t base = turn - kept;
    m_busy = base - m_base < 64 ? m_busy >> (base - m_base) : 0;
    m_base = base;
  }
};

// The units that waves of one CU compete for.
class CuUnits {
 public:
  static constexpr unsigned simds = 4;
  // Of a SIMD: scalar, vector, matrix.
  Turns& turns(uint8_t unit, unsigned simd) { return m_turns[simd * 4 + unit]; }
  // Of the CU: scalar memory, LDS, vector memory.
  BusySlots& slots(uint8_t unit) { return m_slots[unit - static_cast<unsigned>(Unit::smem)]; }
  // Cycles that the instruction which was the last to start at the unit turns out to take on top of what was
  // known.
  void extend(Unit unit, uint64_t more) {
    if (more != 0) {
      slots(static_cast<uint8_t>(unit)).take_more(BusySlots::of(more));
    }
  }

 private:
  Turns m_turns[simds * 4];
  BusySlots m_slots[3];
};

// Fills in `unit`, `busy_cycles` and `result_cycles` from the instruction's time class.
void set_cost(Inst& inst, bool is_gfx950);

}  // namespace ktrace::softdev
