// Launches of kernels with FlyDSL's own tracer.
#include <algorithm>

#include "clocks.hpp"
#include "launch.hpp"

namespace ktrace {
namespace {

// In front of the kernel on its own stream: nobody waits on the host.
bool clear_before_first_use(Session& session, const HipLibrary& hip, TraceBuffer* buffer,
                            hipStream_t stream) {
  if (buffer->is_zeroed) return true;
  LastError last_error(hip, session.is_last_error_watched());
  const hipError_t error =
      hip.hipMemsetAsync(buffer->memory, 0, static_cast<std::size_t>(buffer->capacity), stream);
  if (error != hip_success) return last_error.take_back(error), false;
  return buffer->is_zeroed = true;
}

}  // namespace

// FlyDSL passes its buffer itself: the launch only has to be known, unless it needs a buffer of its own.
void TracedLaunch::begin_flydsl() {
  const std::uint64_t address = m_arguments.given_buffer(*m_kernel);
  const std::uint64_t size = m_session.flydsl().size_of(address);
  if (size == 0)
    return lose(KTRACE_LOSS_ARGUMENT, "its last argument is no buffer of FlyDSL that ktrace saw being made");
  if (!is_outside_of_capture()) return;
  const std::uint64_t waves = wave_count(m_request.shape);
  m_is_empty = waves == 0;
  if (m_is_empty) return;
  m_session.recorder().note_device(m_session.device(m_hip, m_stream.device));
  const bool wants_own = m_session.config().flydsl == FlydslMode::launch ||
                         m_session.flydsl().would_overflow(address, m_hip, waves);
  if (wants_own && prepare_flydsl_buffer(size)) return;
  m_flydsl_buffer = address;
  m_flydsl.kernel = m_kernel;
  m_flydsl.record = make_record(m_session, m_request, m_stream, {m_session.next_dispatch(), m_launch});
  m_flydsl.record.flags = 0;  // our filters mean nothing to its kernels
  m_flydsl.record.expected = static_cast<ktrace_u32>(std::min<std::uint64_t>(waves, 0xffffffffu));
  m_flydsl.record.launched_ns = host_now_ns(m_hip);
}

// As large as the process's own: how much fits is compiled into the kernel.
bool TracedLaunch::prepare_flydsl_buffer(std::uint64_t size) {
  constexpr std::uint32_t region_log2 = 13;
  static_assert(flydsl_slot * flydsl_region_slots == std::uint64_t{1} << region_log2);
  Layout wanted;
  wanted.region_log2 = region_log2;
  wanted.wave_slots = static_cast<std::uint32_t>((size >> region_log2) + 1);
  wanted.may_claim = false;
  Device& device = m_session.device(m_hip, m_stream.device);
  Acquired acquired = acquire_buffer(m_session, device, wanted, true);
  if (!acquired.buffer) return false;
  TraceBuffer& buffer = *acquired.buffer;
  std::string trouble;
  if (!clear_before_first_use(m_session, m_hip, &buffer, m_request.stream) ||
      !m_arguments.insert(*m_kernel, reinterpret_cast<std::uint64_t>(buffer.memory), &trouble)) {
    PendingDispatch unused;
    unused.hip = &m_hip;
    unused.device = &device;
    unused.kernel = m_kernel;
    unused.buffer = std::move(acquired.buffer);
    unused.is_discarded = true;
    m_session.recorder().add(std::move(unused));
    return false;
  }
  m_pending.emplace();
  m_pending->hip = &m_hip;
  m_pending->device = &device;
  m_pending->kernel = m_kernel;
  m_pending->buffer = std::move(acquired.buffer);
  m_pending->layout = wanted;
  m_pending->flydsl_size = size;
  m_pending->record = make_record(m_session, m_request, m_stream, {m_session.next_dispatch(), m_launch});
  m_pending->record.flags = 0;
  m_pending->record.launched_ns = host_now_ns(m_hip);
  if (m_session.config().flydsl == FlydslMode::process)
    m_session.status().say_trouble(
        "FlyDSL's buffer was full, so launches had buffers of their own, of which the program's own reading "
        "knows nothing; FLYDSL_KTRACE_BUFFER_BYTES makes it larger");
  return true;
}

void TracedLaunch::finish_flydsl(hipError_t result) {
  if (result != hip_success) return lose(KTRACE_LOSS_LAUNCH_FAILED, "HIP refused the launch");
  m_flydsl.record.submitted_ns = host_now_ns(m_hip);
  m_session.flydsl().add(m_flydsl_buffer, m_hip, m_session.device(m_hip, m_stream.device), m_flydsl);
}

}  // namespace ktrace
