// The virtual host clock.
#include "hip/clock.hpp"

#include <algorithm>

namespace ktrace::softdev::hip {

namespace {

thread_local bool t_detached = false;
thread_local Nanoseconds t_now = clock_epoch_ns;

}  // namespace

void HostClock::detach_thread() { t_detached = true; }

bool HostClock::is_thread_detached() { return t_detached; }

Nanoseconds HostClock::now() const { return t_detached ? t_now : m_now.load(std::memory_order_acquire); }

void HostClock::advance(Nanoseconds duration) {
  if (t_detached) {
    t_now += duration;
  } else {
    m_now.fetch_add(duration, std::memory_order_acq_rel);
  }
}

void HostClock::advance_to(Nanoseconds moment) {
  if (t_detached) {
    t_now = std::max(t_now, moment);
    return;
  }
  Nanoseconds seen = m_now.load(std::memory_order_acquire);
  while (seen < moment && !m_now.compare_exchange_weak(seen, moment, std::memory_order_acq_rel)) {
  }
}

}  // namespace ktrace::softdev::hip
