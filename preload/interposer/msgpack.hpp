// A reader of MessagePack that goes forward only and never leaves its bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bytes.hpp"

namespace ktrace {

// After a failure every call fails, so a caller may check once, at the end.
class MessagePackReader {
 public:
  explicit MessagePackReader(Bytes bytes) : m_bytes(bytes) {}

  bool failed() const { return m_failed; }
  std::uint64_t read_map_size();
  std::uint64_t read_array_size();
  std::string read_string();
  std::uint64_t read_unsigned();
  void skip() { skip_value(0); }
  // What was read makes no sense to the caller.
  void reject() { m_failed = true; }

 private:
  bool take(std::size_t count, const std::uint8_t** out);
  std::uint64_t take_big_endian(std::size_t count);
  std::optional<std::uint64_t> take_string_size(std::uint8_t tag);
  void skip_value(int depth);
  void skip_bytes(std::uint64_t count);
  void skip_values(std::uint64_t count, int depth);
  std::uint64_t fail() { return m_failed = true, 0; }

  Bytes m_bytes;
  std::size_t m_at = 0;
  bool m_failed = false;
};

}  // namespace ktrace
