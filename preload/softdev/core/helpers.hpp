// Threads that help with a dispatch.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace ktrace::softdev {

// They come into being when they are first called, and end with the object: a process may fork between two
// dispatches, and no thread survives that.
class Helpers {
 public:
  // Work comes in so many shares, and so many threads do it at most, the caller among them.
  explicit Helpers(unsigned shares) : m_shares(shares), m_most(shares - 1) {}
  ~Helpers();
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  unsigned shares() const { return m_shares; }
  // Calls work(0), work(1), ... here, one after the other, but for those that a helper takes first. Returns
  // when all have returned. `work` must not throw.
  void run(const std::function<void(unsigned)>& work);
  // From within work, by the caller of run: so many helpers are worth while for the shares that are left.
  // Cheap if they have been called already.
  void call(uint64_t helpers) {
    while (m_called < std::min<uint64_t>(helpers, m_most)) {
      call_one();
    }
  }

 private:
  const unsigned m_shares;
  unsigned m_most;  // helpers
  const std::function<void(unsigned)>* m_work = nullptr;
  std::atomic<unsigned> m_next{~0u / 2};  // share; none is left at first
  unsigned m_called = 0;                  // helpers, for this work

  std::vector<std::thread> m_threads;
  std::mutex m_mutex;
  std::condition_variable m_begun, m_ended;
  unsigned m_calls = 0;  // that nobody has followed yet
  unsigned m_done = 0;   // shares
  bool m_stop = false;

  void take_shares();
  void call_one();
  void start_thread();
  void help();
};

}  // namespace ktrace::softdev
