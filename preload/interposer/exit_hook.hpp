// The end of a process by _exit, which runs nobody's handlers: multiprocessing's forked workers end so.
#pragma once

#include <functional>

namespace ktrace {

// Starts the thread that runs `close` should this process end by _exit or _Exit. Those may be called in a
// signal handler, so the thread is there before, and they wait for it without a lock and for a limited time.
// In a child of fork without this call, and between vfork and exec, they do nothing.
void close_before_exit(std::function<void()> close);

// In a child of fork, which has no such thread.
void forget_closer();

}  // namespace ktrace
