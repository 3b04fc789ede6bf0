// A view of bytes that somebody else owns, read with bounds checks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace ktrace {

struct Bytes {
  const std::uint8_t* data = nullptr;
  std::size_t size = 0;

  bool holds(std::uint64_t offset, std::uint64_t length) const {
    return offset <= size && length <= size - offset;
  }

  // Empty if the range leaves the view.
  Bytes part(std::uint64_t offset, std::uint64_t length) const {
    if (!holds(offset, length)) return {};
    return {data + offset, static_cast<std::size_t>(length)};
  }
  Bytes from(std::uint64_t offset) const { return offset <= size ? part(offset, size - offset) : Bytes{}; }

  // Copies a struct out, whatever its alignment in the file; false if it leaves the view.
  template <class Struct>
  bool read(std::uint64_t offset, Struct* out) const {
    if (!holds(offset, sizeof(Struct))) return false;
    std::memcpy(out, data + offset, sizeof(Struct));
    return true;
  }

  bool starts_with(const char* text, std::size_t length) const {
    return size >= length && std::memcmp(data, text, length) == 0;
  }

  // The NUL-terminated string at `offset`; what there is if no NUL follows.
  std::string string_at(std::uint64_t offset) const {
    if (offset >= size) return "";
    const auto* begin = reinterpret_cast<const char*>(data + offset);
    return {begin, ::strnlen(begin, size - static_cast<std::size_t>(offset))};
  }
};

}  // namespace ktrace
