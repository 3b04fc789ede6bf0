#include "hang_signals.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace ktrace {
namespace {

constexpr int answer_limit_ms = 1000;
// The first four are sent; the others are raised by a fault, also by HIP where the device has one.
constexpr int taken[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGSEGV, SIGBUS, SIGABRT};

// All that a signal handler may use. Pipes, because writing and polling are what it may do.
struct Interrupts {
  std::atomic<pid_t> process{0};  // whose thread answers; not a child of fork
  int asking[2] = {-1, -1};
  int answering[2] = {-1, -1};
  struct sigaction before[sizeof taken / sizeof *taken] = {};
};
Interrupts interrupts;

void drain(int pipe_end) {
  char bytes[16];
  while (read(pipe_end, bytes, sizeof bytes) > 0) {
  }
}

void ask_and_wait() {
  if (interrupts.process != getpid()) return;
  drain(interrupts.answering[0]);
  const char question = 'q';
  if (write(interrupts.asking[1], &question, 1) != 1) return;
  pollfd answer{interrupts.answering[0], POLLIN, 0};
  while (poll(&answer, 1, answer_limit_ms) < 0 && errno == EINTR) {
  }
}

const struct sigaction* action_before(int signal) {
  for (std::size_t i = 0; i < sizeof taken / sizeof *taken; ++i)
    if (taken[i] == signal) return &interrupts.before[i];
  return nullptr;
}

void go_on(int signal, siginfo_t* info, void* context, const struct sigaction& before) {
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler == SIG_IGN) return;
  if (before.sa_handler != SIG_DFL) return before.sa_handler(signal);
  // It is blocked while its handler runs, and so takes effect when this one returns.
  sigaction(signal, &before, nullptr);
  raise(signal);
}

void on_signal(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  const struct sigaction* const before = action_before(signal);
  ask_and_wait();
  errno = error;
  if (before) go_on(signal, info, context, *before);
}

bool make_pipes() {
  return pipe2(interrupts.asking, O_CLOEXEC | O_NONBLOCK) == 0 &&
         pipe2(interrupts.answering, O_CLOEXEC | O_NONBLOCK) == 0;
}

}  // namespace

void take_over_signals() {
  const bool is_taken = interrupts.process != 0;  // by a parent process: its handlers are inherited
  if (!make_pipes()) return;
  interrupts.process = getpid();
  if (is_taken) return;
  for (std::size_t i = 0; i < sizeof taken / sizeof *taken; ++i) {
    struct sigaction& before = interrupts.before[i];
    if (sigaction(taken[i], nullptr, &before) != 0) continue;
    // What the program ignores does not end it.
    if ((before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler == SIG_IGN) continue;
    struct sigaction ours = before;
    ours.sa_flags = (before.sa_flags & ~static_cast<int>(SA_RESETHAND)) | SA_SIGINFO | SA_ONSTACK;
    ours.sa_sigaction = on_signal;
    sigaction(taken[i], &ours, nullptr);
  }
}

bool wait_for_interrupt(int timeout_ms) {
  pollfd question{interrupts.asking[0], POLLIN, 0};
  if (poll(&question, 1, timeout_ms) <= 0) return false;
  drain(interrupts.asking[0]);
  return true;
}

void answer_interrupt() {
  const char answer = 'a';
  if (write(interrupts.answering[1], &answer, 1) != 1) return;
}

void wake_waiting_thread() {
  const char question = 'w';
  if (write(interrupts.asking[1], &question, 1) != 1) return;
}

}  // namespace ktrace
