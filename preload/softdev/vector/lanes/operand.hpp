// Reading source operands into rows, and writing result rows to registers: here the modifiers of an
// instruction (neg, abs, op_sel, omod, clamp, SDWA, DPP) and MODE's denormal bits take effect.
#pragma once

#include <cstddef>
#include <type_traits>

#include "vector/lanes/half.hpp"
#include "vector/lanes/lanes.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

// Lanes that the instruction may write besides EXEC: DPP switches lanes off whose source lane is invalid.
struct Enable {
  uint64_t lanes = ~uint64_t{0};
};

// What the bits of a source are, as far as fetching them depends on it.
enum class SourceKind : uint8_t { bits32, real32, half };

template <class Type>
constexpr SourceKind source_kind = is_half_width<Type> ? SourceKind::half : SourceKind::bits32;
template <>
inline constexpr SourceKind source_kind<F32> = SourceKind::real32;

// No modifier touches a VGPR source: it can be read where it is.
inline bool reads_plainly(const Wave& wave, const Inst& inst, SourceKind kind) {
  const unsigned modifiers = unsigned{inst.neg} | inst.abs | inst.sdwa | inst.dpp |
                             (kind == SourceKind::half ? inst.op_sel & 7u : 0u);
  const bool flushes = kind == SourceKind::real32 && (wave.mode & 0x10u) == 0;
  return modifiers == 0 && !flushes;
}

// MODE's denormal bits of f16 and f64.
inline bool flushes_half_inputs(const Wave& wave) { return (wave.mode & 0x40u) == 0; }
inline bool flushes_half_outputs(const Wave& wave) { return (wave.mode & 0x80u) == 0; }

// The flush keeps the sign.
void flush_floats(Row& row);
void flush_half_values(RowF32& values);
void flush_half_patterns(Row& row);
void flush_doubles(Row64& row);

// f16 patterns as floats.
inline void widen_halves(const Wave& wave, const uint32_t* from, RowF32& values) {
  widen_half_row(from, values.at);
  if (__builtin_expect(flushes_half_inputs(wave), 0)) {
    flush_half_values(values);
  }
}
// Floats as f16 patterns.
inline void narrow_halves(const Wave& wave, const RowF32& values, Row& row) {
  narrow_half_row(values.at, row.at, rounding_f16(wave));
  if (__builtin_expect(flushes_half_outputs(wave), 0)) {
    flush_half_patterns(row);
  }
}

// The general case of fetch. Returns `scratch`, filled; or a register's row.
const uint32_t* fetch_modified(Wave& wave, const Inst& inst, unsigned n, SourceKind kind, Row& scratch,
                               Enable& enable);

// A row of 32-bit patterns. 16-bit kinds have their value in the low half and anything above it.
inline const uint32_t* fetch(Wave& wave, const Inst& inst, unsigned n, SourceKind kind, Row& scratch,
                             Enable& enable) {
  const unsigned code = inst.src[n];
  if (__builtin_expect(code >= code_vgpr && reads_plainly(wave, inst, kind), 1)) {
    return wave.vgpr(code - code_vgpr);
  }
  constexpr unsigned inline_zero = 128, inline_end = 249;
  const bool is_scalar = code < 128 || (code == code_literal && kind != SourceKind::half) ||
                         (code >= inline_zero && code < inline_end && kind != SourceKind::half);
  if (is_scalar && reads_plainly(wave, inst, kind)) {
    const uint32_t value = code < 128 ? wave.sgpr[code] : read_scalar(wave, inst, code);
    KTRACE_EACH_LANE(l) { scratch.at[l] = value; }
    return scratch.at;
  }
  return fetch_modified(wave, inst, n, kind, scratch, enable);
}

// One operand, ready for the lane loop.
template <class Type>
class Source {
 public:
  Source(Wave& wave, const Inst& inst, unsigned n, Enable& enable)
      : m_row(fetch(wave, inst, n, source_kind<Type>, m_scratch, enable)) {}
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  typename Type::Lane operator[](unsigned l) const { return bits_as<typename Type::Lane>(m_row[l]); }

 private:
  Row m_scratch;
  const uint32_t* m_row;
};

template <>
inline uint32_t Source<U16>::operator[](unsigned l) const {
  return m_row[l] & 0xffffu;
}
template <>
inline int32_t Source<I16>::operator[](unsigned l) const {
  return static_cast<int32_t>(m_row[l] << 16) >> 16;
}

template <>
class Source<F16> {
 public:
  Source(Wave& wave, const Inst& inst, unsigned n, Enable& enable) {
    Row scratch;
    widen_halves(wave, fetch(wave, inst, n, SourceKind::half, scratch, enable), m_values);
  }
  float operator[](unsigned l) const { return m_values.at[l]; }

 private:
  RowF32 m_values;
};

// The low and the high words of 64-bit values. `enable` as for fetch.
struct WordRows {
  const uint32_t* low;
  const uint32_t* high;
};
WordRows fetch_words(Wave& wave, const Inst& inst, unsigned n, OperandType type, Row& low, Row& high,
                     Enable& enable);

template <class Type, OperandType operand_type>
class WideSource {
 public:
  WideSource(Wave& wave, const Inst& inst, unsigned n, Enable& enable)
      : m_rows(fetch_words(wave, inst, n, operand_type, m_low, m_high, enable)) {}
  WideSource(const WideSource&) = delete;
  WideSource& operator=(const WideSource&) = delete;
  typename Type::Lane operator[](unsigned l) const {
    return bits_as<typename Type::Lane>(m_rows.low[l] | uint64_t{m_rows.high[l]} << 32);
  }

 private:
  Row m_low;
  Row m_high;
  WordRows m_rows;
};
template <>
class Source<U64> : public WideSource<U64, OperandType::integer> {
  using WideSource::WideSource;
};
template <>
class Source<I64> : public WideSource<I64, OperandType::integer> {
  using WideSource::WideSource;
};
template <>
class Source<F64> : public WideSource<F64, OperandType::real> {
  using WideSource::WideSource;
};

template <class Type>
class Source<Old<Type>> {
 public:
  Source(Wave& wave, const Inst& inst, unsigned, Enable&) : m_row(wave.vgpr(inst.dst)) {}
  typename Type::Lane operator[](unsigned l) const { return bits_as<typename Type::Lane>(m_row[l]); }

 private:
  const uint32_t* m_row;
};
template <>
class Source<Old<F32>> {
 public:
  Source(Wave& wave, const Inst& inst, unsigned, Enable&) : m_row(wave.vgpr(inst.dst)) {
    if (__builtin_expect((wave.mode & 0x10u) == 0, 0)) {
      std::memcpy(m_scratch.at, m_row, sizeof m_scratch.at);
      flush_floats(m_scratch);
      m_row = m_scratch.at;
    }
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  float operator[](unsigned l) const { return bits_as<float>(m_row[l]); }

 private:
  Row m_scratch;
  const uint32_t* m_row;
};
template <>
class Source<Old<F16>> {
 public:
  Source(Wave& wave, const Inst& inst, unsigned, Enable&) {
    widen_halves(wave, wave.vgpr(inst.dst), m_values);
  }
  float operator[](unsigned l) const { return m_values.at[l]; }

 private:
  RowF32 m_values;
};
template <>
class Source<Old<F64>> {
 public:
  Source(Wave& wave, const Inst& inst, unsigned, Enable&) {
    const uint32_t* low = wave.vgpr(inst.dst);
    const uint32_t* high = wave.vgpr(inst.dst + 1u);
    KTRACE_EACH_LANE(l) { m_row.at[l] = low[l] | uint64_t{high[l]} << 32; }
    if (__builtin_expect(flushes_half_inputs(wave), 0)) {
      flush_doubles(m_row);
    }
  }
  double operator[](unsigned l) const { return bits_as<double>(m_row.at[l]); }

 private:
  Row64 m_row;
};

// ---- results

// Writes a row under EXEC and `enable`.
void commit_masked(Wave& wave, unsigned reg, const Row& row, uint64_t lane_mask);
void commit_sdwa(Wave& wave, const Inst& inst, const Row& row, uint64_t lane_mask);

inline void commit(Wave& wave, unsigned reg, const Row& row, Enable enable) {
  uint32_t* to = wave.vgpr(reg);
  const uint64_t exec = wave.exec();
  if (__builtin_expect((exec & enable.lanes) == ~uint64_t{0}, 1)) {
    std::memcpy(to, row.at, sizeof row.at);
  } else if ((exec & ~enable.lanes) == 0) {
    const uint32_t* mask = wave.mask();
    KTRACE_EACH_LANE(l) { to[l] = (to[l] & ~mask[l]) | (row.at[l] & mask[l]); }
  } else {
    commit_masked(wave, reg, row, exec & enable.lanes);
  }
}

// The result of an instruction with one 32-bit destination.
inline void commit_result(Wave& wave, const Inst& inst, const Row& row, Enable enable) {
  if (__builtin_expect(inst.sdwa, 0)) {
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
  return inst.omod == 0 && !inst.clamp && (wave.mode & 0x20u) != 0;
}

inline bool finishes_plainly_f64(const Wave& wave, const Inst& inst) {
  return inst.omod == 0 && !inst.clamp && !flushes_half_outputs(wave);
}

// Results of one register whose bits need no conversion.
template <class Type>
constexpr bool is_one_register = false;
template <>
inline constexpr bool is_one_register<U32> = true;
template <>
inline constexpr bool is_one_register<I32> = true;
template <>
inline constexpr bool is_one_register<F32> = true;

template <class Type>
constexpr bool is_two_registers = false;
template <>
inline constexpr bool is_two_registers<U64> = true;
template <>
inline constexpr bool is_two_registers<I64> = true;
template <>
inline constexpr bool is_two_registers<F64> = true;

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
  return (wave.exec() & enable.lanes) == ~uint64_t{0} && !inst.sdwa && finishes_plainly;
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
