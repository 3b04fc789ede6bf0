#include "flydsl_recording.hpp"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "own_thread.hpp"
#include "session.hpp"

namespace ktrace {
namespace {

constexpr std::chrono::seconds end_limit{10};

// Shared with a thread that may outlive the wait for it.
struct Copying {
  FlydslBuffers::Taken taken;
  std::string trouble;
  std::mutex mutex;
  std::condition_variable changed;
  bool is_done = false;

  void run() {
    FlydslCopy& copy = taken.copy;
    const hipError_t error = copy.hip->hipDeviceSynchronize();
    if (error != hip_success)
      trouble = "the device ended with " + error_words(*copy.hip, error);
    else
      copy_flydsl_buffer(taken.memory, false, &copy.bytes, &trouble);
    const std::lock_guard lock(mutex);
    is_done = true;
    changed.notify_all();
  }
};

void lose(Session& session, const FlydslCopy& copy, ktrace_loss_reason reason, const std::string& words) {
  for (const FlydslLaunch& launch : copy.launches)
    session.losses().add(reason, launch.kernel->metadata.name, words);
}

void append(Session& session, const Copying& copying) {
  const FlydslCopy& copy = copying.taken.copy;
  if (!copying.trouble.empty())
    lose(session, copy, KTRACE_LOSS_COPY_FAILED, "FlyDSL's buffer could not be copied: " + copying.trouble);
  else if (!session.recorder().record_flydsl(copy))
    lose(session, copy, KTRACE_LOSS_WRITE_FAILED, "the recording could not be written");
}

void record(Session& session, FlydslBuffers::Taken taken) {
  Copying copying;
  copying.taken = std::move(taken);
  run_aside(*copying.taken.memory.hip, copying.taken.memory.device, [&] { copying.run(); });
  append(session, copying);
}

void record_within_limit(Session& session, FlydslBuffers::Taken taken) {
  const auto copying = std::make_shared<Copying>();
  copying->taken = std::move(taken);
  const bool is_started = start_own_thread([copying] {
    become_own_thread("ktrace-flydsl", *copying->taken.memory.hip);
    copying->taken.memory.hip->hipSetDevice(copying->taken.memory.device);
    copying->run();
  });
  std::unique_lock lock(copying->mutex);
  if (is_started && copying->changed.wait_for(lock, end_limit, [&] { return copying->is_done; }))
    return append(session, *copying);
  lose(session, copying->taken.copy, KTRACE_LOSS_NOT_FINISHED, "it had not finished when the process ended");
}

}  // namespace

void record_before_wipe(Session& session, const void* memory, std::size_t size) {
  for (FlydslBuffers::Taken& taken : session.flydsl().take_before_wipe(memory, size)) {
    if (session.is_left_by_parent(*taken.memory.hip)) continue;
    record(session, std::move(taken));
  }
}

void record_at_end(Session& session) {
  for (FlydslBuffers::Taken& taken : session.flydsl().take_all()) {
    const HipLibrary& hip = *taken.memory.hip;
    if (session.is_left_by_parent(hip)) continue;
    if (hip.is_software())
      record(session, std::move(taken));
    else
      record_within_limit(session, std::move(taken));
  }
}

// Chunks.

bool Recorder::record_flydsl(const FlydslCopy& copy) {
  const std::lock_guard lock(m_file_mutex);
  return !m_is_file_ended && append_flydsl(copy);
}

void Recorder::note_device(Device& device) {
  if (!device.is_first_use()) return;
  const std::lock_guard lock(m_mutex);
  m_devices.push_back(&device);
}

bool Recorder::append_flydsl(const FlydslCopy& copy) {
  ++m_flydsl_copies;
  PendingDispatch first;
  first.hip = copy.hip;
  if (!copy.launches.empty()) first.record.launched_ns = copy.launches.front().record.launched_ns;
  if (has_failed() || !begin_file(first) || !write_device(*copy.device) || !write_flydsl_names())
    return false;
  ktrace_foreign_buffer_record record{};
  record.tool = KTRACE_FOREIGN_FLYDSL;
  record.flags = copy.flags;
  record.number = m_flydsl_copies;
  record.size = copy.size;
  record.length = copy.bytes.size();
  record.device = static_cast<ktrace_u32>(copy.device->index());
  record.replays = copy.replays;
  Payload payload;
  payload.reserve(sizeof record + copy.bytes.size());
  payload.add(record);
  payload.add_bytes(copy.bytes.data(), copy.bytes.size());
  if (!append(KTRACE_CHUNK_FOREIGN_BUFFER, std::move(payload))) return false;
  for (const FlydslLaunch& launch : copy.launches)
    if (!append_flydsl_launch(launch)) return false;
  return write_due_sample(*copy.device, {});
}

bool Recorder::append_flydsl_launch(const FlydslLaunch& launch) {
  if (!write_code_object(*launch.kernel->code_object) || !write_kernel(*launch.kernel)) return false;
  ktrace_foreign_launch_record record{};
  record.number = m_flydsl_copies;
  record.launch = launch.record;
  record.launch.kernel = m_number_by_kernel[launch.kernel];
  Payload payload;
  payload.add(record);
  if (!append(KTRACE_CHUNK_FOREIGN_LAUNCH, std::move(payload))) return false;
  m_status->add_dispatch();
  return true;
}

bool Recorder::write_flydsl_names() {
  if (m_flydsl_copies == 0) return true;
  std::string names = read_flydsl_names(m_config.session_dir);
  if (names.empty() || names == m_flydsl_names) return true;
  ktrace_foreign_names_record record{};
  record.tool = KTRACE_FOREIGN_FLYDSL;
  record.strings_size = size_of_strings({names});
  Payload payload;
  payload.add(record);
  payload.add_strings({names});
  m_flydsl_names = std::move(names);
  return append(KTRACE_CHUNK_FOREIGN_NAMES, std::move(payload));
}

// A launch that had a buffer of its own, which is nothing but zeros again afterwards.
void Recorder::process_flydsl(PendingDispatch& pending) {
  const std::string& name = pending.kernel->metadata.name;
  const FlydslMemory memory{pending.hip, pending.device->index(),
                            reinterpret_cast<std::uint64_t>(pending.buffer->memory), pending.flydsl_size};
  FlydslCopy copy;
  copy.hip = pending.hip;
  copy.device = pending.device;
  copy.size = pending.flydsl_size;
  copy.flags = KTRACE_FOREIGN_OF_ONE_LAUNCH;
  copy.launches.push_back({pending.kernel, pending.record});
  std::string trouble;
  pending.hip->hipSetDevice(pending.device->index());
  if (!copy_flydsl_buffer(memory, true, &copy.bytes, &trouble))
    return m_losses->add(KTRACE_LOSS_COPY_FAILED, name, trouble);
  pending.device->release(std::move(pending.buffer));
  pending.device->free_surplus();
  if (!record_flydsl(copy))
    m_losses->add(KTRACE_LOSS_WRITE_FAILED, name, "the recording could not be written");
}

}  // namespace ktrace
