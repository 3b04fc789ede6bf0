// Whether a launch is to be traced: by the kernel's name, by its number, by the time.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "code_object.hpp"
#include "config.hpp"
#include "hip_library.hpp"
#include "name_patterns.hpp"
#include "status.hpp"

namespace ktrace {

// In the session's folder: names of annotated kernels that were launched and not chosen, one on each line.
inline constexpr const char* refused_kernels_file = "refused_kernels";

// Whether something launched at `elapsed_ns` after the beginning falls into one of `periods`, which follow
// each other.
bool is_collecting(const std::vector<Period>& periods, std::uint64_t elapsed_ns);

class Selection {
 public:
  Selection(const Config& config, Status* status);
  Selection(const Selection&) = delete;
  Selection& operator=(const Selection&) = delete;

  // Time is counted from here, the process's first call of HIP; by the model's clock if that is the software
  // device.
  void begin(const HipLibrary& hip);

  // Whether this launch of an annotated kernel is to be traced. Called once for each, also for a graph's: it
  // numbers the launches, and counts those that are not chosen.
  bool wants_launch(const Kernel& kernel);
  // By its name alone. Counts nothing.
  bool wants_kernel(const Kernel& kernel);

  void lock_for_fork() { m_mutex.lock(); }
  void unlock_after_fork() { m_mutex.unlock(); }
  // With the lock held, in the child: its launches are counted from 1 again.
  void restart_in_child();

 private:
  bool is_in_range(std::uint64_t launch) const;
  void list_refused(const Kernel& kernel);
  bool is_in_period() const;

  const Config& m_config;
  Status* m_status;
  const NamePatterns m_patterns;
  std::atomic<const HipLibrary*> m_hip{nullptr};
  std::atomic<std::uint64_t> m_began_ns{0};
  std::mutex m_mutex;
  std::vector<const Kernel*> m_kernels;  // whose names were looked at
  int m_refused_count = 0;               // of them, by their names
};

}  // namespace ktrace
