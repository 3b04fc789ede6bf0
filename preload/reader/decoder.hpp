// All that a reader keeps from wave to wave, and the stages that a wave goes through.
#pragma once

#include <vector>

#include "lanes.hpp"
#include "long_ranges.hpp"
#include "merge.hpp"
#include "names.hpp"
#include "ranges.hpp"

namespace ktrace::reader {

class Decoder {
 public:
  explicit Decoder(Names names) : m_names(std::move(names)) {}

  void scan(const Wave* waves, std::size_t count, ktrace_reader_scanned* scanned,
            ktrace_reader_losses& losses);
  bool arrange(const std::int32_t* event_rows, std::size_t events, const std::int32_t* lane_rows,
               std::size_t lanes);
  // Return whether the rows were as many as there is room for.
  bool decode(const Wave* waves, std::size_t count, const ktrace_reader_clock& clock,
              const ktrace_reader_rows& rows);

  const std::vector<ktrace_reader_anchor>& anchors() const { return m_anchors; }
  const std::vector<ktrace_reader_event>& events() const { return m_names.events(); }
  const std::vector<ktrace_reader_lane>& lanes() const { return m_lanes.table().lanes(); }

 private:
  std::int64_t read(const Wave& wave, ktrace_reader_losses& losses);
  void find_names(const Wave& wave);
  void note(const Wave& wave, ktrace_reader_scanned& scanned, ktrace_reader_losses& losses);
  void note_anchors(const Wave& wave);
  void note_names(ktrace_reader_losses& losses);

  Names m_names;
  Lanes m_lanes;
  std::vector<ktrace_reader_anchor> m_anchors;
  std::vector<std::int32_t> m_event_rows;
  std::vector<std::int32_t> m_lane_rows;
  // Of the wave that is read:
  WaveWords m_words;
  WaveRanges m_ranges;
  LongRanges m_long_ranges;
  Unmerged m_unmerged;
  Buffer<std::uint32_t> m_ring_order;
};

}  // namespace ktrace::reader
