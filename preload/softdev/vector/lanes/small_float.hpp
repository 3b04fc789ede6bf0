// The OCP formats of gfx950 with 8, 6 and 4 bits: as float values, and rounded to, with and without chance.
//
// Formats of 6 and 4 bits have neither infinity nor NaN: what is too large, or no number, becomes their
// largest magnitude.
#pragma once

#include "vector/lanes/lanes.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

// Numbered like the formats in cbsz and blgp of the f8f6f4 matrix instructions.
enum class SmallFloat : uint8_t { fp8, bf8, fp6, bf6, fp4 };
constexpr unsigned small_float_count = 5;

struct SmallFormat {
  unsigned width;
  unsigned fraction_bits;
  int bias;
  uint32_t largest;  // pattern of the largest finite magnitude
  bool has_nan;
};

constexpr SmallFormat small_formats[small_float_count] = {
    {8, 3, 7, 0x7e, true},  {8, 2, 15, 0x7b, true}, {6, 3, 1, 0x1f, false},
    {6, 2, 3, 0x1f, false}, {4, 1, 1, 0x7, false},
};
constexpr const SmallFormat& format_of(SmallFloat kind) { return small_formats[static_cast<unsigned>(kind)]; }

// A float's magnitude (its pattern without sign), rounded to nearest even, as the pattern of a format with
// `fraction_bits` and `bias`. Not limited to what the format holds.
inline uint32_t round_magnitude(uint32_t magnitude, unsigned fraction_bits, int bias) {
  const int exponent = static_cast<int>(magnitude >> 23);
  const int lowest = 127 + 1 - bias;
  // Where a half unit of the target starts: normals keep fraction_bits, subnormals ever fewer.
  const unsigned normal_shift = 23u - fraction_bits;
  if (exponent >= lowest) {
    const uint32_t rebased = magnitude - (static_cast<uint32_t>(lowest - 1) << 23);
    const uint32_t half = (1u << (normal_shift - 1)) - 1u;
    return (rebased + half + (rebased >> normal_shift & 1u)) >> normal_shift;
  }
  const uint32_t significand = exponent != 0 ? (magnitude & 0x7fffffu) | 0x800000u : magnitude;
  const unsigned shift = normal_shift + static_cast<unsigned>(lowest - (exponent != 0 ? exponent : 1));
  if (shift >= 26) {
    return 0;
  }
  const uint32_t half = (1u << (shift - 1)) - 1u;
  return (significand + half + (significand >> shift & 1u)) >> shift;
}

// The values of all patterns, indexed by pattern.
const float* small_values(SmallFloat kind);

// Rounds to nearest even. `saturate`: what is too large for an 8-bit format becomes its largest magnitude.
uint32_t narrow_small(float value, SmallFloat kind, bool saturate);

// A number to be rounded by chance: random bits go in below the last kept place, then the rest is cut off.
struct ChanceRounding {
  int scale;                 // the value is divided by 2^scale first
  unsigned source_fraction;  // fraction bits of the format that the value comes from
  uint32_t random;           // its upper bits are used
};
uint32_t narrow_small_by_chance(float value, SmallFloat kind, const ChanceRounding& how, bool saturate);
// The same for any format: the rounded magnitude, not limited to what the format holds, for a finite value.
uint32_t chance_magnitude(float value, unsigned fraction_bits, int bias, const ChanceRounding& how);

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
