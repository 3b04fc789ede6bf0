// The less frequent ways to read operands: scalars, modifiers, DPP, SDWA.
#include "vector/lanes/operand.hpp"

#include <cmath>

#include "vector/lanes/dpp.hpp"
#include "vector/lanes/masks.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {
namespace {

void select_sdwa(const Inst& inst, unsigned n, const uint32_t* from, Row& row) {
  const unsigned select = inst.src_sel[n];
  const bool extends_sign = (inst.src_sext >> n & 1) != 0;
  const unsigned width = select < sdwa_word0 ? 8u : 16u;
  const unsigned shift = select < sdwa_word0 ? select * 8u : (select - sdwa_word0) * 16u;
  const unsigned unused = 32u - width;
  if (extends_sign) {
    KTRACE_EACH_LANE(l) {
      row.at[l] = static_cast<uint32_t>(static_cast<int32_t>(from[l] >> shift << unused) >> unused);
    }
  } else {
    const uint32_t kept = ~0u >> unused;
    KTRACE_EACH_LANE(l) { row.at[l] = from[l] >> shift & kept; }
  }
}

// The flush of MODE keeps the sign.
uint32_t flushed_f32(uint32_t bits) { return (bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits; }

uint32_t flushed_f16(uint32_t bits) { return (bits & 0x7c00u) == 0 ? bits & 0x8000u : bits; }
uint64_t flushed_f64(uint64_t bits) {
  return (bits & 0x7ff0000000000000u) == 0 ? bits & 0x8000000000000000u : bits;
}

}  // namespace

void flush_floats(Row& row) {
  KTRACE_EACH_LANE(l) { row.at[l] = flushed_f32(row.at[l]); }
}
void flush_half_values(RowF32& values) {
  constexpr float smallest_normal = 0x1p-14f;
  KTRACE_EACH_LANE(l) {
    const float value = values.at[l];
    values.at[l] = std::fabs(value) < smallest_normal ? std::copysign(0.0f, value) : value;
  }
}
void flush_half_patterns(Row& row) {
  KTRACE_EACH_LANE(l) { row.at[l] = flushed_f16(row.at[l]); }
}
void flush_doubles(Row64& row) {
  KTRACE_EACH_LANE(l) { row.at[l] = flushed_f64(row.at[l]); }
}

const uint32_t* fetch_modified(Wave& wave, const Inst& inst, unsigned n, SourceKind kind, Row& scratch,
                               Enable& enable) {
  const unsigned code = inst.src[n];
  const uint32_t* row = scratch.at;
  if (code >= code_vgpr) {
    row = wave.vgpr(code - code_vgpr);
    if (inst.dpp && n == 0) {
      enable.lanes &= permute_dpp(wave, inst, row, scratch.at);
      row = scratch.at;
    }
  } else {
    const uint32_t value =
        kind == SourceKind::half ? read_scalar16(wave, inst, code) : read_scalar(wave, inst, code);
    KTRACE_EACH_LANE(l) { scratch.at[l] = value; }
  }
  if (inst.sdwa && n < 2 && inst.src_sel[n] != sdwa_dword) {
    select_sdwa(inst, n, row, scratch);
    row = scratch.at;
  }
  if (kind == SourceKind::half && !inst.sdwa && (inst.op_sel >> n & 1) != 0) {
    KTRACE_EACH_LANE(l) { scratch.at[l] = row[l] >> 16; }
    row = scratch.at;
  }
  const uint32_t sign = kind == SourceKind::half ? 0x8000u : 0x80000000u;
  if ((inst.abs >> n & 1) != 0) {
    KTRACE_EACH_LANE(l) { scratch.at[l] = row[l] & ~sign; }
    row = scratch.at;
  }
  if ((inst.neg >> n & 1) != 0) {
    KTRACE_EACH_LANE(l) { scratch.at[l] = row[l] ^ sign; }
    row = scratch.at;
  }
  if (kind == SourceKind::real32 && (wave.mode & 0x10u) == 0) {
    KTRACE_EACH_LANE(l) { scratch.at[l] = flushed_f32(row[l]); }
    row = scratch.at;
  }
  return row;
}

WordRows flushed_words(WordRows rows, Row& low, Row& high) {
  Row64 row;
  KTRACE_EACH_LANE(l) { row.at[l] = rows.low[l] | uint64_t{rows.high[l]} << 32; }
  flush_doubles(row);
  KTRACE_EACH_LANE(l) { low.at[l] = static_cast<uint32_t>(row.at[l]); }
  KTRACE_EACH_LANE(l) { high.at[l] = static_cast<uint32_t>(row.at[l] >> 32); }
  return {low.at, high.at};
}

WordRows fetch_modified_words(Wave& wave, const Inst& inst, unsigned n, OperandType type, Row& low, Row& high,
                              Enable& enable) {
  const unsigned code = inst.src[n];
  WordRows rows{low.at, high.at};
  if (code < code_vgpr) {
    const uint64_t value = read_scalar64(wave, inst, code, type);
    KTRACE_EACH_LANE(l) { low.at[l] = static_cast<uint32_t>(value); }
    KTRACE_EACH_LANE(l) { high.at[l] = static_cast<uint32_t>(value >> 32); }
  } else {
    rows = {wave.vgpr(code - code_vgpr), wave.vgpr(code - code_vgpr + 1u)};
    if (__builtin_expect(inst.dpp && n == 0, 0)) {
      enable.lanes &= permute_dpp(wave, inst, rows.low, low.at);
      permute_dpp(wave, inst, rows.high, high.at);
      rows = {low.at, high.at};
    }
  }
  constexpr uint32_t sign = 0x80000000u;  // in the high word
  if ((inst.abs >> n & 1) != 0) {
    KTRACE_EACH_LANE(l) { high.at[l] = rows.high[l] & ~sign; }
    rows.high = high.at;
  }
  if ((inst.neg >> n & 1) != 0) {
    KTRACE_EACH_LANE(l) { high.at[l] = rows.high[l] ^ sign; }
    rows.high = high.at;
  }
  const bool flushes = type == OperandType::real && flushes_half_inputs(wave);
  return flushes ? flushed_words(rows, low, high) : rows;
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
