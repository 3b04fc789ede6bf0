// Lane masks: from bits (EXEC, VCC, any SGPR pair) to a row of 0 or ~0, and back.
#pragma once

#include "vector/lanes/lanes.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

inline void expand_mask(uint64_t mask, Row& row) {
#if defined(__AVX512F__)
  for (unsigned l = 0; l < lanes; l += vector_lanes) {
    _mm512_store_si512(row.at + l, _mm512_movm_epi32(mask_of(mask, l)));
  }
#else
  const uint32_t half[2] = {static_cast<uint32_t>(mask), static_cast<uint32_t>(mask >> 32)};
  for (unsigned h = 0; h < 2; ++h) {
    for (unsigned l = 0; l < 32; ++l) {
      row.at[h * 32 + l] = 0u - (half[h] >> l & 1u);
    }
  }
#endif
}

// The top bit of every lane.
inline uint64_t collect_mask(const Row& row) {
  uint64_t mask = 0;
#if defined(__AVX512F__)
  for (unsigned l = 0; l < lanes; l += vector_lanes) {
    mask |= uint64_t{_mm512_movepi32_mask(_mm512_load_si512(row.at + l))} << l;
  }
#elif defined(__AVX2__)
  for (unsigned l = 0; l < lanes; l += 8) {
    const __m256 eight = _mm256_castsi256_ps(_mm256_load_si256(reinterpret_cast<const __m256i*>(row.at + l)));
    mask |= uint64_t{static_cast<uint32_t>(_mm256_movemask_ps(eight))} << l;
  }
#elif defined(__SSE2__)
  for (unsigned l = 0; l < lanes; l += 4) {
    const __m128 four = _mm_castsi128_ps(_mm_load_si128(reinterpret_cast<const __m128i*>(row.at + l)));
    mask |= uint64_t{static_cast<uint32_t>(_mm_movemask_ps(four))} << l;
  }
#else
  for (unsigned l = 0; l < lanes; ++l) {
    mask |= uint64_t{row.at[l] >> 31} << l;
  }
#endif
  return mask;
}

// The lanes of the mask. Whole vectors are stored: what reads the register next need not wait for parts of
// it.
inline void blend(const Row& row, uint64_t mask, uint32_t* to) {
#if defined(__AVX512F__)
  for (unsigned l = 0; l < lanes; l += vector_lanes) {
    const __m512i old = _mm512_load_si512(to + l);
    _mm512_store_si512(to + l, _mm512_mask_loadu_epi32(old, mask_of(mask, l), row.at + l));
  }
#else
  Row expanded;
  expand_mask(mask, expanded);
  KTRACE_EACH_LANE(l) { to[l] = (to[l] & ~expanded.at[l]) | (row.at[l] & expanded.at[l]); }
#endif
}

inline uint32_t as_mask(bool condition) { return 0u - static_cast<uint32_t>(condition); }

// The lane mask that conditional moves and carry chains read: an SGPR pair in the 64-bit form, else VCC.
inline uint64_t mask_operand(const Wave& wave, const Inst& inst) {
  return inst.vop3_form ? read_scalar64(wave, inst, inst.src[2], OperandType::integer) : wave.vcc();
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
