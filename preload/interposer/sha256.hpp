// SHA-256 (FIPS 180-4).
#pragma once

#include <array>
#include <cstdint>

#include "bytes.hpp"

namespace ktrace {

using Sha256 = std::array<std::uint8_t, 32>;

Sha256 sha256(Bytes message);

}  // namespace ktrace
