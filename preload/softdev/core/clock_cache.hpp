// Which lines a cache of the clock model holds, and how busy memory is. Both depend on the order of accesses
// alone, not on where the host put the memory: two runs see the same hits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/clock_parameters.hpp"

namespace ktrace::softdev {

// A fully associative cache that forgets its oldest line first. It holds names of lines, no data.
class LineCache {
 public:
  explicit LineCache(uint32_t lines) : m_lines(lines) {}
  // Forgets everything.
  void clear();
  // Whether the line was there; it is now. `line` is an address divided by the line's size.
  bool touch(uint64_t line) {
    const uint64_t key = m_epoch << line_bits | line;
    if (key == m_last) {
      return true;
    }
    m_last = key;
    return find(key) || insert(key);
  }

 private:
  static constexpr unsigned line_bits = 42;
  const uint32_t m_lines;
  uint64_t m_epoch = 1;  // entries of other epochs count as empty
  uint64_t m_last = 0;
  uint32_t m_next = 0;  // the oldest, once all are in use
  uint32_t m_count = 0;
  std::vector<uint64_t> m_order;                             // a ring, by age
  std::vector<uint64_t> m_table = std::vector<uint64_t>(1);  // open addressing, at most half full
  size_t m_mask = 0;

  size_t home(uint64_t key) const {
    constexpr uint64_t golden = 0x9e3779b97f4a7c15;
    return static_cast<size_t>(key * golden >> 32) & m_mask;
  }
  bool find(uint64_t key) const {
    for (size_t slot = home(key);; slot = (slot + 1) & m_mask) {
      if (m_table[slot] == key) {
        return true;
      }
      if (is_empty(slot)) {
        return false;
      }
    }
  }
  bool is_empty(size_t slot) const { return m_table[slot] >> line_bits != m_epoch; }
  bool insert(uint64_t key);  // false
  void put(uint64_t key);
  void erase(uint64_t key);
  void grow();
};

// Memory's bandwidth, counted in windows of time: waves that run ahead of others do not make those wait.
class Bandwidth {
 public:
  explicit Bandwidth(uint64_t bytes_per_cycle) : m_capacity(bytes_per_cycle * window) {}
  void clear();  // also before the first access
  // When `bytes` that are asked for at `time` are served: `time`, or later.
  uint64_t serve(uint64_t time, uint64_t bytes);

 private:
  static constexpr uint64_t window = 256;  // cycles
  static constexpr uint64_t windows = 512;
  struct Window {
    uint64_t number = 0;
    uint64_t bytes = 0;
  };
  const uint64_t m_capacity;
  std::vector<Window> m_windows;
  // The windows in between are known to be full.
  uint64_t m_full_begin = 0;
  uint64_t m_full_end = 0;

  Window& at(uint64_t number);
};

}  // namespace ktrace::softdev
