// The process's status file: what `ktrace run` learns about it, however it ends.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "ktrace/format.h"

namespace ktrace {

class Status {
 public:
  Status();
  Status(const Status&) = delete;
  Status& operator=(const Status&) = delete;

  // Maps `<dir>/<pid>.status`. Without it the counts are kept all the same, for the recording's end. False,
  // with the reason in `trouble`, if the file cannot be made.
  bool open(const std::string& dir, const std::string& program, std::string* trouble);
  // For a child of fork: a file of its own, with the code that it inherited and no launches.
  void restart_in_child();
  void lock_for_fork() { m_text_mutex.lock(); }
  void unlock_after_fork() { m_text_mutex.unlock(); }

  void add_code_object(std::uint64_t annotated_kernels);
  std::uint64_t add_launch();                       // returns its number, from 1
  std::uint64_t add_launches(std::uint64_t count);  // returns the number of the last one
  void add_annotated_launch();
  void add_unselected_launch();
  void add_unseen_launch();
  void add_unread_fat_binary();
  void remove_unread_fat_binary();  // it was read after all
  void add_dispatch();
  void add_claim_launch();
  void add_grown_launch();
  void add_dropped_words(std::uint64_t count);
  void add_loss(ktrace_loss_reason reason, std::uint64_t count);
  void count(ktrace_u64 ktrace_status::* counter, std::uint64_t amount = 1);
  void add_bytes(std::uint64_t count);
  void set_flag(ktrace_status_flag flag);
  void set_output(const std::string& path);
  std::string output();
  bool has_trouble();
  // Keeps the first one.
  void say_trouble(const std::string& message);
  // The same where there may be no memory.
  void say_trouble(const char* message, const char* why) noexcept;

  ktrace_end_record counts() const;

 private:
  ktrace_status* m_status;  // mapped, or m_unmapped
  ktrace_status m_unmapped{};
  std::mutex m_text_mutex;
};

}  // namespace ktrace
