#include "rows.hpp"

#include <algorithm>
#include <cmath>

namespace ktrace::reader {
namespace {

constexpr double most_ns = static_cast<double>(std::int64_t{1} << 61);  // longer times come from damage only

}  // namespace

ClockPieces::ClockPieces(const ktrace_reader_clock& clock, const Wave& wave) {
  const std::uint64_t first = std::min<std::uint64_t>(wave.first_piece, clock.pieces);
  m_ticks = clock.ticks + first;
  m_ns = clock.ns + first;
  m_slope = clock.slope + first;
  m_count = static_cast<std::size_t>(std::min<std::uint64_t>(wave.pieces, clock.pieces - first));
}

std::int64_t ClockPieces::to_ns(std::int64_t ticks) {
  if (m_count == 0) return 0;
  if (!is_at(m_last, ticks)) {
    const std::int64_t* const behind = std::upper_bound(m_ticks, m_ticks + m_count, ticks);
    m_last = behind == m_ticks ? 0 : static_cast<std::size_t>(behind - m_ticks) - 1;
  }
  const double offset =
      std::clamp(static_cast<double>(minus(ticks, m_ticks[m_last])) * m_slope[m_last], -most_ns, most_ns);
  return plus(m_ns[m_last], std::llrint(offset));
}

bool RowWriter::is_full() const {
  return m_slices == m_rows.slice_count && m_instants == m_rows.instant_count &&
         m_slice_values == m_rows.slice_values && m_instant_values == m_rows.instant_values;
}

bool RowWriter::write(const Wave& wave, const WaveWords& words, const WaveRanges& ranges, std::size_t events,
                      std::size_t lanes) {
  if (events != m_event_rows.size() || lanes != m_lane_rows.size()) return false;
  if (ranges.ranges.size() > m_rows.slice_count - m_slices) return false;
  ClockPieces clock(m_clock, wave);
  order_slices(ranges.ranges);
  const std::uint64_t first = m_slices;
  for (const std::uint32_t range : m_order)
    if (!write_slice(clock, wave, words, ranges.ranges[range], first)) return false;
  return write_instants(clock, wave, words, ranges);
}

// Nearly all waves have all on few lanes: count, then put each range behind those before it on its lane.
void RowWriter::order_slices(const Buffer<Range>& ranges) {
  while (m_place_of_lane.size() < m_lane_rows.size()) m_place_of_lane.push(none);
  m_used_lanes.clear();
  for (const Range& range : ranges) {
    std::uint32_t& place = m_place_of_lane[range.lane];
    if (place == none) {
      place = static_cast<std::uint32_t>(m_used_lanes.size());
      m_used_lanes.push({range.lane, 0});
    }
    ++m_used_lanes[place].slices;
  }
  std::sort(m_used_lanes.begin(), m_used_lanes.end(),
            [&](const UsedLane& a, const UsedLane& b) { return m_lane_rows[a.lane] < m_lane_rows[b.lane]; });
  std::uint32_t next = 0;
  for (const UsedLane& used : m_used_lanes) {
    m_place_of_lane[used.lane] = next;
    next += used.slices;
  }
  m_order.resize(ranges.size());
  m_row_of.resize(ranges.size());
  for (std::uint32_t row = 0; row < ranges.size(); ++row) {
    m_row_of[row] = m_place_of_lane[ranges[row].lane]++;
    m_order[m_row_of[row]] = row;
  }
  for (const UsedLane& used : m_used_lanes) m_place_of_lane[used.lane] = none;
}

bool RowWriter::write_values(const WaveWords& words, std::uint32_t event, std::uint64_t& next,
                             std::uint64_t end) {
  const Event& owner = words.events[event];
  if (owner.values > end - next) return false;
  std::copy_n(words.values.begin() + owner.first_value, owner.values, m_rows.values + next);
  next += owner.values;
  return true;
}

bool RowWriter::write_slice(ClockPieces& clock, const Wave& wave, const WaveWords& words, const Range& range,
                            std::uint64_t first_slice) {
  ktrace_reader_slice& slice = m_rows.slices[m_slices++];
  slice.wave = wave.row;
  slice.event = m_event_rows[range.row];
  slice.lane = m_lane_rows[range.lane];
  slice.depth = static_cast<std::uint16_t>(range.depth);
  slice.flags = range.flags;
  slice.begin_ticks = range.begin_ticks;
  slice.ticks = range.end_ticks - range.begin_ticks;
  slice.begin_ns = clock.to_ns(range.begin_ticks);
  slice.ns = minus(clock.to_ns(range.end_ticks), slice.begin_ns);
  slice.first_value = static_cast<std::int64_t>(m_slice_values);
  slice.parent = range.parent == none ? KTRACE_READER_NONE
                                      : static_cast<std::int32_t>(first_slice + m_row_of[range.parent]);
  const bool has_two = range.end_event != none;
  const std::uint32_t first = has_two ? std::min(range.event, range.end_event) : range.event;
  bool is_written = write_values(words, first, m_slice_values, m_rows.slice_values);
  if (has_two)
    is_written = is_written && write_values(words, std::max(range.event, range.end_event), m_slice_values,
                                            m_rows.slice_values);
  slice.values = static_cast<std::uint32_t>(m_slice_values - static_cast<std::uint64_t>(slice.first_value));
  return is_written;
}

bool RowWriter::write_instants(ClockPieces& clock, const Wave& wave, const WaveWords& words,
                               const WaveRanges& ranges) {
  if (ranges.marks.size() > m_rows.instant_count - m_instants) return false;
  for (std::size_t mark = 0; mark < ranges.marks.size(); ++mark) {
    const Event& event = words.events[ranges.marks[mark]];
    std::uint64_t next = m_rows.slice_values + m_instant_values;
    ktrace_reader_instant& instant = m_rows.instants[m_instants++];
    instant.wave = wave.row;
    instant.event = m_event_rows[ranges.mark_rows[mark]];
    instant.ticks = event.ticks;
    instant.ns = clock.to_ns(event.ticks);
    instant.first_value = static_cast<std::int64_t>(next);
    instant.values = event.values;
    instant.reserved = 0;
    if (!write_values(words, ranges.marks[mark], next, m_rows.slice_values + m_rows.instant_values))
      return false;
    m_instant_values += event.values;
  }
  return true;
}

}  // namespace ktrace::reader
