// Bytes of debug information, read in order and never past their end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace ktrace::softdev {

// Past the end, or after something unknown, it reads zeros and is not good any more.
class DebugCursor {
 public:
  DebugCursor(const uint8_t* data, size_t size) : m_data(data), m_left(size) {}

  bool is_good() const { return m_is_good; }
  bool has_more() const { return m_is_good && m_left > 0; }
  size_t left() const { return m_left; }
  void fail() {
    m_is_good = false;
    m_left = 0;
  }

  const uint8_t* take(uint64_t size) {
    if (size > m_left) {
      fail();
      return nullptr;
    }
    const uint8_t* taken = m_data;
    m_data += size;
    m_left -= static_cast<size_t>(size);
    return taken;
  }
  DebugCursor part(uint64_t size) {
    const uint8_t* taken = take(size);
    return taken ? DebugCursor(taken, static_cast<size_t>(size)) : DebugCursor(nullptr, 0);
  }
  uint64_t number(unsigned size) {  // at most 8 bytes
    uint64_t value = 0;
    if (const uint8_t* taken = take(size)) {
      std::memcpy(&value, taken, size);
    }
    return value;
  }
  uint8_t byte() { return static_cast<uint8_t>(number(1)); }
  uint64_t unsigned_leb() { return leb().first; }
  int64_t signed_leb() {
    const auto [value, bits] = leb();
    const bool is_negative = bits < 64 && bits > 0 && (value >> (bits - 1) & 1) != 0;
    return static_cast<int64_t>(is_negative ? value | ~uint64_t{0} << bits : value);
  }
  std::string text() {
    if (m_left == 0) {
      fail();
      return {};
    }
    const size_t length = strnlen(reinterpret_cast<const char*>(m_data), m_left);
    const uint8_t* taken = take(uint64_t{length} + 1);
    return taken ? std::string(reinterpret_cast<const char*>(taken), length) : std::string();
  }

 private:
  const uint8_t* m_data;
  size_t m_left;
  bool m_is_good = true;

  std::pair<uint64_t, unsigned> leb() {  // and how many bits were written
    uint64_t value = 0;
    for (unsigned bits = 0;; bits += 7) {
      const uint8_t next = byte();
      value |= bits < 64 ? uint64_t{next & 0x7fu} << bits : 0;
      if ((next & 0x80) == 0) {
        return {value, bits + 7};
      }
    }
  }
};

}  // namespace ktrace::softdev
