#include "far_spans.hpp"

#include <algorithm>

namespace ktrace::reader {
namespace {

std::int64_t begin_of(const Event& span) { return minus(span.ticks, span.duration); }

bool contains_event_before(const Event* span) { return span[-1].ticks >= begin_of(*span); }

// Return the first of the events before `end` that is not before `ticks`; it is near to `end`, mostly.
std::uint32_t first_from(const Buffer<Event>& events, std::uint32_t end, std::int64_t ticks) {
  std::uint32_t step = 1;
  while (step < end && events[end - step].ticks >= ticks) step *= 2;
  const Event* const low = events.begin() + (step < end ? end - step : 0);
  const Event* const found =
      std::lower_bound(low, events.begin() + end, ticks,
                       [](const Event& event, std::int64_t wanted) { return event.ticks < wanted; });
  return static_cast<std::uint32_t>(found - events.begin());
}

// Keeps for each moment which of its PUSHes is the first that was closed at a later one.
class Moments {
 public:
  Moments(const Buffer<Event>& events, WaveRanges& scratch) : m_events(events), m_scratch(scratch) {
    m_scratch.open_pushes.clear();
    m_scratch.moments.resize(events.size());
    m_scratch.first_inside.resize(events.size());
  }

  void visit(std::uint32_t row) {
    const bool is_same = row != 0 && m_events[row - 1].ticks == m_events[row].ticks;
    m_scratch.moments[row] = is_same ? m_scratch.moments[row - 1] : row;
    m_scratch.first_inside[row] = none;
    if (m_events[row].kind == KTRACE_KIND_PUSH) m_scratch.open_pushes.push(row);
    if (m_events[row].kind != KTRACE_KIND_POP || m_scratch.open_pushes.empty()) return;
    const std::uint32_t push = m_scratch.open_pushes.back();
    m_scratch.open_pushes.pop();
    if (m_events[row].ticks == m_events[push].ticks) return;
    std::uint32_t& first = m_scratch.first_inside[m_scratch.moments[push]];
    first = std::min(first, push);
  }

  // Return the event before which the span at `row` begins.
  std::uint32_t place_of(std::uint32_t row, std::int64_t begin) const {
    const std::uint32_t at = first_from(m_events, row, begin);
    if (at == row || m_events[at].ticks != begin) return at;
    const std::uint32_t inside = m_scratch.first_inside[at];
    return inside != none ? inside : first_from(m_events, row, begin + 1);
  }

 private:
  const Buffer<Event>& m_events;
  WaveRanges& m_scratch;
};

bool begins_earlier(const FarSpan& a, const FarSpan& b) {
  if (a.before != b.before) return a.before < b.before;
  return a.begin != b.begin ? a.begin < b.begin : a.event > b.event;
}

bool has_far_spans(const Buffer<Event>& events) {
  if (events.empty()) return false;
  for (const Event* event = events.begin() + 1; event < events.end(); ++event)
    if (event->kind == KTRACE_KIND_RANGE && contains_event_before(event)) return true;
  return false;
}

}  // namespace

void find_far_spans(WaveWords& words, WaveRanges& into) {
  into.far_spans.clear();
  Buffer<Event>& events = words.events;
  if (!has_far_spans(events)) return;
  Moments moments(events, into);
  for (std::uint32_t row = 0; row < events.size(); ++row) {
    moments.visit(row);
    if (events[row].kind != KTRACE_KIND_RANGE || row == 0 || !contains_event_before(&events[row])) continue;
    const std::int64_t begin = begin_of(events[row]);
    events[row].flags |= is_far;
    into.far_spans.push({moments.place_of(row, begin), row, begin});
  }
  if (!std::is_sorted(into.far_spans.begin(), into.far_spans.end(), begins_earlier))
    std::sort(into.far_spans.begin(), into.far_spans.end(), begins_earlier);
}

}  // namespace ktrace::reader
