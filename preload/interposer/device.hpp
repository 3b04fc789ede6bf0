// A device as the recording describes it, and the trace buffers on it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "hip_library.hpp"
#include "ktrace/format.h"
#include "sizing.hpp"

namespace ktrace {

struct DeviceFacts {
  ktrace_device_record record{};
  std::string target;  // "gfx942:sramecc+:xnack-"
  std::string name;
  std::string bus_id;
  ktrace_clock_record first_sample{};
};

DeviceFacts read_device_facts(const HipLibrary& hip, int device);

// Memory on the device for one dispatch at a time, all zero whenever it is not in use.
struct TraceBuffer {
  void* memory = nullptr;  // the control block, then the regions
  void* host = nullptr;    // the same memory as the host sees it, if it is host memory
  std::uint64_t capacity = 0;
  ktrace_control* staging = nullptr;  // pinned: what the control block is copied from
  hipEvent_t finished = nullptr;      // recorded behind the kernel
  std::uint64_t epoch = 0;            // of the device when it was made: a reset destroys all this
  bool is_zeroed = false;             // not before its first use
  bool is_outgrown = false;           // the kernel needs a larger one, for which this one must make room

  std::uint64_t regions() const { return reinterpret_cast<std::uint64_t>(memory) + KTRACE_CONTROL_SIZE; }
};

struct Acquired {
  std::unique_ptr<TraceBuffer> buffer;  // null: `refusal` says why
  Layout layout;
  ktrace_loss_reason refusal = KTRACE_LOSS_NO_MEMORY;
};

enum class BufferMemory {
  device,
  host  // pinned: can be read while a kernel runs that never ends
};

class Device {
 public:
  Device(const HipLibrary& hip, int index, std::uint64_t budget, BufferMemory memory);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const HipLibrary& hip() const { return m_hip; }
  int index() const { return m_index; }
  const DeviceFacts& facts() const { return m_facts; }

  // A free buffer that is large enough, else a new one, else a smaller one in claim mode. Never waits for the
  // device.
  Acquired acquire(const Layout& wanted);
  // The same, waiting up to `timeout_ns` for one to be released while all of the budget is in use.
  Acquired acquire_within(const Layout& wanted, std::uint64_t timeout_ns);
  void release(std::unique_ptr<TraceBuffer> buffer);
  // For a buffer that the device may still write to: freeing it waits, so only the writer's thread may call
  // this.
  void destroy(std::unique_ptr<TraceBuffer> buffer);
  // Frees idle buffers that were in the way of a larger one. Waits like `destroy`.
  void free_surplus();
  // Whether buffers that are in the way are left to `free_surplus`.
  bool has_surplus();

  // Forgets all buffers, without touching HIP: a reset of the device has freed them. Those that are in use
  // are of an earlier epoch afterwards.
  void forget_buffers();
  std::uint64_t epoch() const { return m_epoch.load(std::memory_order_acquire); }

  // Dispatches between their launch and their chunk.
  std::atomic<std::uint64_t> outstanding{0};
  // True once: for the first dispatch on this device.
  bool is_first_use() { return !m_is_used.load(std::memory_order_relaxed) && !m_is_used.exchange(true); }

 private:
  std::unique_ptr<TraceBuffer> take_idle(std::uint64_t size);
  std::unique_ptr<TraceBuffer> take_largest_idle();
  void set_aside_idle();
  bool reserve(std::uint64_t size);
  void unreserve(std::uint64_t size);
  bool is_hopeless(std::uint64_t size);
  std::unique_ptr<TraceBuffer> allocate(std::uint64_t size);
  std::unique_ptr<TraceBuffer> make_buffer(std::uint64_t size);
  bool allocate_memory(TraceBuffer* buffer);
  void free_memory(const TraceBuffer& buffer);
  void free_buffer(const TraceBuffer& buffer);
  void announce_release();
  bool is_worth_waiting();

  const HipLibrary& m_hip;
  const int m_index;
  const std::uint64_t m_budget;  // bytes
  const BufferMemory m_memory;
  DeviceFacts m_facts;
  std::atomic<bool> m_is_used{false};
  std::atomic<std::uint64_t> m_epoch{0};

  std::mutex m_mutex;
  std::uint64_t m_allocated = 0;
  std::uint64_t m_in_use = 0;  // buffers
  // By capacity: there are few sizes and many buffers.
  std::map<std::uint64_t, std::vector<std::unique_ptr<TraceBuffer>>> m_idle;
  std::vector<std::unique_ptr<TraceBuffer>> m_surplus;
  // After the device had no memory, it is not asked again at once: asking takes longer than a launch.
  std::uint64_t m_refused_size = 0;
  std::uint32_t m_requests_to_refuse = 0;
  std::uint32_t m_next_pause = 1;  // requests

  std::condition_variable m_released;
  std::uint64_t m_releases = 0;
  std::uint32_t m_waiting = 0;
};

}  // namespace ktrace
