// Reading source operands into rows: here the modifiers of sources (neg, abs, op_sel, SDWA, DPP) and MODE's
// denormal bits take effect.
#pragma once

#include <cstddef>

#include "vector/lanes/half.hpp"
#include "vector/lanes/lanes.hpp"
#include "vector/lanes/masks.hpp"
#include "vector/lanes/wide_block.hpp"

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
inline bool reads_plainly(const Wave& wave, const Inst& inst, unsigned n, SourceKind kind) {
  const bool flushes = kind == SourceKind::real32 && (wave.mode & 0x10u) == 0;
  if (__builtin_expect(!inst.may_be_modified, 1)) {
    return !flushes;
  }
  const unsigned selected = n < 2 ? unsigned{inst.src_sel[n]} ^ sdwa_dword : 0u;
  const unsigned modifiers = unsigned{inst.neg} | inst.abs | inst.dpp | selected |
                             (kind == SourceKind::half ? inst.op_sel & 7u : 0u);
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
  if (__builtin_expect(code >= code_vgpr && reads_plainly(wave, inst, n, kind), 1)) {
    return wave.vgpr(code - code_vgpr);
  }
  constexpr unsigned inline_zero = 128, inline_end = 249;
  const bool is_scalar = code < 128 || (code == code_literal && kind != SourceKind::half) ||
                         (code >= inline_zero && code < inline_end && kind != SourceKind::half);
  if (is_scalar && reads_plainly(wave, inst, n, kind)) {
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
  const uint32_t* row() const { return m_row; }

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
// Doubles in which denormals are zeros: rows of the two that are given.
WordRows flushed_words(WordRows rows, Row& low, Row& high);
// The general case.
WordRows fetch_modified_words(Wave& wave, const Inst& inst, unsigned n, OperandType type, Row& low, Row& high,
                              Enable& enable);

inline WordRows fetch_words(Wave& wave, const Inst& inst, unsigned n, OperandType type, Row& low, Row& high,
                            Enable& enable) {
  const unsigned code = inst.src[n];
  const bool flushes = type == OperandType::real && flushes_half_inputs(wave);
  const bool is_plain =
      (!inst.may_be_modified || (unsigned{inst.neg} | inst.abs | inst.dpp) == 0) && !flushes;
  if (__builtin_expect(code >= code_vgpr && is_plain, 1)) {
    return {wave.vgpr(code - code_vgpr), wave.vgpr(code - code_vgpr + 1u)};
  }
  if (code < code_exec && is_plain) {
    const uint32_t words[] = {wave.sgpr[code], wave.sgpr[code + 1]};
    KTRACE_EACH_LANE(l) { low.at[l] = words[0]; }
    KTRACE_EACH_LANE(l) { high.at[l] = words[1]; }
    return {low.at, high.at};
  }
  return fetch_modified_words(wave, inst, n, type, low, high, enable);
}

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
  WordRows rows() const { return m_rows; }
  WideBlock<typename Type::Lane> block(unsigned first) const {
    WideBlock<typename Type::Lane> values;
    interleave(m_rows.low + first, m_rows.high + first, values);
    return values;
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

template <>
class Source<ZeroExtended> {
 public:
  Source(Wave& wave, const Inst& inst, unsigned n, Enable& enable)
      : m_row(fetch(wave, inst, n, SourceKind::bits32, m_scratch, enable)) {}
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  WideBlock<uint64_t> block(unsigned first) const {
    constexpr uint32_t zeros[block_lanes] = {};
    WideBlock<uint64_t> values;
    interleave(m_row + first, zeros, values);
    return values;
  }

 private:
  Row m_scratch;
  const uint32_t* m_row;
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
  Source(Wave& wave, const Inst& inst, unsigned, Enable&)
      : m_rows{wave.vgpr(inst.dst), wave.vgpr(inst.dst + 1u)} {
    if (__builtin_expect(flushes_half_inputs(wave), 0)) {
      m_rows = flushed_words(m_rows, m_low, m_high);
    }
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  WideBlock<double> block(unsigned first) const {
    WideBlock<double> values;
    interleave(m_rows.low + first, m_rows.high + first, values);
    return values;
  }

 private:
  Row m_low;
  Row m_high;
  WordRows m_rows;
};

// Operands that can be read in blocks of 64-bit values.
template <class Type>
constexpr bool gives_blocks = is_two_registers<Type>;
template <>
inline constexpr bool gives_blocks<ZeroExtended> = true;
template <>
inline constexpr bool gives_blocks<Old<F64>> = true;

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
