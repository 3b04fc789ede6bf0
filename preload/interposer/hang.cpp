#include "hang.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "clocks.hpp"
#include "hang_signals.hpp"
#include "kernel_name.hpp"
#include "log.hpp"
#include "own_thread.hpp"

namespace ktrace {
namespace {

constexpr std::uint64_t ns_of_ms = 1'000'000;
constexpr std::uint64_t word_size = sizeof(ktrace_word);

std::uint64_t now_ns() { return read_host_clocks().monotonic_ns; }

// The device goes on writing: each header is read once. One of another dispatch is left from a graph's replay
// before this one, or nothing that a wave wrote.
bool read_header(const std::uint8_t* region, std::uint64_t dispatch, ktrace_wave_header* header) {
  std::memcpy(header, region, sizeof *header);
  return header->state != KTRACE_WAVE_ABSENT && header->dispatch == static_cast<std::uint32_t>(dispatch);
}

void append_words(const std::uint8_t* region, std::uint64_t offset, std::uint32_t count,
                  CopiedDispatch* out) {
  const std::size_t at = out->words.size();
  out->words.resize(at + count);
  if (count > 0) std::memcpy(&out->words[at], region + offset, count * word_size);
}

// Main words of a wave that runs have no known end.
std::uint32_t written_words(const std::uint8_t* words, std::uint32_t count) {
  for (; count > 0; --count) {
    ktrace_word word;
    std::memcpy(&word, words + (count - 1) * word_size, sizeof word);
    if (word.clock != 0 || word.tag != 0) break;
  }
  return count;
}

std::uint64_t attempted_words(const CopiedDispatch& copied, const Layout& layout) {
  std::uint64_t words = 0;
  for (const ktrace_wave_header& header : copied.headers)
    words += streams_of(header, layout).attempted + header.state;
  return words;
}

// Of a direct dispatch without filters of XCCs, the number of its waves is known.
bool have_all_ended(const CopiedDispatch& copied, const ktrace_dispatch_record& record) {
  const auto is_ended = [](const ktrace_wave_header& header) { return header.state == KTRACE_WAVE_ENDED; };
  return record.expected > 0 && copied.headers.size() >= record.expected &&
         std::all_of(copied.headers.begin(), copied.headers.end(), is_ended);
}

std::string name_of(const PendingDispatch& dispatch) {
  return "kernel `" + readable_kernel_name(dispatch.kernel->metadata.name) + "` (dispatch " +
         std::to_string(dispatch.record.dispatch) + ")";
}

std::string words_of_failure(const PendingDispatch& dispatch) {
  const auto error = static_cast<hipError_t>(dispatch.record.status);
  const std::string words = error_words(*dispatch.hip, error);
  return name_of(dispatch) + (is_fault(error) ? " faulted (" + words + ")" : " ended with " + words) +
         ": what its waves recorded until then is kept";
}

std::string words_of_duration(std::uint64_t ms) {
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

PendingDispatch without_buffer(const PendingDispatch& from) {
  PendingDispatch copy;
  copy.hip = from.hip;
  copy.device = from.device;
  copy.kernel = from.kernel;
  copy.layout = from.layout;
  copy.record = from.record;
  copy.is_grown = from.is_grown;
  return copy;
}

}  // namespace

CopiedDispatch read_host_buffer(const std::uint8_t* buffer, const Layout& layout, std::uint64_t dispatch) {
  CopiedDispatch copied;
  ktrace_control control;
  std::memcpy(&control, buffer, sizeof control);
  copied.claimed = layout.mode == KTRACE_MODE_CLAIM ? control.claimed : 0;
  const std::uint32_t slots =
      layout.mode == KTRACE_MODE_CLAIM ? std::min(copied.claimed, layout.wave_slots) : layout.wave_slots;
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    const std::uint8_t* region = buffer + KTRACE_CONTROL_SIZE + slot * layout.region_size();
    ktrace_wave_header header;
    if (!read_header(region, dispatch, &header)) continue;
    Streams streams = streams_of(header, layout);
    if (streams.is_unfinished)
      streams.main_words = written_words(region + layout.main_begin(), streams.main_words);
    copied.headers.push_back(header);
    copied.extents.push_back({slot, streams.main_words, streams.side_words, 0});
    copied.dropped_words += streams.dropped;
    append_words(region, layout.main_begin(), streams.main_words, &copied);
    append_words(region, layout.side_end() - streams.side_words * word_size, streams.side_words, &copied);
  }
  return copied;
}

HangWatch::HangWatch(const Config& config, Status* status, Write write)
    : m_config(config), m_hang_ns(config.hang_ms * ns_of_ms), m_status(status), m_write(std::move(write)) {}

void HangWatch::announce(const PendingDispatch& launched, const TraceBuffer& memory) {
  if (!memory.host) return;
  Watched watched;
  watched.dispatch = without_buffer(launched);
  watched.memory = static_cast<const std::uint8_t*>(memory.host);
  watched.pause_ns = m_hang_ns;
  watched.due_ns = now_ns() + m_hang_ns;
  const std::lock_guard lock(m_mutex);
  if (!m_has_begun) begin();
  m_watched[launched.record.dispatch] = std::move(watched);
}

// With the list's lock held.
void HangWatch::begin() {
  m_has_begun = true;
  take_over_signals(m_config.log_level >= LogLevel::warning);
  const auto watch = [this] {
    try {
      run();
    } catch (const std::exception& error) {
      give_up(error.what());
    }
  };
  if (!start_own_thread(watch))
    m_status->say_trouble("the thread that watches for hanging kernels could not be started");
}

// Signals do not wait for an answer of a thread that is gone.
void HangWatch::give_up(const char* why) {
  wake_waiting_thread();
  m_status->say_trouble("hanging kernels are not watched any more", why);
}

void HangWatch::let_go() {
  const std::lock_guard lock(m_mutex);
  m_reading = 0;
  m_changed.notify_all();
}

bool HangWatch::withdraw(std::uint64_t dispatch) {
  std::unique_lock lock(m_mutex);
  m_changed.wait(lock, [&] { return m_reading != dispatch; });
  const auto known = m_watched.find(dispatch);
  if (known == m_watched.end()) return false;
  const bool is_recorded = known->second.is_recorded;
  m_watched.erase(known);
  return is_recorded;
}

void HangWatch::leave_memory_of(const Device& device) {
  for (const std::uint64_t dispatch : all()) {
    std::unique_lock lock(m_mutex);
    m_changed.wait(lock, [&] { return m_reading != dispatch; });
    const auto known = m_watched.find(dispatch);
    if (known != m_watched.end() && known->second.dispatch.device == &device) known->second.memory = nullptr;
  }
}

bool HangWatch::is_recorded(std::uint64_t dispatch) {
  const std::lock_guard lock(m_mutex);
  const auto known = m_watched.find(dispatch);
  return known != m_watched.end() && known->second.is_recorded;
}

std::uint64_t HangWatch::unrecorded() {
  const std::lock_guard lock(m_mutex);
  const auto is_unrecorded = [](const auto& entry) { return !entry.second.is_recorded; };
  return static_cast<std::uint64_t>(std::count_if(m_watched.begin(), m_watched.end(), is_unrecorded));
}

void HangWatch::run() {
  pthread_setname_np(pthread_self(), "ktrace-hang");
  while (!m_is_stopping) {
    const bool is_asked = wait_for_interrupt(milliseconds_to_next());
    if (is_asked) {
      record_all();
      answer_interrupt();
    }
    const std::uint64_t now = now_ns();
    for (const std::uint64_t dispatch : all())
      if (is_due(dispatch, now) && record(dispatch, false, hip_success)) tell_once(dispatch);
  }
}

// Nothing that is announced from now on is due before `m_hang_ns` have passed.
int HangWatch::milliseconds_to_next() {
  const std::lock_guard lock(m_mutex);
  const std::uint64_t now = now_ns();
  std::uint64_t next = m_hang_ns;
  for (const auto& [number, watched] : m_watched)
    next = std::min(next, watched.due_ns > now ? watched.due_ns - now : 0);
  return static_cast<int>(std::min<std::uint64_t>(next / ns_of_ms + 1, 1u << 30));
}

bool HangWatch::is_due(std::uint64_t dispatch, std::uint64_t now) {
  const std::lock_guard lock(m_mutex);
  const auto known = m_watched.find(dispatch);
  return known != m_watched.end() && known->second.due_ns <= now;
}

std::vector<std::uint64_t> HangWatch::all() {
  const std::lock_guard lock(m_mutex);
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, watched] : m_watched) numbers.push_back(number);
  return numbers;
}

bool HangWatch::record_failed(std::uint64_t dispatch, hipError_t status) {
  return record(dispatch, true, status);
}

void HangWatch::record_all() {
  for (const std::uint64_t dispatch : all()) record(dispatch, false, hip_success);
}

void HangWatch::stop() {
  {
    const std::lock_guard lock(m_mutex);
    if (!m_has_begun) return;
    m_is_stopping = true;
  }
  wake_waiting_thread();
}

bool HangWatch::record(std::uint64_t dispatch, bool even_if_ended, hipError_t status) {
  const std::lock_guard turn(m_turn);
  Watched copy;
  {
    const std::lock_guard lock(m_mutex);
    const auto known = m_watched.find(dispatch);
    if (known == m_watched.end() || !known->second.memory) return false;
    m_reading = dispatch;
    copy.dispatch = without_buffer(known->second.dispatch);
    copy.memory = known->second.memory;
    copy.attempted = known->second.attempted;
    copy.is_recorded = known->second.is_recorded;
  }
  copy.dispatch.record.status = static_cast<ktrace_u32>(status);
  bool is_written = false;
  try {
    is_written = write(&copy, even_if_ended);
  } catch (...) {
    let_go();
    throw;
  }
  const std::lock_guard lock(m_mutex);
  m_reading = 0;
  Watched& watched = m_watched[dispatch];
  watched.attempted = copy.attempted;
  watched.is_recorded = copy.is_recorded;
  // What goes on slowly is recorded less and less often, so that the recording stays small.
  watched.due_ns = now_ns() + watched.pause_ns;
  watched.pause_ns *= 2;
  m_changed.notify_all();
  return is_written;
}

bool HangWatch::write(Watched* copy, bool even_if_ended) {
  ktrace_dispatch_record& record = copy->dispatch.record;
  CopiedDispatch copied = read_host_buffer(copy->memory, copy->dispatch.layout, record.dispatch);
  if (!even_if_ended && have_all_ended(copied, record)) return false;
  const std::uint64_t attempted = attempted_words(copied, copy->dispatch.layout);
  if (copy->is_recorded && attempted == copy->attempted && record.status == 0) return true;  // as it was
  record.flags |= KTRACE_DISPATCH_UNFINISHED;
  const HipLibrary& hip = *copy->dispatch.hip;
  record.completed_ns = hip.is_software() ? 0 : host_now_ns(hip);
  if (!m_write(copy->dispatch, std::move(copied))) return false;
  m_status->count(copy->is_recorded ? &ktrace_status::replaced_dispatches
                                    : &ktrace_status::unfinished_dispatches);
  copy->attempted = attempted;
  copy->is_recorded = true;
  if (record.status != 0) m_status->say_trouble(words_of_failure(copy->dispatch));
  return true;
}

void HangWatch::tell_once(std::uint64_t dispatch) {
  std::string kernel;
  {
    const std::lock_guard lock(m_mutex);
    const auto known = m_watched.find(dispatch);
    if (known == m_watched.end() || known->second.is_told) return;
    known->second.is_told = true;
    kernel = name_of(known->second.dispatch);
  }
  say(m_config, LogLevel::warning,
      kernel + " still runs after " + words_of_duration(m_config.hang_ms) +
          ": what its waves recorded so far is in " + m_status->output() + "; it is not stopped");
}

}  // namespace ktrace
