// Writing result rows to registers: under EXEC, with omod, clamp, SDWA's and op_sel's destinations and MODE's
// denormal bits.
#pragma once

#include <type_traits>

#include "vector/lanes/operand.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

void commit_sdwa(Wave& wave, const Inst& inst, const Row& row, uint64_t lane_mask);

// Under EXEC and `enable`.
inline void commit(Wave& wave, unsigned reg, const Row& row, Enable enable) {
  uint32_t* to = wave.vgpr(reg);
  const uint64_t written = wave.exec() & enable.lanes;
  if (__builtin_expect(written == ~uint64_t{0}, 1)) {
    std::memcpy(to, row.at, sizeof row.at);
#if !defined(__AVX512F__)
  } else if (written == wave.exec()) {
    const uint32_t* mask = wave.mask();
    KTRACE_EACH_LANE(l) { to[l] = (to[l] & ~mask[l]) | (row.at[l] & mask[l]); }
#endif
  } else {
    blend(row, written, to);
  }
}

// The result of an instruction with one 32-bit destination.
inline void commit_result(Wave& wave, const Inst& inst, const Row& row, Enable enable) {
  if (__builtin_expect(inst.may_be_modified && inst.sdwa, 0)) {
    commit_sdwa(wave, inst, row, wave.exec() & enable.lanes);
  } else {
    commit(wave, inst.dst, row, enable);
  }
}

// A 16-bit result zeroes the other half, except that op_sel[3] writes the high half and keeps the low one.
void commit_half(Wave& wave, const Inst& inst, Row& row, Enable enable);

// Output modifiers and flushing of a float result, in place.
void finish_f32(const Wave& wave, const Inst& inst, Row& row);
void finish_f16(const Wave& wave, const Inst& inst, RowF32& row);
void finish_f64(const Wave& wave, const Inst& inst, Row64& row);

inline bool finishes_plainly_f32(const Wave& wave, const Inst& inst) {
  return (!inst.may_be_modified || (inst.omod == 0 && !inst.clamp)) && (wave.mode & 0x20u) != 0;
}

inline bool finishes_plainly_f64(const Wave& wave, const Inst& inst) {
  return inst.omod == 0 && !inst.clamp && !flushes_half_outputs(wave);
}

template <class Type>
inline uint32_t bits_of(typename Type::Lane value) {
  return bits_as<uint32_t>(value);
}

// Every lane is written, and nothing changes the bits.
template <class Type>
inline bool writes_plainly(const Wave& wave, const Inst& inst, Enable enable) {
  const bool finishes_plainly = std::is_same_v<Type, F32>   ? finishes_plainly_f32(wave, inst)
                                : std::is_same_v<Type, F64> ? finishes_plainly_f64(wave, inst)
                                                            : true;
  return (wave.exec() & enable.lanes) == ~uint64_t{0} && finishes_plainly &&
         (!inst.may_be_modified || inst.dst_sel == sdwa_dword);
}

// Finishes and writes bits that an instruction has computed.
template <class Type>
inline void commit_bits(Wave& wave, const Inst& inst, Row& row, Enable enable) {
  if constexpr (source_kind<Type> == SourceKind::real32) {
    if (!finishes_plainly_f32(wave, inst)) {
      finish_f32(wave, inst, row);
    }
  }
  commit_result(wave, inst, row, enable);
}

template <class Type>
class Result {
 public:
  void set(unsigned l, typename Type::Lane value) { m_row.at[l] = bits_as<uint32_t>(value); }
  void commit(Wave& wave, const Inst& inst, Enable enable) { commit_result(wave, inst, m_row, enable); }

 private:
  Row m_row;
};

template <>
class Result<F32> {
 public:
  void set(unsigned l, float value) { m_row.at[l] = bits_as<uint32_t>(value); }
  void commit(Wave& wave, const Inst& inst, Enable enable) {
    if (__builtin_expect(!finishes_plainly_f32(wave, inst), 0)) {
      finish_f32(wave, inst, m_row);
    }
    commit_result(wave, inst, m_row, enable);
  }

 private:
  Row m_row;
};

template <class Type>
class HalfResult {
 public:
  void set(unsigned l, typename Type::Lane value) { m_row.at[l] = static_cast<uint32_t>(value) & 0xffffu; }
  void commit(Wave& wave, const Inst& inst, Enable enable) { commit_half(wave, inst, m_row, enable); }

 private:
  Row m_row;
};
template <>
class Result<U16> : public HalfResult<U16> {};
template <>
class Result<I16> : public HalfResult<I16> {};

template <>
class Result<F16> {
 public:
  void set(unsigned l, float value) { m_values.at[l] = value; }
  void commit(Wave& wave, const Inst& inst, Enable enable) {
    finish_f16(wave, inst, m_values);
    Row row;
    narrow_halves(wave, m_values, row);
    commit_half(wave, inst, row, enable);
  }

 private:
  RowF32 m_values;
};

template <class Type>
class WideResult {
 public:
  void set(unsigned l, typename Type::Lane value) {
    const uint64_t bits = bits_as<uint64_t>(value);
    m_low.at[l] = static_cast<uint32_t>(bits);
    m_high.at[l] = static_cast<uint32_t>(bits >> 32);
  }
  uint32_t* low() { return m_low.at; }
  uint32_t* high() { return m_high.at; }
  void commit(Wave& wave, const Inst& inst, Enable enable) {
    softdev::KTRACE_SOFTDEV_ISA::commit(wave, inst.dst, m_low, enable);
    softdev::KTRACE_SOFTDEV_ISA::commit(wave, inst.dst + 1u, m_high, enable);
  }

 protected:
  Row m_low;
  Row m_high;
};
template <>
class Result<U64> : public WideResult<U64> {};
template <>
class Result<I64> : public WideResult<I64> {};
template <>
class Result<F64> : public WideResult<F64> {
 public:
  void commit(Wave& wave, const Inst& inst, Enable enable) {
    if (__builtin_expect(!finishes_plainly_f64(wave, inst), 0)) {
      Row64 row;
      KTRACE_EACH_LANE(l) { row.at[l] = m_low.at[l] | uint64_t{m_high.at[l]} << 32; }
      finish_f64(wave, inst, row);
      KTRACE_EACH_LANE(l) { set(l, bits_as<double>(row.at[l])); }
    }
    WideResult<F64>::commit(wave, inst, enable);
  }
};

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
