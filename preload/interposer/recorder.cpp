#include "recorder.hpp"

#include <time.h>

#include <algorithm>

#include "clocks.hpp"
#include "own_thread.hpp"

namespace ktrace {
namespace {

constexpr std::uint64_t close_limit_ns = 2'000'000'000;
constexpr long shortest_pause_ns = 20'000;
constexpr long longest_pause_ns = 1'000'000;

void pause(long ns) {
  timespec time{0, ns};
  nanosleep(&time, nullptr);
}

}  // namespace

Recorder::Recorder(const Config& config, Status* status, LossBook* losses)
    : m_config(config), m_status(status), m_losses(losses) {}

void Recorder::add(PendingDispatch pending) {
  const HipLibrary& hip = *pending.hip;
  std::unique_lock lock(m_mutex);
  if (std::find(m_devices.begin(), m_devices.end(), pending.device) == m_devices.end())
    m_devices.push_back(pending.device);
  m_queue.push_back(std::move(pending));
  const std::uint64_t number = ++m_added;
  if (!m_is_running) {
    m_is_running = start_own_thread([this, &hip] { run(hip); });
    if (!m_is_running) {
      m_failed = true;
      m_losses->add(KTRACE_LOSS_WRITE_FAILED, "", "the writer's thread could not be started");
      return;
    }
  }
  m_changed.notify_all();
  // Its kernel has run already, and copying moves the model's clock: at any other moment two runs would
  // differ.
  if (hip.is_software()) m_changed.wait(lock, [&] { return m_processed >= number || m_is_finished; });
}

void Recorder::run(const HipLibrary& hip) {
  become_own_thread("ktrace-writer", hip);
  std::deque<PendingDispatch> batch;
  long pause_ns = shortest_pause_ns;
  while (wait_for_work(&batch)) {
    if (process_finished(&batch)) {
      pause_ns = shortest_pause_ns;
    } else if (is_past_deadline()) {
      break;
    } else if (!batch.empty()) {
      pause(pause_ns);
      pause_ns = std::min(pause_ns * 2, longest_pause_ns);
    }
  }
  lose_outstanding(batch);
  finish();
}

// False when everything is done and no more will come. Waits only while nothing at all is outstanding.
bool Recorder::wait_for_work(std::deque<PendingDispatch>* batch) {
  std::unique_lock lock(m_mutex);
  if (batch->empty()) m_changed.wait(lock, [&] { return !m_queue.empty() || m_is_closing; });
  for (; !m_queue.empty(); m_queue.pop_front()) batch->push_back(std::move(m_queue.front()));
  return !batch->empty() || !m_is_closing;
}

// Dispatches of different streams finish in any order, and a kernel that never ends must not hold up the
// others.
bool Recorder::process_finished(std::deque<PendingDispatch>* batch) {
  bool made_progress = false;
  for (auto it = batch->begin(); it != batch->end();) {
    const HipLibrary& hip = *it->hip;
    // The model's events are over already; looking at them in turn keeps this thread's clock the same in
    // every run.
    const hipError_t outcome = it->is_discarded    ? hip_success
                               : hip.is_software() ? hip.hipEventSynchronize(it->buffer->finished)
                                                   : hip.hipEventQuery(it->buffer->finished);
    if (outcome == hip_error_not_ready) {
      ++it;
      continue;
    }
    PendingDispatch pending = std::move(*it);
    it = batch->erase(it);
    try {
      process(std::move(pending), outcome);
    } catch (const std::exception& error) {
      m_losses->add(KTRACE_LOSS_COPY_FAILED, "", error.what());
    }
    made_progress = true;
    const std::lock_guard lock(m_mutex);
    ++m_processed;
    m_changed.notify_all();
  }
  return made_progress;
}

void Recorder::process(PendingDispatch pending, hipError_t outcome) {
  const HipLibrary& hip = *pending.hip;
  Device& device = *pending.device;
  if (pending.is_discarded) return device.destroy(std::move(pending.buffer));
  pending.record.completed_ns = completion_time(pending);
  const std::string& name = pending.kernel->metadata.name;
  if (outcome != hip_success)  // the device is lost, or the kernel broke it: its memory is left alone
    return m_losses->add(KTRACE_LOSS_COPY_FAILED, name,
                         "the dispatch ended with " + error_words(hip, outcome));

  std::unique_ptr<CopyBack>& copy_back = m_copy_back_by_device[&device];
  if (!copy_back) copy_back = std::make_unique<CopyBack>(hip, device);
  CopiedDispatch copied;
  std::string trouble;
  if (!copy_back->copy(*pending.buffer, pending.layout, &copied, &trouble))
    return m_losses->add(KTRACE_LOSS_COPY_FAILED, name, trouble);
  device.release(std::move(pending.buffer));
  device.free_surplus();
  std::uint32_t known = pending.kernel->attempted_words.load();
  while (copied.attempted_words > known &&
         !pending.kernel->attempted_words.compare_exchange_weak(known, copied.attempted_words)) {
  }
  if (!record(pending, std::move(copied)))
    m_losses->add(KTRACE_LOSS_WRITE_FAILED, name, "the recording could not be written");
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
  m_status->add_dropped_words(copied.dropped_words);
  if (pending.layout.mode == KTRACE_MODE_CLAIM) m_status->add_claim_launch();
  if (pending.is_grown) m_status->add_grown_launch();
  return true;
}

bool Recorder::is_past_deadline() const {
  const std::uint64_t deadline = m_deadline_ns;
  return deadline != 0 && read_host_clocks().monotonic_ns > deadline;
}

void Recorder::lose_outstanding(const std::deque<PendingDispatch>& batch) {
  for (const PendingDispatch& pending : batch)
    if (!pending.is_discarded)
      m_losses->add(KTRACE_LOSS_NOT_FINISHED, pending.kernel->metadata.name,
                    "it had not finished when the process ended");
}

void Recorder::finish() {
  if (m_file.is_open() && !has_failed() && write_losses() && write_last_samples()) write_end();
  m_status->set_flag(KTRACE_STATUS_CLOSED);
  const std::lock_guard lock(m_mutex);
  m_is_finished = true;
  m_changed.notify_all();
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
    samples.push_back(sample_clock(device->hip(), device->index(), device->facts().bus_id));
  const std::uint64_t host_ns = devices.empty() ? 0 : host_now_ns(devices.front()->hip());
  {
    const std::lock_guard lock(m_mutex);
    m_last_samples = std::move(samples);
    m_end_host_ns = host_ns;
    m_deadline_ns = read_host_clocks().monotonic_ns + close_limit_ns;
    m_is_closing = true;
    m_changed.notify_all();
    if (!m_is_running) return m_status->set_flag(KTRACE_STATUS_CLOSED);
  }
  // A little longer than the writer waits itself. If it hangs in a call of HIP the file stays without its
  // end.
  const std::uint64_t limit = m_deadline_ns + close_limit_ns / 4;
  while (!m_is_finished && read_host_clocks().monotonic_ns < limit) pause(longest_pause_ns / 4);
  if (!m_is_finished)
    m_losses->add(KTRACE_LOSS_NOT_FINISHED, "", "the device did not answer when the process ended");
}

}  // namespace ktrace
