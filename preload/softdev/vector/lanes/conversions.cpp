// Conversions between number formats.
#include "vector/lanes/families.hpp"
#include "vector/lanes/float8.hpp"
#include "vector/lanes/integer_math.hpp"
#include "vector/lanes/real_math.hpp"
#include "vector/opcodes.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {
namespace {

// Out of range saturates, NaN gives 0. The clamp comes first because C++ leaves the conversion of anything
// else undefined.
template <class Float>
int32_t to_i32(Float value) {
  constexpr Float above = Float(2147483648.0);
  const Float inside = value < -above ? -above : value < above ? value : Float{0};
  const int32_t converted = static_cast<int32_t>(inside);
  return value >= above ? INT32_MAX : converted;
}
// In two halves of the range: hosts convert signed integers only.
template <class Float>
uint32_t to_u32(Float value) {
  constexpr Float middle = Float(2147483648.0);
  constexpr Float above = Float(4294967296.0);
  const Float inside = value > 0 ? (value < above ? value : Float{0}) : Float{0};
  const bool upper = inside >= middle;
  const int32_t converted = static_cast<int32_t>(upper ? inside - middle : inside);
  const uint32_t number = static_cast<uint32_t>(converted) + (upper ? 0x80000000u : 0u);
  return value >= above ? UINT32_MAX : number;
}
int32_t to_i32_rounding_half_up(float value) { return to_i32(std::floor(value + 0.5f)); }
int32_t to_i32_rounding_down(float value) { return to_i32(std::floor(value)); }

float from_i32(int32_t value) { return static_cast<float>(value); }
float from_u32(uint32_t value) { return static_cast<float>(value); }
double f64_from_i32(int32_t value) { return value; }
double f64_from_u32(uint32_t value) { return value; }
double f64_from_f32(float value) { return static_cast<double>(value); }
float f32_from_f64(double value) { return static_cast<float>(value); }
float same(float value) { return value; }
float f32_from_bf16(uint32_t value) { return widen_bfloat(value); }

template <unsigned n>
float from_byte(uint32_t value) {
  return static_cast<float>(static_cast<int32_t>(byte_of(value, n)));
}
// A 4-bit signed offset in sixteenths.
float from_offset_i4(uint32_t value) {
  return static_cast<float>(static_cast<int32_t>(value << 28) >> 28) * 0.0625f;
}

uint32_t half_to_u16(float value) { return std::min(to_u32(value), 0xffffu); }
int32_t half_to_i16(float value) { return saturate_i16(to_i32(value)); }

int32_t to_signed_normalized(float value) {
  const float inside = std::max(-1.0f, std::min(1.0f, is_nan(value) ? 0.0f : value));
  return to_i32(round_even(inside * 32767.0f));
}
uint32_t to_unsigned_normalized(float value) {
  const float inside = std::max(0.0f, std::min(1.0f, is_nan(value) ? 0.0f : value));
  return to_u32(round_even(inside * 65535.0f));
}
uint32_t pack_signed_normalized(float a, float b) {
  return (as_unsigned(to_signed_normalized(a)) & 0xffffu) | as_unsigned(to_signed_normalized(b)) << 16;
}
uint32_t pack_unsigned_normalized(float a, float b) {
  return to_unsigned_normalized(a) | to_unsigned_normalized(b) << 16;
}

uint32_t pack_bfloat(float a, float b) { return narrow_bfloat(a) | narrow_bfloat(b) << 16; }

// Two floats to a pair of f16.
void pack_half(Wave& wave, const Inst& inst, Rounding rounding) {
  Enable enable;
  const Source<F32> a(wave, inst, 0, enable);
  const Source<F32> b(wave, inst, 1, enable);
  RowF32 low_values;
  RowF32 high_values;
  KTRACE_EACH_LANE(l) {
    low_values.at[l] = a[l];
    high_values.at[l] = b[l];
  }
  Row low;
  Row high;
  narrow_half_row(low_values.at, low.at, rounding);
  narrow_half_row(high_values.at, high.at, rounding);
  KTRACE_EACH_LANE(l) { low.at[l] |= high.at[l] << 16; }
  commit_result(wave, inst, low, enable);
}
void pack_half_toward_zero(Wave& wave, const Inst& inst) { pack_half(wave, inst, Rounding::zero); }
void pack_half_to_nearest(Wave& wave, const Inst& inst) { pack_half(wave, inst, Rounding::even); }

// ---- 8-bit floats. The byte or word comes from SDWA's selector or from op_sel.

template <Float8 kind>
void from_float8(Wave& wave, const Inst& inst) {
  Enable enable;
  const Source<U32> source(wave, inst, 0, enable);
  const unsigned shift = inst.sdwa ? 0u : (inst.op_sel & 3u) * 8u;
  const float* values = float8_values(wave.arch, kind);
  Result<F32> result;
  for (unsigned l = 0; l < lanes; ++l) {
    result.set(l, values[source[l] >> shift & 0xffu]);
  }
  result.commit(wave, inst, enable);
}

template <Float8 kind>
void pair_from_float8(Wave& wave, const Inst& inst) {
  Enable enable;
  const Source<U32> source(wave, inst, 0, enable);
  const unsigned shift = inst.sdwa ? 0u : (inst.op_sel & 1u) * 16u;
  const float* values = float8_values(wave.arch, kind);
  Row low;
  Row high;
  for (unsigned l = 0; l < lanes; ++l) {
    low.at[l] = bits_as<uint32_t>(values[source[l] >> shift & 0xffu]);
    high.at[l] = bits_as<uint32_t>(values[source[l] >> shift >> 8 & 0xffu]);
  }
  commit(wave, inst.dst, low, enable);
  commit(wave, inst.dst + 1u, high, enable);
}

// MODE.FP16_OVFL makes these conversions saturate.
bool saturates_float8(const Wave& wave) { return (wave.mode >> 23 & 1u) != 0; }

// op_sel here names the destination's half, not the sources'.
Inst without_op_sel(const Inst& inst) {
  Inst plain = inst;
  plain.op_sel = 0;
  return plain;
}

template <Float8 kind>
void pair_to_float8(Wave& wave, const Inst& inst) {
  const Inst plain = without_op_sel(inst);
  const Float8Format& format = float8_format(wave.arch, kind);
  const bool saturates = saturates_float8(wave);
  Enable enable;
  const Source<F32> a(wave, plain, 0, enable);
  const Source<F32> b(wave, plain, 1, enable);
  const uint32_t* old = wave.vgpr(inst.dst);
  const bool high = (inst.op_sel & 8u) != 0;
  Row row;
  for (unsigned l = 0; l < lanes; ++l) {
    const uint32_t pair = narrow_float8(a[l], format, saturates) | narrow_float8(b[l], format, saturates)
                                                                       << 8;
    row.at[l] = high ? (old[l] & 0xffffu) | pair << 16 : (old[l] & 0xffff0000u) | pair;
  }
  commit(wave, inst.dst, row, enable);
}

// Stochastic rounding: the second operand's upper bits go in below the kept fraction, which then is cut by
// the ordinary rounding of the sum.
template <Float8 kind>
void to_float8_stochastic(Wave& wave, const Inst& inst) {
  const Inst plain = without_op_sel(inst);
  const Float8Format& format = float8_format(wave.arch, kind);
  const bool saturates = saturates_float8(wave);
  Enable enable;
  const Source<F32> value(wave, plain, 0, enable);
  const Source<U32> random(wave, plain, 1, enable);
  const uint32_t* old = wave.vgpr(inst.dst);
  const unsigned shift = (inst.op_sel >> 2 & 3u) * 8u;
  constexpr unsigned unused_random = kind == Float8::fp8 ? 12 : 11;
  Row row;
  for (unsigned l = 0; l < lanes; ++l) {
    const uint32_t bits = bits_as<uint32_t>(value[l]);
    const uint32_t fraction = ((bits & 0x7fffffu) + (random[l] >> unused_random)) & 0x7fffffu;
    const bool finite = (bits & 0x7f800000u) != 0x7f800000u;
    const float moved = bits_as<float>(finite ? (bits & 0xff800000u) | fraction : bits);
    row.at[l] = (old[l] & ~(0xffu << shift)) | narrow_float8(moved, format, saturates) << shift;
  }
  commit(wave, inst.dst, row, enable);
}

constexpr OpHandler conversions[] = {
    {op::v_cvt_f32_i32, run<F32(I32), from_i32>},
    {op::v_cvt_f32_u32, run<F32(U32), from_u32>},
    {op::v_cvt_i32_f32, run<I32(F32), to_i32<float>>},
    {op::v_cvt_u32_f32, run<U32(F32), to_u32<float>>},
    {op::v_cvt_rpi_i32_f32, run<I32(F32), to_i32_rounding_half_up>},
    {op::v_cvt_flr_i32_f32, run<I32(F32), to_i32_rounding_down>},
    {op::v_cvt_off_f32_i4, run<F32(U32), from_offset_i4>},
    {op::v_cvt_f32_ubyte0, run<F32(U32), from_byte<0>>},
    {op::v_cvt_f32_ubyte1, run<F32(U32), from_byte<1>>},
    {op::v_cvt_f32_ubyte2, run<F32(U32), from_byte<2>>},
    {op::v_cvt_f32_ubyte3, run<F32(U32), from_byte<3>>},
    {op::v_cvt_f64_i32, run<F64(I32), f64_from_i32>},
    {op::v_cvt_f64_u32, run<F64(U32), f64_from_u32>},
    {op::v_cvt_f64_f32, run<F64(F32), f64_from_f32>},
    {op::v_cvt_f32_f64, run<F32(F64), f32_from_f64>},
    {op::v_cvt_i32_f64, run<I32(F64), to_i32<double>>},
    {op::v_cvt_u32_f64, run<U32(F64), to_u32<double>>},
    {op::v_cvt_f16_f32, run<F16(F32), same>},
    {op::v_cvt_f32_f16, run<F32(F16), same>},
    {op::v_cvt_f16_u16, run<F16(U16), from_u32>},
    {op::v_cvt_f16_i16, run<F16(I16), from_i32>},
    {op::v_cvt_u16_f16, run<U16(F16), half_to_u16>},
    {op::v_cvt_i16_f16, run<I16(F16), half_to_i16>},
    {op::v_cvt_norm_i16_f16, run<I16(F16), to_signed_normalized>},
    {op::v_cvt_norm_u16_f16, run<U16(F16), to_unsigned_normalized>},
    {op::v_cvt_pknorm_i16_f32, run<U32(F32, F32), pack_signed_normalized>},
    {op::v_cvt_pknorm_u16_f32, run<U32(F32, F32), pack_unsigned_normalized>},
    {op::v_cvt_pknorm_i16_f16, run<U32(F16, F16), pack_signed_normalized>},
    {op::v_cvt_pknorm_u16_f16, run<U32(F16, F16), pack_unsigned_normalized>},
    {op::v_cvt_f32_bf16, run<F32(U16), f32_from_bf16>},
    {op::v_cvt_pk_bf16_f32, run<U32(F32, F32), pack_bfloat>},
    {op::v_cvt_pk_f16_f32, pack_half_to_nearest},
    {op::v_cvt_pkrtz_f16_f32, pack_half_toward_zero},
    {op::v_cvt_f32_fp8, from_float8<Float8::fp8>},
    {op::v_cvt_f32_bf8, from_float8<Float8::bf8>},
    {op::v_cvt_pk_f32_fp8, pair_from_float8<Float8::fp8>},
    {op::v_cvt_pk_f32_bf8, pair_from_float8<Float8::bf8>},
    {op::v_cvt_pk_fp8_f32, pair_to_float8<Float8::fp8>},
    {op::v_cvt_pk_bf8_f32, pair_to_float8<Float8::bf8>},
    {op::v_cvt_sr_fp8_f32, to_float8_stochastic<Float8::fp8>},
    {op::v_cvt_sr_bf8_f32, to_float8_stochastic<Float8::bf8>},
};

}  // namespace

void add_conversions(HandlerTable& table) { table.add(conversions); }

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
