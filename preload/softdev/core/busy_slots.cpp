#include "core/busy_slots.hpp"

#include <algorithm>

namespace ktrace::softdev {

namespace {

constexpr uint64_t known = 128;
constexpr uint64_t step = 63;

}  // namespace

void BusySlots::shift_far(uint64_t gap, uint64_t count) {
  for (uint64_t left = std::min(gap, known), now; left != 0; left -= now) {
    now = std::min(left, step);
    shift(now, ones(now));
  }
  for (uint64_t left = std::min(count, known), now; left != 0; left -= now) {
    now = std::min(left, step);
    shift(now, 0);
  }
}

// `slot` is before the end.
uint64_t BusySlots::find_gap(uint64_t slot) const {
  const uint64_t distance = m_end - slot;  // 1 or more
  const uint64_t early =
      distance > 64 ? m_early & (distance < known ? ones(distance - 64) : ~uint64_t{0}) : 0;
  if (early != 0) {
    return m_end - known + static_cast<unsigned>(__builtin_clzll(early));
  }
  const uint64_t late = distance < 64 ? m_late & ones(distance) : m_late;
  return late != 0 ? m_end - 64 + static_cast<unsigned>(__builtin_clzll(late)) : m_end;
}

void BusySlots::take_gaps(uint64_t slot, uint64_t count) {
  for (; count != 0; --count) {
    slot = find(slot);
    if (slot >= m_end) {
      take(slot, count);
      return;
    }
    const uint64_t place = m_end - 1 - slot;
    (place < 64 ? m_late : m_early) &= ~(uint64_t{1} << (place & 63));
    m_next = slot + 1;
  }
}

}  // namespace ktrace::softdev
