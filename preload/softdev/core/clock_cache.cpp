// Names of cached lines in a hash table of blocks, beside a ring; bytes served per window of time.
#include "core/clock_cache.hpp"

#include <algorithm>

namespace ktrace::softdev {

void LineCache::clear() {
  m_next = 0;
  m_count = 0;
  m_blocks = 0;
  if (++m_epoch >> (64 - number_bits)) {
    m_epoch = 1;
    std::fill(m_table.begin(), m_table.end(), Block());
  }
}

bool LineCache::insert(uint64_t line) {
  const uint64_t key = key_of(line);
  if (m_count < m_lines) {
    ++m_count;
  } else if (forget(m_order[m_next])) {
    m_recent = find(key);  // it may have moved
  }
  if (m_next == m_order.size()) {
    m_order.push_back(line);
  } else {
    m_order[m_next] = line;
  }
  m_next = m_next + 1 == m_lines ? 0 : m_next + 1;
  if (is_empty(m_recent)) {
    if (size_t{m_blocks} * 2 >= m_table.size()) {
      grow();
      m_recent = find(key);
    }
    ++m_blocks;
    m_table[m_recent] = {key, 0};
  }
  m_table[m_recent].lines |= bit_of(line);
  return false;
}

bool LineCache::forget(uint64_t line) {
  const uint64_t key = key_of(line);
  if (m_table[m_oldest].key != key) {
    m_oldest = find(key);
  }
  Block& block = m_table[m_oldest];
  block.lines &= ~bit_of(line);
  if (block.lines != 0) {
    return false;
  }
  erase(m_oldest);
  --m_blocks;
  return true;
}

// Most dispatches touch few lines: the table becomes as large as they need.
void LineCache::grow() {
  std::vector<Block> before(m_table.size() * 2);
  before.swap(m_table);
  m_mask = m_table.size() - 1;
  for (const Block& block : before) {
    if (block.key >> number_bits == m_epoch) {
      m_table[find(block.key)] = block;
    }
  }
}

// Entries behind the hole move up, as far as they may.
void LineCache::erase(size_t hole) {
  for (size_t slot = (hole + 1) & m_mask; !is_empty(slot); slot = (slot + 1) & m_mask) {
    const size_t wanted = home(m_table[slot].key);
    if (((slot - wanted) & m_mask) >= ((slot - hole) & m_mask)) {
      m_table[hole] = m_table[slot];
      hole = slot;
    }
  }
  m_table[hole] = Block();
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
