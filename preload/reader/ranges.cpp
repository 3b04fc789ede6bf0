#include "ranges.hpp"

#include <algorithm>

#include "far_spans.hpp"

namespace ktrace::reader {
namespace {

bool by_number(const Token& a, const Token& b) {
  return a.number != b.number ? a.number < b.number : a.start < b.start;
}

// Where the walk through a wave's events is.
struct Place {
  std::uint32_t event;
  std::uint32_t key;  // four for each begin and each event
  std::uint32_t gaps;
  std::int64_t ticks;
};

class Walk {
 public:
  Walk(const Wave& wave, WaveWords& words, WaveRanges& into, ktrace_reader_losses& losses)
      : m_wave(wave),
        m_events(words.events),
        m_has_starts(words.has_starts),
        m_into(into),
        m_losses(losses) {}

  void run() {
    prepare();
    const FarSpan* far = m_into.far_spans.begin();
    for (std::uint32_t row = 0; row < m_events.size(); ++row) {
      Event& event = m_events[row];
      const bool is_near = event.kind == KTRACE_KIND_RANGE && (event.flags & is_far) == 0;
      const std::int64_t begin = minus(event.ticks, event.duration);
      while (far != m_into.far_spans.end() && far->before == row && (!is_near || far->begin <= begin))
        begin_span((far++)->event);
      if (is_near) begin_span(row);
      while (far != m_into.far_spans.end() && far->before == row) begin_span((far++)->event);
      m_gaps += (event.flags & after_gap) != 0;
      visit(event, {row, m_key, m_gaps, event.ticks});
      m_key += 4;
    }
  }

  // What has no end is shown up to the last event; a phase outside of any range, up to the wave's end.
  void finish(std::int64_t end_ticks) {
    if (m_events.empty()) return;
    const auto last = static_cast<std::uint32_t>(m_events.size() - 1);
    const std::uint16_t unclosed =
        has(m_wave, KTRACE_READER_DROPPED)
            ? std::uint16_t{KTRACE_READER_SLICE_UNCLOSED | KTRACE_READER_SLICE_TRUNCATED}
            : std::uint16_t{KTRACE_READER_SLICE_UNCLOSED};
    if (m_phase != none) {
      // What a wave lost may have been this phase's end.
      const bool is_whole = !has(m_wave, KTRACE_READER_UNFINISHED | KTRACE_READER_DROPPED);
      end_range(m_into.ranges[m_phase], {last, m_key - 4 + 3, m_gaps, end_ticks},
                is_whole ? std::uint16_t{0} : unclosed);
    }
    for (Range& range : m_into.ranges) {
      if (!range.is_closed) end_range(range, {last, m_key - 4 + 2, m_gaps, m_events[last].ticks}, unclosed);
      settle(range);
    }
  }

 private:
  void prepare() {
    m_into.ranges.clear();
    m_into.ranges.reserve(m_events.size());
    m_into.marks.clear();
    m_into.open.clear();
    m_into.open_pushes.clear();
    m_into.tokens.clear();
    m_into.group = none;
    m_into.stray_ends = 0;
    if (m_has_starts) list_tokens();
  }

  void list_tokens() {
    Buffer<Token>& tokens = m_into.tokens;
    for (std::uint32_t row = 0; row < m_events.size(); ++row)
      if (m_events[row].kind == KTRACE_KIND_START) tokens.push({m_events[row].link, row, none, none});
    if (!std::is_sorted(tokens.begin(), tokens.end(), by_number))
      std::sort(tokens.begin(), tokens.end(), by_number);
  }

  // The first START with this number counts.
  Token* find_token(std::uint32_t number) {
    Token* const found =
        std::lower_bound(m_into.tokens.begin(), m_into.tokens.end(), Token{number, 0, 0, 0}, by_number);
    return found != m_into.tokens.end() && found->number == number ? found : nullptr;
  }

  std::uint32_t begin_range(std::uint32_t row, std::int64_t ticks) {
    const auto range = static_cast<std::uint32_t>(m_into.ranges.size());
    Range& begun = m_into.ranges.add();
    begun.begin_ticks = ticks;
    begun.begin_key = m_key + 1;
    begun.begin_gaps = m_gaps;
    begun.event = row;
    begun.end_event = begun.phase = none;
    begun.flags = 0;
    begun.is_token = begun.is_closed = false;
    return range;
  }

  void begin_span(std::uint32_t row) {
    Event& event = m_events[row];
    event.link = begin_range(row, minus(event.ticks, event.duration));
    m_into.open.push(event.link);
    m_key += 4;
  }

  // A phase that nothing ends goes on to the end of what it began in.
  void end_range(Range& range, const Place& at, std::uint16_t flags) {
    set_end(range, at, flags);
    if (range.phase != none) set_end(m_into.ranges[range.phase], at, flags);
    range.phase = none;
  }

  static void set_end(Range& range, const Place& at, std::uint16_t flags) {
    range.end_key = at.key;
    range.end_ticks = at.ticks;
    range.end_gaps = at.gaps;
    range.flags = flags;
    range.is_closed = true;
  }

  // Hold a range within its wave and above 0 cycles, and flag one across a long gap.
  void settle(Range& range) {
    const Event& event = m_events[range.event];
    std::int64_t begin = std::max(range.begin_ticks, m_wave.begin_ticks);
    // A span stands where it ends, whatever its begin says.
    if (event.kind == KTRACE_KIND_RANGE) begin = std::min(begin, range.end_ticks);
    if (begin != range.begin_ticks || range.end_ticks < begin) {
      range.flags |= KTRACE_READER_SLICE_CLAMPED;
      ++m_losses.clamped_slices;
    }
    range.begin_ticks = begin;
    range.end_ticks = std::max(range.end_ticks, begin);
    if (range.end_gaps > range.begin_gaps || (event.flags & unclear) != 0)
      range.flags |= KTRACE_READER_SLICE_LONG_GAP;
  }

  void end_nested(std::uint32_t range, const Place& at) {
    end_range(m_into.ranges[range], at, 0);
    Buffer<std::uint32_t>& open = m_into.open;
    while (!open.empty() && m_into.ranges[open.back()].is_closed) open.pop();
  }

  void visit(Event& event, const Place& at) {
    switch (event.kind) {
      case KTRACE_KIND_RANGE:
        end_nested(event.link, at);
        break;
      case KTRACE_KIND_PUSH:
        m_into.open_pushes.push(begin_range(at.event, at.ticks));
        m_into.open.push(m_into.open_pushes.back());
        break;
      case KTRACE_KIND_LONG_BEGIN:
        m_into.open.push(begin_range(at.event, at.ticks));
        break;
      case KTRACE_KIND_POP:
        visit_pop(event, at);
        break;
      case KTRACE_KIND_START:
        visit_start(event, at);
        break;
      case KTRACE_KIND_STOP:
        visit_stop(event, at);
        break;
      case KTRACE_KIND_PHASE:
        visit_phase(event, at);
        break;
      case KTRACE_KIND_PHASE_END:
        visit_phase(event, at);
        break;
      case KTRACE_KIND_MARK:
        m_into.marks.push(at.event);
        break;
      case KTRACE_KIND_GROUP:
        m_into.group = at.event;
        break;
      case KTRACE_KIND_LONG_END:
        stray_end(event);
        break;
      case KTRACE_KIND_ANCHOR:
        break;
      default:
        m_losses.stray_values += event.values;
        break;
    }
  }

  void stray_end(const Event& event) {
    ++m_into.stray_ends;
    m_losses.stray_values += event.values;
  }

  void visit_pop(const Event& event, const Place& at) {
    if (m_into.open_pushes.empty()) {
      stray_end(event);
      return;
    }
    const std::uint32_t range = m_into.open_pushes.back();
    m_into.open_pushes.pop();
    m_into.ranges[range].end_event = at.event;
    end_nested(range, at);
  }

  void visit_start(const Event& event, const Place& at) {
    const std::uint32_t range = begin_range(at.event, at.ticks);
    m_into.ranges[range].is_token = true;
    Token* const token = find_token(event.link);
    if (token == nullptr || token->start != at.event) return;
    token->range = range;
    if (token->stop == none) return;
    // Its STOP, of the other stream, was before it.
    const Event& stop = m_events[token->stop];
    m_into.ranges[range].end_event = token->stop;
    end_range(m_into.ranges[range], {token->stop, 0, 0, stop.ticks}, 0);
  }

  // The first STOP of a START counts; another one has nothing left to stop.
  void visit_stop(const Event& event, const Place& at) {
    Token* const token = find_token(event.id);
    if (token == nullptr || token->stop != none) {
      stray_end(event);
      return;
    }
    token->stop = at.event;
    if (token->range == none) return;
    m_into.ranges[token->range].end_event = at.event;
    end_range(m_into.ranges[token->range], at, 0);
  }

  // A phase lasts until the next PHASE or PHASE_END of the range that it began in.
  void visit_phase(const Event& event, const Place& at) {
    const std::uint32_t around = m_into.open.empty() ? none : m_into.open.back();
    const std::uint32_t before = around == none ? m_phase : m_into.ranges[around].phase;
    if (before != none) end_range(m_into.ranges[before], at, 0);
    std::uint32_t next = none;
    if (event.kind == KTRACE_KIND_PHASE) {
      next = begin_range(at.event, at.ticks);
    } else {
      m_losses.stray_values += event.values;
      m_into.stray_ends += before == none;
    }
    (around == none ? m_phase : m_into.ranges[around].phase) = next;
  }

  const Wave& m_wave;
  Buffer<Event>& m_events;
  bool m_has_starts;
  WaveRanges& m_into;
  ktrace_reader_losses& m_losses;
  std::uint32_t m_key = 0;
  std::uint32_t m_gaps = 0;
  std::uint32_t m_phase = none;  // outside of any range
};

}  // namespace

void find_ranges(const Wave& wave, std::int64_t end_ticks, WaveWords& words, WaveRanges& into,
                 ktrace_reader_losses& losses) {
  find_far_spans(words, into);
  Walk walk(wave, words, into, losses);
  walk.run();
  walk.finish(end_ticks);
  (has(wave, KTRACE_READER_OVERWRITTEN) ? losses.overwritten_begins : losses.stray_ends) += into.stray_ends;
}

}  // namespace ktrace::reader
