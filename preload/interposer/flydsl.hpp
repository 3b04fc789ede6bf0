// FlyDSL's own in-kernel tracer: the buffer of the process into which its kernels write, which of its
// launches did, and copies of it before FlyDSL wipes it and when the process ends.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "config.hpp"
#include "device.hpp"
#include "flydsl_kernel.hpp"

namespace ktrace {

struct FlydslLaunch {
  const Kernel* kernel = nullptr;
  ktrace_dispatch_record record{};
};

// A copy of a buffer, with the launches that wrote to it.
struct FlydslCopy {
  const HipLibrary* hip = nullptr;
  Device* device = nullptr;
  std::uint64_t size = 0;           // of the buffer
  std::uint32_t flags = 0;          // ktrace_foreign_flag
  std::uint32_t replays = 0;        // launches into graphs
  std::vector<std::uint8_t> bytes;  // its begin, as far as it was written to
  std::vector<FlydslLaunch> launches;
};

struct FlydslMemory {
  const HipLibrary* hip = nullptr;
  int device = 0;
  std::uint64_t address = 0;
  std::uint64_t size = 0;
};
// Copies what was written to a buffer; with `clears`, makes it all zero again. The device must have finished
// with it. False, with the reason in `trouble`, if HIP refused any step. On a thread of ours.
bool copy_flydsl_buffer(const FlydslMemory& memory, bool clears, std::vector<std::uint8_t>* out,
                        std::string* trouble);

class FlydslBuffers {
 public:
  FlydslBuffers() = default;
  FlydslBuffers(const FlydslBuffers&) = delete;
  FlydslBuffers& operator=(const FlydslBuffers&) = delete;

  // After a hipMalloc. Only what is as large as FlyDSL's buffer is kept.
  void note_allocation(const void* memory, std::size_t size);
  // 0: it is no buffer of FlyDSL's that we saw being made.
  std::uint64_t size_of(std::uint64_t address);
  void add(std::uint64_t address, const HipLibrary& hip, Device& device, const FlydslLaunch& launch);
  void add_capture(std::uint64_t address, const HipLibrary& hip, Device& device);
  // Whether `waves` more would not fit. Asks the device where that is in doubt, which waits for it.
  bool would_overflow(std::uint64_t address, const HipLibrary& hip, std::uint64_t waves);

  // What a call that fills this memory is going to wipe, without its bytes; nothing if it is no such call, or
  // nothing was launched since it was wiped before.
  struct Taken {
    FlydslMemory memory;
    FlydslCopy copy;
  };
  std::vector<Taken> take_before_wipe(const void* memory, std::size_t size);
  std::vector<Taken> take_all();

  void lock_for_fork() { m_mutex.lock(); }
  void unlock_after_fork() { m_mutex.unlock(); }
  // With the lock held: launches are the parent's to tell.
  void restart_in_child();

 private:
  struct Buffer {
    std::uint64_t size = 0;
    const HipLibrary* hip = nullptr;  // of its launches
    Device* device = nullptr;
    std::vector<FlydslLaunch> launches;  // since it was wiped
    std::uint32_t replays = 0;
    std::uint64_t waves = 0;  // that these have at most
    bool is_as_told = false;  // the device knows of as many as the grids say: no filter of blocks
  };

  Taken take(std::uint64_t address, Buffer* buffer);

  std::mutex m_mutex;
  std::map<std::uint64_t, Buffer> m_buffers;  // by address
};

// What the Python side has written down of names: JSON; "" without any.
std::string read_flydsl_names(const std::string& session_dir);

}  // namespace ktrace
