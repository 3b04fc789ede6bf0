#include "long_ranges.hpp"

#include <algorithm>

namespace ktrace::reader {
namespace {

class Joiner {
 public:
  Joiner(const Wave& wave, WaveWords& words, ktrace_reader_losses& losses)
      : m_wave(wave), m_words(words), m_losses(losses), m_is_eager(has(wave, KTRACE_READER_EAGER)) {}

  void join(std::uint32_t begin_row, std::uint32_t end_row) {
    Event& begin = m_words.events[begin_row];
    Event& end = m_words.events[end_row];
    begin.kind = kind_gone;
    end.kind = KTRACE_KIND_RANGE;
    end.duration = minus(end.ticks, begin.ticks);
    if (!m_is_eager) set_length(end);
    if ((begin.flags & has_unit) != 0) {
      end.unit = begin.unit;
      end.flags |= has_unit;
    }
    join_values(begin, end);
  }

 private:
  // The begin has 32 bits. If the wave was running 2^32 cycles earlier, that may be the time.
  void set_length(Event& end) {
    end.duration &= clock_range - 1;
    if (end.ticks - end.duration - clock_range < m_wave.begin_ticks) return;
    end.flags |= unclear;
    ++m_losses.long_gaps;
  }

  // An event's values are neighbours: those of both words are written once more, in order of writing.
  void join_values(const Event& begin, Event& end) {
    if (begin.values == 0) return;
    if (end.values == 0) {
      end.first_value = begin.first_value;
      end.values = begin.values;
      return;
    }
    const Event& first = begin.first_value < end.first_value ? begin : end;
    const Event& second = &first == &begin ? end : begin;
    const auto at = static_cast<std::uint32_t>(m_words.values.size());
    for (const Event* event : {&first, &second})
      for (std::uint32_t i = 0; i < event->values; ++i)
        m_words.values.push(m_words.values[event->first_value + i]);
    end.first_value = at;
    end.values += begin.values;
  }

  const Wave& m_wave;
  WaveWords& m_words;
  ktrace_reader_losses& m_losses;
  bool m_is_eager;
};

bool is_long(const Event& event) {
  return event.kind == KTRACE_KIND_LONG_BEGIN || event.kind == KTRACE_KIND_LONG_END;
}

// An eager wave writes both at their time: they nest. `scratch.begins` holds all of them, `ends` is the
// stack.
void match_eager(const WaveWords& words, LongRanges& scratch, Joiner& joiner) {
  for (std::uint32_t row = 0; row < words.events.size(); ++row)
    if (is_long(words.events[row])) scratch.begins.push({words.events[row].id, row, 0});
  std::sort(scratch.begins.begin(), scratch.begins.end(), is_earlier);
  for (const LongRange& range : scratch.begins) {
    if (!scratch.ends.empty() && scratch.ends.back().id != range.id) scratch.ends.clear();
    if (words.events[range.event].kind == KTRACE_KIND_LONG_BEGIN) {
      scratch.ends.push(range);
    } else if (!scratch.ends.empty()) {
      joiner.join(scratch.ends.back().event, range.event);
      scratch.ends.pop();
    }
  }
}

// Match a begin with the end right behind it, and list the others.
void match_neighbours(const WaveWords& words, LongRanges& scratch, Joiner& joiner) {
  const std::size_t size = words.events.size();
  for (std::uint32_t row = 0; row < size; ++row) {
    const Event& event = words.events[row];
    if (event.kind == KTRACE_KIND_LONG_END) scratch.ends.push({event.id, row, event.ticks});
    if (event.kind != KTRACE_KIND_LONG_BEGIN) continue;
    const bool has_next = row + 1 < size && row + 1 != words.main_events;
    const Event& next = words.events[has_next ? row + 1 : row];
    if (next.kind == KTRACE_KIND_LONG_END && next.id == event.id) {
      joiner.join(row, row + 1);
      ++row;
    } else {
      scratch.begins.push({event.id, row, 0});
    }
  }
}

// An end that went to the other stream is matched by order: the first of an id with the first begin of that
// id.
void match_by_order(LongRanges& scratch, Joiner& joiner) {
  std::sort(scratch.begins.begin(), scratch.begins.end(), is_earlier);
  std::sort(scratch.ends.begin(), scratch.ends.end(), is_earlier);
  const LongRange* begin = scratch.begins.begin();
  const LongRange* end = scratch.ends.begin();
  while (begin != scratch.begins.end() && end != scratch.ends.end()) {
    if (begin->id == end->id)
      joiner.join((begin++)->event, (end++)->event);
    else if (begin->id < end->id)
      ++begin;
    else
      ++end;
  }
}

}  // namespace

void join_long_ranges(const Wave& wave, WaveWords& words, LongRanges& scratch, ktrace_reader_losses& losses) {
  Joiner joiner(wave, words, losses);
  scratch.begins.clear();
  scratch.ends.clear();
  if (has(wave, KTRACE_READER_EAGER)) {
    match_eager(words, scratch, joiner);
    return;
  }
  match_neighbours(words, scratch, joiner);
  match_by_order(scratch, joiner);
  for (Event& event : words.events)
    if (event.kind == KTRACE_KIND_LONG_BEGIN)
      event.ticks =
          wave.begin_ticks + static_cast<std::uint32_t>(low_half(event.ticks) - low_half(wave.begin_ticks));
}

}  // namespace ktrace::reader
