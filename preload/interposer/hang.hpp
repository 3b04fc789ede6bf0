// Dispatches that may never end (--hang): what their waves have written is read while they run, because their
// trace buffers are in host memory. Calls no HIP.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "config.hpp"
#include "copy_back.hpp"
#include "dispatch_queue.hpp"
#include "status.hpp"

namespace ktrace {

// What a trace buffer in host memory holds of `dispatch` at this moment.
CopiedDispatch read_host_buffer(const std::uint8_t* buffer, const Layout& layout, std::uint64_t dispatch);

class HangWatch {
 public:
  using Write = std::function<bool(const PendingDispatch&, CopiedDispatch)>;

  // `write` appends a dispatch to the recording; it is called on the watcher's thread.
  HangWatch(const Config& config, Status* status, Write write);
  HangWatch(const HangWatch&) = delete;
  HangWatch& operator=(const HangWatch&) = delete;

  // Before HIP is called: the launch itself may never return. `memory` is what the kernel writes to.
  void announce(const PendingDispatch& launched, const TraceBuffer& memory);
  // Afterwards the memory may be used again, or freed. True if the dispatch is recorded as unfinished:
  // whoever records it whole counts that one as replaced, and it is not lost if nobody does.
  bool withdraw(std::uint64_t dispatch);
  // Each is still withdrawn later: until then it is known whether it was recorded.
  void leave_memory_of(const Device& device);
  bool is_recorded(std::uint64_t dispatch);
  std::uint64_t unrecorded();  // that are watched

  // Records, as it is now, a dispatch that ended with an error of HIP. False if it is not watched.
  bool record_failed(std::uint64_t dispatch, hipError_t status);
  // Records, as they are now, all dispatches whose waves have not all ended.
  void record_all();
  void stop();

 private:
  struct Watched {
    PendingDispatch dispatch;              // without its buffer
    const std::uint8_t* memory = nullptr;  // null: freed by a reset
    std::uint64_t due_ns = 0;              // CLOCK_MONOTONIC
    std::uint64_t pause_ns = 0;
    std::uint64_t attempted = 0;  // words of all waves when it was recorded
    bool is_recorded = false;
    bool is_told = false;
  };

  void begin();
  void run();
  void give_up(const char* why);
  void let_go();
  int milliseconds_to_next();
  bool is_due(std::uint64_t dispatch, std::uint64_t now_ns);
  std::vector<std::uint64_t> all();
  bool record(std::uint64_t dispatch, bool even_if_ended, hipError_t status);
  bool write(Watched* copy, bool even_if_ended);
  void tell_once(std::uint64_t dispatch);

  const Config& m_config;
  const std::uint64_t m_hang_ns;
  Status* m_status;
  Write m_write;
  std::mutex m_turn;   // one records at a time
  std::mutex m_mutex;  // of the list; never held while a buffer is read
  std::condition_variable m_changed;
  std::map<std::uint64_t, Watched> m_watched;
  std::uint64_t m_reading = 0;  // dispatch whose memory must stay
  bool m_has_begun = false;
  std::atomic<bool> m_is_stopping{false};
};

}  // namespace ktrace
