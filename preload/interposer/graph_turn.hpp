// One at a time, across calls of HIP under which no lock may be held.
#pragma once

#include <condition_variable>
#include <mutex>

namespace ktrace {

class Turn {
 public:
  Turn() = default;
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  void take() {
    std::unique_lock lock(m_mutex);
    m_changed.wait(lock, [this] { return !m_is_taken; });
    m_is_taken = true;
  }
  void give_back() {
    {
      const std::lock_guard lock(m_mutex);
      m_is_taken = false;
    }
    m_changed.notify_one();
  }

 private:
  std::mutex m_mutex;
  std::condition_variable m_changed;
  bool m_is_taken = false;
};

class InTurn {
 public:
  explicit InTurn(Turn& turn) : m_turn(turn) { m_turn.take(); }
  ~InTurn() { m_turn.give_back(); }
  InTurn(const InTurn&) = delete;
  InTurn& operator=(const InTurn&) = delete;

 private:
  Turn& m_turn;
};

}  // namespace ktrace
