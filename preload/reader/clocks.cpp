#include "clocks.hpp"

#include <algorithm>
#include <limits>

namespace ktrace::reader {
namespace {

constexpr std::int64_t anchor_range = std::int64_t{1} << 58;  // what an ANCHOR's id and clock hold together

// The events of one stream whose clocks are steps of it: all but LONG_BEGIN, unless the wave is eager.
class Steps {
 public:
  Steps(const Wave& wave, Event* first, Event* last)
      : m_first(first), m_last(last), m_is_eager(has(wave, KTRACE_READER_EAGER)) {}

  template <typename Visit>
  void each(Visit visit) const {
    for (Event* event = m_first; event != m_last; ++event)
      if (is_step(*event)) visit(*event);
  }

  Event* front() const {
    Event* event = m_first;
    while (event != m_last && !is_step(*event)) ++event;
    return event == m_last ? nullptr : event;
  }

  Event* back() const {
    for (Event* event = m_last; event != m_first;)
      if (is_step(*--event)) return event;
    return nullptr;
  }

 private:
  bool is_step(const Event& event) const { return event.kind != KTRACE_KIND_LONG_BEGIN || m_is_eager; }

  Event* m_first;
  Event* m_last;
  bool m_is_eager;
};

std::uint64_t count_gaps(const Steps& steps) {
  std::uint64_t gaps = 0;
  steps.each([&](const Event& event) { gaps += (event.flags & after_gap) != 0; });
  return gaps;
}

void clear_gap(Event& event) { event.flags = static_cast<std::uint8_t>(event.flags & ~after_gap); }

// Put what a ring has kept as late as its wave's end allows: its begin is long ago.
void count_back_from_end(const Wave& wave, const Steps& steps) {
  const std::int64_t room = wave.end_ticks - steps.back()->ticks;
  const std::int64_t late = room > 0 ? room / clock_range * clock_range : 0;
  if (late > 0) steps.each([&](Event& event) { event.ticks += late; });
  clear_gap(*steps.front());
}

// Take a step that would go past the wave's 64-bit end for one back, and hold the clock.
void repair_backward_steps(const Wave& wave, const Steps& steps, ktrace_reader_losses& losses) {
  if (!is_ended(wave) || steps.back()->ticks <= std::max(wave.end_ticks, wave.begin_ticks)) return;
  std::int64_t before = wave.begin_ticks;
  std::int64_t now = wave.begin_ticks;
  std::int64_t held = wave.begin_ticks;
  steps.each([&](Event& event) {
    now += event.ticks - before;
    before = event.ticks;
    if ((event.flags & after_gap) != 0) {
      now -= clock_range;
      ++losses.clamped_words;
      clear_gap(event);
    }
    held = std::max(held, now);
    event.ticks = held;
  });
}

// Whether an ANCHOR word has what it must: one U64, a time of the reference clock while its wave ran. A ring
// may have lost that value, which does not make the word wrong.
bool has_realtime(const Wave& wave, const WaveWords& words, const Event& event) {
  if (event.values == 0) return true;
  const Value& value = words.values[event.first_value];
  if (event.values != 1 || value.type != KTRACE_VALUE_U64 || value.bits >= std::uint64_t{anchor_range})
    return false;
  const auto realtime = static_cast<std::int64_t>(value.bits);
  const bool has_end = is_ended(wave) && wave.end_realtime >= wave.begin_realtime;
  return realtime >= wave.begin_realtime && !(has_end && realtime > wave.end_realtime);
}

// Let ANCHOR words, which hold 58 bits of the clock, correct what lies behind them.
void apply_anchors(const Wave& wave, const WaveWords& words, const Steps& steps,
                   ktrace_reader_losses& losses) {
  const std::int64_t end = is_ended(wave) ? wave.end_ticks : std::numeric_limits<std::int64_t>::max();
  std::int64_t shift = 0;
  steps.each([&](Event& event) {
    if (event.kind == KTRACE_KIND_ANCHOR) {
      const std::int64_t told = std::int64_t{event.id} << 32 | low_half(event.ticks);
      const std::int64_t own = told - (event.ticks & (anchor_range - 1));
      const bool is_late = own > 0 && event.ticks + own > end;
      if (is_late || own < shift || !has_realtime(wave, words, event)) {
        // What is no anchor is no event: its payload belongs to nothing.
        event.kind = KTRACE_KIND_VALUE;
        ++losses.clamped_words;
      } else {
        shift = own;
        clear_gap(event);
      }
    }
    event.ticks += shift;
  });
}

void continue_stream(const Wave& wave, const WaveWords& words, const Steps& steps, bool is_main,
                     ktrace_reader_losses& losses) {
  if (steps.front() == nullptr) return;
  if (is_main && is_ended(wave) && has(wave, KTRACE_READER_OVERWRITTEN)) count_back_from_end(wave, steps);
  if (count_gaps(steps) != 0) repair_backward_steps(wave, steps, losses);
  if (words.has_anchors) apply_anchors(wave, words, steps, losses);
  losses.long_gaps += count_gaps(steps);
}

}  // namespace

void continue_clocks(const Wave& wave, WaveWords& words, ktrace_reader_losses& losses) {
  Event* const side = words.events.begin() + words.main_events;
  continue_stream(wave, words, Steps(wave, words.events.begin(), side), true, losses);
  continue_stream(wave, words, Steps(wave, side, words.events.end()), false, losses);
}

}  // namespace ktrace::reader
