// Scalar meanings of floating-point operations, for float and double. f16 instructions use the float forms.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "vector/lanes/lanes.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

template <class Float>
struct FloatBits;
template <>
struct FloatBits<float> {
  using Bits = uint32_t;
  static constexpr unsigned fraction_bits = 23;
  static constexpr int bias = 127;
  static constexpr uint32_t exponent_mask = 0xff;
};
template <>
struct FloatBits<double> {
  using Bits = uint64_t;
  static constexpr unsigned fraction_bits = 52;
  static constexpr int bias = 1023;
  static constexpr uint32_t exponent_mask = 0x7ff;
};

template <class Float>
auto bits_of(Float value) {
  return bits_as<typename FloatBits<Float>::Bits>(value);
}
template <class Float>
int exponent_field(Float value) {
  using Layout = FloatBits<Float>;
  return static_cast<int>(bits_of(value) >> Layout::fraction_bits & Layout::exponent_mask);
}
template <class Float>
Float quieted(Float nan) {
  using Bits = typename FloatBits<Float>::Bits;
  return bits_as<Float>(bits_of(nan) | Bits{1} << (FloatBits<Float>::fraction_bits - 1));
}
template <class Float>
bool is_nan(Float value) {
  return value != value;
}
template <class Float>
bool is_signaling_nan(Float value) {
  const int is_changed = bits_of(quieted(value)) != bits_of(value);
  return (is_nan(value) & is_changed) != 0;  // without a branch
}
template <class Float>
bool is_infinite(Float value) {
  return std::fabs(value) == std::numeric_limits<Float>::infinity();
}

template <class Float>
Float add(Float a, Float b) {
  return a + b;
}
template <class Float>
Float subtract(Float a, Float b) {
  return a - b;
}
template <class Float>
Float subtract_reversed(Float a, Float b) {
  return b - a;
}
template <class Float>
Float multiply(Float a, Float b) {
  return a * b;
}
template <class Float>
Float fused_multiply_add(Float a, Float b, Float c) {
  return std::fma(a, b, c);
}
template <class Float>
Float multiply_legacy(Float a, Float b) {
  return a == 0 || b == 0 ? Float{0} : a * b;
}

// Selecting without branches lets the compiler keep whole rows in vector registers.
template <class Float>
Float select(bool condition, Float yes, Float no) {
  return condition ? yes : no;
}

// -0 is less than +0, and a NaN loses against a number.
template <class Float>
Float minimum_number(Float a, Float b) {
  const Float zero = bits_as<Float>(bits_of(a) | bits_of(b));
  const Float ordered = select((a == 0) & (b == 0), zero, select(a < b, a, b));
  return select(is_nan(a), b, select(is_nan(b), a, ordered));
}
template <class Float>
Float maximum_number(Float a, Float b) {
  const Float zero = bits_as<Float>(bits_of(a) & bits_of(b));
  const Float ordered = select((a == 0) & (b == 0), zero, select(a > b, a, b));
  return select(is_nan(a), b, select(is_nan(b), a, ordered));
}
// In IEEE mode a signaling NaN wins, quieted.
template <class Float>
Float minimum_ieee(Float a, Float b) {
  const Float number = minimum_number(a, b);
  return select(is_signaling_nan(a), quieted(a), select(is_signaling_nan(b), quieted(b), number));
}
template <class Float>
Float maximum_ieee(Float a, Float b) {
  const Float number = maximum_number(a, b);
  return select(is_signaling_nan(a), quieted(a), select(is_signaling_nan(b), quieted(b), number));
}
template <class Float>
Float minimum_of_3(Float a, Float b, Float c) {
  return minimum_number(minimum_number(a, b), c);
}
template <class Float>
Float maximum_of_3(Float a, Float b, Float c) {
  return maximum_number(maximum_number(a, b), c);
}
template <class Float>
Float median_of_3(Float a, Float b, Float c) {
  const Float largest = maximum_of_3(a, b, c);
  const Float rest = largest == a   ? maximum_number(b, c)
                     : largest == b ? maximum_number(a, c)
                                    : maximum_number(a, b);
  return is_nan(a) || is_nan(b) || is_nan(c) ? minimum_of_3(a, b, c) : rest;
}
// IEEE 754-2019 minimum and maximum: any NaN wins (gfx950).
template <class Float>
Float minimum_propagating(Float a, Float b) {
  return is_nan(a) ? quieted(a) : is_nan(b) ? quieted(b) : minimum_number(a, b);
}
template <class Float>
Float maximum_propagating(Float a, Float b) {
  return is_nan(a) ? quieted(a) : is_nan(b) ? quieted(b) : maximum_number(a, b);
}
template <class Float>
Float minimum_of_3_propagating(Float a, Float b, Float c) {
  return minimum_propagating(minimum_propagating(a, b), c);
}
template <class Float>
Float maximum_of_3_propagating(Float a, Float b, Float c) {
  return maximum_propagating(maximum_propagating(a, b), c);
}

template <class Float>
Float truncate(Float value) {
  return std::trunc(value);
}
template <class Float>
Float round_up(Float value) {
  return std::ceil(value);
}
template <class Float>
Float round_down(Float value) {
  return std::floor(value);
}
// Not nearbyint: that would follow MODE's direction.
template <class Float>
Float round_even(Float value) {
  const Float whole = std::trunc(value);
  const Float rest = std::fabs(value - whole);
  const Float half = whole * Float(0.5);
  const bool odd = half != std::trunc(half);
  const bool away = rest > Float(0.5) || (rest == Float(0.5) && odd);
  const Float stepped = whole + std::copysign(Float{1}, value);
  return away ? stepped : std::copysign(whole, value);
}
// The result stays below 1 also where the subtraction rounds up to it.
template <class Float>
Float fraction(Float value) {
  const Float rest = value - std::floor(value);
  const Float below_one = Float{1} - std::numeric_limits<Float>::epsilon() / 2;
  return rest >= Float{1} ? below_one : rest;
}
inline float fraction_half(float value) {
  const float rest = value - std::floor(value);
  return rest > 0x1.ffcp-1f ? 0x1.ffcp-1f : rest;
}

template <class Float>
Float reciprocal(Float value) {
  return Float{1} / value;
}
template <class Float>
Float square_root(Float value) {
  return std::sqrt(value);
}
// Hardware promises 1 ulp; the correctly rounded value is inside that.
inline float reciprocal_square_root_f32(float value) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(value)));
}
inline double reciprocal_square_root_f64(double value) { return 1.0 / std::sqrt(value); }

template <class Float>
int32_t frexp_exponent(Float value) {
  if (value == 0 || is_nan(value) || is_infinite(value)) {
    return 0;
  }
  int exponent = 0;
  std::frexp(value, &exponent);
  return exponent;
}
template <class Float>
Float frexp_mantissa(Float value) {
  if (value == 0 || is_nan(value) || is_infinite(value)) {
    return value;
  }
  int exponent = 0;
  return std::frexp(value, &exponent);
}
// Scaling a float in double is exact, so that the only rounding is the last one, denormals included. The
// exponents beyond the clamp overflow or vanish as well.
inline float load_exponent_f32(float value, int32_t exponent) {
  const int32_t inside = std::max(-300, std::min(exponent, 300));
  const double factor = bits_as<double>(static_cast<uint64_t>(inside + 1023) << 52);
  return static_cast<float>(static_cast<double>(value) * factor);
}
inline double load_exponent_f64(double value, int32_t exponent) { return std::ldexp(value, exponent); }

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
