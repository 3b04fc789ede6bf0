#include "merge.hpp"

#include <algorithm>

namespace ktrace::reader {
namespace {

bool is_earlier(const Event& a, const Event& b) { return a.ticks < b.ticks; }
bool is_earlier_moment(const Moment& a, const Moment& b) {
  return a.ticks != b.ticks ? a.ticks < b.ticks : a.event < b.event;
}
bool is_gone(const Event& event) { return event.kind == kind_gone; }

// A lone LONG_BEGIN has the time of its begin, wherever it stands.
bool has_lone_begin(const Wave& wave, const Buffer<Event>& events) {
  return !has(wave, KTRACE_READER_EAGER) && std::any_of(events.begin(), events.end(), [](const Event& event) {
    return event.kind == KTRACE_KIND_LONG_BEGIN;
  });
}

void sort_into(Buffer<Event>& events, Unmerged& scratch) {
  scratch.order.clear();
  for (std::uint32_t row = 0; row < scratch.events.size(); ++row)
    if (!is_gone(scratch.events[row])) scratch.order.push({scratch.events[row].ticks, row});
  std::sort(scratch.order.begin(), scratch.order.end(), is_earlier_moment);
  events.clear();
  events.reserve(scratch.order.size());
  for (const Moment& moment : scratch.order) events.add() = scratch.events[moment.event];
}

}  // namespace

void merge_streams(const Wave& wave, WaveWords& words, Unmerged& scratch) {
  if (words.main_events == words.events.size() && !words.has_long_ranges) return;
  scratch.events.clear();
  scratch.events.swap(words.events);
  if (words.has_long_ranges && has_lone_begin(wave, scratch.events)) {
    sort_into(words.events, scratch);
    return;
  }
  Event* const side = scratch.events.begin() + words.main_events;
  Event* const main_end = std::remove_if(scratch.events.begin(), side, is_gone);
  Event* const side_end = std::remove_if(side, scratch.events.end(), is_gone);
  words.events.resize(static_cast<std::size_t>((main_end - scratch.events.begin()) + (side_end - side)));
  std::merge(scratch.events.begin(), main_end, side, side_end, words.events.begin(), is_earlier);
}

}  // namespace ktrace::reader
