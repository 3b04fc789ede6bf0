#include "recorder.hpp"

#include <time.h>

#include <algorithm>
#include <utility>

#include "clocks.hpp"
#include "own_thread.hpp"

namespace ktrace {
namespace {

constexpr std::uint64_t close_limit_ns = 2'000'000'000;  // without any progress
constexpr std::uint64_t close_limit_in_all_ns = 60'000'000'000;
constexpr std::uint64_t begin_limit_ns = 200'000'000;
constexpr std::uint64_t reset_limit_ns = 1'000'000'000;
constexpr long shortest_pause_ns = 20'000;
constexpr long longest_pause_ns = 1'000'000;
constexpr long stalled_pause_ns = 4'000'000;
constexpr int stalled_after = 100;  // pauses
// Waking a thread costs the application's thread more than everything else that we do there: while there may
// be another launch, the writer looks by itself.
constexpr int naps_before_sleep = 50;

void pause(long ns) {
  timespec time{0, ns};
  nanosleep(&time, nullptr);
}

std::uint64_t now_ns() { return read_host_clocks().monotonic_ns; }

}  // namespace

Recorder::Recorder(const Config& config, Status* status, LossBook* losses)
    : m_config(config), m_status(status), m_losses(losses) {}

void Recorder::start_writer(const HipLibrary& hip) {
  const std::lock_guard lock(m_mutex);
  if (m_is_running || m_failed) return;
  m_is_running = start_own_thread([this, &hip] { run(hip); });
  if (m_is_running) return;
  m_failed = true;
  m_status->say_trouble("the writer's thread could not be started");
}

void Recorder::add(PendingDispatch pending) {
  if (m_is_closing) return lose_late(pending);  // a thread that goes on launching must not hold up the end
  const HipLibrary& hip = *pending.hip;
  Device& device = *pending.device;
  note_device(device);
  if (!m_is_running) start_writer(hip);
  bool is_processed = false;
  const bool must_wait = hip.is_software() && has_writer_begun();
  if (must_wait) pending.is_processed = &is_processed;
  const bool is_discarded = pending.is_discarded;
  ++device.outstanding;
  m_outstanding += !is_discarded;
  try {
    m_queue.add(std::move(pending));
  } catch (...) {
    --device.outstanding;
    m_outstanding -= !is_discarded;
    throw;
  }
  if (m_is_finished || !m_is_running) return lose_late();
  if (m_is_asleep) {
    const std::lock_guard lock(m_mutex);
    m_changed.notify_all();
  }
  if (!must_wait) return;
  // Its kernel has run already, and copying moves the model's clock: at any other moment two runs would
  // differ.
  std::unique_lock lock(m_mutex);
  m_changed.wait(lock, [&] { return is_processed || m_is_finished; });
}

// It cannot where the caller runs in a library's constructor: that holds the loader's lock, which HIP's
// thread-local objects make a new thread take.
bool Recorder::has_writer_begun() const {
  const std::uint64_t limit = m_has_begun ? 0 : now_ns() + begin_limit_ns;
  while (!m_has_begun && !m_is_finished && now_ns() < limit) pause(shortest_pause_ns);
  return m_has_begun;
}

void Recorder::sweep(Device& device) {
  PendingDispatch nothing;
  nothing.hip = &device.hip();
  nothing.device = &device;
  nothing.is_discarded = true;
  add(std::move(nothing));
}

void Recorder::run(const HipLibrary& hip) {
  try {
    become_own_thread("ktrace-writer", hip);
    m_has_begun = true;
    follow(hip);
    lose_outstanding();
  } catch (const std::exception& error) {
    give_up(error.what());
  } catch (...) {
    give_up("an exception without a name");
  }
  finish();
}

// Ends tracing, not the application: launches pass untraced from now on, and are counted. What was under way
// may be anywhere, so it is known by its number alone.
void Recorder::give_up(const char* why) noexcept {
  m_failed = true;
  const std::uint64_t outstanding = m_outstanding.exchange(0);
  m_queue.take(nullptr);
  m_batch.clear();
  if (outstanding > 0) m_status->add_loss(KTRACE_LOSS_WRITE_FAILED, outstanding);
  m_status->say_trouble("the recording could not go on", why);
}

void Recorder::follow(const HipLibrary& hip) {
  long pause_ns = shortest_pause_ns;
  int stalls = 0;
  while (wait_for_work(hip)) {
    if (process_finished()) {
      pause_ns = shortest_pause_ns;
      stalls = 0;
    } else if (is_past_deadline()) {
      break;
    } else {
      pause(pause_ns);
      pause_ns = std::min(pause_ns * 2, ++stalls > stalled_after ? stalled_pause_ns : longest_pause_ns);
    }
  }
}

// False when everything is done and no more will come. Waits only while nothing at all is outstanding.
bool Recorder::wait_for_work(const HipLibrary& hip) {
  // Every launch of the software device waits for the writer, so there the writer has to be woken.
  const int naps = hip.is_software() ? 0 : naps_before_sleep;
  for (int nap = 0;; ++nap) {
    const bool is_closing = m_is_closing;
    m_queue.take(&m_batch);
    if (!m_batch.empty()) return true;
    if (is_closing) return false;
    if (nap < naps)
      pause(longest_pause_ns / 2);
    else
      sleep_until_woken();
  }
}

void Recorder::sleep_until_woken() {
  std::unique_lock lock(m_mutex);
  m_is_asleep = true;  // before looking at the queue: who adds looks at this afterwards
  m_changed.wait(lock, [&] { return !m_queue.is_empty() || m_is_closing; });
  m_is_asleep = false;
}

// Dispatches of different streams finish in any order, and a kernel that never ends must not hold up the
// others. Behind one of its own stream that is not ready there is nothing to ask for.
bool Recorder::process_finished() {
  std::vector<PendingDispatch> batch;
  batch.swap(m_batch);
  std::vector<std::pair<const Device*, std::uint64_t>> waiting;
  bool made_progress = false;
  for (PendingDispatch& pending : batch) {
    const auto stream = std::make_pair(static_cast<const Device*>(pending.device),
                                       static_cast<std::uint64_t>(pending.record.stream));
    const bool must_wait =
        !pending.is_discarded && std::find(waiting.begin(), waiting.end(), stream) != waiting.end();
    if (must_wait || is_past_deadline()) {
      m_batch.push_back(std::move(pending));
    } else if (process_if_finished(pending)) {
      made_progress = true;
    } else {
      if (!pending.is_discarded) waiting.push_back(stream);
      m_batch.push_back(std::move(pending));
    }
  }
  return made_progress;
}

void Recorder::make_way_for_reset() {
  while (m_resets > 0) pause(shortest_pause_ns);
}

bool Recorder::process_if_finished(PendingDispatch& pending) {
  make_way_for_reset();
  {
    const std::lock_guard in_hip(m_in_hip);
    const HipLibrary& hip = *pending.hip;
    enter_copy(hip);
    const bool is_gone = pending.buffer && pending.buffer->epoch != pending.device->epoch();
    hipError_t outcome = hip_success;
    // The model's events are over already; looking at them in turn keeps this thread's clock the same in
    // every run.
    if (pending.failure != hip_success)
      outcome = pending.failure;
    else if ((!pending.is_discarded || pending.is_kept) && !is_gone)
      outcome = hip.is_software() ? hip.hipEventSynchronize(pending.buffer->finished)
                                  : hip.hipEventQuery(pending.buffer->finished);
    if (outcome == hip_error_not_ready) return false;
    try {
      if (!is_gone)
        process(pending, outcome);
      else if (!(m_hang && m_hang->withdraw(pending.record.dispatch)) && !pending.is_discarded)
        m_losses->add(KTRACE_LOSS_COPY_FAILED, pending.kernel->metadata.name,
                      "its device was reset before it was copied back");
    } catch (const std::exception& error) {
      if (pending.is_discarded)
        m_status->say_trouble("inside ktrace", error.what());
      else
        m_losses->add(KTRACE_LOSS_COPY_FAILED, pending.kernel->metadata.name, error.what());
    }
  }
  note_processed(pending);
  return true;
}

void Recorder::note_processed(const PendingDispatch& pending) {
  --pending.device->outstanding;
  m_outstanding -= !pending.is_discarded;
  put_off_deadline();
  if (!pending.is_processed) return;
  const std::lock_guard lock(m_mutex);
  *pending.is_processed = true;
  m_changed.notify_all();
}

void Recorder::process(PendingDispatch& pending, hipError_t outcome) {
  const HipLibrary& hip = *pending.hip;
  Device& device = *pending.device;
  const std::uint64_t dispatch = pending.record.dispatch;
  // What the waves of a kernel that broke the device wrote is in host memory nevertheless.
  const bool is_saved =
      m_hang && !pending.is_discarded && outcome != hip_success && m_hang->record_failed(dispatch, outcome);
  const bool was_unfinished = m_hang && m_hang->withdraw(dispatch);
  if (is_saved) return;
  if (pending.is_discarded) {
    if (pending.is_kept && outcome == hip_success) return device.release(std::move(pending.buffer));
    if (pending.buffer && !pending.is_kept) device.destroy(std::move(pending.buffer));
    return device.free_surplus();
  }
  if (outcome != hip_success) {
    if (!was_unfinished) lose_failed(pending, outcome);
    // Where the device is lost, or the kernel broke it, its memory is left alone.
    if (pending.failure != hip_success && !is_fault(outcome)) device.destroy(std::move(pending.buffer));
    return;
  }
  pending.record.completed_ns = completion_time(pending);
  if (pending.flydsl_size > 0) return process_flydsl(pending);
  const std::string& name = pending.kernel->metadata.name;

  std::unique_ptr<CopyBack>& copy_back = m_copy_back_by_device[&device];
  if (!copy_back) copy_back = std::make_unique<CopyBack>(hip, device);
  CopiedDispatch copied;
  std::string trouble;
  if (!copy_back->copy(*pending.buffer, pending.layout, &copied, &trouble)) {
    if (!was_unfinished) m_losses->add(KTRACE_LOSS_COPY_FAILED, name, trouble);
    return;
  }
  device.release(std::move(pending.buffer));
  device.free_surplus();
  std::uint32_t known = pending.kernel->attempted_words.load();
  while (copied.attempted_words > known &&
         !pending.kernel->attempted_words.compare_exchange_weak(known, copied.attempted_words)) {
  }
  const bool is_recorded = record(pending, std::move(copied));
  if (is_recorded && was_unfinished) {  // it has ended after all
    m_status->count(&ktrace_status::replaced_dispatches);
    m_status->count(&ktrace_status::unfinished_dispatches, ~std::uint64_t{0});
  } else if (!is_recorded && !was_unfinished) {
    m_losses->add(KTRACE_LOSS_WRITE_FAILED, name, "the recording could not be written");
  }
}

void Recorder::lose_failed(const PendingDispatch& pending, hipError_t outcome) {
  const std::string words = error_words(*pending.hip, outcome);
  const std::string& name = pending.kernel->metadata.name;
  if (is_fault(outcome))
    return m_losses->add(KTRACE_LOSS_FAULTED, name,
                         "the kernel faulted (" + words + "): its records are lost; `--hang` keeps them");
  m_losses->add(
      KTRACE_LOSS_COPY_FAILED, name,
      (pending.failure != hip_success ? "its end could not be followed: " : "the dispatch ended with ") +
          words);
}

// The model keeps a clock per thread of ours, which copying moves on. A new thread's begins at the model's
// start, and is moved to the event's time by looking at it.
std::uint64_t Recorder::completion_time(const PendingDispatch& pending) {
  const HipLibrary& hip = *pending.hip;
  if (!hip.is_software()) return host_now_ns(hip);
  std::uint64_t now = 0;
  run_aside(hip, pending.device->index(), [&] {
    hip.hipEventSynchronize(pending.buffer->finished);
    now = host_now_ns(hip);
  });
  return now;
}

bool Recorder::record(const PendingDispatch& pending, CopiedDispatch copied) {
  const std::uint64_t dropped_words = copied.dropped_words;
  {
    const std::lock_guard lock(m_file_mutex);
    if (!append_dispatch(pending, std::move(copied))) return false;
  }
  m_status->add_dropped_words(dropped_words);
  if (pending.layout.mode == KTRACE_MODE_CLAIM) m_status->add_claim_launch();
  if (pending.is_grown) m_status->add_grown_launch();
  if (m_config.full == WhenFull::ring && !pending.layout.is_ring() && dropped_words > 0)
    m_status->count(&ktrace_status::saturated_launches);
  return true;
}

bool Recorder::record_unfinished(const PendingDispatch& dispatch, CopiedDispatch copied) {
  const std::lock_guard lock(m_file_mutex);
  return !m_is_file_ended && append_dispatch(dispatch, std::move(copied));
}

bool Recorder::append_dispatch(const PendingDispatch& pending, CopiedDispatch copied) {
  if (has_failed() || !begin_file(pending) || !write_device(*pending.device) ||
      !write_code_object(*pending.kernel->code_object) || !write_kernel(*pending.kernel))
    return false;
  ktrace_dispatch_record record = pending.record;
  record.kernel = m_number_by_kernel[pending.kernel];
  record.mode = pending.layout.mode;
  record.region_log2 = pending.layout.region_log2;
  record.wave_slots = pending.layout.wave_slots;
  record.waves = static_cast<ktrace_u32>(copied.headers.size());
  record.claimed = copied.claimed;
  if (pending.layout.is_eager()) record.flags |= KTRACE_DISPATCH_EAGER;
  if (pending.layout.is_ring()) record.flags |= KTRACE_DISPATCH_RING;
  Payload payload;
  payload.reserve(sizeof record +
                  copied.headers.size() * (sizeof(ktrace_wave_header) + sizeof(ktrace_wave_extent)) +
                  copied.words.size() * sizeof(ktrace_word));
  payload.add(record);
  payload.add_bytes(copied.headers.data(), copied.headers.size() * sizeof(ktrace_wave_header));
  payload.add_bytes(copied.extents.data(), copied.extents.size() * sizeof(ktrace_wave_extent));
  payload.add_bytes(copied.words.data(), copied.words.size() * sizeof(ktrace_word));
  if (!append(KTRACE_CHUNK_DISPATCH, std::move(payload))) return false;
  m_status->add_dispatch();
  return write_due_sample(*pending.device, copied.headers);
}

bool Recorder::is_past_deadline() const {
  const std::uint64_t deadline = m_deadline_ns.load(std::memory_order_relaxed);
  return deadline != 0 && now_ns() > deadline;
}

// What has run is in the recording: a program that ends right after its launches waits for that.
void Recorder::put_off_deadline() {
  if (m_deadline_ns.load(std::memory_order_relaxed) != 0)
    m_deadline_ns = std::min(now_ns() + close_limit_ns, m_last_moment_ns.load());
}

void Recorder::lose_outstanding() {
  m_queue.take(&m_batch);
  if (m_hang) m_hang->record_all();
  for (const PendingDispatch& pending : m_batch)
    if (!pending.is_discarded && !(m_hang && m_hang->is_recorded(pending.record.dispatch)))
      m_losses->add(KTRACE_LOSS_NOT_FINISHED, pending.kernel->metadata.name,
                    "it had not finished when the process ended");
  m_batch.clear();
}

// On any thread, where there is no writer any more.
void Recorder::lose_late() {
  std::vector<PendingDispatch> late;
  m_queue.take(&late);
  for (const PendingDispatch& pending : late) lose_late(pending);
}

void Recorder::lose_late(const PendingDispatch& pending) {
  if (pending.is_discarded) return;
  if (m_hang && m_hang->withdraw(pending.record.dispatch)) return;  // it is in the file as far as it came
  if (has_failed())
    m_losses->add(KTRACE_LOSS_WRITE_FAILED, pending.kernel->metadata.name,
                  "the recording could not be written");
  else
    m_losses->add(KTRACE_LOSS_NOT_FINISHED, pending.kernel->metadata.name,
                  "it was launched after the recording was closed");
}

void Recorder::end_file() {
  const std::lock_guard lock(m_file_mutex);
  m_is_file_ended = true;
  if (m_file.is_open() && !has_failed() && write_flydsl_names() && write_losses() && write_last_samples())
    write_end();
}

void Recorder::finish() {
  try {
    end_file();
  } catch (...) {  // the file stays without its end
    m_failed = true;
  }
  m_status->set_flag(KTRACE_STATUS_CLOSED);
  {
    const std::lock_guard lock(m_mutex);
    m_is_finished = true;
    m_changed.notify_all();
  }
  lose_late();
}

std::unique_lock<std::mutex> Recorder::hold_for_reset(const Device& device) {
  std::uint64_t limit = now_ns() + reset_limit_ns;
  while (m_is_running && !m_is_finished && device.outstanding > 0 && now_ns() < limit)
    pause(shortest_pause_ns);
  ++m_resets;
  std::unique_lock in_hip(m_in_hip, std::defer_lock);
  // If the writer hangs in a call of HIP, only the reset itself can free it.
  for (limit = now_ns() + reset_limit_ns; !in_hip.try_lock() && now_ns() < limit;) pause(shortest_pause_ns);
  --m_resets;
  return in_hip;
}

void Recorder::close() {
  std::vector<const Device*> devices;
  {
    const std::lock_guard lock(m_mutex);
    if (m_is_closing) return;
    devices = m_devices;
  }
  std::vector<ktrace_clock_record> samples;
  for (const Device* device : devices)
    if (device->hip().is_software())  // the writer has a clock of its own there
      samples.push_back(sample_clock(device->hip(), device->index(), device->facts().bus_id));
  const std::uint64_t host_ns = devices.empty() ? 0 : host_now_ns(devices.front()->hip());
  {
    const std::lock_guard lock(m_mutex);
    m_last_samples = std::move(samples);
    m_end_host_ns = host_ns;
    m_last_moment_ns = now_ns() + close_limit_in_all_ns;
    m_deadline_ns = now_ns() + close_limit_ns;
    m_is_closing = true;
    m_changed.notify_all();
  }
  if (!m_is_running) {  // no launch has returned yet, but one may be hanging
    if (m_hang) m_hang->record_all();
    return finish();
  }
  // A little longer than the writer waits itself. If it hangs in a call of HIP the file stays without its
  // end.
  while (!m_is_finished && now_ns() < m_deadline_ns + close_limit_ns / 4) pause(longest_pause_ns / 4);
  if (m_is_finished) return;
  if (m_hang) m_hang->record_all();
  constexpr char words[] = "the device did not answer when the process ended";
  if (m_hang) {
    // Of the others, all waves had ended, or nothing could be written.
    if (const std::uint64_t lost = m_hang->unrecorded())
      m_losses->add(KTRACE_LOSS_NOT_FINISHED, "", words, lost);
    return;
  }
  if (const std::uint64_t outstanding = m_outstanding.exchange(0))
    m_losses->add(KTRACE_LOSS_NOT_FINISHED, "", words, outstanding);
  else
    m_status->say_trouble(words);
}

}  // namespace ktrace
