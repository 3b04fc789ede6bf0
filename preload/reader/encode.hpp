// The encoder: spans and what they hold as packets of one sequence, in an order that no viewer misreads.
//
// A viewer ends the innermost open slice of a track at each END, whatever was meant, and takes events of one
// time in the order of the file. So a span is written as a whole: its BEGIN, then what it holds by time, all
// lanes merged; at one time ENDs before BEGINs, inner before outer, and marks last; then its END.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "encode.h"
#include "encode_fields.hpp"
#include "track_set.hpp"

namespace ktrace::encode {

using Slice = ktrace_reader_slice;
using Instant = ktrace_reader_instant;
using Span = ktrace_encoder_span;
using Batch = ktrace_encoder_batch;

struct Open {
  std::int64_t end_ns;
  std::uint64_t row;
};

// Where one lane of a span stands, or its marks.
struct Cursor {
  std::int64_t ns;  // of the next event; then of the one that was written
  std::uint64_t next;
  std::uint64_t stop;
  EventType type;  // of the next event
  bool is_marks;
  std::int32_t lane;
  Fields track;
  std::vector<Open> open;
};

class Encoder {
 public:
  explicit Encoder(const ktrace_encoder_setup& setup);
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  void start(const Batch& batch);
  ktrace_encoder_status write(std::uint8_t* out, std::size_t room, std::size_t& size);
  const std::vector<std::uint64_t>& new_tracks() const { return m_new_tracks; }
  std::uint32_t most_values() const { return m_most_values; }

 private:
  // What is done with a span, in order.
  ktrace_encoder_status write_spans();
  ktrace_encoder_status begin_span(const Span& span);
  ktrace_encoder_status write_held();
  ktrace_encoder_status end_span(const Span& span);

  // What it holds.
  ktrace_encoder_status add_cursors(const Span& span);
  Cursor& add_cursor(std::uint64_t next, std::uint64_t stop, std::uint64_t track);
  std::uint64_t lane_track(std::uint64_t track, std::int32_t lane);
  ktrace_encoder_status settle(Cursor& cursor, bool& is_done);
  bool is_before(std::size_t a, std::size_t b) const;
  void sift(std::size_t at);

  // Single events.
  ktrace_encoder_status write_next(Cursor& cursor);
  ktrace_encoder_status write_begin(Cursor& cursor);
  ktrace_encoder_status write_end(Cursor& cursor);
  ktrace_encoder_status write_mark(Cursor& cursor);
  bool has_room(std::size_t annotations, std::size_t flows) const;
  bool has_values(std::int64_t first, std::uint32_t count) const;
  bool flows_of(std::uint64_t slice, std::uint64_t& first, std::uint64_t& stop) const;
  std::uint8_t* put_head(std::int64_t ns, EventType type, const Fields& track);
  std::uint8_t* put_values(std::uint8_t* out, std::int64_t first, std::uint32_t count);
  std::uint8_t* put_flags(std::uint8_t* out, std::uint32_t flags) const;
  std::uint8_t* put_columns(std::uint8_t* out) const;
  void finish(std::uint8_t* out);

  // Of all batches.
  ktrace_encoder_setup m_setup;  // without its pointers
  std::vector<Fields> m_event_names, m_running_names;
  std::vector<std::uint8_t> m_reset;
  Fields m_sequence;
  TrackSet m_known_tracks;  // of lanes
  std::vector<std::uint64_t> m_new_tracks;
  std::uint32_t m_most_values = 0;
  std::int64_t m_now;  // of the sequence's clock

  // Of this batch.
  Batch m_batch = {};
  std::uint64_t m_span = 0, m_slice = 0, m_instant = 0;
  bool m_is_in_span = false;
  std::vector<Cursor> m_cursors;  // those from m_used_cursors on keep their memory for later
  std::size_t m_used_cursors = 0;
  std::vector<std::size_t> m_heap;  // cursors with a next event, the earliest first

  // Of this write.
  std::uint8_t* m_out = nullptr;
  std::uint8_t* m_limit = nullptr;
  std::uint8_t* m_packet = nullptr;  // the open message's body
  std::uint8_t* m_event = nullptr;
};

}  // namespace ktrace::encode
