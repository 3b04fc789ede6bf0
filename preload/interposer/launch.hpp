// One launch of the application on its way through us: traced where that is possible, counted in any case.
#pragma once

#include <memory>
#include <optional>

#include "arguments.hpp"
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
  const Kernel* find_kernel();
  bool can_be_traced();
  bool prepare_buffer();
  bool upload_control();
  void lose(ktrace_loss_reason reason, const std::string& words);
  int device_of_stream();
  ktrace_dispatch_record make_record(std::uint64_t dispatch) const;
  hipError_t error_before();
  void restore_error(hipError_t before);

  Session& m_session;
  const HipLibrary& m_hip;
  const LaunchRequest m_request;
  LaunchArguments m_arguments;
  const Kernel* m_kernel = nullptr;
  bool m_is_unseen = false;  // whether it is annotated, nobody knows
  std::uint64_t m_launch = 0;
  int m_device_index = 0;
  std::optional<PendingDispatch> m_pending;
};

// Counts a launch that goes to HIP as it is, through a call that cannot be traced.
void count_untraced(Session& session, const LaunchRequest& request, const char* call) noexcept;

}  // namespace ktrace
