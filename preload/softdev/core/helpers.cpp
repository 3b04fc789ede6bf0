// Rounds of work, of which everybody takes the next share that is left.
#include "core/helpers.hpp"

#include <pthread.h>
#include <signal.h>

#include <system_error>

namespace ktrace::softdev {

namespace {

// Signals are the program's: its own threads handle them. Faults of an access are the thread's that accesses.
class WithoutSignals {
 public:
  WithoutSignals() {
    sigset_t all;
    sigfillset(&all);
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) {
      sigdelset(&all, number);
    }
    pthread_sigmask(SIG_BLOCK, &all, &m_before);
  }
  ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &m_before, nullptr); }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  sigset_t m_before;
};

}  // namespace

Helpers::~Helpers() {
  {
    const std::lock_guard lock(m_mutex);
    m_stop = true;
  }
  m_begun.notify_all();
  for (std::thread& thread : m_threads) {
    thread.join();
  }
}

void Helpers::run(const std::function<void(unsigned)>& work) {
  m_work = &work;
  m_next.store(0, std::memory_order_relaxed);
  m_are_called = m_shares == 1;
  take_shares();
  m_are_called = true;
  std::unique_lock lock(m_mutex);
  m_ended.wait(lock, [this] { return m_busy == 0; });
}

void Helpers::take_shares() {
  for (;;) {
    const unsigned share = m_next.fetch_add(1, std::memory_order_relaxed);
    if (share >= m_shares) {
      return;
    }
    (*m_work)(share);
  }
}

void Helpers::call_them() {
  m_are_called = true;
  if (!m_have_started) {
    start_threads();
  }
  {
    const std::lock_guard lock(m_mutex);
    m_busy = m_threads.size();
    ++m_round;
  }
  m_begun.notify_all();
}

void Helpers::start_threads() {
  const WithoutSignals without_signals;
  m_have_started = true;
  try {
    m_threads.reserve(m_shares);
    for (unsigned k = 1; k < m_shares; ++k) {
      m_threads.emplace_back([this, round = m_round] { help(round); });
    }
  } catch (const std::system_error&) {
    // those that are there have to do
  }
}

void Helpers::help(uint64_t round) {
  std::unique_lock lock(m_mutex);
  for (;;) {
    m_begun.wait(lock, [&] { return m_stop || m_round != round; });
    if (m_stop) {
      return;
    }
    round = m_round;
    lock.unlock();
    take_shares();
    lock.lock();
    if (--m_busy == 0) {
      m_ended.notify_one();
    }
  }
}

}  // namespace ktrace::softdev
