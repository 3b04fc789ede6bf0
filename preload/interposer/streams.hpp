// Small numbers for streams and threads, in the order in which they were first used, and the device of each
// stream.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "hip_library.hpp"

namespace ktrace {

// Counted from 0, per thread of the application that launches.
std::uint32_t number_of_this_thread();

class HipStreams {
 public:
  struct Facts {
    std::uint64_t number = 0;  // 0 is the null stream
    int device = 0;
  };

  HipStreams() = default;
  HipStreams(const HipStreams&) = delete;
  HipStreams& operator=(const HipStreams&) = delete;

  // Calls HIP for a stream that it has not seen, and, where there are several devices, for a default stream:
  // that is on the calling thread's device, which can be changed in ways that nobody sees.
  Facts facts_of(const HipLibrary& hip, hipStream_t stream);

  // Without asking HIP anything.
  std::uint64_t number_of(hipStream_t stream);

  // HIP may give the handle to a new stream.
  void forget(hipStream_t stream);
  // After a reset, which destroys streams.
  void forget_all();

  void lock_for_fork() { m_mutex.lock(); }
  void unlock_after_fork() { m_mutex.unlock(); }

 private:
  using Key = std::pair<hipStream_t, std::uint32_t>;

  Facts look_up(const HipLibrary& hip, hipStream_t stream);
  bool has_one_device(const HipLibrary& hip);

  std::mutex m_mutex;
  std::map<Key, std::uint64_t> m_number_by_stream;
  std::uint64_t m_next = 1;
  // Changes whenever something is forgotten, so that what threads remember is of no more use. Never 0.
  std::atomic<std::uint64_t> m_generation{1};
  std::atomic<int> m_device_counts[most_hip_libraries] = {};  // 0: not asked yet
};

}  // namespace ktrace
