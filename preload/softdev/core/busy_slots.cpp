#include "core/busy_slots.hpp"

#include <algorithm>

namespace ktrace::softdev {

void BusySlots::take_apart(uint64_t slot, uint64_t count) {
  constexpr uint64_t most = 63;
  while (count != 0) {
    slot = find(slot).slot;
    const uint64_t place = slot - m_base;
    const uint64_t busy = place < known ? from(place) : 0;
    const uint64_t free = busy ? static_cast<unsigned>(__builtin_ctzll(busy)) : most;
    const uint64_t run = std::min(count, free);
    make_room(slot + run);
    set(slot - m_base, ones(run));
    slot += run;
    count -= run;
  }
}

// Some more than is needed, so that it is not needed again at once.
void BusySlots::make_room(uint64_t end) {
  constexpr uint64_t ahead = 16;
  if (end <= m_base + known) {
    return;
  }
  const uint64_t base = end + ahead - known;
  const uint64_t distance = base - m_base;
  m_busy[0] = distance < known ? from(distance) : 0;
  m_busy[1] = distance < 64 ? m_busy[1] >> distance : 0;
  m_base = base;
}

}  // namespace ktrace::softdev
