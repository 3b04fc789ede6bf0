// What was not recorded, and why: counted in the status file at once, in the recording when it is closed.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "ktrace/format.h"
#include "status.hpp"

namespace ktrace {

struct Loss {
  ktrace_loss_reason reason;
  std::string kernel;  // "" if it is not of one kernel
  std::string words;
  std::uint64_t count;
};

class LossBook {
 public:
  explicit LossBook(Status* status) : m_status(status) {}
  LossBook(const LossBook&) = delete;
  LossBook& operator=(const LossBook&) = delete;

  // Counted in the status file even where there is no memory for the words.
  void add(ktrace_loss_reason reason, const std::string& kernel, const std::string& words,
           std::uint64_t count = 1) noexcept;
  std::vector<Loss> all() const;

  void lock_for_fork() { m_mutex.lock(); }
  void unlock_after_fork() { m_mutex.unlock(); }
  // With the lock held, in the child: what the parent lost is the parent's to tell.
  void clear_in_child() { m_counts.clear(); }

 private:
  void add_words(ktrace_loss_reason reason, const std::string& kernel, const std::string& words,
                 std::uint64_t count);

  Status* m_status;
  mutable std::mutex m_mutex;
  std::map<std::tuple<ktrace_loss_reason, std::string, std::string>, std::uint64_t> m_counts;
};

}  // namespace ktrace
