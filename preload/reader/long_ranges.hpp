// LONG_BEGIN and LONG_END joined to one RANGE.
#pragma once

#include "events.hpp"

namespace ktrace::reader {

// What LONG_BEGINs and LONG_ENDs are sorted by.
struct LongRange {
  std::uint32_t id;
  std::uint32_t event;
  std::int64_t ticks;
};

inline bool is_earlier(const LongRange& a, const LongRange& b) {
  if (a.id != b.id) return a.id < b.id;
  return a.ticks != b.ticks ? a.ticks < b.ticks : a.event < b.event;
}

struct LongRanges {
  Buffer<LongRange> begins;
  Buffer<LongRange> ends;
};

// Make each LONG_END with its LONG_BEGIN a RANGE; the LONG_BEGIN gets `kind_gone`. One without an end gets
// its place in time.
void join_long_ranges(const Wave& wave, WaveWords& words, LongRanges& scratch, ktrace_reader_losses& losses);

}  // namespace ktrace::reader
