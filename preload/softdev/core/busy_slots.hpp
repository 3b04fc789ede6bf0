// When a unit that all waves of a CU share is busy: the scalar memory unit, LDS, vector memory.
#pragma once

#include <cstdint>

namespace ktrace::softdev {

// Waves run ahead of each other, so that one that comes later may ask for an earlier time: what the others
// left free there is free. Of the last slots of two cycles each is known; those before them count as busy.
class BusySlots {
 public:
  static constexpr uint64_t cycles = 2;
  // The first slot that begins at `time` or later.
  static uint64_t of(uint64_t time) { return (time + cycles - 1) / cycles; }
  // A free slot, and which of the 64 from it on are not known to be free.
  struct Found {
    uint64_t slot;
    uint64_t busy;
  };
  // The first free slot from `slot` on.
  Found find(uint64_t slot) const {
    for (slot = slot < m_base ? m_base : slot; slot < m_base + known; slot += 64) {
      const uint64_t free = ~from(slot - m_base);
      if (__builtin_expect(free != 0, 1)) {
        const auto before = static_cast<unsigned>(__builtin_ctzll(free));
        return {slot + before, ~(free >> before)};
      }
    }
    return {slot, 0};
  }
  // What was found and the next `count` - 1 free slots, which need not be side by side.
  void take(const Found& found, uint64_t count) {
    const uint64_t place = found.slot - m_base;
    if (__builtin_expect(place + count <= known && count < 64 && (found.busy & ones(count)) == 0, 1)) {
      set(place, ones(count));
    } else {
      take_apart(found.slot, count);
    }
  }

 private:
  static constexpr uint64_t known = 128;
  uint64_t m_base = 0;      // slot of the lowest bit
  uint64_t m_busy[3] = {};  // the third is always 0

  static uint64_t ones(uint64_t count) { return (uint64_t{1} << count) - 1; }  // 0 to 63
  // The 64 bits from there on; `place` is less than 128.
  uint64_t from(uint64_t place) const {
    const uint64_t* const word = m_busy + place / 64;
    return word[0] >> place % 64 | word[1] << 1 << (63 - place % 64);
  }
  void set(uint64_t place, uint64_t bits) {
    uint64_t* const word = m_busy + place / 64;
    word[0] |= bits << place % 64;
    word[1] |= bits >> 1 >> (63 - place % 64);
  }
  void take_apart(uint64_t slot, uint64_t count);
  void make_room(uint64_t end);
};

}  // namespace ktrace::softdev
