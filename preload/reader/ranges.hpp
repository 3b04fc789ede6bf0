// Events to ranges: which word ends what another began. Knows no name and no nanosecond.
#pragma once

#include "events.hpp"

namespace ktrace::reader {

struct Range {
  std::int64_t begin_ticks;
  std::int64_t end_ticks;
  std::uint32_t
      begin_key;  // order of begins and ends in the wave; an end is before the begin at the same place
  std::uint32_t end_key;
  std::uint32_t begin_gaps;  // gaps before it in the wave
  std::uint32_t end_gaps;
  std::uint32_t event;      // names it
  std::uint32_t end_event;  // its payload is the range's as well
  std::uint32_t phase;      // the range of the phase that goes on in it
  std::uint16_t flags;      // ktrace_reader_slice_flag
  bool is_token;            // may overlap others
  bool is_closed;
  // Of lanes.hpp:
  std::uint32_t row;  // of events
  std::uint32_t lane;
  std::uint32_t depth;
  std::uint32_t parent;  // row of ranges
};

struct Token {
  std::uint32_t number;  // of its START
  std::uint32_t start;   // event
  std::uint32_t stop;    // event, or none
  std::uint32_t range;   // or none
};

// A span that contains events, and the event before which it begins.
struct FarSpan {
  std::uint32_t before;
  std::uint32_t event;
  std::int64_t begin;
};

struct WaveRanges {
  Buffer<Range> ranges;             // in order of their begins
  Buffer<std::uint32_t> marks;      // events
  Buffer<std::uint32_t> mark_rows;  // of events: names.hpp
  std::uint32_t group = none;       // the event that named the wave's role last
  std::uint64_t stray_ends = 0;
  // While they are found:
  Buffer<FarSpan> far_spans;
  Buffer<Token> tokens;                // by number, then event
  Buffer<std::uint32_t> open;          // ranges, by begin; closed ones are taken off as they come to the top
  Buffer<std::uint32_t> open_pushes;   // ranges; before that, events
  Buffer<std::uint32_t> moments;       // the first event at the same time as each event
  Buffer<std::uint32_t> first_inside;  // at a moment's first event: its first PUSH that is closed later
};

// Find all ranges of the wave's events; `end_ticks` is the wave's. Payload of what ends nothing is counted.
void find_ranges(const Wave& wave, std::int64_t end_ticks, WaveWords& words, WaveRanges& into,
                 ktrace_reader_losses& losses);

}  // namespace ktrace::reader
