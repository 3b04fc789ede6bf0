// Both streams of a wave as one sequence in time.
#pragma once

#include "events.hpp"

namespace ktrace::reader {

struct Moment {
  std::int64_t ticks;
  std::uint32_t event;
};

struct Unmerged {
  Buffer<Event> events;
  Buffer<Moment> order;
};

// Put the events in order of time, without those that are gone; at equal times those of the main stream come
// first, then in order of writing.
void merge_streams(const Wave& wave, WaveWords& words, Unmerged& scratch);

}  // namespace ktrace::reader
