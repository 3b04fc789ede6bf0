#include "exit_hook.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <time.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "hooks.hpp"
#include "loader.hpp"
#include "own_thread.hpp"

extern "C" long syscall(long number, ...) noexcept;

namespace ktrace {
namespace {

// More than what closing takes where the device does not answer.
constexpr std::uint64_t longest_wait_ns = 3'000'000'000;
constexpr long pause_ns = 200'000;

struct Closer {
  std::atomic<long> process{0};  // that the thread is in: not the one that a child of fork inherits
  sem_t asked;
  std::atomic<bool> is_done{false};
};
Closer closer;

using ExitFunction = void (*)(int);
ExitFunction next_exit, next_Exit;

__attribute__((constructor)) void find_next() {
  if (next_exit || !real_dlsym()) return;
  next_exit = reinterpret_cast<ExitFunction>(real_dlsym()(RTLD_NEXT, "_exit"));
  next_Exit = reinterpret_cast<ExitFunction>(real_dlsym()(RTLD_NEXT, "_Exit"));
}

std::uint64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

// The pause is no cancellation point, unlike nanosleep.
void wait_until_closed() {
  if (closer.process.load(std::memory_order_acquire) != syscall(SYS_getpid)) return;
  sem_post(&closer.asked);
  const timespec pause{0, pause_ns};
  for (const std::uint64_t limit = now_ns() + longest_wait_ns; !closer.is_done && now_ns() < limit;)
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, nullptr);
}

[[noreturn]] void end_process(ExitFunction next, int status) {
  wait_until_closed();
  if (next) next(status);
  for (;;) syscall(SYS_exit_group, status);
}

}  // namespace

void close_before_exit(std::function<void()> close) {
  if (closer.process == syscall(SYS_getpid)) return;
  sem_init(&closer.asked, 0, 0);
  closer.is_done = false;
  const bool is_started = start_own_thread([close = std::move(close)] {
    pthread_setname_np(pthread_self(), "ktrace-closer");
    while (sem_wait(&closer.asked) != 0 && errno == EINTR) {
    }
    close();
    closer.is_done = true;
  });
  if (is_started) closer.process.store(syscall(SYS_getpid), std::memory_order_release);
}

void forget_closer() { closer.process = 0; }

extern "C" {

// Under names of our own in C++: the C library's headers declare theirs with other attributes.
KTRACE_EXPORT void end_by_exit(int) __asm__("_exit");
KTRACE_EXPORT void end_by_Exit(int) __asm__("_Exit");

void end_by_exit(int status) { end_process(next_exit, status); }
void end_by_Exit(int status) { end_process(next_Exit, status); }

}  // extern "C"
}  // namespace ktrace
