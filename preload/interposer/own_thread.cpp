#include "own_thread.hpp"

#include <pthread.h>
#include <signal.h>

#include <memory>
#include <stdexcept>

namespace ktrace {
namespace {

class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &m_before);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &m_before, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t m_before;
};

void* run_body(void* argument) {
  const std::unique_ptr<std::function<void()>> body(static_cast<std::function<void()>*>(argument));
  (*body)();
  return nullptr;
}

bool create(std::function<void()> body, pthread_t* thread) {
  // A new thread inherits the mask, so it never has a moment in which it could take a signal.
  const BlockedSignals blocked;
  auto owned = std::make_unique<std::function<void()>>(std::move(body));
  if (pthread_create(thread, nullptr, run_body, owned.get()) != 0) return false;
  owned.release();
  return true;
}

}  // namespace

void become_own_thread(const char* name, const HipLibrary& hip) {
  pthread_setname_np(pthread_self(), name);
  if (hip.ktrace_softdev_tool_thread) hip.ktrace_softdev_tool_thread();
  // An application that captures a stream forbids other threads' allocations unless they ask to be let off.
  int mode = hip_capture_mode_relaxed;
  if (hip.hipThreadExchangeStreamCaptureMode) hip.hipThreadExchangeStreamCaptureMode(&mode);
}

void run_aside(const HipLibrary& hip, int device, const std::function<void()>& work) {
  std::exception_ptr failure;
  pthread_t thread;
  const auto body = [&] {
    try {
      become_own_thread("ktrace-aside", hip);
      if (hip.hipSetDevice(device) == hip_success) work();
    } catch (...) {
      failure = std::current_exception();
    }
  };
  if (!create(body, &thread)) throw std::runtime_error("no thread could be started");
  pthread_join(thread, nullptr);
  if (failure) std::rethrow_exception(failure);
}

bool start_own_thread(std::function<void()> body) {
  pthread_t thread;
  if (!create(std::move(body), &thread)) return false;
  pthread_detach(thread);
  return true;
}

}  // namespace ktrace
