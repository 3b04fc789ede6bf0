// One event: what a word says and when it was; and what is known of a wave while it is read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "buffer.hpp"
#include "reader.h"

namespace ktrace::reader {

using Wave = ktrace_reader_wave;
using Value = ktrace_reader_value;

inline constexpr std::uint32_t none = 0xffffffffu;
inline constexpr std::int64_t clock_range = std::int64_t{1}
                                            << 32;  // then a word's clock reads the same again
inline constexpr std::uint8_t kind_gone = 0;        // a LONG_BEGIN that was joined with its end

enum EventFlag : std::uint8_t {
  after_gap = 1,  // the time since the word before it is known modulo 2^32 only
  unclear = 2,    // a RANGE that may be longer by a multiple of 2^32
  has_unit = 4,   // else its unit is the kernel's
  is_far = 8      // a RANGE that begins before the event before it
};

struct Event {
  std::int64_t ticks;  // s_memtime; a RANGE's end; of a LONG_BEGIN that is not placed yet, its word's clock
  std::int64_t duration;  // of a RANGE
  std::uint32_t id;
  std::uint32_t unit;         // low half of the key
  std::uint32_t first_value;  // of WaveWords::values
  std::uint32_t values;
  std::uint32_t link;  // a START's word number; a RANGE's row of ranges
  std::uint8_t kind;   // ktrace_kind; RANGE for spans and long ranges
  std::uint8_t flags;  // EventFlag
  std::uint16_t reserved;
};

// The events of one wave; at first those of the main stream, then those of the side stream.
struct WaveWords {
  Buffer<Event> events;
  Buffer<Value> values;
  std::size_t main_events = 0;
  std::uint32_t words = 0;
  std::uint32_t side_words = 0;
  bool has_long_ranges = false;
  bool has_anchors = false;
  bool has_starts = false;

  void clear() {
    events.clear();
    values.clear();
    main_events = 0;
    words = side_words = 0;
    has_long_ranges = has_anchors = has_starts = false;
  }
};

inline bool has(const Wave& wave, std::uint32_t flag) { return (wave.flags & flag) != 0; }
inline bool is_ended(const Wave& wave) { return !has(wave, KTRACE_READER_TORN | KTRACE_READER_UNFINISHED); }

// Sums and differences of clocks that nobody vouches for.
inline std::int64_t plus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
inline std::int64_t minus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
inline std::uint32_t low_half(std::int64_t ticks) {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(ticks));
}

}  // namespace ktrace::reader
