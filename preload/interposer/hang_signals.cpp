#include "hang_signals.hpp"

#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>

namespace ktrace {
namespace {

constexpr int answer_limit_ms = 1000;
// The first four are sent; the others are raised by a fault, also by HIP where the device has one.
constexpr int taken[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGSEGV, SIGBUS, SIGABRT};

constexpr std::size_t count_sent = 4;
constexpr std::size_t count_taken = sizeof taken / sizeof *taken;
using Counter = std::atomic<std::uint32_t>;
static_assert(sizeof(Counter) == sizeof(std::uint32_t) && Counter::is_always_lock_free);

// All that a signal handler may use. The questions are numbered, and an answer is the number of the last one
// that it answers. No descriptors, which the program might close, and give to files of its own.
struct Interrupts {
  std::atomic<pid_t> process{0};  // whose thread answers; not a child of fork
  bool are_taken = false;         // by this process or a parent: handlers are inherited
  Counter asked{0};
  Counter answered{0};
  std::uint32_t heard = 0;  // by the thread that records
  struct sigaction before[count_taken] = {};
  bool speaks = false;
  Counter launched{0};
  Counter returned{0};
  Counter returned_at[count_taken] = {};  // when the signal came during a launch, plus 1; 0: never
};
Interrupts interrupts;

timespec moment_in(int milliseconds) {
  timespec moment{};
  clock_gettime(CLOCK_MONOTONIC, &moment);
  moment.tv_sec += milliseconds / 1000;
  moment.tv_nsec += milliseconds % 1000 * 1'000'000L;
  if (moment.tv_nsec >= 1'000'000'000) {
    ++moment.tv_sec;
    moment.tv_nsec -= 1'000'000'000;
  }
  return moment;
}

// While `counter` is `value`: false if it still is at `end`. All of these may be called in signal handlers,
// and none is a cancellation point.
bool wait_for_change(Counter& counter, std::uint32_t value, const timespec& end) {
  while (counter.load(std::memory_order_acquire) == value) {
    const long result = syscall(SYS_futex, &counter, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, value, &end,
                                nullptr, FUTEX_BITSET_MATCH_ANY);
    // Anything else is a system that does not let us wait: not a reason to go round and round.
    if (result != 0 && errno != EINTR && errno != EAGAIN)
      return counter.load(std::memory_order_acquire) != value;
  }
  return true;
}

void wake(Counter& counter) {
  syscall(SYS_futex, &counter, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, nullptr, nullptr, 0);
}

std::uint32_t ask() {
  const std::uint32_t question = interrupts.asked.fetch_add(1, std::memory_order_acq_rel) + 1;
  wake(interrupts.asked);
  return question;
}

bool is_before(std::uint32_t answer, std::uint32_t question) {
  return static_cast<std::int32_t>(answer - question) < 0;  // they wrap around
}

void ask_and_wait() {
  if (interrupts.process != getpid()) return;
  const timespec end = moment_in(answer_limit_ms);
  const std::uint32_t question = ask();
  for (std::uint32_t answer = interrupts.answered; is_before(answer, question); answer = interrupts.answered)
    if (!wait_for_change(interrupts.answered, answer, end)) return;
}

// `count_taken`: it is none of them.
std::size_t place_of(int signal) {
  std::size_t place = 0;
  while (place < count_taken && taken[place] != signal) ++place;
  return place;
}

bool is_handled(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 ||
         (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

void say_how_to_end() {
  constexpr char words[] =
      "ktrace: the launch of a kernel has not returned, and the program may not react before it does; "
      "the same signal once more ends it\n";
  if (interrupts.speaks && write(STDERR_FILENO, words, sizeof words - 1) < 0) return;
}

// Handlers of interpreters only set a flag, which is looked at when the call of HIP returns.
bool is_repeated_during_launch(std::size_t place) {
  const std::uint32_t returned = interrupts.returned;
  if (interrupts.process != getpid() || interrupts.launched == returned) return false;
  if (interrupts.returned_at[place].exchange(returned + 1) == returned + 1) return true;
  say_how_to_end();
  return false;
}

void end_by(int signal) {
  struct sigaction plain = {};
  plain.sa_handler = SIG_DFL;
  sigaction(signal, &plain, nullptr);
  raise(signal);  // it is blocked while its handler runs, and so takes effect when this one returns
}

void go_on(int signal, siginfo_t* info, void* context, const struct sigaction& before) {
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler == SIG_IGN) return;
  if (before.sa_handler != SIG_DFL) return before.sa_handler(signal);
  end_by(signal);
}

void on_signal(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  const std::size_t place = place_of(signal);
  if (place == count_taken) return;
  const struct sigaction& before = interrupts.before[place];
  const bool must_end = place < count_sent && is_handled(before) && is_repeated_during_launch(place);
  ask_and_wait();
  errno = error;
  if (must_end) return end_by(signal);
  go_on(signal, info, context, before);
}

void take(int signal, struct sigaction* before) {
  if (sigaction(signal, nullptr, before) != 0) return;
  // What the program ignores does not end it.
  if ((before->sa_flags & SA_SIGINFO) == 0 && before->sa_handler == SIG_IGN) return;
  struct sigaction ours = *before;
  ours.sa_flags = (before->sa_flags & ~static_cast<int>(SA_RESETHAND)) | SA_SIGINFO | SA_ONSTACK;
  ours.sa_sigaction = on_signal;
  sigaction(signal, &ours, nullptr);
}

}  // namespace

void take_over_signals(bool speaks) {
  interrupts.speaks = speaks;
  interrupts.returned = interrupts.launched.load();  // what a parent launched does not return here
  interrupts.heard = interrupts.asked;
  interrupts.answered = interrupts.heard;  // what a parent was asked is not for us to answer
  interrupts.process = getpid();
  if (interrupts.are_taken) return;
  interrupts.are_taken = true;
  for (std::size_t i = 0; i < count_taken; ++i) take(taken[i], &interrupts.before[i]);
}

void note_launch() { ++interrupts.launched; }
void note_return() { ++interrupts.returned; }

bool wait_for_interrupt(int timeout_ms) {
  if (!wait_for_change(interrupts.asked, interrupts.heard, moment_in(timeout_ms))) return false;
  interrupts.heard = interrupts.asked;
  return true;
}

void answer_interrupt() {
  interrupts.answered = interrupts.heard;
  wake(interrupts.answered);
}

void wake_waiting_thread() {
  interrupts.process = 0;  // it is about to end: signals from now on go on at once
  ask();
}

}  // namespace ktrace
