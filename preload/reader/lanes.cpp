#include "lanes.hpp"

#include <algorithm>
#include <limits>

namespace ktrace::reader {
namespace {

constexpr std::int64_t earliest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t forever = never - 1;      // an end that no begin comes after
constexpr std::size_t most_nested = 0xffff + 1;  // depths have 16 bits

bool is_unclosed(const Range& range) { return (range.flags & KTRACE_READER_SLICE_UNCLOSED) != 0; }

}  // namespace

void LaneEnds::clear() {
  m_size = 0;
  m_leaves = 0;
}

std::uint32_t LaneEnds::find(std::int64_t low, std::int64_t high) const {
  const auto fits = [&](std::uint32_t node) {
    return m_nodes[node].least <= low || m_nodes[node].most >= high;
  };
  if (m_size == 0 || !fits(1)) return m_size;
  std::uint32_t node = 1;
  while (node < m_leaves) {
    node *= 2;
    if (!fits(node)) ++node;
  }
  return node - m_leaves;
}

void LaneEnds::set(std::uint32_t lane, std::int64_t end, bool is_full) {
  if (lane == m_size && m_size++ == m_leaves) grow();
  std::uint32_t node = m_leaves + lane;
  m_nodes[node] = {end, is_full ? earliest : end};
  while (node > 1) {
    node /= 2;
    const Node& left = m_nodes[2 * node];
    const Node& right = m_nodes[2 * node + 1];
    m_nodes[node] = {std::min(left.least, right.least), std::max(left.most, right.most)};
  }
}

// A leaf that is no lane yet fits nothing.
void LaneEnds::grow() {
  const std::uint32_t before = m_leaves;
  m_leaves = std::max(2 * before, 2u);
  std::vector<Node> nodes(std::size_t{2} * m_leaves, Node{never, earliest});
  if (before != 0) std::copy_n(m_nodes.begin() + before, before, nodes.begin() + m_leaves);
  for (std::uint32_t node = m_leaves; node-- > 1;)
    nodes[node] = {std::min(nodes[2 * node].least, nodes[2 * node + 1].least),
                   std::max(nodes[2 * node].most, nodes[2 * node + 1].most)};
  m_nodes.swap(nodes);
}

std::uint32_t LaneTable::find(std::uint32_t base, std::uint32_t number) {
  if (base != KTRACE_READER_OVERLAP && base >= m_named.size()) m_named.resize(std::size_t{base} + 1);
  std::vector<std::uint32_t>& own = base == KTRACE_READER_OVERLAP ? m_overlaps : m_named[base];
  while (own.size() <= number) {
    const auto next = static_cast<std::uint32_t>(own.size());
    own.push_back(static_cast<std::uint32_t>(m_lanes.size()));
    m_lanes.push_back({base, next});
  }
  return own[number];
}

void Lanes::assign(const Wave& wave, WaveRanges& ranges, const Names& names, ktrace_reader_losses& losses) {
  m_own.clear();
  m_overlap_ends.clear();
  for (const std::uint32_t base : m_bases) m_named_ends[base].clear();
  m_bases.clear();
  const bool is_running = has(wave, KTRACE_READER_RUNNING);
  for (std::uint32_t row = 0; row < ranges.ranges.size(); ++row) {
    Range& range = ranges.ranges[row];
    const ktrace_reader_event& event = names[range.row];
    if (range.is_token || (event.flags & KTRACE_READER_EVENT_LANE) != 0)
      assign_named(range, event.base, is_running && is_unclosed(range) ? forever : range.end_ticks);
    else
      losses.deep_slices += !assign_nested(ranges.ranges, row);
  }
}

// Put a range on a lane if what it holds leaves room for it, or contains it.
bool Lanes::put(Buffer<Open>& lane, Buffer<Range>& ranges, std::uint32_t row) {
  Range& range = ranges[row];
  while (!lane.empty() && lane.back().end_key <= range.begin_key) lane.pop();
  if (!lane.empty() && range.end_key > lane.back().end_key) return false;
  if (lane.size() == most_nested) return false;
  range.depth = static_cast<std::uint32_t>(lane.size());
  range.parent = lane.empty() ? none : lane.back().range;
  lane.push({range.end_key, row});
  return true;
}

bool Lanes::assign_nested(Buffer<Range>& ranges, std::uint32_t row) {
  ranges[row].lane = own_lane;
  if (put(m_own, ranges, row)) return true;
  const bool is_crossing = ranges[row].end_key > m_own.back().end_key;
  assign_crossing(ranges, row);
  return is_crossing;
}

// A range that outlasts the one that it began in goes to the first lane on which it nests.
void Lanes::assign_crossing(Buffer<Range>& ranges, std::uint32_t row) {
  Range& range = ranges[row];
  for (;;) {
    const std::uint32_t lane = m_overlap_ends.find(range.begin_key, range.end_key);
    if (lane == m_overlaps.size()) m_overlaps.push_back(std::make_unique<Buffer<Open>>());
    Buffer<Open>& open = *m_overlaps[lane];
    if (lane == m_overlap_ends.size()) open.clear();
    const bool is_put = put(open, ranges, row);
    m_overlap_ends.set(lane, open.back().end_key, open.size() == most_nested);
    if (!is_put) continue;  // what had ended there was in front of what has not
    range.lane = m_table.find(KTRACE_READER_OVERLAP, lane);
    return;
  }
}

// None of them nest: what begins while a lane is busy goes to the next one of that name. Equal cycles are no
// overlap: lanes are about time, not about the order of words.
void Lanes::assign_named(Range& range, std::uint32_t base, std::int64_t end) {
  if (base >= m_named_ends.size()) m_named_ends.resize(std::size_t{base} + 1);
  LaneEnds& ends = m_named_ends[base];
  if (ends.size() == 0) m_bases.push_back(base);
  const std::uint32_t number = ends.find(range.begin_ticks, never);
  ends.set(number, end);
  range.lane = m_table.find(base, number);
  range.depth = 0;
  range.parent = none;
}

}  // namespace ktrace::reader
