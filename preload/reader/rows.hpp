// The rows of one wave: slices, instants and values, with nanoseconds.
#pragma once

#include <vector>

#include "lanes.hpp"

namespace ktrace::reader {

// The pieces of a wave's clock: ns + rint((t - ticks) * slope) of the last piece that begins at `t` or
// before.
class ClockPieces {
 public:
  ClockPieces(const ktrace_reader_clock& clock, const Wave& wave);
  std::int64_t to_ns(std::int64_t ticks);

 private:
  bool is_at(std::size_t piece, std::int64_t ticks) const {
    return m_ticks[piece] <= ticks && (piece + 1 == m_count || ticks < m_ticks[piece + 1]);
  }

  const std::int64_t* m_ticks;
  const std::int64_t* m_ns;
  const double* m_slope;
  std::size_t m_count;
  std::size_t m_last = 0;  // times come nearly in order
};

// Writes rows of one wave after the other, and never beyond the room that there is.
class RowWriter {
 public:
  RowWriter(const ktrace_reader_clock& clock, const ktrace_reader_rows& rows,
            const std::vector<std::int32_t>& event_rows, const std::vector<std::int32_t>& lane_rows)
      : m_clock(clock), m_rows(rows), m_event_rows(event_rows), m_lane_rows(lane_rows) {}

  // Return whether there was room.
  bool write(const Wave& wave, const WaveWords& words, const WaveRanges& ranges, std::size_t events,
             std::size_t lanes);
  bool is_full() const;

 private:
  struct UsedLane {
    std::uint32_t lane;
    std::uint32_t slices;
  };

  void order_slices(const Buffer<Range>& ranges);
  bool write_values(const WaveWords& words, std::uint32_t event, std::uint64_t& next, std::uint64_t end);
  bool write_slice(ClockPieces& clock, const Wave& wave, const WaveWords& words, const Range& range,
                   std::uint64_t first_slice);
  bool write_instants(ClockPieces& clock, const Wave& wave, const WaveWords& words, const WaveRanges& ranges);

  const ktrace_reader_clock& m_clock;
  const ktrace_reader_rows& m_rows;
  const std::vector<std::int32_t>& m_event_rows;
  const std::vector<std::int32_t>& m_lane_rows;
  std::uint64_t m_slices = 0;
  std::uint64_t m_instants = 0;
  std::uint64_t m_slice_values = 0;
  std::uint64_t m_instant_values = 0;
  Buffer<std::uint32_t> m_order;   // ranges, by lane, then begin
  Buffer<std::uint32_t> m_row_of;  // each range's place in `m_order`
  Buffer<UsedLane> m_used_lanes;
  Buffer<std::uint32_t> m_place_of_lane;  // in `m_used_lanes`, or none
};

}  // namespace ktrace::reader
