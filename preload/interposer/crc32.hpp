// CRC-32 as zlib computes it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ktrace {

// Continue a sum by passing the previous result.
std::uint32_t crc32(const void* data, std::size_t size, std::uint32_t sum = 0);

}  // namespace ktrace
