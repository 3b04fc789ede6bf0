// Sources of VOP3P instructions: 16-bit halves picked by op_sel (low result) and op_sel_hi (high result).
#pragma once

#include "vector/lanes/operand.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

inline bool bit_of(unsigned bits, unsigned n) { return (bits >> n & 1u) != 0; }

// A source as it stands, without modifiers.
inline const uint32_t* raw_source(Wave& wave, const Inst& inst, unsigned n, bool inline_half, Row& scratch) {
  const unsigned code = inst.src[n];
  if (code >= code_vgpr) {
    return wave.vgpr(code - code_vgpr);
  }
  const uint32_t value = inline_half ? read_scalar16(wave, inst, code) : read_scalar(wave, inst, code);
  KTRACE_EACH_LANE(l) { scratch.at[l] = value; }
  return scratch.at;
}

// ---- pairs of 16-bit values

enum class Half : uint8_t { low, high };

template <class Type>
class HalfSource;

// 16-bit halves of one source, as patterns.
inline void select_half(Wave& wave, const Inst& inst, unsigned n, Half half, bool real, Row& row) {
  Row scratch;
  const uint32_t* whole = raw_source(wave, inst, n, real, scratch);
  const bool from_high = bit_of(half == Half::low ? inst.op_sel : inst.op_sel_hi, n);
  const bool negated = bit_of(half == Half::low ? inst.neg : inst.neg_hi, n);
  const unsigned shift = from_high ? 16 : 0;
  const uint32_t flip = negated ? 0x8000u : 0u;
  KTRACE_EACH_LANE(l) { row.at[l] = (whole[l] >> shift & 0xffffu) ^ flip; }
}

template <>
class HalfSource<U16> {
 public:
  HalfSource(Wave& wave, const Inst& inst, unsigned n, Half half) {
    select_half(wave, inst, n, half, false, m_row);
  }
  uint32_t operator[](unsigned l) const { return m_row.at[l]; }

 private:
  Row m_row;
};
template <>
class HalfSource<I16> {
 public:
  HalfSource(Wave& wave, const Inst& inst, unsigned n, Half half) {
    select_half(wave, inst, n, half, false, m_row);
  }
  int32_t operator[](unsigned l) const { return static_cast<int32_t>(m_row.at[l] << 16) >> 16; }

 private:
  Row m_row;
};
template <>
class HalfSource<F16> {
 public:
  HalfSource(Wave& wave, const Inst& inst, unsigned n, Half half) {
    Row row;
    select_half(wave, inst, n, half, true, row);
    widen_halves(wave, row.at, m_values);
  }
  float operator[](unsigned l) const { return m_values.at[l]; }

 private:
  RowF32 m_values;
};

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
