#include "launch.hpp"

#include <algorithm>

#include "clocks.hpp"
#include "hang_signals.hpp"
#include "unseen_kernels.hpp"

namespace ktrace {
namespace {

// Of a launch that got no buffer.
std::string words_of_full_pool(const Layout& wanted, const Shape& shape, const Config& config) {
  if (wanted.wave_slots > 0) return "all of `--memory` was in use";
  const std::uint64_t waves = config.mode == SlotMode::direct ? wave_count(shape) : 1;
  return std::to_string(waves) + (waves == 1 ? " wave" : " waves") + " of " +
         std::to_string(wanted.region_size()) + " bytes did not fit `--memory " +
         std::to_string(config.memory) + "`";
}

thread_local std::uint64_t launches_seen __attribute__((tls_model("initial-exec"))) = 0;

constexpr char no_resources[] = "the process had no memory, or no further thread, for its trace";

FoundFunction find_function(Session& session, const HipLibrary& hip, const LaunchRequest& request) {
  const FoundFunction found = request.is_host_function
                                  ? session.registry().find_host_function(request.function)
                                  : session.registry().find_function(request.function);
  if (found.is_known) return found;
  return find_unseen_kernel(session, hip, request.function, request.is_host_function, request.stream);
}

// Whichever it is of several: all take the same arguments.
const Kernel* any_build(const FunctionBuilds* builds) {
  const Kernel* kernel = nullptr;
  if (!builds) return nullptr;
  for (const FunctionBuilds::Build& build : builds->builds)
    if (build.kernel) kernel = build.kernel;
  return kernel;
}

}  // namespace

TracedLaunch::TracedLaunch(Session& session, const HipLibrary& hip, const LaunchRequest& request) noexcept
    : m_session(session), m_hip(hip), m_request(request), m_arguments(request.params, request.extra) {
  ++launches_seen;
  if (!m_session.guarded([this] { begin(); })) m_session.guarded([this] { begin_untraced(); });
}

void TracedLaunch::begin() {
  if (m_session.is_left_by_parent(m_hip)) return pass_after_fork();
  if (m_session.captures().is_any_open()) {
    m_capture = capture_of_stream(m_session, m_hip, m_request.stream);
    if (m_capture == Capture::active) return pass_into_capture();
  }
  m_launch = m_session.status().add_launch();
  m_kernel = find_kernel();
  if (!m_kernel) return;
  count_annotated();
  if (m_kernel->is_of_flydsl) return begin_flydsl();
  if (can_be_traced() && prepare_buffer()) {
    m_pending->record.launched_ns = host_now_ns(m_hip);
    if (HangWatch* hang = m_session.hang()) {
      hang->announce(*m_pending, *m_pending->buffer);
      note_launch();
    }
    return;
  }
  m_arguments.insert_null(*m_kernel);
}

// After something of ours failed, wherever that was. The kernel needs its argument all the same.
void TracedLaunch::begin_untraced() {
  if (!m_kernel) m_kernel = any_build(find_function(m_session, m_hip, m_request).builds);
  if (m_kernel) {
    m_arguments.set_buffer(0);
    m_arguments.insert_null(*m_kernel);
  }
  if (m_is_captured) return;
  if (m_launch == 0) m_launch = m_session.status().add_launch();
  if (!m_kernel) return;
  count_annotated();
  if (!m_is_accounted_for) lose(KTRACE_LOSS_NO_MEMORY, no_resources);
  if (!m_pending) return;
  PendingDispatch pending = std::move(*m_pending);
  m_pending.reset();
  pending.is_discarded = true;
  m_session.recorder().add(std::move(pending));
}

void TracedLaunch::count_annotated() {
  if (!m_is_annotated) m_session.status().add_annotated_launch();
  m_is_annotated = true;
}

// Costs one look-up for a kernel that is not annotated, and calls HIP only where several builds of it exist.
const Kernel* TracedLaunch::find_kernel() {
  const FoundFunction found = find_function(m_session, m_hip, m_request);
  m_is_unseen = !found.is_known;
  const FunctionBuilds* builds = found.builds;
  if (!builds) return nullptr;
  m_stream = m_session.streams().facts_of(m_hip, m_request.stream);
  if (builds->builds.size() == 1) return builds->builds.front().kernel;
  return builds->pick(m_session.device(m_hip, m_stream.device).facts().target);
}

// HIP may answer no call of ours any more, so even the kernel's build for this device cannot be asked for.
void TracedLaunch::pass_after_fork() {
  m_launch = m_session.status().add_launch();
  const FoundFunction found = find_function(m_session, m_hip, m_request);
  m_is_unseen = !found.is_known;
  m_kernel = any_build(found.builds);
  if (!m_kernel) return;
  count_annotated();
  m_is_forked = true;
  m_arguments.insert_null(*m_kernel);
}

// The kernel gets a null slot, and nothing else happens on the stream: each replay of the graph is a launch.
void TracedLaunch::pass_into_capture() {
  m_is_captured = true;
  const Kernel* kernel = find_kernel();
  m_is_unseen = false;
  if (!kernel) return;
  if (kernel->is_of_flydsl)
    return m_session.flydsl().add_capture(m_arguments.given_buffer(*kernel), m_hip,
                                          m_session.device(m_hip, m_stream.device));
  m_arguments.insert_null(*kernel);
  int status = hip_capture_status_none;
  unsigned long long id = 0;
  hipGraph_t graph = nullptr;
  if (m_hip.hipStreamGetCaptureInfo_v2 &&
      m_hip.hipStreamGetCaptureInfo_v2(m_request.stream, &status, &id, &graph, nullptr, nullptr) ==
          hip_success)
    m_session.graphs().note_device(m_hip, graph, m_stream.device);
}

bool TracedLaunch::can_be_traced() {
  m_is_accounted_for = !m_session.selection().wants_launch(*m_kernel);
  if (m_is_accounted_for) return false;
  if (m_kernel->refusal != 0) {
    lose(static_cast<ktrace_loss_reason>(m_kernel->refusal), m_kernel->refusal_words);
    return false;
  }
  if (m_session.recorder().has_failed()) {
    lose(KTRACE_LOSS_WRITE_FAILED, "the recording could not be written");
    return false;
  }
  return is_outside_of_capture();
}

bool TracedLaunch::is_outside_of_capture() {
  if (!m_capture) m_capture = capture_of_stream(m_session, m_hip, m_request.stream);
  if (m_capture == Capture::none) return true;
  lose(KTRACE_LOSS_CAPTURE, m_capture == Capture::active  // begun through a call that we did not see
                                ? "it was launched during stream capture"
                                : "HIP did not say whether its stream takes part in a capture");
  return false;
}

bool TracedLaunch::prepare_buffer() {
  const Config& config = m_session.config();
  // HIP's to refuse, or to accept.
  m_is_empty = wave_count(m_request.shape) == 0;
  if (m_is_empty) return false;
  std::string trouble;
  if (!m_arguments.insert(*m_kernel, 0, &trouble)) return lose(KTRACE_LOSS_ARGUMENT, trouble), false;

  Device& device = m_session.device(m_hip, m_stream.device);
  const std::uint32_t attempted_words = m_kernel->attempted_words.load();
  Layout wanted = choose_layout(m_request.shape, config, attempted_words);
  wanted.flags = control_flags(config, m_kernel->note);
  Acquired acquired = acquire_buffer(m_session, device, wanted, true);
  if (!acquired.buffer) {
    lose(acquired.refusal, acquired.refusal == KTRACE_LOSS_NO_MEMORY
                               ? "the device had no memory for its trace buffer"
                               : words_of_full_pool(wanted, m_request.shape, config));
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
  m_pending->record = make_record(m_session, m_request, m_stream, {m_session.next_dispatch(), m_launch});
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
  LastError last_error(m_hip, m_session.is_last_error_watched());
  hipError_t error = hip_success;
  if (!buffer.is_zeroed)
    error =
        m_hip.hipMemsetAsync(buffer.memory, 0, static_cast<std::size_t>(buffer.capacity), m_request.stream);
  if (error == hip_success)
    error = m_hip.hipMemcpyAsync(buffer.memory, buffer.staging, sizeof *buffer.staging,
                                 hip_memcpy_host_to_device, m_request.stream);
  buffer.is_zeroed = true;
  if (error == hip_success) return true;
  last_error.take_back(error);
  lose(KTRACE_LOSS_COPY_FAILED, "its trace buffer could not be prepared: " + error_words(m_hip, error));
  return false;
}

// Waiting makes no call of HIP, so captures of other streams do not mind.
Acquired acquire_buffer(Session& session, Device& device, const Layout& wanted, bool may_wait) {
  Acquired acquired = device.acquire(wanted);
  if (acquired.buffer || acquired.refusal != KTRACE_LOSS_POOL_EXHAUSTED) return acquired;
  if (device.has_surplus()) session.recorder().sweep(device);
  const Config& config = session.config();
  const bool fits = wanted.wave_slots > 0;
  if (!may_wait || !fits || config.on_full != OnFull::wait) return acquired;
  const std::uint64_t before = read_host_clocks().monotonic_ns;
  acquired = device.acquire_within(wanted, config.on_full_ms * 1'000'000);
  session.status().count(&ktrace_status::waited_launches);
  session.status().count(&ktrace_status::waited_ns, read_host_clocks().monotonic_ns - before);
  return acquired;
}

ktrace_dispatch_record make_record(Session& session, const LaunchRequest& request, HipStreams::Facts stream,
                                   std::pair<std::uint64_t, std::uint64_t> numbers) {
  ktrace_dispatch_record record{};
  record.dispatch = numbers.first;
  record.launch = numbers.second;
  record.device = static_cast<ktrace_u32>(stream.device);
  record.stream = stream.number;
  const Shape& shape = request.shape;
  const std::uint32_t grid[3] = {shape.grid.x, shape.grid.y, shape.grid.z};
  const std::uint32_t block[3] = {shape.block.x, shape.block.y, shape.block.z};
  std::copy(grid, grid + 3, record.grid);
  std::copy(block, block + 3, record.block);
  record.shared_bytes = static_cast<ktrace_u32>(request.shared_bytes);
  record.thread_id = number_of_this_thread();
  record.flags = session.config().has_filter() ? KTRACE_DISPATCH_FILTERED : 0;
  record.expected =
      static_cast<ktrace_u32>(std::min<std::uint64_t>(expected_waves(shape, session.config()), 0xffffffffu));
  return record;
}

std::uint64_t launches_seen_on_this_thread() { return launches_seen; }

void count_launch_past_us(Session& session, const HipLibrary& hip, const void* function) {
  session.status().add_launch();
  LaunchRequest request;
  request.function = function;
  request.is_host_function = true;
  const FoundFunction found = find_function(session, hip, request);
  if (!found.is_known) session.status().add_unseen_launch();
  const Kernel* kernel = any_build(found.builds);
  if (!kernel) return;
  session.status().add_annotated_launch();
  if (session.selection().wants_launch(*kernel))
    session.losses().add(KTRACE_LOSS_ENTRY_POINT, kernel->metadata.name, "it was launched by hipLaunchByPtr");
}

Capture capture_of_stream(Session& session, const HipLibrary& hip, hipStream_t stream) {
  if (!session.captures().is_any_open() || !hip.hipStreamIsCapturing) return Capture::none;
  LastError last_error(hip, session.is_last_error_watched());
  int status = hip_capture_status_none;
  if (const hipError_t error = hip.hipStreamIsCapturing(stream, &status); error != hip_success) {
    last_error.take_back(error);
    return Capture::unknown;
  }
  return status == hip_capture_status_none ? Capture::none : Capture::active;
}

void TracedLaunch::finish(hipError_t result) noexcept {
  if (m_session.guarded([&] { hand_over(result); }) || !m_is_annotated || m_is_accounted_for) return;
  m_session.guarded([&] { lose(KTRACE_LOSS_NO_MEMORY, no_resources); });
}

void TracedLaunch::hand_over(hipError_t result) {
  if (m_is_unseen && result == hip_success) m_session.status().add_unseen_launch();
  if (m_is_forked && result == hip_success)
    lose(KTRACE_LOSS_FORKED, "a child of fork launched it with the HIP of its parent");
  if (m_is_empty)
    lose(KTRACE_LOSS_LAUNCH_FAILED,
         result == hip_success ? "its grid is empty: there is no wave of it" : "HIP refused the launch");
  if (m_flydsl_buffer != 0) return finish_flydsl(result);
  if (!m_pending) return;
  HangWatch* const hang = m_session.hang();
  if (hang) note_return();
  PendingDispatch pending = std::move(*m_pending);
  m_pending.reset();
  pending.record.submitted_ns = host_now_ns(m_hip);
  if (result != hip_success) {
    // No further call of HIP on this thread: it could replace the error that the application is going to
    // ask for.
    pending.is_discarded = true;
    if (!hang || !hang->is_recorded(pending.record.dispatch))
      lose(KTRACE_LOSS_LAUNCH_FAILED, "HIP refused the launch");
  } else {
    LastError last_error(m_hip, m_session.is_last_error_watched());
    const hipError_t error = m_hip.hipEventRecord(pending.buffer->finished, m_request.stream);
    if (error != hip_success) {
      last_error.take_back(error);
      pending.failure = error;  // the writer keeps what there is of it, or counts it as lost
    }
  }
  m_session.recorder().add(std::move(pending));
}

void TracedLaunch::lose(ktrace_loss_reason reason, const std::string& words) {
  m_is_accounted_for = true;
  m_session.losses().add(reason, m_kernel->metadata.name, words);
}

}  // namespace ktrace
