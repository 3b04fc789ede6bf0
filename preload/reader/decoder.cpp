#include "decoder.hpp"

#include <algorithm>

#include "clocks.hpp"
#include "rows.hpp"
#include "words.hpp"

namespace ktrace::reader {
namespace {

constexpr std::int64_t clock_limit = std::int64_t{1} << 58;   // a clock beyond it is no clock
constexpr std::uint64_t most_words = std::uint64_t{1} << 28;  // of a region, so that places have 32 bits

bool is_readable(const Wave& wave) {
  const std::uint64_t kept = std::uint64_t{wave.main_words} + wave.side_words;
  const auto is_clock = [](std::int64_t ticks) { return ticks >= 0 && ticks < clock_limit; };
  return !has(wave, KTRACE_READER_TORN) && kept <= std::min<std::uint64_t>(most_words, wave.region_words) &&
         is_clock(wave.begin_ticks) && is_clock(wave.end_ticks);
}

}  // namespace

// Read a wave; return its end.
std::int64_t Decoder::read(const Wave& wave, ktrace_reader_losses& losses) {
  read_words(wave, m_ring_order, m_words, losses);
  continue_clocks(wave, m_words, losses);
  if (m_words.has_long_ranges) join_long_ranges(wave, m_words, m_long_ranges, losses);
  merge_streams(wave, m_words, m_unmerged);
  const std::int64_t last = m_words.events.empty() ? wave.begin_ticks : m_words.events.back().ticks;
  const std::int64_t end = std::max(wave.end_ticks, last);
  losses.long_gaps += is_ended(wave) && end - last >= clock_range;
  find_ranges(wave, end, m_words, m_ranges, losses);
  find_names(wave);
  m_lanes.assign(wave, m_ranges, m_names, losses);
  return end;
}

void Decoder::find_names(const Wave& wave) {
  for (Range& range : m_ranges.ranges) range.row = m_names.find(wave.kernel, m_words.events[range.event]);
  m_ranges.mark_rows.clear();
  m_ranges.mark_rows.reserve(m_ranges.marks.size());
  for (const std::uint32_t mark : m_ranges.marks)
    m_ranges.mark_rows.add() = m_names.find(wave.kernel, m_words.events[mark]);
  if (m_ranges.group != none) m_ranges.group = m_names.find(wave.kernel, m_words.events[m_ranges.group]);
}

void Decoder::scan(const Wave* waves, std::size_t count, ktrace_reader_scanned* scanned,
                   ktrace_reader_losses& losses) {
  m_anchors.clear();
  for (std::size_t i = 0; i < count; ++i) {
    scanned[i] = {};
    scanned[i].end_ticks = waves[i].end_ticks;
    scanned[i].group = KTRACE_READER_NONE;
    if (!is_readable(waves[i])) continue;
    const auto torn_words = losses.torn_words;
    scanned[i].end_ticks = read(waves[i], losses);
    if (losses.torn_words > torn_words) scanned[i].flags |= KTRACE_READER_UNREADABLE;
    note(waves[i], scanned[i], losses);
  }
}

void Decoder::note(const Wave& wave, ktrace_reader_scanned& scanned, ktrace_reader_losses& losses) {
  if (is_ended(wave) && scanned.end_ticks > wave.end_ticks) scanned.flags |= KTRACE_READER_CLAMPED;
  if (m_ranges.group != none) scanned.group = static_cast<std::int32_t>(m_ranges.group);
  scanned.words = m_words.words;
  // Those of an eager wave do not tell that some of its lanes were elsewhere.
  scanned.side_words = has(wave, KTRACE_READER_EAGER) ? 0 : m_words.side_words;
  scanned.slices = static_cast<std::uint32_t>(m_ranges.ranges.size());
  scanned.instants = static_cast<std::uint32_t>(m_ranges.marks.size());
  for (const Range& range : m_ranges.ranges) {
    scanned.unclosed += (range.flags & KTRACE_READER_SLICE_UNCLOSED) != 0;
    scanned.slice_values += m_words.events[range.event].values;
    if (range.end_event != none) scanned.slice_values += m_words.events[range.end_event].values;
  }
  for (const std::uint32_t mark : m_ranges.marks) scanned.instant_values += m_words.events[mark].values;
  note_names(losses);
  if (m_words.has_anchors) note_anchors(wave);
}

void Decoder::note_names(ktrace_reader_losses& losses) {
  const auto use = [&](std::uint32_t row) {
    m_names.set_used(row);
    losses.unnamed_events += !m_names.is_named(row);
  };
  for (const Range& range : m_ranges.ranges) use(range.row);
  for (const std::uint32_t row : m_ranges.mark_rows) use(row);
  losses.unnamed_events += m_ranges.group != none && !m_names.is_named(m_ranges.group);
}

void Decoder::note_anchors(const Wave& wave) {
  for (const Event& event : m_words.events)
    if (event.kind == KTRACE_KIND_ANCHOR && event.values != 0)
      m_anchors.push_back(
          {wave.row, event.ticks, static_cast<std::int64_t>(m_words.values[event.first_value].bits)});
}

bool Decoder::arrange(const std::int32_t* event_rows, std::size_t events, const std::int32_t* lane_rows,
                      std::size_t lanes) {
  if (events != m_names.events().size() || lanes != this->lanes().size()) return false;
  m_event_rows.assign(event_rows, event_rows + events);
  m_lane_rows.assign(lane_rows, lane_rows + lanes);
  return true;
}

bool Decoder::decode(const Wave* waves, std::size_t count, const ktrace_reader_clock& clock,
                     const ktrace_reader_rows& rows) {
  RowWriter writer(clock, rows, m_event_rows, m_lane_rows);
  ktrace_reader_losses counted_before{};
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_readable(waves[i])) continue;
    read(waves[i], counted_before);
    if (!writer.write(waves[i], m_words, m_ranges, m_names.events().size(), lanes().size())) return false;
  }
  return writer.is_full();
}

}  // namespace ktrace::reader
