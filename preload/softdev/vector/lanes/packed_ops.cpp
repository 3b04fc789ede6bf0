// VOP3P: two values per register or register pair, and v_fma_mix.
//
// op_sel and op_sel_hi say which half of each source feeds the low and the high result, neg and neg_hi negate
// them separately, so these instructions fetch their sources themselves.
#include "vector/lanes/families.hpp"
#include "vector/lanes/integer_math.hpp"
#include "vector/lanes/packed_source.hpp"
#include "vector/lanes/real_math.hpp"
#include "vector/opcodes.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {
namespace {

template <class Type>
class HalfResult16 {
 public:
  void set(unsigned l, typename Type::Lane value) { m_row.at[l] = static_cast<uint32_t>(value) & 0xffffu; }
  const Row& finish(const Wave&, const Inst&) { return m_row; }

 private:
  Row m_row;
};
template <>
class HalfResult16<F16> {
 public:
  void set(unsigned l, float value) { m_values.at[l] = value; }
  const Row& finish(const Wave& wave, const Inst& inst) {
    finish_f16(wave, inst, m_values);
    narrow_halves(wave, m_values, m_row);
    return m_row;
  }

 private:
  RowF32 m_values;
  Row m_row;
};

template <class Type, auto operation>
void compute_half_2(Wave& wave, const Inst& inst, Half half, Row& row) {
  const HalfSource<Type> a(wave, inst, 0, half);
  const HalfSource<Type> b(wave, inst, 1, half);
  HalfResult16<Type> result;
  KTRACE_EACH_LANE(l) { result.set(l, operation(a[l], b[l])); }
  row = result.finish(wave, inst);
}
template <class Type, auto operation>
void compute_half_3(Wave& wave, const Inst& inst, Half half, Row& row) {
  const HalfSource<Type> a(wave, inst, 0, half);
  const HalfSource<Type> b(wave, inst, 1, half);
  const HalfSource<Type> c(wave, inst, 2, half);
  HalfResult16<Type> result;
  KTRACE_EACH_LANE(l) { result.set(l, operation(a[l], b[l], c[l])); }
  row = result.finish(wave, inst);
}

template <class Type, void (*compute)(Wave&, const Inst&, Half, Row&)>
void packed(Wave& wave, const Inst& inst) {
  const RoundingScope<Type> rounding(wave);
  Row low;
  Row high;
  compute(wave, inst, Half::low, low);
  compute(wave, inst, Half::high, high);
  KTRACE_EACH_LANE(l) { low.at[l] |= high.at[l] << 16; }
  commit(wave, inst.dst, low, Enable{});
}
template <class Type, auto operation>
constexpr Handler packed_2 = packed<Type, compute_half_2<Type, operation>>;
template <class Type, auto operation>
constexpr Handler packed_3 = packed<Type, compute_half_3<Type, operation>>;

// VOP2, unlike its VOP3P relatives: the halves are fixed and the destination is the addend.
void packed_accumulate(Wave& wave, const Inst& inst) {
  if (inst.dpp || inst.sdwa) {
    fault(wave, inst, "v_pk_fmac_f16 has no form with DPP or SDWA");
  }
  Inst spread = inst;
  spread.src[2] = static_cast<uint16_t>(code_vgpr + inst.dst);
  spread.op_sel = 0;
  spread.op_sel_hi = 7;
  spread.neg_hi = inst.neg;
  packed_3<F16, fma_half>(wave, spread);
}

// ---- v_fma_mix: each source is f32, or an f16 half; neg_hi means abs here

void mixed_source(Wave& wave, const Inst& inst, unsigned n, RowF32& values) {
  Row scratch;
  const bool is_half = bit_of(inst.op_sel_hi, n);
  const uint32_t* whole = raw_source(wave, inst, n, is_half, scratch);
  if (is_half) {
    Row half;
    const unsigned shift = bit_of(inst.op_sel, n) ? 16 : 0;
    KTRACE_EACH_LANE(l) { half.at[l] = whole[l] >> shift; }
    widen_halves(wave, half.at, values);
  } else {
    const uint32_t kept = (wave.mode & 0x10u) == 0 ? 0x80000000u : ~0u;
    KTRACE_EACH_LANE(l) {
      const bool is_denormal = (whole[l] & 0x7f800000u) == 0;
      values.at[l] = bits_as<float>(is_denormal ? whole[l] & kept : whole[l]);
    }
  }
  if (bit_of(inst.neg_hi, n)) {
    KTRACE_EACH_LANE(l) { values.at[l] = std::fabs(values.at[l]); }
  }
  if (bit_of(inst.neg, n)) {
    KTRACE_EACH_LANE(l) { values.at[l] = -values.at[l]; }
  }
}

void mixed_fma(Wave& wave, const Inst& inst, RowF32& values) {
  RowF32 a;
  RowF32 b;
  RowF32 c;
  mixed_source(wave, inst, 0, a);
  mixed_source(wave, inst, 1, b);
  mixed_source(wave, inst, 2, c);
  KTRACE_EACH_LANE(l) { values.at[l] = std::fma(a.at[l], b.at[l], c.at[l]); }
}

void mixed_fma_f32(Wave& wave, const Inst& inst) {
  const RoundingScope<F32> rounding(wave);
  RowF32 values;
  mixed_fma(wave, inst, values);
  Result<F32> result;
  KTRACE_EACH_LANE(l) { result.set(l, values.at[l]); }
  result.commit(wave, inst, Enable{});
}

template <Half half>
void mixed_fma_f16(Wave& wave, const Inst& inst) {
  const RoundingScope<F16> rounding(wave);
  RowF32 values;
  mixed_fma(wave, inst, values);
  finish_f16(wave, inst, values);
  Row row;
  narrow_halves(wave, values, row);
  const uint32_t* old = wave.vgpr(inst.dst);
  KTRACE_EACH_LANE(l) {
    row.at[l] = half == Half::low ? (old[l] & 0xffff0000u) | row.at[l] : (old[l] & 0xffffu) | row.at[l] << 16;
  }
  commit(wave, inst.dst, row, Enable{});
}

// ---- pairs of f32 in two registers

// A scalar pair is two SGPRs; a constant stands for both halves.
void select_word(Wave& wave, const Inst& inst, unsigned n, bool second, Row& row) {
  const unsigned code = inst.src[n];
  if (code >= code_vgpr) {
    std::memcpy(row.at, wave.vgpr(code - code_vgpr + (second ? 1u : 0u)), sizeof row.at);
    return;
  }
  constexpr unsigned scalar_registers = 128;
  const uint32_t value = read_scalar(wave, inst, code < scalar_registers && second ? code + 1 : code);
  KTRACE_EACH_LANE(l) { row.at[l] = value; }
}

class WordSource {
 public:
  WordSource(Wave& wave, const Inst& inst, unsigned n, Half half) {
    const bool second = bit_of(half == Half::low ? inst.op_sel : inst.op_sel_hi, n);
    const bool is_negated = bit_of(half == Half::low ? inst.neg : inst.neg_hi, n);
    const unsigned code = inst.src[n];
    const bool flushes = (wave.mode & 0x10u) == 0;
    if (__builtin_expect(code >= code_vgpr && !is_negated && !flushes, 1)) {
      m_at = wave.vgpr(code - code_vgpr + (second ? 1u : 0u));
      return;
    }
    m_at = m_row.at;
    select_word(wave, inst, n, second, m_row);
    const uint32_t flip = is_negated ? 0x80000000u : 0u;
    KTRACE_EACH_LANE(l) { m_row.at[l] ^= flip; }
    if (flushes) {
      KTRACE_EACH_LANE(l) { m_row.at[l] &= (m_row.at[l] & 0x7f800000u) == 0 ? 0x80000000u : ~0u; }
    }
  }
  WordSource(const WordSource&) = delete;
  WordSource& operator=(const WordSource&) = delete;
  float operator[](unsigned l) const { return bits_as<float>(m_at[l]); }

 private:
  Row m_row;
  const uint32_t* m_at;
};

struct WordPair {
  WordPair(Wave& wave, const Inst& inst, unsigned n)
      : low(wave, inst, n, Half::low), high(wave, inst, n, Half::high) {}
  const WordSource low;
  const WordSource high;
};

// Both registers' results of a lane are computed before either is written: each may be a source of the other.
template <class Compute>
void write_pair(Wave& wave, const Inst& inst, Compute compute) {
  const bool direct = writes_plainly<F32>(wave, inst, Enable{});
  Row rows[2];
  uint32_t* const low = direct ? wave.vgpr(inst.dst) : rows[0].at;
  uint32_t* const high = direct ? wave.vgpr(inst.dst + 1u) : rows[1].at;
  KTRACE_EACH_LANE(l) {
    const auto [first, second] = compute(l);
    low[l] = bits_as<uint32_t>(first);
    high[l] = bits_as<uint32_t>(second);
  }
  if (__builtin_expect(!direct, 0)) {
    commit_bits<F32>(wave, inst, rows[0], Enable{});
    Inst above = inst;
    ++above.dst;
    commit_bits<F32>(wave, above, rows[1], Enable{});
  }
}

struct PairOfF32 {
  float low;
  float high;
};

template <auto operation>
void packed_f32_2(Wave& wave, const Inst& inst) {
  const RoundingScope<F32> rounding(wave);
  const WordPair a(wave, inst, 0);
  const WordPair b(wave, inst, 1);
  write_pair(wave, inst, [&](unsigned l) {
    return PairOfF32{operation(a.low[l], b.low[l]), operation(a.high[l], b.high[l])};
  });
}

template <auto operation>
void packed_f32_3(Wave& wave, const Inst& inst) {
  const RoundingScope<F32> rounding(wave);
  const WordPair a(wave, inst, 0);
  const WordPair b(wave, inst, 1);
  const WordPair c(wave, inst, 2);
  write_pair(wave, inst, [&](unsigned l) {
    return PairOfF32{operation(a.low[l], b.low[l], c.low[l]), operation(a.high[l], b.high[l], c.high[l])};
  });
}

// The low result comes from the first source, the high one from the second.
void packed_move(Wave& wave, const Inst& inst) {
  Row low;
  Row high;
  select_word(wave, inst, 0, bit_of(inst.op_sel, 0), low);
  select_word(wave, inst, 1, bit_of(inst.op_sel, 1), high);
  commit(wave, inst.dst, low, Enable{});
  commit(wave, inst.dst + 1u, high, Enable{});
}

constexpr OpHandler packed_ops[] = {
    {op::v_pk_mad_i16, by_clamp<packed_3<I16, multiply_add_i16>, packed_3<I16, multiply_add_saturating_i16>>},
    {op::v_pk_mul_lo_u16, packed_2<U16, multiply_low>},
    {op::v_pk_add_i16, by_clamp<packed_2<I16, add_i16>, packed_2<I16, add_saturating_i16>>},
    {op::v_pk_sub_i16, by_clamp<packed_2<I16, subtract_i16>, packed_2<I16, subtract_saturating_i16>>},
    {op::v_pk_lshlrev_b16, packed_2<U16, shift_left_16>},
    {op::v_pk_lshrrev_b16, packed_2<U16, shift_right_16>},
    {op::v_pk_ashrrev_i16, packed_2<I16, shift_right_signed_16>},
    {op::v_pk_max_i16, packed_2<I16, maximum_int<int32_t>>},
    {op::v_pk_min_i16, packed_2<I16, minimum_int<int32_t>>},
    {op::v_pk_mad_u16, by_clamp<packed_3<U16, multiply_add>, packed_3<U16, multiply_add_saturating_u16>>},
    {op::v_pk_add_u16, by_clamp<packed_2<U16, add_int>, packed_2<U16, add_saturating_u16>>},
    {op::v_pk_sub_u16, by_clamp<packed_2<U16, subtract_int>, packed_2<U16, subtract_saturating>>},
    {op::v_pk_max_u16, packed_2<U16, maximum_int<uint32_t>>},
    {op::v_pk_min_u16, packed_2<U16, minimum_int<uint32_t>>},
    {op::v_pk_fma_f16, packed_3<F16, fma_half>},
    {op::v_pk_add_f16, packed_2<F16, add<float>>},
    {op::v_pk_mul_f16, packed_2<F16, multiply<float>>},
    {op::v_pk_min_f16, packed_2<F16, minimum_number<float>>},
    {op::v_pk_max_f16, packed_2<F16, maximum_number<float>>},
    {op::v_pk_minimum3_f16, packed_3<F16, minimum_of_3_propagating<float>>},
    {op::v_pk_maximum3_f16, packed_3<F16, maximum_of_3_propagating<float>>},
    {op::v_pk_fmac_f16, packed_accumulate},
    {op::v_fma_mix_f32, mixed_fma_f32},
    {op::v_fma_mixlo_f16, mixed_fma_f16<Half::low>},
    {op::v_fma_mixhi_f16, mixed_fma_f16<Half::high>},
    {op::v_pk_fma_f32, packed_f32_3<fused_multiply_add<float>>},
    {op::v_pk_mul_f32, packed_f32_2<multiply<float>>},
    {op::v_pk_add_f32, packed_f32_2<add<float>>},
    {op::v_pk_mov_b32, packed_move},
};

}  // namespace

void add_packed_ops(HandlerTable& table) { table.add(packed_ops); }

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
