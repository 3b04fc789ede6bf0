// Tells contents apart, fast. Not trusted with more: the hash is short and nobody's secret.
#pragma once

#include <cstdint>

#include "bytes.hpp"

namespace ktrace {

// `seed` may be the hash of what goes before.
std::uint64_t content_hash(Bytes bytes, std::uint64_t seed = 0);

}  // namespace ktrace
