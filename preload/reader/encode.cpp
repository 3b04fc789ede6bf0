#include "encode.hpp"

#include <algorithm>

namespace ktrace::encode {
namespace {

// Return the first row from `first` on that is no neighbour of it; those that are stand together.
template <typename IsNeighbour>
std::uint64_t run_stop(std::uint64_t first, std::uint64_t count, IsNeighbour is_neighbour) {
  std::uint64_t low = first, step = 1;
  while (step < count - first && is_neighbour(first + step)) {
    low = first + step;
    step *= 2;
  }
  std::uint64_t high = std::min(first + step, count);
  while (low + 1 < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    (is_neighbour(middle) ? low : high) = middle;
  }
  return high;
}

}  // namespace

Encoder::Encoder(const ktrace_encoder_setup& setup)
    : m_setup(setup), m_reset(setup.reset, setup.reset + setup.reset_size), m_now(setup.zero_ns) {
  m_event_names.reserve(setup.events);
  m_running_names.reserve(setup.events);
  for (std::uint64_t row = 0; row < setup.events; ++row) {
    m_event_names.emplace_back(name_tag, setup.event_names[row]);
    m_running_names.emplace_back(name_tag, setup.running_names[row]);
  }
  m_sequence.add(sequence_tag, setup.sequence).add(sequence_flags_tag, needs_state);
  m_setup.event_names = m_setup.running_names = nullptr;
  m_setup.reset = nullptr;
}

void Encoder::start(const Batch& batch) {
  m_batch = batch;
  m_span = m_slice = m_instant = 0;
  m_is_in_span = false;
}

ktrace_encoder_status Encoder::write(std::uint8_t* out, std::size_t room, std::size_t& size) {
  m_new_tracks.clear();
  m_out = out;
  m_limit = out + room;
  const ktrace_encoder_status status = write_spans();
  size = static_cast<std::size_t>(m_out - out);
  return status;
}

ktrace_encoder_status Encoder::write_spans() {
  for (; m_span < m_batch.span_count; ++m_span) {
    const Span& span = m_batch.spans[m_span];
    if (span.track == 0) continue;  // if it holds anything, that is left over
    ktrace_encoder_status status = KTRACE_ENCODER_DONE;
    if (!m_is_in_span) status = begin_span(span);
    if (status == KTRACE_ENCODER_DONE) status = write_held();
    if (status == KTRACE_ENCODER_DONE) status = end_span(span);
    if (status != KTRACE_ENCODER_DONE) return status;
  }
  const bool is_all = m_slice == m_batch.slice_count && m_instant == m_batch.instant_count;
  return is_all ? KTRACE_ENCODER_DONE : KTRACE_ENCODER_BAD_ROWS;
}

ktrace_encoder_status Encoder::begin_span(const Span& span) {
  if (span.track - m_setup.first_track >= m_setup.tracks) return KTRACE_ENCODER_BAD_ROWS;
  if (span.begin_ns < m_setup.zero_ns || span.end_ns < span.begin_ns) return KTRACE_ENCODER_OUT_OF_ORDER;
  if (!has_room(m_batch.column_count, 0)) return KTRACE_ENCODER_MORE;
  std::uint8_t* out = put_head(span.begin_ns, begin_event, Fields(track_tag, span.track));
  out = Fields(name_tag, span.name).put(out);
  finish(put_columns(out));
  m_is_in_span = true;
  return add_cursors(span);
}

ktrace_encoder_status Encoder::write_held() {
  while (!m_heap.empty()) {
    Cursor& cursor = m_cursors[m_heap.front()];
    ktrace_encoder_status status = write_next(cursor);
    if (status != KTRACE_ENCODER_DONE) return status;
    bool is_done = false;
    status = settle(cursor, is_done);
    if (status != KTRACE_ENCODER_DONE) return status;
    if (is_done) {
      m_heap.front() = m_heap.back();
      m_heap.pop_back();
    }
    sift(0);
  }
  return KTRACE_ENCODER_DONE;
}

ktrace_encoder_status Encoder::end_span(const Span& span) {
  // What is on the span's own track must be over.
  const bool has_own = m_used_cursors != 0 && !m_cursors.front().is_marks && m_cursors.front().lane == 0;
  if (has_own && m_cursors.front().ns > span.end_ns) return KTRACE_ENCODER_OUT_OF_ORDER;
  if (!has_room(0, 0)) return KTRACE_ENCODER_MORE;
  finish(put_head(span.end_ns, end_event, Fields(track_tag, span.track)));
  m_is_in_span = false;
  return KTRACE_ENCODER_DONE;
}

ktrace_encoder_status Encoder::add_cursors(const Span& span) {
  m_used_cursors = 0;
  m_heap.clear();
  std::int32_t last_lane = -1;
  while (m_slice < m_batch.slice_count && m_batch.slices[m_slice].wave == span.row) {
    const Slice& first = m_batch.slices[m_slice];
    if (first.lane <= last_lane || static_cast<std::uint32_t>(first.lane) >= m_setup.lanes) {
      return KTRACE_ENCODER_BAD_ROWS;
    }
    last_lane = first.lane;
    const std::uint64_t stop = run_stop(m_slice, m_batch.slice_count, [&](std::uint64_t row) {
      const Slice& slice = m_batch.slices[row];
      return slice.wave == first.wave && slice.lane == first.lane;
    });
    Cursor& cursor = add_cursor(m_slice, stop, lane_track(span.track, first.lane));
    cursor.lane = first.lane;
    cursor.ns = first.lane == 0 ? span.begin_ns : m_setup.zero_ns;
    m_slice = stop;
  }
  if (m_instant < m_batch.instant_count && m_batch.instants[m_instant].wave == span.row) {
    const std::uint64_t stop = run_stop(m_instant, m_batch.instant_count, [&](std::uint64_t row) {
      return m_batch.instants[row].wave == m_batch.instants[m_instant].wave;
    });
    Cursor& cursor = add_cursor(m_instant, stop, span.track);
    cursor.is_marks = true;
    m_instant = stop;
  }
  for (std::size_t at = 0; at < m_used_cursors; ++at) {
    bool is_done = false;
    const ktrace_encoder_status status = settle(m_cursors[at], is_done);
    if (status != KTRACE_ENCODER_DONE) return status;
    m_heap.push_back(at);
  }
  for (std::size_t at = m_heap.size() / 2; at-- > 0;) sift(at);
  return KTRACE_ENCODER_DONE;
}

Cursor& Encoder::add_cursor(std::uint64_t next, std::uint64_t stop, std::uint64_t track) {
  if (m_used_cursors == m_cursors.size()) m_cursors.emplace_back();
  Cursor& cursor = m_cursors[m_used_cursors++];
  cursor.ns = m_setup.zero_ns;
  cursor.next = next;
  cursor.stop = stop;
  cursor.is_marks = false;
  cursor.lane = -1;
  cursor.track = Fields(track_tag, track);
  cursor.open.clear();
  return cursor;
}

std::uint64_t Encoder::lane_track(std::uint64_t track, std::int32_t lane) {
  if (lane == 0) return track;
  const std::uint64_t number =
      (track - m_setup.first_track) * (m_setup.lanes - 1) + static_cast<std::uint32_t>(lane) - 1;
  const std::uint64_t own = m_setup.first_track + m_setup.tracks + number;
  if (m_known_tracks.add(number)) m_new_tracks.push_back(own);
  return own;
}

// Find a cursor's next event, which is not before the last one.
ktrace_encoder_status Encoder::settle(Cursor& cursor, bool& is_done) {
  const std::int64_t last = cursor.ns;
  is_done = cursor.next == cursor.stop && cursor.open.empty();
  if (is_done) return KTRACE_ENCODER_DONE;
  if (cursor.is_marks) {
    cursor.type = instant_event;
    cursor.ns = m_batch.instants[cursor.next].ns;
  } else if (cursor.next == cursor.stop || m_batch.slices[cursor.next].depth < cursor.open.size()) {
    cursor.type = end_event;
    cursor.ns = cursor.open.back().end_ns;
  } else {
    cursor.type = begin_event;
    cursor.ns = m_batch.slices[cursor.next].begin_ns;
  }
  return cursor.ns < last ? KTRACE_ENCODER_OUT_OF_ORDER : KTRACE_ENCODER_DONE;
}

bool Encoder::is_before(std::size_t a, std::size_t b) const {
  const std::int64_t left = m_cursors[a].ns, right = m_cursors[b].ns;
  return left < right || (left == right && a < b);
}

void Encoder::sift(std::size_t at) {
  while (2 * at + 1 < m_heap.size()) {
    std::size_t child = 2 * at + 1;
    if (child + 1 < m_heap.size() && is_before(m_heap[child + 1], m_heap[child])) ++child;
    if (!is_before(m_heap[child], m_heap[at])) return;
    std::swap(m_heap[child], m_heap[at]);
    at = child;
  }
}

}  // namespace ktrace::encode
