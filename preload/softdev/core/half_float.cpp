#include "core/half_float.hpp"

#include <cmath>
#include <cstring>

namespace ktrace::softdev {

namespace {

float float_of(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace

float float_from_half(uint16_t half) {
  const uint32_t sign = uint32_t{half & 0x8000u} << 16;
  const uint32_t exponent = half >> 10 & 31u;
  const uint32_t mantissa = half & 1023u;
  if (exponent == 31) {
    return float_of(sign | 0x7f800000u | mantissa << 13);
  }
  if (exponent == 0) {
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign ? -magnitude : magnitude;
  }
  return float_of(sign | (exponent + 112) << 23 | mantissa << 13);
}

uint16_t half_from_real(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) {
    return static_cast<uint16_t>(sign | 0x7e00);
  }
  if (magnitude >= 65520.0) {  // rounds beyond the largest half
    return static_cast<uint16_t>(sign | 0x7c00);
  }
  int exponent = magnitude == 0 ? -14 : std::ilogb(magnitude);
  exponent = exponent < -14 ? -14 : exponent;
  // Units of the last place; 1024 of them carry into the next exponent by themselves.
  const auto units = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  const uint32_t biased = units < 1024 ? units : (static_cast<uint32_t>(exponent + 14) << 10) + units;
  return static_cast<uint16_t>(sign | biased);
}

}  // namespace ktrace::softdev
