#include "vector/lanes/float8.hpp"

#include <array>
#include <cmath>
#include <limits>

#include "vector/lanes/small_float.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {
namespace {

constexpr Float8Format formats[2][2] = {
    {{4, 3, 8, true}, {5, 2, 16, true}},
    {{4, 3, 7, false}, {5, 2, 15, false}},
};

uint32_t nan_pattern(const Float8Format& format) { return format.fnuz ? 0x80u : 0x7fu; }

float widen_float8(uint32_t bits, const Float8Format& format) {
  const uint32_t exponent_mask = (1u << format.exponent_bits) - 1u;
  const uint32_t exponent = bits >> format.fraction_bits & exponent_mask;
  const uint32_t fraction = bits & ((1u << format.fraction_bits) - 1u);
  const bool negative = (bits & 0x80u) != 0;
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  if (format.fnuz && bits == 0x80u) {
    return nan;
  }
  if (!format.fnuz && format.exponent_bits == 4 && (bits & 0x7fu) == 0x7fu) {
    return nan;
  }
  if (!format.fnuz && format.exponent_bits == 5 && exponent == exponent_mask) {
    const float infinity = std::numeric_limits<float>::infinity();
    return fraction != 0 ? nan : negative ? -infinity : infinity;
  }
  const uint32_t significand = exponent != 0 ? fraction | 1u << format.fraction_bits : fraction;
  const int scale =
      (exponent != 0 ? static_cast<int>(exponent) : 1) - format.bias - static_cast<int>(format.fraction_bits);
  const float magnitude = std::ldexp(static_cast<float>(significand), scale);
  return negative ? -magnitude : magnitude;
}

std::array<float, 256> tabulate(const Float8Format& format) {
  std::array<float, 256> values{};
  for (uint32_t bits = 0; bits < values.size(); ++bits) {
    values[bits] = widen_float8(bits, format);
  }
  return values;
}

// The largest finite magnitude's pattern.
uint32_t largest_pattern(const Float8Format& format) {
  if (format.fnuz) {
    return 0x7fu;
  }
  return format.exponent_bits == 4 ? 0x7eu : 0x7bu;
}

}  // namespace

const Float8Format& float8_format(Arch arch, Float8 kind) {
  return formats[arch == Arch::gfx950 ? 1 : 0][static_cast<unsigned>(kind)];
}

const float* float8_values(Arch arch, Float8 kind) {
  static const std::array<float, 256> tables[2][2] = {
      {tabulate(formats[0][0]), tabulate(formats[0][1])},
      {tabulate(formats[1][0]), tabulate(formats[1][1])},
  };
  return tables[arch == Arch::gfx950 ? 1 : 0][static_cast<unsigned>(kind)].data();
}

uint32_t narrow_float8(float value, const Float8Format& format, bool saturate) {
  const uint32_t bits = bits_as<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t sign = bits >> 24 & 0x80u;
  if (magnitude > 0x7f800000u) {
    return nan_pattern(format);
  }
  const uint32_t kept = round_magnitude(magnitude, format.fraction_bits, format.bias);
  const uint32_t largest = largest_pattern(format);
  if (magnitude == 0x7f800000u || kept > largest) {
    if (saturate) {
      return sign | largest;
    }
    const uint32_t infinity = format.exponent_bits == 5 ? 0x7cu : 0x7fu;
    return format.fnuz ? 0x80u : sign | infinity;
  }
  return format.fnuz && kept == 0 ? 0u : sign | kept;
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
