// Small numbers for streams and threads, in the order in which they were first used.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

#include "hip.hpp"

namespace ktrace {

// Counted from 0, per thread of the application that launches.
inline std::uint32_t number_of_this_thread() {
  static std::atomic<std::uint32_t> threads{0};
  static thread_local std::uint32_t number __attribute__((tls_model("initial-exec"))) =
      0;  // one more than the number
  if (number == 0) number = ++threads;
  return number - 1;
}

class StreamNumbers {
 public:
  // 0 is the null stream. Each thread has its own default stream behind `stream_per_thread`.
  std::uint64_t number_of(hipStream_t stream) {
    if (stream == stream_null || stream == stream_legacy) return 0;
    const std::lock_guard lock(m_mutex);
    const Key key{stream, stream == stream_per_thread ? number_of_this_thread() : 0};
    return m_number_by_stream.emplace(key, m_next).second ? m_next++ : m_number_by_stream[key];
  }

  // HIP may give the handle to a new stream.
  void forget(hipStream_t stream) {
    const std::lock_guard lock(m_mutex);
    m_number_by_stream.erase({stream, 0});
  }

  void lock_for_fork() { m_mutex.lock(); }
  void unlock_after_fork() { m_mutex.unlock(); }

 private:
  using Key = std::pair<hipStream_t, std::uint32_t>;
  std::mutex m_mutex;
  std::map<Key, std::uint64_t> m_number_by_stream;
  std::uint64_t m_next = 1;
};

}  // namespace ktrace
