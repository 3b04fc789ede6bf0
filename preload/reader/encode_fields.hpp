// Fields of a Perfetto trace as bytes. Knows no row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ktrace::encode {

inline constexpr std::size_t varint_room = 10;
inline constexpr std::size_t annotation_room = 4 + 2 * varint_room;
inline constexpr std::size_t flow_room = 10;
// All of an event but its arguments and arrows.
inline constexpr std::size_t event_room = 128;

enum EventType : std::uint8_t { begin_event = 1, end_event = 2, instant_event = 3 };

// Tags: number of the field and how its value is written.
inline constexpr std::uint8_t packet_tag = 1 << 3 | 2;
inline constexpr std::uint8_t timestamp_tag = 8 << 3;
inline constexpr std::uint8_t sequence_tag = 10 << 3;
inline constexpr std::uint8_t sequence_flags_tag = 13 << 3;
inline constexpr std::uint8_t track_event_tag = 11 << 3 | 2;
inline constexpr std::uint8_t type_tag = 9 << 3;
inline constexpr std::uint8_t track_tag = 11 << 3;
inline constexpr std::uint8_t name_tag = 10 << 3;
inline constexpr std::uint8_t annotation_tag = 4 << 3 | 2;
inline constexpr std::uint8_t annotation_name_tag = 1 << 3;
inline constexpr std::uint8_t bool_tag = 2 << 3;
inline constexpr std::uint8_t uint_tag = 3 << 3;
inline constexpr std::uint8_t int_tag = 4 << 3;
inline constexpr std::uint8_t double_tag = 5 << 3 | 1;
inline constexpr std::uint8_t needs_state = 2;  // a flag of the sequence
inline constexpr unsigned flow_field = 47, terminating_flow_field = 48;

inline std::uint8_t* put_varint(std::uint8_t* out, std::uint64_t value) {
  while (value > 0x7f) {
    *out++ = static_cast<std::uint8_t>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<std::uint8_t>(value);
  return out;
}

inline std::uint8_t* put_fixed64(std::uint8_t* out, std::uint64_t value) {
  std::memcpy(out, &value, sizeof(value));  // both are little-endian
  return out + sizeof(value);
}

// A few fields that stand in many packets, encoded once.
class Fields {
 public:
  Fields() = default;
  Fields(std::uint8_t tag, std::uint64_t value) { add(tag, value); }

  Fields& add(std::uint8_t tag, std::uint64_t value) {
    m_bytes[m_size++] = tag;
    m_size = static_cast<std::size_t>(put_varint(m_bytes + m_size, value) - m_bytes);
    return *this;
  }

  // Copies a fixed number of bytes, which is faster; what is too much is overwritten by what follows.
  std::uint8_t* put(std::uint8_t* out) const {
    std::memcpy(out, m_bytes, sizeof(m_bytes));
    return out + m_size;
  }

 private:
  std::uint8_t m_bytes[16] = {};
  std::size_t m_size = 0;
};

// Write the size of what lies between `body` and `end` in front of it: one byte is left for it.
inline std::uint8_t* close_message(std::uint8_t* body, std::uint8_t* end) {
  const auto size = static_cast<std::size_t>(end - body);
  if (size > 0x7f) {
    std::uint8_t bytes[varint_room];
    const auto more = static_cast<std::size_t>(put_varint(bytes, size) - bytes) - 1;
    std::memmove(body + more, body, size);
    std::memcpy(body - 1, bytes, more + 1);
    return end + more;
  }
  body[-1] = static_cast<std::uint8_t>(size);
  return end;
}

inline std::uint8_t* put_annotation(std::uint8_t* out, std::uint64_t name, std::uint8_t tag,
                                    std::uint64_t value) {
  *out = annotation_tag;
  std::uint8_t* const body = out + 2;
  out = body;
  *out++ = annotation_name_tag;
  out = put_varint(out, name);
  *out++ = tag;
  out = tag == double_tag ? put_fixed64(out, value) : put_varint(out, value);
  body[-1] = static_cast<std::uint8_t>(out - body);  // always less than 128
  return out;
}

inline std::uint8_t* put_flow(std::uint8_t* out, unsigned field, std::uint64_t id) {
  return put_fixed64(put_varint(out, field << 3 | 1), id);
}

}  // namespace ktrace::encode
