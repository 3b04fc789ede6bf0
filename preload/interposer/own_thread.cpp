#include "own_thread.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>

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
  try {
    (*body)();
  } catch (...) {  // whoever needs to know has a catch of its own
  }
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

// HIP's thread-local objects make a new thread take the loader's lock, which a caller that runs in a
// library's constructor holds: then the work is done on the calling thread after all.
constexpr std::chrono::milliseconds start_limit{200};

// Work that whoever claims it first does: the thread that was started for it, or the one that asked.
struct Aside {
  std::atomic<bool> is_claimed{false};
  std::mutex mutex;
  std::condition_variable changed;
  bool is_done = false;
  std::exception_ptr failure;

  template <class Work>
  void run(const Work& work) {
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    is_done = true;
    changed.notify_all();
  }
  bool wait(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex);
    return changed.wait_until(lock, std::chrono::system_clock::now() + limit, [this] { return is_done; });
  }
  void wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return is_done; });
  }
};

// Blocks while another thread runs a library's constructor. Before the first call of HIP, which would block
// here with locks of its own in hand.
void wait_for_loader() {
  Dl_info info;
  dladdr(reinterpret_cast<const void*>(&become_own_thread), &info);
}

// Leaves the thread's device, capture mode and last error as they were.
void run_here(const HipLibrary& hip, int device, const std::function<void()>& work) {
  const hipError_t before = hip.hipPeekAtLastError ? hip.hipPeekAtLastError() : hip_success;
  int device_before = device, mode = hip_capture_mode_relaxed;
  hip.hipGetDevice(&device_before);
  if (hip.hipThreadExchangeStreamCaptureMode) hip.hipThreadExchangeStreamCaptureMode(&mode);
  if (hip.hipSetDevice(device) == hip_success) work();
  hip.hipSetDevice(device_before);
  if (hip.hipThreadExchangeStreamCaptureMode) hip.hipThreadExchangeStreamCaptureMode(&mode);
  if (before == hip_success && hip.hipGetLastError) hip.hipGetLastError();
}

}  // namespace

void become_own_thread(const char* name, const HipLibrary& hip) {
  pthread_setname_np(pthread_self(), name);
  wait_for_loader();
  enter_copy(hip);
}

void enter_copy(const HipLibrary& hip) {
  thread_local bool is_known[most_hip_libraries] = {};
  if (std::exchange(is_known[hip.index], true)) return;
  if (hip.ktrace_softdev_tool_thread) hip.ktrace_softdev_tool_thread();
  // An application that captures a stream forbids other threads' allocations unless they ask to be let off.
  int mode = hip_capture_mode_relaxed;
  if (hip.hipThreadExchangeStreamCaptureMode) hip.hipThreadExchangeStreamCaptureMode(&mode);
}

void run_aside(const HipLibrary& hip, int device, const std::function<void()>& work) {
  const auto aside = std::make_shared<Aside>();
  const bool is_started = start_own_thread([aside, &hip, device, &work] {
    become_own_thread("ktrace-aside", hip);
    if (aside->is_claimed.exchange(true)) return;
    aside->run([&] {
      if (hip.hipSetDevice(device) == hip_success) work();
    });
  });
  if (!is_started) throw std::runtime_error("no thread could be started");
  if (!aside->wait(start_limit)) {
    if (aside->is_claimed.exchange(true))
      aside->wait();
    else
      aside->run([&] { run_here(hip, device, work); });
  }
  if (aside->failure) std::rethrow_exception(aside->failure);
}

bool start_own_thread(std::function<void()> body) {
  pthread_t thread;
  if (!create(std::move(body), &thread)) return false;
  pthread_detach(thread);
  return true;
}

}  // namespace ktrace
