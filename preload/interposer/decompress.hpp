// zlib and zstd streams, through whichever libraries the machine has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bytes.hpp"

namespace ktrace {

// `method` as in a compressed bundle: 0 zlib, 1 zstd. `used` is how many bytes of `stream` it took. Returns
// what went wrong, in words; "" if nothing did.
std::string decompress(std::uint16_t method, Bytes stream, std::uint64_t content_size,
                       std::vector<std::uint8_t>* content, std::uint64_t* used);

}  // namespace ktrace
