// One launch of the application on its way through us: traced where that is possible, counted in any case.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "arguments.hpp"
#include "last_error.hpp"
#include "session.hpp"

namespace ktrace {

// What the application asked HIP for.
struct LaunchRequest {
  const void* function = nullptr;
  bool is_host_function = false;  // else a hipFunction_t
  Shape shape{};
  std::size_t shared_bytes = 0;
  hipStream_t stream = nullptr;
  void** params = nullptr;
  void** extra = nullptr;
};

// Whether work on a stream becomes part of a graph.
enum class Capture { none, active, unknown };

// Made before HIP is called, finished after. Neither throws.
class TracedLaunch {
 public:
  TracedLaunch(Session& session, const HipLibrary& hip, const LaunchRequest& request) noexcept;
  TracedLaunch(const TracedLaunch&) = delete;
  TracedLaunch& operator=(const TracedLaunch&) = delete;

  // What HIP is to be called with instead.
  void** params() const { return m_arguments.params(); }
  void** extra() const { return m_arguments.extra(); }

  void finish(hipError_t result) noexcept;

 private:
  void begin();
  void begin_untraced();
  void hand_over(hipError_t result);
  void count_annotated();
  const Kernel* find_kernel();
  bool can_be_traced();
  bool is_outside_of_capture();
  bool prepare_buffer();
  bool upload_control();
  void lose(ktrace_loss_reason reason, const std::string& words);
  void pass_into_capture();
  void begin_flydsl();
  bool prepare_flydsl_buffer(std::uint64_t size);
  void finish_flydsl(hipError_t result);
  void pass_after_fork();

  Session& m_session;
  const HipLibrary& m_hip;
  const LaunchRequest m_request;
  LaunchArguments m_arguments;
  const Kernel* m_kernel = nullptr;
  bool m_is_forked = false;    // with a HIP that a fork has left behind
  bool m_is_unseen = false;    // whether it is annotated, nobody knows
  bool m_is_captured = false;  // no launch yet: the graph's replays are
  bool m_is_empty = false;     // its grid or its workgroups are
  bool m_is_annotated = false;
  bool m_is_accounted_for = false;  // lost, or not selected
  std::uint64_t m_launch = 0;
  HipStreams::Facts m_stream;
  std::optional<Capture> m_capture;  // as far as HIP was asked
  std::optional<PendingDispatch> m_pending;
  std::uint64_t m_flydsl_buffer = 0;  // the process's, into which this launch writes
  FlydslLaunch m_flydsl;
};

// How many launches the calling thread has made that we saw.
std::uint64_t launches_seen_on_this_thread();

// A launch of a host function that HIP did without any call that we saw.
void count_launch_past_us(Session& session, const HipLibrary& hip, const void* function);

// What a launch's record says before it has run. `numbers`: of the dispatch and of the launch.
ktrace_dispatch_record make_record(Session& session, const LaunchRequest& request, HipStreams::Facts stream,
                                   std::pair<std::uint64_t, std::uint64_t> numbers);

// HIP's own rule for the `_spt` calls: no stream means the calling thread's.
inline hipStream_t per_thread(hipStream_t stream) {
  return stream == stream_null || stream == stream_legacy ? stream_per_thread : stream;
}

// A trace buffer of `device`, waiting for one only where the user asked for that and `may_wait`.
Acquired acquire_buffer(Session& session, Device& device, const Layout& wanted, bool may_wait);

// Asks HIP only while a capture is open, of whatever stream.
Capture capture_of_stream(Session& session, const HipLibrary& hip, hipStream_t stream);

}  // namespace ktrace
