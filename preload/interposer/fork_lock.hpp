// Locks that are held across a fork, so that the child finds what they protect whole.
#pragma once

#include <new>
#include <shared_mutex>

namespace ktrace {

// A read-write lock knows its owner by a thread id that the child does not have: it cannot be unlocked there.
inline void renew_in_child(std::shared_mutex& mutex) {
#ifdef __SANITIZE_THREAD__
  mutex.unlock();  // ThreadSanitizer goes by the calls
#endif
  new (&mutex) std::shared_mutex;
}

}  // namespace ktrace
