// The captures that the application has begun and not ended.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <tuple>

#include "hip_library.hpp"

namespace ktrace {

class Captures {
 public:
  Captures() = default;
  Captures(const Captures&) = delete;
  Captures& operator=(const Captures&) = delete;

  // While there is any, any stream may have been drawn into it by an event.
  bool is_any_open() const { return m_open > 0; }

  // `device`: the stream's.
  void begin(const HipLibrary& hip, hipStream_t stream, int device);
  // Also for a stream whose capture began unseen, or never.
  void end(const HipLibrary& hip, hipStream_t stream);
  // Its streams are gone.
  void end_on_device(const HipLibrary& hip, int device);

  void lock_for_fork() { m_mutex.lock(); }
  void unlock_after_fork() { m_mutex.unlock(); }

 private:
  using Key = std::tuple<const HipLibrary*, hipStream_t, const void*>;
  static Key key_of(const HipLibrary& hip, hipStream_t stream);

  std::mutex m_mutex;
  std::map<Key, int> m_device_by_stream;
  std::atomic<std::size_t> m_open{0};
};

}  // namespace ktrace
