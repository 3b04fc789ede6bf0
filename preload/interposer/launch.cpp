#include "launch.hpp"

#include <algorithm>

#include "clocks.hpp"

namespace ktrace {
namespace {

FoundFunction find_function(Session& session, const LaunchRequest& request) {
  return request.is_host_function ? session.registry().find_host_function(request.function)
                                  : session.registry().find_function(request.function);
}

bool is_wanted(const Kernel& kernel, const Config& config) {
  Kernel::Wanted wanted = kernel.wanted;
  if (wanted == Kernel::Wanted::unknown) {
    wanted = is_kernel_wanted(config, kernel.metadata.name) ? Kernel::Wanted::yes : Kernel::Wanted::no;
    kernel.wanted = wanted;
  }
  return wanted == Kernel::Wanted::yes;
}

}  // namespace

TracedLaunch::TracedLaunch(Session& session, const HipLibrary& hip, const LaunchRequest& request) noexcept
    : m_session(session), m_hip(hip), m_request(request), m_arguments(request.params, request.extra) {
  m_session.guarded([this] { begin(); });
}

void TracedLaunch::begin() {
  m_launch = m_session.status().add_launch();
  m_kernel = find_kernel();
  if (!m_kernel) return;
  m_session.status().add_annotated_launch();
  if (can_be_traced() && prepare_buffer()) {
    m_pending->record.launched_ns = host_now_ns(m_hip);
    return;
  }
  m_arguments.insert_null(*m_kernel);
}

// Costs one look-up for a kernel that is not annotated, and calls HIP only where several builds of it exist.
const Kernel* TracedLaunch::find_kernel() {
  const FoundFunction found = find_function(m_session, m_request);
  m_is_unseen = !found.is_known;
  const FunctionBuilds* builds = found.builds;
  if (!builds) return nullptr;
  m_device_index = device_of_stream();
  if (builds->builds.size() == 1) return builds->builds.front().kernel;
  return builds->pick(m_session.device(m_hip, m_device_index).facts().target);
}

int TracedLaunch::device_of_stream() {
  const bool is_default = m_request.stream == stream_null || m_request.stream == stream_legacy ||
                          m_request.stream == stream_per_thread;
  if (!is_default && m_hip.hipGetStreamDeviceId) {
    const int device = m_hip.hipGetStreamDeviceId(m_request.stream);
    if (device >= 0) return device;
  }
  int current = 0;
  m_hip.hipGetDevice(&current);
  return current;
}

bool TracedLaunch::can_be_traced() {
  if (!is_wanted(*m_kernel, m_session.config())) return m_session.status().add_unselected_launch(), false;
  if (m_kernel->refusal != 0) {
    lose(static_cast<ktrace_loss_reason>(m_kernel->refusal), m_kernel->refusal_words);
    return false;
  }
  if (m_session.recorder().has_failed()) {
    lose(KTRACE_LOSS_WRITE_FAILED, "the recording could not be written");
    return false;
  }
  int capture = hip_capture_status_none;
  if (m_session.has_captured() && m_hip.hipStreamIsCapturing &&
      (m_hip.hipStreamIsCapturing(m_request.stream, &capture) != hip_success ||
       capture != hip_capture_status_none)) {
    lose(KTRACE_LOSS_CAPTURE, "it was launched during stream capture");
    return false;
  }
  return true;
}

bool TracedLaunch::prepare_buffer() {
  const Config& config = m_session.config();
  // An empty grid is HIP's to refuse.
  if (wave_count(m_request.shape) == 0) return false;
  std::string trouble;
  if (!m_arguments.insert(*m_kernel, 0, &trouble)) return lose(KTRACE_LOSS_ARGUMENT, trouble), false;

  Device& device = m_session.device(m_hip, m_device_index);
  const std::uint32_t attempted_words = m_kernel->attempted_words.load();
  const Layout wanted = choose_layout(m_request.shape, config, attempted_words);
  Acquired acquired = device.acquire(wanted);
  if (!acquired.buffer) {
    lose(acquired.refusal, acquired.refusal == KTRACE_LOSS_NO_MEMORY
                               ? "the device had no memory for its trace buffer"
                               : "all of `--memory` was in use, or it is too small for one wave");
    return false;
  }
  m_pending.emplace();
  m_pending->hip = &m_hip;
  m_pending->device = &device;
  m_pending->kernel = m_kernel;
  m_pending->buffer = std::move(acquired.buffer);
  m_pending->layout = acquired.layout;
  m_pending->is_grown =
      attempted_words != 0 && wanted.region_log2 > choose_layout(m_request.shape, config, 0).region_log2;
  m_pending->record = make_record(m_session.next_dispatch());
  if (!upload_control()) {
    m_pending->is_discarded = true;
    m_session.recorder().add(std::move(*m_pending));
    m_pending.reset();
    return false;
  }
  return m_arguments.set_buffer(reinterpret_cast<std::uint64_t>(m_pending->buffer->memory)), true;
}

// In front of the kernel on its own stream: nobody waits on the host.
bool TracedLaunch::upload_control() {
  TraceBuffer& buffer = *m_pending->buffer;
  *buffer.staging = make_control(m_request.shape, m_pending->layout, m_session.config(),
                                 m_pending->record.dispatch, buffer.regions());
  const hipError_t before = error_before();
  hipError_t error = hip_success;
  if (!buffer.is_zeroed)
    error =
        m_hip.hipMemsetAsync(buffer.memory, 0, static_cast<std::size_t>(buffer.capacity), m_request.stream);
  if (error == hip_success)
    error = m_hip.hipMemcpyAsync(buffer.memory, buffer.staging, sizeof *buffer.staging,
                                 hip_memcpy_host_to_device, m_request.stream);
  buffer.is_zeroed = true;
  if (error == hip_success) return true;
  restore_error(before);
  lose(KTRACE_LOSS_COPY_FAILED, "its trace buffer could not be prepared: " + error_words(m_hip, error));
  return false;
}

ktrace_dispatch_record TracedLaunch::make_record(std::uint64_t dispatch) const {
  ktrace_dispatch_record record{};
  record.dispatch = dispatch;
  record.launch = m_launch;
  record.device = static_cast<ktrace_u32>(m_device_index);
  record.stream = m_session.streams().number_of(m_request.stream);
  const Shape& shape = m_request.shape;
  const std::uint32_t grid[3] = {shape.grid.x, shape.grid.y, shape.grid.z};
  const std::uint32_t block[3] = {shape.block.x, shape.block.y, shape.block.z};
  std::copy(grid, grid + 3, record.grid);
  std::copy(block, block + 3, record.block);
  record.shared_bytes = static_cast<ktrace_u32>(m_request.shared_bytes);
  record.thread_id = number_of_this_thread();
  record.flags = m_session.config().has_filter() ? KTRACE_DISPATCH_FILTERED : 0;
  record.expected = static_cast<ktrace_u32>(
      std::min<std::uint64_t>(expected_waves(shape, m_session.config()), 0xffffffffu));
  return record;
}

// HIP up to 6.3 sets the last error at every call, so the launch itself decides what the application sees.
// Later ones keep the first failure: there, an error of ours may be taken away only if none was kept before.
hipError_t TracedLaunch::error_before() {
  return m_hip.hipPeekAtLastError ? m_hip.hipPeekAtLastError() : hip_success;
}

void TracedLaunch::restore_error(hipError_t before) {
  if (before == hip_success && m_hip.hipGetLastError) m_hip.hipGetLastError();
}

void TracedLaunch::finish(hipError_t result) noexcept {
  m_session.guarded([&] {
    if (m_is_unseen && result == hip_success) m_session.status().add_unseen_launch();
    if (!m_pending) return;
    PendingDispatch pending = std::move(*m_pending);
    m_pending.reset();
    pending.record.submitted_ns = host_now_ns(m_hip);
    if (result != hip_success) {
      // No further call of HIP on this thread: it could replace the error that the application is going to
      // ask for.
      pending.is_discarded = true;
      lose(KTRACE_LOSS_LAUNCH_FAILED, "HIP refused the launch");
    } else {
      const hipError_t before = error_before();
      const hipError_t error = m_hip.hipEventRecord(pending.buffer->finished, m_request.stream);
      if (error != hip_success) {
        restore_error(before);
        pending.is_discarded = true;
        lose(KTRACE_LOSS_COPY_FAILED, "its end could not be followed: " + error_words(m_hip, error));
      }
    }
    m_session.recorder().add(std::move(pending));
  });
}

void TracedLaunch::lose(ktrace_loss_reason reason, const std::string& words) {
  m_session.losses().add(reason, m_kernel->metadata.name, words);
}

void count_untraced(Session& session, const LaunchRequest& request, const char* call) noexcept {
  session.guarded([&] {
    session.status().add_launch();
    const FoundFunction found = find_function(session, request);
    if (!found.is_known) session.status().add_unseen_launch();
    if (!found.builds) return;
    session.status().add_annotated_launch();
    for (const FunctionBuilds::Build& build : found.builds->builds) {
      if (!build.kernel) continue;
      if (!is_wanted(*build.kernel, session.config())) return session.status().add_unselected_launch();
      return session.losses().add(
          KTRACE_LOSS_ENTRY_POINT, build.kernel->metadata.name,
          std::string("it was launched through ") + call + ", which ktrace does not trace");
    }
  });
}

}  // namespace ktrace
