// Base-2 exponential and logarithm, sine and cosine of turns: for f32 and f16, computed in double.
//
// Own series rather than the C library's: they run as vectors, and give the same bits on every host, on which
// reproducible traces rest. Their error is far below half a unit in the last place of a float, which hardware
// promises one of.
#pragma once

#include "vector/lanes/real_math.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

// Adding it leaves a small number's nearest integer in the low bits of the sum.
constexpr double integer_in_low_bits = 0x1.8p52;

inline float exponential_2(float value) {
  constexpr double ln2 = 0.69314718055994530942;
  const double inside = select(value > 200.0f, 200.0, select(value < -200.0f, -200.0, double{value}));
  const double shifted = inside + integer_in_low_bits;
  const double whole = shifted - integer_in_low_bits;
  const double x = (inside - whole) * ln2;  // at most ln2 / 2
  double series = 1.0 / 362880;             // Taylor, to x^9
  series = series * x + 1.0 / 40320;
  series = series * x + 1.0 / 5040;
  series = series * x + 1.0 / 720;
  series = series * x + 1.0 / 120;
  series = series * x + 1.0 / 24;
  series = series * x + 1.0 / 6;
  series = series * x + 1.0 / 2;
  series = series * x + 1.0;
  series = series * x + 1.0;
  const double power = bits_as<double>((bits_as<uint64_t>(shifted) + 1023) << 52);
  return select(is_nan(value), value, static_cast<float>(series * power));
}

inline float logarithm_2(float value) {
  constexpr double two_over_ln2 = 2.88539008177792681472;
  constexpr double root_2 = 1.41421356237309504880;
  constexpr uint64_t fraction_mask = 0xfffffffffffffULL;
  constexpr uint64_t one = 0x3ff0000000000000ULL;
  constexpr uint64_t two_to_52 = 0x4330000000000000ULL;
  const uint64_t bits = bits_as<uint64_t>(double{value});
  const double fraction = bits_as<double>((bits & fraction_mask) | one);
  const bool upper = fraction > root_2;
  const double m = select(upper, fraction * 0.5, fraction);
  const double biased = bits_as<double>((bits >> 52 & 0x7ffu) | two_to_52) - 0x1p52;
  const double exponent = biased - select(upper, 1022.0, 1023.0);
  const double x = (m - 1.0) / (m + 1.0);  // atanh(x) is half the logarithm; |x| < 0.172
  const double square = x * x;
  double series = 1.0 / 15;
  series = series * square + 1.0 / 13;
  series = series * square + 1.0 / 11;
  series = series * square + 1.0 / 9;
  series = series * square + 1.0 / 7;
  series = series * square + 1.0 / 5;
  series = series * square + 1.0 / 3;
  series = series * square + 1.0;
  const float result = static_cast<float>(exponent + series * x * two_over_ln2);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  const float above_zero = select(value == infinity, infinity, result);
  const float number = select(value == 0, -infinity, select(value < 0, nan, above_zero));
  return select(is_nan(value), value, number);
}

// The f32 instructions flush denormals whatever MODE says; compilers scale around that.
inline float exponential_2_flushed(float value) {
  const float result = exponential_2(value);
  return select(result < 0x1p-126f, 0.0f, result);
}
inline float logarithm_2_flushed(float value) {
  return logarithm_2(select(std::fabs(value) < 0x1p-126f, 0.0f, value));
}

// The sine of 2 pi x for x in -1/2..1/2, folded to a quarter turn.
inline double sine_of_part(double x) {
  constexpr double radians_per_turn = 6.28318530717958647693;
  const double folded = select(std::fabs(x) > 0.25, std::copysign(0.5, x) - x, x);
  const double angle = folded * radians_per_turn;
  const double square = angle * angle;
  double series = 1.0 / 355687428096000.0;  // 17!
  series = series * square - 1.0 / 1307674368000.0;
  series = series * square + 1.0 / 6227020800.0;
  series = series * square - 1.0 / 39916800.0;
  series = series * square + 1.0 / 362880.0;
  series = series * square - 1.0 / 5040.0;
  series = series * square + 1.0 / 120.0;
  series = series * square - 1.0 / 6.0;
  series = series * square + 1.0;
  return series * angle;
}
// Arguments are in turns, so that taking the whole ones away is exact; of infinity it leaves NaN.
inline float sine_of_turns(float value) {
  const double part = double{value} - std::floor(double{value});
  return static_cast<float>(sine_of_part(select(part > 0.5, part - 1.0, part)));
}
inline float cosine_of_turns(float value) {
  const double part = double{value} - std::floor(double{value});
  const double ahead = part + 0.25;
  return static_cast<float>(sine_of_part(select(ahead > 0.5, ahead - 1.0, ahead)));
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
