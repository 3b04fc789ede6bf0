// f16 to and from wider formats, one value at a time, for the core. Rows of them: vector/lanes/half.hpp.
#pragma once

#include <cstdint>

namespace ktrace::softdev {

float float_from_half(uint16_t half);
// Rounds to nearest even. A sum of two halves is exact in double, so that it is rounded once.
uint16_t half_from_real(double value);

}  // namespace ktrace::softdev
