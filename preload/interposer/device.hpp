// A device as the recording describes it, and the trace buffers on it.
#pragma once

#include <cstdint>
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
  std::uint64_t capacity = 0;
  ktrace_control* staging = nullptr;  // pinned: what the control block is copied from
  hipEvent_t finished = nullptr;      // recorded behind the kernel
  bool is_zeroed = false;             // not before its first use
  bool is_outgrown = false;           // the kernel needs a larger one, for which this one must make room

  std::uint64_t regions() const { return reinterpret_cast<std::uint64_t>(memory) + KTRACE_CONTROL_SIZE; }
};

struct Acquired {
  std::unique_ptr<TraceBuffer> buffer;  // null: `refusal` says why
  Layout layout;
  ktrace_loss_reason refusal = KTRACE_LOSS_NO_MEMORY;
};

class Device {
 public:
  Device(const HipLibrary& hip, int index, std::uint64_t budget);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const HipLibrary& hip() const { return m_hip; }
  int index() const { return m_index; }
  const DeviceFacts& facts() const { return m_facts; }

  // A free buffer that is large enough, else a new one, else a smaller one in claim mode. Never waits for the
  // device.
  Acquired acquire(const Layout& wanted);
  void release(std::unique_ptr<TraceBuffer> buffer);
  // For a buffer that the device may still write to: freeing it waits, so only the writer's thread may call
  // this.
  void destroy(std::unique_ptr<TraceBuffer> buffer);
  // Frees idle buffers that were in the way of a larger one. Waits like `destroy`.
  void free_surplus();
  // Forgets all buffers, without touching HIP: hipDeviceReset has freed them, or they are a parent process's.
  void forget_buffers();

 private:
  std::unique_ptr<TraceBuffer> take_idle(std::uint64_t size);
  std::unique_ptr<TraceBuffer> take_largest_idle();
  bool reserve(std::uint64_t size);
  std::unique_ptr<TraceBuffer> allocate(std::uint64_t size);
  void free_memory(const TraceBuffer& buffer);

  const HipLibrary& m_hip;
  const int m_index;
  const std::uint64_t m_budget;  // bytes
  DeviceFacts m_facts;
  std::mutex m_mutex;
  std::uint64_t m_allocated = 0;
  std::vector<std::unique_ptr<TraceBuffer>> m_idle;
  std::vector<std::unique_ptr<TraceBuffer>> m_surplus;
};

}  // namespace ktrace
