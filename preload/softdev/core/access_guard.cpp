// SIGSEGV and SIGBUS are ours while any dispatch runs, and given back after the last one.
#include "core/access_guard.hpp"

#include <setjmp.h>
#include <signal.h>

#include <mutex>

#include "core/dispatch.hpp"

namespace ktrace::softdev {

namespace {

constexpr int signals[] = {SIGSEGV, SIGBUS};

struct Guard {
  const AddressSpace& memory;
  uint64_t address = 0;
  sigjmp_buf back;
};

// Initial-exec: a handler must not be the first to touch it, which would allocate.
__attribute__((tls_model("initial-exec"))) thread_local Guard* current_guard = nullptr;

// What was there before us, by signal. Written before the handlers are in place.
struct sigaction earlier[2];

void pass_on(int number, siginfo_t* info, void* context) {
  const struct sigaction& action = earlier[number == SIGSEGV ? 0 : 1];
  if ((action.sa_flags & SA_SIGINFO) != 0) {
    action.sa_sigaction(number, info, context);
  } else if (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN) {
    action.sa_handler(number);
  } else {
    // The access happens again, without us; a signal that was sent does not.
    sigaction(number, &action, nullptr);
    if (info->si_code <= 0) {
      raise(number);
    }
  }
}

void on_signal(int number, siginfo_t* info, void* context) {
  Guard* guard = current_guard;
  const auto address = reinterpret_cast<uint64_t>(info->si_addr);
  if (guard && info->si_code > 0 && guard->memory.has_met(address)) {
    guard->address = address;
    siglongjmp(guard->back, 1);
  }
  pass_on(number, info, context);
}

// Dispatches of several devices run at the same time.
class Handlers {
 public:
  void enter() {
    const std::lock_guard lock(m_mutex);
    if (m_users++ > 0) {
      return;
    }
    struct sigaction own = {};
    own.sa_sigaction = on_signal;
    own.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (unsigned k = 0; k < 2; ++k) {
      sigaction(signals[k], nullptr, &earlier[k]);
      sigaction(signals[k], &own, nullptr);
    }
  }
  void leave() {
    const std::lock_guard lock(m_mutex);
    if (--m_users > 0) {
      return;
    }
    for (unsigned k = 0; k < 2; ++k) {
      struct sigaction now = {};
      sigaction(signals[k], nullptr, &now);
      if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_signal) {
        sigaction(signals[k], &earlier[k], nullptr);
      }  // else the program has set its own meanwhile
    }
  }

 private:
  std::mutex m_mutex;
  unsigned m_users = 0;
};

Handlers& handlers() {
  static Handlers instance;
  return instance;
}

class Entry {
 public:
  explicit Entry(Guard& guard) : m_outer(current_guard) { current_guard = &guard; }
  ~Entry() { current_guard = m_outer; }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

 private:
  const AccessGuard m_handlers;
  Guard* m_outer;
};

bool do_work(Guard& guard, const std::function<void()>& work) {
  if (sigsetjmp(guard.back, 1) != 0) {
    return false;
  }
  work();
  return true;
}

}  // namespace

AccessGuard::AccessGuard() { handlers().enter(); }
AccessGuard::~AccessGuard() { handlers().leave(); }

bool run_guarded(const AddressSpace& memory, const std::function<void()>& work, uint64_t& address) {
  Guard guard{memory, 0, {}};
  const Entry entry(guard);
  const bool done = do_work(guard, work);
  address = guard.address;
  return done;
}

}  // namespace ktrace::softdev
