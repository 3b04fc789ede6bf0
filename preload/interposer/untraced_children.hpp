// Programs that this process starts without ktrace: counted as they start, because nothing else will tell.
#pragma once

#include "ktrace/format.h"

namespace ktrace {

// From now on they are counted in `mapped`, the status file of this process, which stays mapped. A child of
// fork without a file of its own goes on counting in its parent's.
void count_untraced_children_in(ktrace_status* mapped);

// Whether the process was started by `ktrace run`, whatever it did to its environment since.
bool was_started_traced();
const char* session_dir_at_start();  // "" if it was not

// One start of a program with `environment`. Everything here is safe between vfork and exec and in signal
// handlers: no allocation, no lock, no call that is a cancellation point, less than 1 KB of stack. errno
// stays as it is.
class UntracedStart {
 public:
  explicit UntracedStart(char* const* environment) noexcept;
  // The program did not start after all.
  void take_back() noexcept;

 private:
  ktrace_status* m_status;  // null: it is traced, or this process is not
};

}  // namespace ktrace
