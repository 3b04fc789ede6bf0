// Dot products of 2, 4 and 8 packed elements, added to a 32-bit accumulator.
#include "vector/lanes/families.hpp"
#include "vector/lanes/integer_math.hpp"
#include "vector/lanes/packed_source.hpp"
#include "vector/opcodes.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {
namespace {

template <unsigned width>
int64_t signed_element(uint32_t packed, unsigned n) {
  return static_cast<int32_t>(packed << (32 - width * (n + 1))) >> (32 - width);
}
template <unsigned width>
int64_t unsigned_element(uint32_t packed, unsigned n) {
  return packed >> (width * n) & ((1u << width) - 1u);
}

template <unsigned width, bool is_signed>
int64_t dot_product(uint32_t a, uint32_t b) {
  int64_t sum = 0;
  for (unsigned n = 0; n < 32 / width; ++n) {
    sum += is_signed ? signed_element<width>(a, n) * signed_element<width>(b, n)
                     : unsigned_element<width>(a, n) * unsigned_element<width>(b, n);
  }
  return sum;
}

template <unsigned width, bool is_signed>
uint32_t dot_add(uint32_t a, uint32_t b, uint32_t c) {
  return static_cast<uint32_t>(dot_product<width, is_signed>(a, b)) + c;
}
template <unsigned width, bool is_signed>
uint32_t dot_add_saturating(uint32_t a, uint32_t b, uint32_t c) {
  const int64_t product = dot_product<width, is_signed>(a, b);
  return is_signed ? as_unsigned(saturate_i32(product + as_signed(c)))
                   : saturate_u32(static_cast<uint64_t>(product) + c);
}

// op_sel and neg have no meaning for whole registers of small integers; what assemblers put there must not
// reach the sources.
template <Handler handler>
void unmodified(Wave& wave, const Inst& inst) {
  Inst plain = inst;
  plain.neg = 0;
  plain.abs = 0;
  plain.op_sel = 0;
  handler(wave, plain);
}

template <unsigned width, bool is_signed>
constexpr Handler dot = unmodified<by_clamp<run<U32(U32, U32, U32), dot_add<width, is_signed>>,
                                            run<U32(U32, U32, U32), dot_add_saturating<width, is_signed>>>>;
template <unsigned width>
constexpr Handler dot_accumulate = by_clamp<run<U32(U32, U32, Old<U32>), dot_add<width, true>>,
                                            run<U32(U32, U32, Old<U32>), dot_add_saturating<width, true>>>;

// ---- floats: products are exact in double, and the sum is rounded once

float dot_real(float a_low, float b_low, float a_high, float b_high, float c) {
  const double products = double{a_low} * b_low + double{a_high} * b_high;
  return static_cast<float>(products + c);
}
float bfloat_low(uint32_t packed) { return widen_bfloat(packed & 0xffffu); }
float bfloat_high(uint32_t packed) { return bits_as<float>(packed & 0xffff0000u); }

void dot2_half(Wave& wave, const Inst& inst) {
  const RoundingScope<F32> rounding(wave);
  const HalfSource<F16> a_low(wave, inst, 0, Half::low);
  const HalfSource<F16> a_high(wave, inst, 0, Half::high);
  const HalfSource<F16> b_low(wave, inst, 1, Half::low);
  const HalfSource<F16> b_high(wave, inst, 1, Half::high);
  Inst addend = inst;
  addend.abs = 0;
  Enable enable;
  const Source<F32> c(wave, addend, 2, enable);
  Result<F32> result;
  KTRACE_EACH_LANE(l) { result.set(l, dot_real(a_low[l], b_low[l], a_high[l], b_high[l], c[l])); }
  result.commit(wave, inst, enable);
}

// The VOP2 form is the VOP3P form with fixed halves and the destination as addend.
void dot2_half_accumulate(Wave& wave, const Inst& inst) {
  Inst spread = inst;
  spread.src[2] = static_cast<uint16_t>(code_vgpr + inst.dst);
  spread.op_sel = 0;
  spread.op_sel_hi = 7;
  dot2_half(wave, spread);
}

// Both halves of a source that DPP may have moved.
struct HalfPair {
  HalfPair(Wave& wave, const Inst& inst, unsigned n, Enable& enable) {
    const Source<U32> source(wave, inst, n, enable);
    Row halves;
    KTRACE_EACH_LANE(l) { halves.at[l] = source[l] & 0xffffu; }
    widen_halves(wave, halves.at, low);
    KTRACE_EACH_LANE(l) { halves.at[l] = source[l] >> 16; }
    widen_halves(wave, halves.at, high);
  }
  RowF32 low;
  RowF32 high;
};

void dot2_half_moved(Wave& wave, const Inst& inst) {
  if (inst.sdwa || inst.neg || inst.abs) {
    fault(wave, inst, "v_dot2c_f32_f16 is executed with DPP alone, without modifiers");
  }
  const RoundingScope<F32> rounding(wave);
  Enable enable;
  const HalfPair a(wave, inst, 0, enable), b(wave, inst, 1, enable);
  const Source<Old<F32>> c(wave, inst, 2, enable);
  Result<F32> result;
  KTRACE_EACH_LANE(l) { result.set(l, dot_real(a.low.at[l], b.low.at[l], a.high.at[l], b.high.at[l], c[l])); }
  result.commit(wave, inst, enable);
}

void dot2_half_to_accumulator(Wave& wave, const Inst& inst) {
  (inst.dpp || inst.sdwa ? dot2_half_moved : dot2_half_accumulate)(wave, inst);
}

float dot2_bfloat_lane(uint32_t a, uint32_t b, float c) {
  return dot_real(bfloat_low(a), bfloat_low(b), bfloat_high(a), bfloat_high(b), c);
}

constexpr OpHandler dot_products[] = {
    {op::v_dot2_f32_f16, dot2_half},
    {op::v_dot2c_f32_f16, dot2_half_to_accumulator},
    {op::v_dot2_f32_bf16, run<F32(U32, U32, F32), dot2_bfloat_lane>},
    {op::v_dot2c_f32_bf16, run<F32(U32, U32, Old<F32>), dot2_bfloat_lane>},
    {op::v_dot2_i32_i16, dot<16, true>},
    {op::v_dot2_u32_u16, dot<16, false>},
    {op::v_dot4_i32_i8, dot<8, true>},
    {op::v_dot4_u32_u8, dot<8, false>},
    {op::v_dot8_i32_i4, dot<4, true>},
    {op::v_dot8_u32_u4, dot<4, false>},
    {op::v_dot2c_i32_i16, dot_accumulate<16>},
    {op::v_dot4c_i32_i8, dot_accumulate<8>},
    {op::v_dot8c_i32_i4, dot_accumulate<4>},
};

}  // namespace

void add_dot_products(HandlerTable& table) { table.add(dot_products); }

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
