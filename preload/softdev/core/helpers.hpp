// Threads that help with a dispatch.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace ktrace::softdev {

// They come into being when they are first called in, and end with the object: a process may fork between
// two dispatches, and no thread survives that.
class Helpers {
 public:
  // Work comes in so many shares, and so many threads do it at most, the caller among them.
  explicit Helpers(unsigned shares) : m_shares(shares) {}
  ~Helpers();
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  unsigned shares() const { return m_shares; }
  // Calls work(0), work(1), ... here, one after the other, but for those that a helper takes first. Returns
  // when all have returned. `work` must not throw.
  void run(const std::function<void(unsigned)>& work);
  // From within work, by the caller of run: it is worth while to have help with the shares that are left. A
  // call is cheap if help has been called in already.
  void call_in() {
    if (!m_are_called) {
      call_them();
    }
  }

 private:
  const unsigned m_shares;
  const std::function<void(unsigned)>* m_work = nullptr;
  std::atomic<unsigned> m_next{0};  // share
  bool m_are_called = true;

  std::vector<std::thread> m_threads;
  bool m_have_started = false;
  std::mutex m_mutex;
  std::condition_variable m_begun, m_ended;
  uint64_t m_round = 0;
  size_t m_busy = 0;
  bool m_stop = false;

  void take_shares();
  void call_them();
  void start_threads();
  void help(uint64_t round);
};

}  // namespace ktrace::softdev
