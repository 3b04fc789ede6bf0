// Integer and bit instructions of 16, 32 and 64 bits without carry.
#include "vector/lanes/families.hpp"
#include "vector/lanes/integer_math.hpp"
#include "vector/opcodes.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

uint32_t permute_bytes(uint32_t high, uint32_t low, uint32_t selectors) {
  const uint64_t data = uint64_t{high} << 32 | low;
  uint32_t result = 0;
  for (unsigned n = 0; n < 4; ++n) {
    const uint32_t selector = byte_of(selectors, n);
    uint32_t byte = 0xff;
    if (selector < 8) {
      byte = static_cast<uint32_t>(data >> (8 * selector)) & 0xffu;
    } else if (selector < 12) {  // the sign of a 16-bit element
      byte = (data >> (16 * (selector - 8) + 15) & 1u) != 0 ? 0xffu : 0u;
    } else if (selector == 12) {
      byte = 0;
    }
    result |= byte << (8 * n);
  }
  return result;
}

namespace {

// The truth table sits in the modifier fields, so the sources are read without them.
template <class Type>
void bit_operation_3(Wave& wave, const Inst& inst) {
  Inst plain = inst;
  plain.abs = 0;
  plain.neg = 0;
  plain.omod = 0;
  const unsigned table = inst.neg | unsigned{inst.abs} << 3 | unsigned{inst.omod} << 6;
  Enable enable;
  const Source<Type> a(wave, plain, 0, enable);
  const Source<Type> b(wave, plain, 1, enable);
  const Source<Type> c(wave, plain, 2, enable);
  Row accumulated{};
  for (unsigned k = 0; k < 8; ++k) {
    if ((table >> k & 1u) != 0) {
      const uint32_t flip_a = (k & 4u) != 0 ? 0u : ~0u;
      const uint32_t flip_b = (k & 2u) != 0 ? 0u : ~0u;
      const uint32_t flip_c = (k & 1u) != 0 ? 0u : ~0u;
      KTRACE_EACH_LANE(l) { accumulated.at[l] |= (a[l] ^ flip_a) & (b[l] ^ flip_b) & (c[l] ^ flip_c); }
    }
  }
  Result<Type> result;
  KTRACE_EACH_LANE(l) { result.set(l, accumulated.at[l]); }
  result.commit(wave, plain, enable);
}

// One byte of v_perm_b32's result, for a selector that is the same in all lanes.
void add_permuted_byte(uint32_t selector, unsigned n, const Source<U32>& high, const Source<U32>& low,
                       Row& row) {
  const Source<U32>& from = (selector & (selector < 8 ? 4u : 2u)) != 0 ? high : low;
  if (selector < 8) {
    const unsigned shift = 8 * (selector & 3u);
    KTRACE_EACH_LANE(l) { row.at[l] |= (from[l] >> shift & 0xffu) << (8 * n); }
  } else if (selector < 12) {
    const unsigned sign = (selector & 1u) != 0 ? 31 : 15;
    KTRACE_EACH_LANE(l) { row.at[l] |= ((0u - (from[l] >> sign & 1u)) & 0xffu) << (8 * n); }
  } else if (selector > 12) {
    KTRACE_EACH_LANE(l) { row.at[l] |= 0xffu << (8 * n); }
  }
}

// Compilers nearly always give constant selectors.
void permute_bytes_op(Wave& wave, const Inst& inst) {
  if (inst.src[2] >= code_vgpr) {
    run<U32(U32, U32, U32), permute_bytes>(wave, inst);
    return;
  }
  Enable enable;
  const Source<U32> high(wave, inst, 0, enable);
  const Source<U32> low(wave, inst, 1, enable);
  const uint32_t selectors = read_scalar(wave, inst, inst.src[2]);
  Row row{};
  for (unsigned n = 0; n < 4; ++n) {
    add_permuted_byte(byte_of(selectors, n), n, high, low, row);
  }
  commit_result(wave, inst, row, enable);
}

// Four sums of absolute differences of b against windows of a, one byte apart.
template <uint32_t (*sad)(uint32_t, uint32_t, uint32_t)>
uint64_t quad_sad(uint64_t a, uint32_t b, uint64_t c) {
  uint64_t result = 0;
  for (unsigned n = 0; n < 4; ++n) {
    const uint32_t window = static_cast<uint32_t>(a >> (8 * n));
    const uint32_t start = static_cast<uint32_t>(c >> (16 * n)) & 0xffffu;
    result |= uint64_t{sad(window, b, start) & 0xffffu} << (16 * n);
  }
  return result;
}

// The same with four 32-bit sums: the only instruction with a 128-bit source and result here.
void masked_quad_sad_u32(Wave& wave, const Inst& inst) {
  Enable enable;
  const Source<U64> a(wave, inst, 0, enable);
  const Source<U32> b(wave, inst, 1, enable);
  if (inst.src[2] < code_vgpr) {
    fault(wave, inst, "v_mqsad_u32_u8 is not implemented with a scalar accumulator");
  }
  Row sums[4];
  for (unsigned n = 0; n < 4; ++n) {
    const uint32_t* start = wave.vgpr(inst.src[2] - code_vgpr + n);
    for (unsigned l = 0; l < lanes; ++l) {
      sums[n].at[l] = masked_sad_u8(static_cast<uint32_t>(a[l] >> (8 * n)), b[l], start[l]);
    }
  }
  for (unsigned n = 0; n < 4; ++n) {
    commit(wave, inst.dst + n, sums[n], enable);
  }
}

constexpr OpHandler int32_ops[] = {
    {op::v_mov_b32, run<U32(U32), copy<uint32_t>>},
    {op::v_not_b32, run<U32(U32), bit_not>},
    {op::v_bfrev_b32, run<U32(U32), reverse_bits>},
    {op::v_ffbh_u32, run<U32(U32), first_high_one>},
    {op::v_ffbl_b32, run<U32(U32), first_low_one>},
    {op::v_ffbh_i32, run<U32(I32), first_high_sign_change>},
    {op::v_prng_b32, run<U32(U32), pseudo_random>},
    {op::v_sat_pk_u8_i16, run<U32(U32), saturate_pack_u8_i16>},
    {op::v_mul_i32_i24, run<I32(I32, I32), multiply_i24>},
    {op::v_mul_hi_i32_i24, run<I32(I32, I32), multiply_high_i24>},
    {op::v_mul_u32_u24, run<U32(U32, U32), multiply_u24>},
    {op::v_mul_hi_u32_u24, run<U32(U32, U32), multiply_high_u24>},
    {op::v_mul_lo_u32, run<U32(U32, U32), multiply_low>},
    {op::v_mul_hi_u32, run<U32(U32, U32), multiply_high_u32>},
    {op::v_mul_hi_i32, run<I32(I32, I32), multiply_high_i32>},
    {op::v_min_i32, run<I32(I32, I32), minimum_int<int32_t>>},
    {op::v_max_i32, run<I32(I32, I32), maximum_int<int32_t>>},
    {op::v_min_u32, run<U32(U32, U32), minimum_int<uint32_t>>},
    {op::v_max_u32, run<U32(U32, U32), maximum_int<uint32_t>>},
    {op::v_lshrrev_b32, run<U32(U32, U32), shift_right>},
    {op::v_ashrrev_i32, run<I32(I32, I32), shift_right_signed>},
    {op::v_lshlrev_b32, run<U32(U32, U32), shift_left>},
    {op::v_and_b32, run<U32(U32, U32), bit_and>},
    {op::v_or_b32, run<U32(U32, U32), bit_or>},
    {op::v_xor_b32, run<U32(U32, U32), bit_xor>},
    {op::v_xnor_b32, run<U32(U32, U32), bit_xnor>},
    {op::v_bcnt_u32_b32, run<U32(U32, U32), count_ones_add>},
    {op::v_bfm_b32, run<U32(U32, U32), bit_field_mask>},
    {op::v_cvt_pk_u16_u32, run<U32(U32, U32), pack_saturated_u16>},
    {op::v_cvt_pk_i16_i32, run<U32(I32, I32), pack_saturated_i16>},
    {op::v_add_u32, by_clamp<run<U32(U32, U32), add_int>, run<U32(U32, U32), add_saturating_u32>>},
    {op::v_sub_u32, by_clamp<run<U32(U32, U32), subtract_int>, run<U32(U32, U32), subtract_saturating>>},
    {op::v_subrev_u32,
     by_clamp<run<U32(U32, U32), subtract_reversed_int>, run<U32(U32, U32), subtract_reversed_saturating>>},
    {op::v_add_i32, by_clamp<run<U32(U32, U32), add_int>, run<I32(I32, I32), add_saturating_i32>>},
    {op::v_sub_i32, by_clamp<run<U32(U32, U32), subtract_int>, run<I32(I32, I32), subtract_saturating_i32>>},
    {op::v_mad_i32_i24, by_clamp<run<I32(I32, I32, I32), multiply_add_i24>,
                                 run<I32(I32, I32, I32), multiply_add_saturating_i24>>},
    {op::v_mad_u32_u24, by_clamp<run<U32(U32, U32, U32), multiply_add_u24>,
                                 run<U32(U32, U32, U32), multiply_add_saturating_u24>>},
    {op::v_mad_u32_u16, by_clamp<run<U32(U16, U16, U32), multiply_add_u16_u32>,
                                 run<U32(U16, U16, U32), multiply_add_saturating_u16_u32>>},
    {op::v_mad_i32_i16, by_clamp<run<I32(I16, I16, I32), multiply_add_i16>,
                                 run<I32(I16, I16, I32), multiply_add_saturating_i16_i32>>},
    {op::v_bfe_u32, run<U32(U32, U32, U32), extract_bits>},
    {op::v_bfe_i32, run<I32(I32, U32, U32), extract_bits_signed>},
    {op::v_bfi_b32, run<U32(U32, U32, U32), select_bits>},
    {op::v_alignbit_b32, run<U32(U32, U32, U32), align_bits>},
    {op::v_alignbyte_b32, run<U32(U32, U32, U32), align_bytes>},
    {op::v_perm_b32, permute_bytes_op},
    {op::v_min3_i32, run<I32(I32, I32, I32), minimum_of_3_int<int32_t>>},
    {op::v_max3_i32, run<I32(I32, I32, I32), maximum_of_3_int<int32_t>>},
    {op::v_med3_i32, run<I32(I32, I32, I32), median_of_3_int<int32_t>>},
    {op::v_min3_u32, run<U32(U32, U32, U32), minimum_of_3_int<uint32_t>>},
    {op::v_max3_u32, run<U32(U32, U32, U32), maximum_of_3_int<uint32_t>>},
    {op::v_med3_u32, run<U32(U32, U32, U32), median_of_3_int<uint32_t>>},
    {op::v_xad_u32, run<U32(U32, U32, U32), xor_add>},
    {op::v_lshl_add_u32, run<U32(U32, U32, U32), shift_left_add>},
    {op::v_add_lshl_u32, run<U32(U32, U32, U32), add_shift_left>},
    {op::v_add3_u32, run<U32(U32, U32, U32), add_3>},
    {op::v_lshl_or_b32, run<U32(U32, U32, U32), shift_left_or>},
    {op::v_and_or_b32, run<U32(U32, U32, U32), and_or>},
    {op::v_or3_b32, run<U32(U32, U32, U32), or_3>},
    {op::v_bitop3_b32, bit_operation_3<U32>},
    {op::v_bitop3_b16, bit_operation_3<U16>},
    {op::v_sad_u8, run<U32(U32, U32, U32), sad_u8>},
    {op::v_sad_hi_u8, run<U32(U32, U32, U32), sad_high_u8>},
    {op::v_sad_u16, run<U32(U32, U32, U32), sad_u16>},
    {op::v_sad_u32, run<U32(U32, U32, U32), sad_u32>},
    {op::v_msad_u8, run<U32(U32, U32, U32), masked_sad_u8>},
    {op::v_qsad_pk_u16_u8, run<U64(U64, U32, U64), quad_sad<sad_u8>>},
    {op::v_mqsad_pk_u16_u8, run<U64(U64, U32, U64), quad_sad<masked_sad_u8>>},
    {op::v_mqsad_u32_u8, masked_quad_sad_u32},
    {op::v_lerp_u8, run<U32(U32, U32, U32), average_u8>},
    {op::v_ashr_pk_i8_i32, run<U16(I32, I32, U32), shift_pack_i8>},
    {op::v_ashr_pk_u8_i32, run<U16(I32, I32, U32), shift_pack_u8>},
};

constexpr OpHandler int16_ops[] = {
    {op::v_add_u16, by_clamp<run<U16(U16, U16), add_int>, run<U16(U16, U16), add_saturating_u16>>},
    {op::v_sub_u16, by_clamp<run<U16(U16, U16), subtract_int>, run<U16(U16, U16), subtract_saturating>>},
    {op::v_subrev_u16,
     by_clamp<run<U16(U16, U16), subtract_reversed_int>, run<U16(U16, U16), subtract_reversed_saturating>>},
    {op::v_add_i16, by_clamp<run<I16(I16, I16), add_i16>, run<I16(I16, I16), add_saturating_i16>>},
    {op::v_sub_i16, by_clamp<run<I16(I16, I16), subtract_i16>, run<I16(I16, I16), subtract_saturating_i16>>},
    {op::v_mul_lo_u16,
     by_clamp<run<U16(U16, U16), multiply_low>, run<U16(U16, U16), multiply_saturating_u16>>},
    {op::v_lshlrev_b16, run<U16(U16, U16), shift_left_16>},
    {op::v_lshrrev_b16, run<U16(U16, U16), shift_right_16>},
    {op::v_ashrrev_i16, run<I16(I16, I16), shift_right_signed_16>},
    {op::v_max_u16, run<U16(U16, U16), maximum_int<uint32_t>>},
    {op::v_min_u16, run<U16(U16, U16), minimum_int<uint32_t>>},
    {op::v_max_i16, run<I16(I16, I16), maximum_int<int32_t>>},
    {op::v_min_i16, run<I16(I16, I16), minimum_int<int32_t>>},
    {op::v_min3_i16, run<I16(I16, I16, I16), minimum_of_3_int<int32_t>>},
    {op::v_max3_i16, run<I16(I16, I16, I16), maximum_of_3_int<int32_t>>},
    {op::v_med3_i16, run<I16(I16, I16, I16), median_of_3_int<int32_t>>},
    {op::v_min3_u16, run<U16(U16, U16, U16), minimum_of_3_int<uint32_t>>},
    {op::v_max3_u16, run<U16(U16, U16, U16), maximum_of_3_int<uint32_t>>},
    {op::v_med3_u16, run<U16(U16, U16, U16), median_of_3_int<uint32_t>>},
    {op::v_mad_u16,
     by_clamp<run<U16(U16, U16, U16), multiply_add>, run<U16(U16, U16, U16), multiply_add_saturating_u16>>},
    {op::v_mad_i16, by_clamp<run<I16(I16, I16, I16), multiply_add_i16>,
                             run<I16(I16, I16, I16), multiply_add_saturating_i16>>},
    {op::v_mad_legacy_u16, run<U16(U16, U16, U16), multiply_add>},
    {op::v_mad_legacy_i16, run<I16(I16, I16, I16), multiply_add_i16>},
};

// Whether a source is the same in all lanes.
bool is_uniform(const Inst& inst, unsigned n) {
  return inst.src[n] < code_vgpr && (unsigned{inst.neg} | inst.abs | inst.dpp) == 0;
}

// The upper word of a 64-bit value that is shifted left by less than 32.
inline uint32_t upper_word(uint32_t low, uint32_t high, unsigned amount) {
  return high << amount | low >> 1 >> (31 - amount);
}

// Addresses are computed by these, nearly always by a constant amount: two words at a time need not be put
// together and taken apart.
void shift_left_add_wide(Wave& wave, const Inst& inst) {
  if (!is_uniform(inst, 1)) {
    run<U64(U64, ZeroExtended, U64), shift_left_add_64>(wave, inst);
    return;
  }
  const unsigned amount = read_scalar(wave, inst, inst.src[1]) & 7u;
  Enable enable;
  const Source<U64> a(wave, inst, 0, enable);
  const Source<U64> b(wave, inst, 2, enable);
  const WordRows x = a.rows(), y = b.rows();
  WideTarget<U64> target(wave, inst, enable);
  uint32_t* const low = target.low();
  uint32_t* const high = target.high();
  KTRACE_EACH_LANE(l) {
    const uint32_t shifted = x.low[l] << amount;
    const uint32_t upper = upper_word(x.low[l], x.high[l], amount) + y.high[l];
    const uint32_t sum = shifted + y.low[l];
    low[l] = sum;
    high[l] = upper + (sum < shifted ? 1u : 0u);
  }
  target.commit(wave, inst, enable);
}

void shift_left_wide(Wave& wave, const Inst& inst) {
  const bool is_simple = is_uniform(inst, 0);
  const unsigned amount = is_simple ? read_scalar(wave, inst, inst.src[0]) & 63u : 0;
  if (!is_simple || amount > 31) {
    run<U64(ZeroExtended, U64), shift_left_64>(wave, inst);
    return;
  }
  Enable enable;
  const Source<U64> a(wave, inst, 1, enable);
  const WordRows x = a.rows();
  WideTarget<U64> target(wave, inst, enable);
  uint32_t* const low = target.low();
  uint32_t* const high = target.high();
  KTRACE_EACH_LANE(l) {
    const uint32_t upper = upper_word(x.low[l], x.high[l], amount);
    low[l] = x.low[l] << amount;
    high[l] = upper;
  }
  target.commit(wave, inst, enable);
}

constexpr OpHandler int64_ops[] = {
    {op::v_mov_b64, run<U64(U64), copy<uint64_t>>},
    {op::v_lshlrev_b64, shift_left_wide},
    {op::v_lshrrev_b64, run<U64(ZeroExtended, U64), shift_right_64>},
    {op::v_ashrrev_i64, run<I64(ZeroExtended, I64), shift_right_signed_64>},
    {op::v_lshl_add_u64, shift_left_add_wide},
};

}  // namespace

void add_integer_ops(HandlerTable& table) {
  table.add(int32_ops);
  table.add(int16_ops);
  table.add(int64_ops);
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
