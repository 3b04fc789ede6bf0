// HIP's last error on a thread of the application, which is to be what it would be without us.
//
// HIP up to 6.3 sets it at every call, a success too, so that the application's own call decides what it
// sees. Later ones keep a failure until it is asked for. Our calls on the application's threads do not fail,
// so looking before each of them would be for nothing: only after the first failure of ours is it looked at
// before and after. At that first one an older failure of the same number, or, where a later failure replaces
// it, any older failure that the application has not asked for yet, cannot be told from ours and is lost.
#pragma once

#include <atomic>

#include "hip_library.hpp"

namespace ktrace {

hipError_t error_before(const HipLibrary& hip);
void restore_error(const HipLibrary& hip, hipError_t before);

// Around calls of ours.
class LastError {
 public:
  // `is_watched` is shared by all.
  LastError(const HipLibrary& hip, std::atomic<bool>& is_watched)
      : m_hip(hip),
        m_is_watched(is_watched),
        m_was_watched(is_watched.load(std::memory_order_relaxed)),
        m_before(m_was_watched ? error_before(hip) : hip_success) {}
  LastError(const LastError&) = delete;
  LastError& operator=(const LastError&) = delete;

  // After one of them returned `error`.
  void take_back(hipError_t error) {
    m_is_watched = true;
    if (m_was_watched || error_before(m_hip) == error) restore_error(m_hip, m_before);
  }

 private:
  const HipLibrary& m_hip;
  std::atomic<bool>& m_is_watched;
  const bool m_was_watched;
  const hipError_t m_before;
};

inline hipError_t error_before(const HipLibrary& hip) {
  return hip.hipPeekAtLastError ? hip.hipPeekAtLastError() : hip_success;
}

inline void restore_error(const HipLibrary& hip, hipError_t before) {
  if (before == hip_success && hip.hipGetLastError) hip.hipGetLastError();
}

}  // namespace ktrace
