// v_div_scale, v_div_fmas and v_div_fixup: the frame around a reciprocal with which compilers build exact
// division. scale keeps intermediate values in range, fmas undoes it, fixup supplies the special cases.
#include "vector/lanes/families.hpp"
#include "vector/lanes/masks.hpp"
#include "vector/lanes/real_math.hpp"
#include "vector/opcodes.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {
namespace {

template <class Float>
struct DivisionLimits;
template <>
struct DivisionLimits<float> {
  using Wider = double;
  static constexpr float up = 0x1p64f;
  static constexpr float down = 0x1p-64f;
  static constexpr int far_apart = 96;       // exponents, where the quotient nears overflow
  static constexpr int tiny_numerator = 23;  // biased exponent
};
template <>
struct DivisionLimits<double> {
  using Wider = long double;
  static constexpr double up = 0x1p128;
  static constexpr double down = 0x1p-128;
  static constexpr int far_apart = 768;
  static constexpr int tiny_numerator = 53;
};

template <class Float>
bool is_denormal(Float value) {
  return (value != 0) & (std::fabs(value) < std::numeric_limits<Float>::min());
}

template <class Float>
struct Scaled {
  Float value;
  bool flag;  // the quotient has to be scaled back
};

// `value` is the numerator or the denominator, whichever this instruction is to scale. Without branches: a
// precise division runs this twice.
template <class Float>
Scaled<Float> scale_for_division(Float value, Float denominator, Float numerator) {
  using Limits = DivisionLimits<Float>;
  const Float up = value * Limits::up;
  const Float down = value * Limits::down;
  const bool is_denominator = value == denominator;
  const bool is_numerator = value == numerator;
  const bool impossible = (numerator == 0) | (denominator == 0);
  const bool far_apart = exponent_field(numerator) - exponent_field(denominator) >= Limits::far_apart;
  const bool tiny_denominator = is_denormal(denominator);
  const bool tiny_reciprocal = is_denormal(Float{1} / denominator);
  const bool tiny_quotient = is_denormal(numerator / denominator);
  const bool tiny_numerator = exponent_field(numerator) <= Limits::tiny_numerator;

  // The cases exclude each other in this order.
  const Float scaled_up_denominator = select(is_denominator, up, value);
  // AMD's text has `up` here, which would overflow: such a denominator is near the largest number.
  const Float scaled_down_denominator = select(is_denominator, down, value);
  const Float scaled_numerator = select(is_numerator, up, value);
  const Float last = select(tiny_numerator, up, value);
  const Float by_quotient = select(tiny_quotient, scaled_numerator, last);
  const Float by_reciprocal = select(tiny_quotient, scaled_down_denominator, down);
  const Float ordinary = select(tiny_reciprocal, by_reciprocal, by_quotient);
  const Float with_denormal = select(tiny_denominator, up, ordinary);
  const Float result = select(far_apart, scaled_up_denominator, with_denormal);
  const bool flag = (!impossible) & (far_apart | ((!tiny_denominator) & tiny_quotient));
  return {select(impossible, std::numeric_limits<Float>::quiet_NaN(), result), flag};
}

template <class Type>
void divide_scale(Wave& wave, const Inst& inst) {
  Enable enable;
  const Source<Type> value(wave, inst, 0, enable);
  const Source<Type> denominator(wave, inst, 1, enable);
  const Source<Type> numerator(wave, inst, 2, enable);
  Result<Type> result;
  Row flags;
  KTRACE_EACH_LANE(l) {
    const auto scaled = scale_for_division(value[l], denominator[l], numerator[l]);
    result.set(l, scaled.value);
    flags.at[l] = as_mask(scaled.flag);
  }
  result.commit(wave, inst, enable);
  wave.set_sgpr64(inst.scalar_dst, collect_mask(flags) & wave.exec());
}

// The direction in which to undo the scaling shows in the addend's exponent. The quotient may become a
// denormal and must still be rounded only once, hence the wider type.
template <class Float>
Float fma_scaled(Float a, Float b, Float c) {
  using Limits = DivisionLimits<Float>;
  using Wider = typename Limits::Wider;
  const bool large = exponent_field(c) > FloatBits<Float>::bias;
  const Wider quotient = std::fma(Wider{a}, Wider{b}, Wider{c});
  return static_cast<Float>(quotient * (large ? Limits::up : Limits::down));
}

template <class Type>
void divide_fmas(Wave& wave, const Inst& inst) {
  Enable enable;
  const RoundingScope<Type> rounding(wave);
  const Source<Type> a(wave, inst, 0, enable);
  const Source<Type> b(wave, inst, 1, enable);
  const Source<Type> c(wave, inst, 2, enable);
  const uint64_t scaled_lanes = wave.vcc();
  Result<Type> result;
  KTRACE_EACH_LANE(l) { result.set(l, std::fma(a[l], b[l], c[l])); }
  for (unsigned l = 0; l < lanes; ++l) {
    if ((scaled_lanes >> l & 1u) != 0) {
      result.set(l, fma_scaled(a[l], b[l], c[l]));
    }
  }
  result.commit(wave, inst, enable);
}

template <class Float>
Float divide_fixup(Float quotient, Float denominator, Float numerator, int underflow) {
  constexpr Float infinity = std::numeric_limits<Float>::infinity();
  const Float sign = std::copysign(Float{1}, denominator) * std::copysign(Float{1}, numerator);
  const bool endless = is_infinite(numerator);
  const bool divided_away = is_infinite(denominator);
  const bool undefined = ((denominator == 0) & (numerator == 0)) | (endless & divided_away);
  // With ordinary operands, NaN says that an intermediate value overflowed and infinity minus infinity
  // followed.
  const bool overflows = (denominator == 0) | endless | is_nan(quotient);
  const bool too_far = exponent_field(numerator) - exponent_field(denominator) < underflow;
  const bool vanishes = divided_away | (numerator == 0) | (too_far & (denominator != 0) & (!endless));
  const Float magnitude = select(vanishes, Float{0}, select(overflows, infinity, quotient));
  const Float number =
      select(undefined, -std::numeric_limits<Float>::quiet_NaN(), std::copysign(magnitude, sign));
  const Float with_denominator = select(is_nan(denominator), quieted(denominator), number);
  return select(is_nan(numerator), quieted(numerator), with_denominator);
}
float divide_fixup_f32(float quotient, float denominator, float numerator) {
  return divide_fixup(quotient, denominator, numerator, -150);
}
double divide_fixup_f64(double quotient, double denominator, double numerator) {
  return divide_fixup(quotient, denominator, numerator, -1075);
}
// f16 values never lie that far apart.
float divide_fixup_f16(float quotient, float denominator, float numerator) {
  return divide_fixup(quotient, denominator, numerator, -150);
}

constexpr OpHandler divisions[] = {
    {op::v_div_scale_f32, divide_scale<F32>},
    {op::v_div_scale_f64, divide_scale<F64>},
    {op::v_div_fmas_f32, divide_fmas<F32>},
    {op::v_div_fmas_f64, divide_fmas<F64>},
    {op::v_div_fixup_f32, run<F32(F32, F32, F32), divide_fixup_f32>},
    {op::v_div_fixup_f64, run<F64(F64, F64, F64), divide_fixup_f64>},
    {op::v_div_fixup_f16, run<F16(F16, F16, F16), divide_fixup_f16>},
    {op::v_div_fixup_legacy_f16, run<F16(F16, F16, F16), divide_fixup_f16>},
};

}  // namespace

void add_divisions(HandlerTable& table) { table.add(divisions); }

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
