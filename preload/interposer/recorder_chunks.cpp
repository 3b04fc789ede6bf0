// The chunks of a recording other than dispatches.
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "clocks.hpp"
#include "log.hpp"
#include "placeholders.hpp"
#include "program.hpp"
#include "recorder.hpp"

namespace ktrace {
namespace {

// The rates of two clocks drift apart by no more than some microseconds in this time.
constexpr std::uint64_t sample_interval_ns = 1'000'000'000;

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

std::string working_folder() {
  char path[PATH_MAX] = "";
  return getcwd(path, sizeof path) ? path : "";
}

// The chunk is strings, NUL-terminated, as the kernel keeps them.
void append_arguments(std::vector<std::string>* strings) {
  const std::string all = read_text("/proc/self/cmdline");
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = all.find('\0', at);
    strings->push_back(all.substr(at, end - at));
    if (end == std::string::npos) break;
    at = end + 1;
  }
}

template <class Record>
Payload payload_with_strings(Record record, const std::vector<std::string>& strings) {
  record.strings_size = size_of_strings(strings);
  Payload payload;
  payload.add(record);
  payload.add_strings(strings);
  return payload;
}

}  // namespace

bool Recorder::append(ktrace_chunk_type type, Payload payload) {
  std::string trouble;
  const std::uint64_t written = m_file.append(type, std::move(payload), &trouble);
  m_status->add_bytes(written);
  if (written > 0) return true;
  m_failed = true;
  m_status->set_flag(KTRACE_STATUS_OUTPUT_FAILED);
  m_status->say_trouble(trouble);
  return false;
}

bool Recorder::begin_file(const PendingDispatch& first) {
  if (m_file.is_open()) return true;
  std::string trouble;
  if (!m_file.create(fill_in_process(m_config.output), fill_in_process(m_config.output_dir),
                     short_program_name(), &trouble)) {
    m_failed = true;
    m_status->set_flag(KTRACE_STATUS_OUTPUT_FAILED);
    m_status->say_trouble(trouble);
    return false;
  }
  m_status->set_output(m_file.path());
  say(m_config, LogLevel::info, "records into " + m_file.path());
  m_status->add_bytes(m_file.size());
  return write_process(first);
}

// The model knows no date, and what differs between two runs stays out of its recordings.
bool Recorder::write_process(const PendingDispatch& first) {
  ktrace_process_record record{};
  if (first.hip->is_software()) {
    record.boottime_ns = first.record.launched_ns;
  } else {
    const HostClocks clocks = read_host_clocks();
    record.pid = static_cast<ktrace_u32>(getpid());
    record.parent_pid = static_cast<ktrace_u32>(getppid());
    record.boottime_ns = clocks.boottime_ns;
    record.monotonic_ns = clocks.monotonic_ns;
    record.realtime_ns = clocks.realtime_ns;
  }
  std::vector<std::string> strings{host_name(), working_folder(), program_path()};
  append_arguments(&strings);
  return append(KTRACE_CHUNK_PROCESS, payload_with_strings(record, strings));
}

bool Recorder::write_device(const Device& device) {
  if (std::find(m_written_devices.begin(), m_written_devices.end(), &device) != m_written_devices.end())
    return true;
  const DeviceFacts& facts = device.facts();
  Payload clock;
  clock.add(facts.first_sample);
  if (!append(KTRACE_CHUNK_DEVICE, payload_with_strings(facts.record, {facts.target, facts.name})) ||
      !append(KTRACE_CHUNK_CLOCK, std::move(clock)))
    return false;
  m_written_devices.push_back(&device);
  return true;
}

bool Recorder::write_code_object(const CodeObject& object) {
  if (m_number_by_code_object.count(&object)) return true;
  ktrace_code_object_record record{};
  std::memcpy(record.sha256, object.digest.data(), sizeof record.sha256);
  record.size = object.bytes.size();
  record.code_object = static_cast<ktrace_u32>(m_number_by_code_object.size());
  Payload payload;
  payload.reserve(sizeof record + object.bytes.size());
  payload.add(record);
  payload.add_bytes(object.bytes.data(), object.bytes.size());
  if (!append(KTRACE_CHUNK_CODE_OBJECT, std::move(payload))) return false;
  m_number_by_code_object[&object] = record.code_object;
  return true;
}

bool Recorder::write_kernel(const Kernel& kernel) {
  if (m_number_by_kernel.count(&kernel)) return true;
  ktrace_kernel_record record{};
  record.kernel = static_cast<ktrace_u32>(m_number_by_kernel.size());
  record.code_object = m_number_by_code_object[kernel.code_object];
  record.record_format = kernel.note.record_format;
  record.kernarg_offset = kernel.trace_offset;
  record.unit_key = kernel.note.unit_key;
  const std::vector<std::string> strings{kernel.metadata.name, kernel.metadata.symbol};
  if (!append(KTRACE_CHUNK_KERNEL, payload_with_strings(record, strings))) return false;
  m_number_by_kernel[&kernel] = record.kernel;
  return true;
}

bool Recorder::write_losses() {
  for (const Loss& loss : m_losses->all()) {
    ktrace_loss_record record{};
    record.reason = loss.reason;
    record.count = loss.count;
    if (!append(KTRACE_CHUNK_LOSS, payload_with_strings(record, {loss.kernel, loss.words}))) return false;
  }
  return true;
}

// The software device has a clock for every thread, and the writer's would not be the program's.
bool Recorder::write_due_sample(const Device& device, const std::vector<ktrace_wave_header>& headers) {
  if (device.hip().is_software()) return true;
  ClockPace& pace = m_clock_pace[&device];
  for (const ktrace_wave_header& header : headers)
    if (header.state == KTRACE_WAVE_ENDED) pace.newest_tick = std::max(pace.newest_tick, header.realtime_end);
  const std::uint64_t now = read_host_clocks().monotonic_ns;
  if (now < pace.next_ns) return true;
  pace.next_ns = now + sample_interval_ns;
  return write_sample(device);
}

bool Recorder::write_sample(const Device& device) {
  const ktrace_clock_record sample =
      sample_clock(device.hip(), device.index(), device.facts().bus_id, m_clock_pace[&device].newest_tick);
  if (sample.method == KTRACE_CLOCK_BOUNDS) return true;  // that there is none, the first one says
  Payload payload;
  payload.add(sample);
  return append(KTRACE_CHUNK_CLOCK, std::move(payload));
}

bool Recorder::write_last_samples() {
  for (const Device* device : m_written_devices)
    if (!device->hip().is_software() && !write_sample(*device)) return false;
  for (const ktrace_clock_record& sample : m_last_samples) {
    Payload payload;
    payload.add(sample);
    if (!append(KTRACE_CHUNK_CLOCK, std::move(payload))) return false;
  }
  return true;
}

bool Recorder::write_end() {
  ktrace_end_record record = m_status->counts();
  record.host_ns = m_end_host_ns;
  Payload payload;
  payload.add(record);
  return append(KTRACE_CHUNK_END, std::move(payload));
}

}  // namespace ktrace
