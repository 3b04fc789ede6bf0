// From FlyDSL's buffer to the recording, at the moments when it would be lost otherwise.
#pragma once

#include <cstddef>

namespace ktrace {

class Session;

// Before a call that fills memory: FlyDSL empties its buffer so, whether or not it could read it.
void record_before_wipe(Session& session, const void* memory, std::size_t size);
// When the process ends. Waits for kernels that still run, for a limited time.
void record_at_end(Session& session);

}  // namespace ktrace
