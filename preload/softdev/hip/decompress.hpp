// zlib and zstd, as far as compressed bundles need them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ktrace::softdev::hip {

enum class Compression : uint16_t { zlib = 0, zstd = 1 };

// Decompresses into exactly `output` bytes. Returns what is wrong, in words; empty if nothing is. `size` may
// be larger than the stream.
std::string decompress(Compression method, const uint8_t* data, size_t size, std::vector<uint8_t>& output);

}  // namespace ktrace::softdev::hip
