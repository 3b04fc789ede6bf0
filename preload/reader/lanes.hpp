// Ranges to lanes: no two of one lane overlap without nesting, and none is cut or dropped.
#pragma once

#include <memory>
#include <vector>

#include "names.hpp"
#include "ranges.hpp"

namespace ktrace::reader {

inline constexpr std::uint32_t own_lane = 0;

// The ends of what is on each of a row of lanes: finds the first one with an end outside of an interval.
class LaneEnds {
 public:
  void clear();
  std::uint32_t size() const { return m_size; }
  // Return the first lane whose end is at most `low` or at least `high`; `size()` if there is none.
  std::uint32_t find(std::int64_t low, std::int64_t high) const;
  // A lane of its own number is added behind the last one. Nothing fits one that is full before its end.
  void set(std::uint32_t lane, std::int64_t end, bool is_full = false);

 private:
  struct Node {
    std::int64_t least;
    std::int64_t most;
  };
  void grow();

  std::vector<Node> m_nodes;  // a tree: children of n are 2n and 2n + 1; leaves are lanes
  std::uint32_t m_leaves = 0;
  std::uint32_t m_size = 0;
};

// All lanes that were met, by number: their base, and which one of it.
class LaneTable {
 public:
  LaneTable() : m_lanes(1, ktrace_reader_lane{KTRACE_READER_OVERLAP, 0}) {}

  std::uint32_t find(std::uint32_t base, std::uint32_t number);
  const std::vector<ktrace_reader_lane>& lanes() const { return m_lanes; }

 private:
  std::vector<ktrace_reader_lane> m_lanes;
  std::vector<std::uint32_t> m_overlaps;
  std::vector<std::vector<std::uint32_t>> m_named;  // by base
};

class Lanes {
 public:
  // Set lane, depth and parent of the wave's ranges.
  void assign(const Wave& wave, WaveRanges& ranges, const Names& names, ktrace_reader_losses& losses);
  const LaneTable& table() const { return m_table; }

 private:
  struct Open {
    std::uint32_t end_key;
    std::uint32_t range;
  };

  // Return false if it nests, but in too many.
  bool assign_nested(Buffer<Range>& ranges, std::uint32_t row);
  void assign_crossing(Buffer<Range>& ranges, std::uint32_t row);
  void assign_named(Range& range, std::uint32_t base, std::int64_t end);
  bool put(Buffer<Open>& lane, Buffer<Range>& ranges, std::uint32_t row);

  LaneTable m_table;
  Buffer<Open> m_own;
  std::vector<std::unique_ptr<Buffer<Open>>> m_overlaps;
  LaneEnds m_overlap_ends;  // of the innermost range of each
  std::vector<LaneEnds> m_named_ends;
  std::vector<std::uint32_t> m_bases;  // of this wave
};

}  // namespace ktrace::reader
