// When a unit that all waves of a CU share is busy: the scalar memory unit, LDS, vector memory.
#pragma once

#include <cstdint>

namespace ktrace::softdev {

// Waves run ahead of each other, so that one that comes later may ask for an earlier time: what the others
// left free there is free. A slot is two cycles long. Of the last 128 before the unit is free for good each
// is known; those before them count as busy.
class BusySlots {
 public:
  static constexpr uint64_t cycles = 2;
  // The first slot that begins at `time` or later.
  static uint64_t of(uint64_t time) { return (time + cycles - 1) / cycles; }
  // The first free slot from `slot` on.
  uint64_t find(uint64_t slot) const {
    const uint64_t place = m_end - 1 - slot;  // huge if all is free
    if (slot >= m_end || (place < 64 && (m_late >> place & 1) != 0)) {
      return slot;
    }
    return (m_late | m_early) != 0 ? find_gap(slot) : m_end;
  }
  // `slot`, which is free, and the next `count` - 1 free ones.
  void take(uint64_t slot, uint64_t count) {
    if (slot < m_end) {
      if (!take_gap(m_end - slot, count)) {
        take_gaps(slot, count);
      }
      return;
    }
    const uint64_t gap = slot - m_end;
    m_end = m_next = slot + count;
    if ((gap | m_late | m_early) == 0) {
      return;  // a unit that is busy all the time
    }
    if (__builtin_expect(gap + count < 64, 1)) {
      shift(gap + count, ones(gap) << count);
    } else {
      shift_far(gap, count);
    }
  }
  // The next `count` free slots behind those that were taken last, for the same access.
  void take_more(uint64_t count) { take(find(m_next), count); }

 private:
  uint64_t m_end = 0;   // all is free from here on
  uint64_t m_next = 0;  // behind what was taken last
  // Bit k: slot m_end - 1 - k is free; slot m_end - 65 - k.
  uint64_t m_late = 0;
  uint64_t m_early = 0;

  static uint64_t ones(uint64_t count) { return (uint64_t{1} << count) - 1; }  // less than 64
  // By less than 64; `bits` become the latest.
  void shift(uint64_t count, uint64_t bits) {
    m_early = m_early << count | m_late >> 1 >> (63 - count);
    m_late = m_late << count | bits;
  }
  // Free slots side by side, `distance` before the end.
  bool take_gap(uint64_t distance, uint64_t count) {
    const uint64_t wanted =
        distance <= 64 && distance >= count && count < 64 ? ones(count) << (distance - count) : 0;
    if (wanted == 0 || (m_late & wanted) != wanted) {
      return false;
    }
    m_late &= ~wanted;
    m_next = m_end - distance + count;
    return true;
  }
  void shift_far(uint64_t gap, uint64_t count);
  uint64_t find_gap(uint64_t slot) const;
  void take_gaps(uint64_t slot, uint64_t count);
};

}  // namespace ktrace::softdev
