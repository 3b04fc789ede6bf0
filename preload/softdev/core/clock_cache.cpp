// Names of cached lines in a hash table beside a ring; bytes served per window of time.
#include "core/clock_cache.hpp"

#include <algorithm>

namespace ktrace::softdev {

void LineCache::clear() {
  m_next = 0;
  m_count = 0;
  m_last = 0;
  if (++m_epoch >> (64 - line_bits)) {
    m_epoch = 1;
    std::fill(m_table.begin(), m_table.end(), 0);
  }
}

bool LineCache::insert(uint64_t key) {
  if (m_count == m_lines) {
    erase(m_order[m_next]);
  } else {
    ++m_count;
    if (size_t{m_count} * 2 > m_table.size()) {
      grow();
    }
  }
  put(key);
  if (m_next == m_order.size()) {
    m_order.push_back(key);
  } else {
    m_order[m_next] = key;
  }
  m_next = m_next + 1 == m_lines ? 0 : m_next + 1;
  return false;
}

void LineCache::put(uint64_t key) {
  size_t slot = home(key);
  while (!is_empty(slot)) {
    slot = (slot + 1) & m_mask;
  }
  m_table[slot] = key;
}

// Most dispatches touch few lines: the table becomes as large as they need.
void LineCache::grow() {
  constexpr size_t least = 256;
  std::vector<uint64_t> before(std::max(least, m_table.size() * 2));
  before.swap(m_table);
  m_mask = m_table.size() - 1;
  for (const uint64_t key : before) {
    if (key >> line_bits == m_epoch) {
      put(key);
    }
  }
}

// Entries behind the hole move up, as far as they may.
void LineCache::erase(uint64_t key) {
  const size_t mask = m_mask;
  size_t hole = home(key);
  while (m_table[hole] != key) {
    hole = (hole + 1) & mask;
  }
  for (size_t slot = (hole + 1) & mask; !is_empty(slot); slot = (slot + 1) & mask) {
    const size_t wanted = home(m_table[slot]);
    if (((slot - wanted) & mask) >= ((slot - hole) & mask)) {
      m_table[hole] = m_table[slot];
      hole = slot;
    }
  }
  m_table[hole] = 0;
}

void Bandwidth::clear() {
  m_windows.resize(windows);  // time never goes back: old windows are in nobody's way
  m_full_begin = 0;
  m_full_end = 0;
}

Bandwidth::Window& Bandwidth::at(uint64_t number) {
  Window& entry = m_windows[number % windows];
  if (entry.number < number) {
    entry = {number, 0};
  }
  return entry;
}

uint64_t Bandwidth::serve(uint64_t time, uint64_t bytes) {
  const uint64_t first = time / window;
  uint64_t number = first;
  if (number >= m_full_begin && number < m_full_end) {
    number = m_full_end;
  }
  const uint64_t last = first + windows / 2;  // further ahead nothing is known
  while (number < last && at(number).bytes >= m_capacity) {
    ++number;
  }
  if (number > first) {
    m_full_begin = first >= m_full_begin && first <= m_full_end ? m_full_begin : first;
    m_full_end = number;
  }
  Window& found = at(number);
  // A window that is long past is not remembered: its accesses are free.
  if (found.number == number) {
    found.bytes += bytes;
  }
  return number > first ? number * window : time;
}

}  // namespace ktrace::softdev
