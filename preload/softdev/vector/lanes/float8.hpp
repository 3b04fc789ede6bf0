// 8-bit floats: FNUZ formats on gfx942 and before (no infinity, no negative zero, one NaN at 0x80), OCP
// formats on gfx950.
#pragma once

#include "vector/lanes/lanes.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

struct Float8Format {
  unsigned exponent_bits;
  unsigned fraction_bits;
  int bias;
  bool fnuz;
};

enum class Float8 : uint8_t { fp8, bf8 };  // 4 and 5 exponent bits

const Float8Format& float8_format(Arch arch, Float8 kind);
// 256 floats, by bit pattern.
const float* float8_values(Arch arch, Float8 kind);
// Rounds to nearest even. What does not fit becomes the largest value if `saturate` is set, else infinity,
// or NaN where the format has none.
uint32_t narrow_float8(float value, const Float8Format& format, bool saturate);

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
