// What events do on a stream, for the calls and for graphs.
#pragma once

#include "hip/runtime.hpp"

namespace ktrace::softdev::hip {

// The event is where the stream is now.
void record_event(Runtime& runtime, Stream& stream, Event& event);
// The stream's later work begins after the event's last record; an event
// without one holds nothing up.
void wait_for_event(Stream& stream, const Event& event);

}  // namespace ktrace::softdev::hip
