#include "vector/lanes/small_float.hpp"

#include <array>
#include <cmath>
#include <limits>

#include "vector/lanes/float8.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {
namespace {

// Formats without infinity and NaN.
std::array<float, 256> tabulate(const SmallFormat& format) {
  std::array<float, 256> values{};
  const uint32_t sign = 1u << (format.width - 1);
  for (uint32_t bits = 0; bits < 2 * sign; ++bits) {
    const uint32_t exponent = (bits & (sign - 1)) >> format.fraction_bits;
    const uint32_t fraction = bits & ((1u << format.fraction_bits) - 1u);
    const uint32_t significand = exponent != 0 ? fraction | 1u << format.fraction_bits : fraction;
    const int scale = (exponent != 0 ? static_cast<int>(exponent) : 1) - format.bias -
                      static_cast<int>(format.fraction_bits);
    const float magnitude = std::ldexp(static_cast<float>(significand), scale);
    values[bits] = (bits & sign) != 0 ? -magnitude : magnitude;
  }
  return values;
}

uint32_t sign_of(float value, const SmallFormat& format) {
  return bits_as<uint32_t>(value) >> 31 << (format.width - 1);
}

// What is beyond the largest magnitude.
uint32_t overflowed(uint32_t sign, SmallFloat kind, bool saturate) {
  if (saturate || !format_of(kind).has_nan) {
    return sign | format_of(kind).largest;
  }
  return sign | (kind == SmallFloat::bf8 ? 0x7cu : 0x7fu);  // infinity, or NaN without one
}

constexpr uint32_t nan_pattern = 0x7f;

}  // namespace

const float* small_values(SmallFloat kind) {
  static const std::array<float, 256> six_and_four[3] = {
      tabulate(format_of(SmallFloat::fp6)),
      tabulate(format_of(SmallFloat::bf6)),
      tabulate(format_of(SmallFloat::fp4)),
  };
  switch (kind) {
    case SmallFloat::fp8:
      return float8_values(Arch::gfx950, Float8::fp8);
    case SmallFloat::bf8:
      return float8_values(Arch::gfx950, Float8::bf8);
    default:
      return six_and_four[static_cast<unsigned>(kind) - static_cast<unsigned>(SmallFloat::fp6)].data();
  }
}

uint32_t narrow_small(float value, SmallFloat kind, bool saturate) {
  const SmallFormat& format = format_of(kind);
  const uint32_t magnitude = bits_as<uint32_t>(value) & 0x7fffffffu;
  const uint32_t sign = sign_of(value, format);
  if (magnitude > 0x7f800000u) {
    return format.has_nan ? nan_pattern : sign | format.largest;
  }
  const uint32_t kept =
      magnitude == 0x7f800000u ? ~0u : round_magnitude(magnitude, format.fraction_bits, format.bias);
  return kept > format.largest ? overflowed(sign, kind, saturate) : sign | kept;
}

uint32_t chance_magnitude(float value, unsigned fraction_bits, int bias, const ChanceRounding& how) {
  if (value == 0) {
    return 0;
  }
  int exponent = 0;
  const float part = std::frexp(std::fabs(value), &exponent);  // 0.5 <= part < 1
  auto significand = static_cast<uint32_t>(std::ldexp(part, static_cast<int>(how.source_fraction) + 1));
  exponent -= 1 + how.scale;
  const int lowest = 1 - bias;
  if (exponent < lowest) {
    significand = lowest - exponent < 32 ? significand >> (lowest - exponent) : 0;
    exponent = lowest;
  }
  const unsigned dropped = how.source_fraction - fraction_bits;
  const uint32_t kept = (significand + (how.random >> (32 - dropped))) >> dropped;
  const int above = exponent - lowest;
  return above > 255 ? ~0u : kept + (static_cast<uint32_t>(above) << fraction_bits);
}

uint32_t narrow_small_by_chance(float value, SmallFloat kind, const ChanceRounding& how, bool saturate) {
  const SmallFormat& format = format_of(kind);
  const uint32_t sign = sign_of(value, format);
  if (std::isnan(value)) {
    return format.has_nan ? nan_pattern : sign | format.largest;
  }
  const uint32_t kept =
      std::isinf(value) ? ~0u : chance_magnitude(value, format.fraction_bits, format.bias, how);
  return kept > format.largest ? overflowed(sign, kind, saturate) : sign | kept;
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
