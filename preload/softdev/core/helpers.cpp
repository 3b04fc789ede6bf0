// Work after work, of which everybody takes the next share that is left.
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

// A helper that comes late, from the work before, takes a share as any other, or finds none.
void Helpers::run(const std::function<void(unsigned)>& work) {
  m_work = &work;
  m_called = 0;
  m_done = 0;
  m_next.store(0, std::memory_order_release);
  take_shares();
  std::unique_lock lock(m_mutex);
  m_ended.wait(lock, [this] { return m_done == m_shares; });
}

void Helpers::take_shares() {
  for (;;) {
    const unsigned share = m_next.fetch_add(1, std::memory_order_acq_rel);
    if (share >= m_shares) {
      return;
    }
    (*m_work)(share);
    const std::lock_guard lock(m_mutex);
    if (++m_done == m_shares) {
      m_ended.notify_one();
    }
  }
}

void Helpers::call_one() {
  if (m_called == m_threads.size()) {
    start_thread();
    return;
  }
  ++m_called;
  {
    const std::lock_guard lock(m_mutex);
    ++m_calls;
  }
  m_begun.notify_one();
}

void Helpers::start_thread() {
  const WithoutSignals without_signals;
  try {
    m_threads.emplace_back([this] { help(); });
    ++m_called;
  } catch (const std::system_error&) {
    m_most = m_called;  // those that are there have to do
  }
}

void Helpers::help() {
  for (;;) {
    take_shares();
    std::unique_lock lock(m_mutex);
    m_begun.wait(lock, [this] { return m_stop || m_calls > 0; });
    if (m_stop) {
      return;
    }
    --m_calls;
  }
}

}  // namespace ktrace::softdev
