// Which lines a cache of the clock model holds, and how busy memory is. Both depend on the order of accesses
// alone, not on where the host put the memory: two runs see the same hits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/clock_parameters.hpp"

namespace ktrace::softdev {

// A fully associative cache that forgets its oldest line first. It holds names of lines, no data: bits in
// blocks of neighbouring lines, as kernels touch neighbours one after the other.
class LineCache {
 public:
  explicit LineCache(uint32_t lines) : m_lines(lines) {}
  // Forgets everything.
  void clear();
  // Whether the line was there; it is now. `line` is an address divided by the line's size.
  bool touch(uint64_t line) {
    const uint64_t key = key_of(line);
    if (__builtin_expect(m_table[m_recent].key != key, 0)) {
      m_recent = find(key);
    }
    const Block& block = m_table[m_recent];
    return (block.key == key && (block.lines & bit_of(line)) != 0) || insert(line);
  }

 private:
  static constexpr unsigned block_bits = 6;
  static constexpr unsigned number_bits = 42 - block_bits;
  struct Block {
    uint64_t key = 0;  // of another epoch: an empty slot
    uint64_t lines = 0;
  };
  const uint32_t m_lines;
  uint64_t m_epoch = 1;
  uint32_t m_next = 0;  // the oldest, once all are in use
  uint32_t m_count = 0;
  uint32_t m_blocks = 0;
  std::vector<uint64_t> m_order;                           // lines, a ring by age
  std::vector<Block> m_table = std::vector<Block>(least);  // open addressing, at most half full
  size_t m_mask = least - 1;
  size_t m_recent = 0;  // slot that was used last, or would have been
  size_t m_oldest = 0;  // slot of a line that was forgotten lately

  static constexpr size_t least = 8;
  uint64_t key_of(uint64_t line) const { return m_epoch << number_bits | line >> block_bits; }
  static uint64_t bit_of(uint64_t line) { return uint64_t{1} << (line & 63); }
  size_t home(uint64_t key) const {
    constexpr uint64_t golden = 0x9e3779b97f4a7c15;
    return static_cast<size_t>(key * golden >> 32) & m_mask;
  }
  bool is_empty(size_t slot) const { return m_table[slot].key >> number_bits != m_epoch; }
  // The slot of the block, or the empty one where it would go.
  size_t find(uint64_t key) const {
    size_t slot = home(key);
    while (m_table[slot].key != key && !is_empty(slot)) {
      slot = (slot + 1) & m_mask;
    }
    return slot;
  }
  bool insert(uint64_t line);  // behind `touch`; false
  bool forget(uint64_t line);  // whether blocks have moved
  void erase(size_t slot);
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
