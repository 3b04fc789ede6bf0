#include "msgpack.hpp"

namespace ktrace {
namespace {

constexpr int deepest_nesting = 32;

// Bytes behind the tag of nil, booleans, numbers and the extensions that have no size field.
std::optional<std::uint64_t> fixed_size(std::uint8_t tag) {
  if (tag == 0xc0 || tag == 0xc2 || tag == 0xc3) return 0;
  if (tag == 0xca || tag == 0xcb) return tag == 0xca ? 4 : 8;
  if (tag >= 0xcc && tag <= 0xd3) return std::uint64_t{1} << (tag & 3);
  if (tag >= 0xd4 && tag <= 0xd8) return (std::uint64_t{1} << (tag - 0xd4)) + 1;
  return std::nullopt;
}

}  // namespace

bool MessagePackReader::take(std::size_t count, const std::uint8_t** out) {
  if (m_failed || !m_bytes.holds(m_at, count)) return m_failed = true, false;
  *out = m_bytes.data + m_at;
  m_at += count;
  return true;
}

std::uint64_t MessagePackReader::take_big_endian(std::size_t count) {
  const std::uint8_t* bytes = nullptr;
  if (!take(count, &bytes)) return 0;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value = value << 8 | bytes[i];
  return value;
}

// A container holds at least one byte per element: a larger count is damage, found before anything loops over
// it.
std::uint64_t MessagePackReader::read_map_size() {
  const auto tag = static_cast<std::uint8_t>(take_big_endian(1));
  std::uint64_t count = 0;
  if ((tag & 0xf0) == 0x80)
    count = tag & 0x0f;
  else if (tag == 0xde)
    count = take_big_endian(2);
  else if (tag == 0xdf)
    count = take_big_endian(4);
  else
    return fail();
  return m_failed || count * 2 > m_bytes.size - m_at ? fail() : count;
}

std::uint64_t MessagePackReader::read_array_size() {
  const auto tag = static_cast<std::uint8_t>(take_big_endian(1));
  std::uint64_t count = 0;
  if ((tag & 0xf0) == 0x90)
    count = tag & 0x0f;
  else if (tag == 0xdc)
    count = take_big_endian(2);
  else if (tag == 0xdd)
    count = take_big_endian(4);
  else
    return fail();
  return m_failed || count > m_bytes.size - m_at ? fail() : count;
}

std::optional<std::uint64_t> MessagePackReader::take_string_size(std::uint8_t tag) {
  if ((tag & 0xe0) == 0xa0) return tag & 0x1f;
  if (tag == 0xd9) return take_big_endian(1);
  if (tag == 0xda) return take_big_endian(2);
  if (tag == 0xdb) return take_big_endian(4);
  return std::nullopt;
}

std::string MessagePackReader::read_string() {
  const auto size = take_string_size(static_cast<std::uint8_t>(take_big_endian(1)));
  const std::uint8_t* text = nullptr;
  if (!size) return fail(), "";
  if (!take(*size, &text)) return "";
  return {reinterpret_cast<const char*>(text), static_cast<std::size_t>(*size)};
}

std::uint64_t MessagePackReader::read_unsigned() {
  const auto tag = static_cast<std::uint8_t>(take_big_endian(1));
  if (m_failed) return 0;
  if (tag < 0x80) return tag;
  if (tag >= 0xcc && tag <= 0xcf) return take_big_endian(std::size_t{1} << (tag - 0xcc));
  // Writers choose the signed forms for small positive numbers, too. No field read here is negative.
  if (tag < 0xd0 || tag > 0xd3) return fail();
  const std::size_t size = std::size_t{1} << (tag - 0xd0);
  const std::uint64_t value = take_big_endian(size);
  return value >> (8 * size - 1) & 1 ? fail() : value;
}

void MessagePackReader::skip_bytes(std::uint64_t count) {
  const std::uint8_t* ignored = nullptr;
  take(static_cast<std::size_t>(count), &ignored);
}

void MessagePackReader::skip_values(std::uint64_t count, int depth) {
  if (count > m_bytes.size - m_at) fail();
  for (std::uint64_t i = 0; i < count && !m_failed; ++i) skip_value(depth);
}

void MessagePackReader::skip_value(int depth) {
  if (depth > deepest_nesting) fail();
  const auto tag = static_cast<std::uint8_t>(take_big_endian(1));
  if (m_failed || tag < 0x80 || tag >= 0xe0) return;
  if ((tag & 0xf0) == 0x80) return skip_values(std::uint64_t{tag & 0x0fu} * 2, depth + 1);
  if ((tag & 0xf0) == 0x90) return skip_values(tag & 0x0f, depth + 1);
  if (const auto size = take_string_size(tag)) return skip_bytes(*size);
  if (const auto size = fixed_size(tag)) return skip_bytes(*size);
  switch (tag) {
    case 0xc4:
    case 0xc5:
    case 0xc6:
      return skip_bytes(take_big_endian(std::size_t{1} << (tag - 0xc4)));
    case 0xc7:
    case 0xc8:
    case 0xc9:
      return skip_bytes(take_big_endian(std::size_t{1} << (tag - 0xc7)) + 1);
    case 0xdc:
      return skip_values(take_big_endian(2), depth + 1);
    case 0xdd:
      return skip_values(take_big_endian(4), depth + 1);
    case 0xde:
      return skip_values(take_big_endian(2) * 2, depth + 1);
    case 0xdf:
      return skip_values(take_big_endian(4) * 2, depth + 1);
    default:
      fail();
  }
}

}  // namespace ktrace
