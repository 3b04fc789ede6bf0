// Threads of ours: invisible to the application's signals, to its HIP error state and to the software
// device's clock.
#pragma once

#include <functional>

#include "hip_library.hpp"

namespace ktrace {

// Call first on a thread of ours.
void become_own_thread(const char* name, const HipLibrary& hip);

// On a thread of ours, before it calls a copy of HIP that may be another one than before. Cheap.
void enter_copy(const HipLibrary& hip);

// Runs `work` on a thread of ours and waits for it. HIP keeps the last error, the current device and the
// capture mode per thread: nothing that `work` does can be seen by the calling one. `work` must not wait for
// the device.
void run_aside(const HipLibrary& hip, int device, const std::function<void()>& work);

// Starts a thread that nobody joins, with all signals blocked; false if the system refuses. An exception of
// `body` ends that thread alone.
bool start_own_thread(std::function<void()> body);

}  // namespace ktrace
