// Where spans begin that contain other events.
#pragma once

#include "ranges.hpp"

namespace ktrace::reader {

// List the spans that contain events, in order of their begins, and flag them `is_far`.
//
// A span begins before all later events. Those at the very cycle of its begin were before it, except a PUSH
// that opens something which is closed before the span ends, at a later time.
void find_far_spans(WaveWords& words, WaveRanges& into);

}  // namespace ktrace::reader
