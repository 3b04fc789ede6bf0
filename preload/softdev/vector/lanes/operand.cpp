// The less frequent ways to read and write operands: scalars, modifiers, DPP, SDWA, partial writes.
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
    KTRACE_EACH_LANE(l) { row.at[l] = from[l] >> shift << unused >> unused; }
  }
}

// The flush of MODE keeps the sign.
uint32_t flushed_f32(uint32_t bits) { return (bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits; }

uint32_t flushed_f16(uint32_t bits) { return (bits & 0x7c00u) == 0 ? bits & 0x8000u : bits; }
uint64_t flushed_f64(uint64_t bits) {
  return (bits & 0x7ff0000000000000u) == 0 ? bits & 0x8000000000000000u : bits;
}

template <class Float>
Float clamped(Float value, bool nan_is_zero) {
  const Float inside = value >= 1 ? Float{1} : value > 0 ? value : Float{0};
  return value != value && !nan_is_zero ? value : inside;
}

template <class Float>
Float scaled(Float value, unsigned omod) {
  const Float factor = omod == 1 ? Float{2} : omod == 2 ? Float{4} : omod == 3 ? Float(0.5) : Float{1};
  return value * factor;
}

// Hardware ignores omod where output denormals are on.
unsigned effective_omod(const Wave& wave, const Inst& inst, uint32_t output_denormals) {
  return (wave.mode & output_denormals) != 0 ? 0u : inst.omod;
}

bool clamps_nan(const Wave& wave) { return (wave.mode & mode_dx10_clamp) != 0; }

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

WordRows fetch_words(Wave& wave, const Inst& inst, unsigned n, OperandType type, Row& low, Row& high,
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
  if (type == OperandType::real && __builtin_expect(flushes_half_inputs(wave), 0)) {
    Row64 row;
    KTRACE_EACH_LANE(l) { row.at[l] = rows.low[l] | uint64_t{rows.high[l]} << 32; }
    flush_doubles(row);
    KTRACE_EACH_LANE(l) { low.at[l] = static_cast<uint32_t>(row.at[l]); }
    KTRACE_EACH_LANE(l) { high.at[l] = static_cast<uint32_t>(row.at[l] >> 32); }
    rows = {low.at, high.at};
  }
  return rows;
}

void commit_masked(Wave& wave, unsigned reg, const Row& row, uint64_t lane_mask) {
  uint32_t* to = wave.vgpr(reg);
  Row mask;
  expand_mask(lane_mask, mask);
  KTRACE_EACH_LANE(l) { to[l] = (to[l] & ~mask.at[l]) | (row.at[l] & mask.at[l]); }
}

void commit_sdwa(Wave& wave, const Inst& inst, const Row& row, uint64_t lane_mask) {
  if (inst.dst_sel == sdwa_dword) {
    commit(wave, inst.dst, row, Enable{lane_mask});
    return;
  }
  const uint32_t* old = wave.vgpr(inst.dst);
  const bool byte = inst.dst_sel < sdwa_word0;
  const unsigned width = byte ? 8u : 16u;
  const unsigned shift = byte ? inst.dst_sel * 8u : (inst.dst_sel - sdwa_word0) * 16u;
  const uint32_t field = (byte ? 0xffu : 0xffffu) << shift;
  const unsigned above = 32u - shift - width;
  Row merged;
  KTRACE_EACH_LANE(l) {
    const uint32_t value = row.at[l] << shift & field;
    const uint32_t extended =
        static_cast<uint32_t>(static_cast<int32_t>(row.at[l] << (32u - width)) >> above) & (~0u << shift);
    merged.at[l] = inst.dst_unused == 2 ? (old[l] & ~field) | value : inst.dst_unused == 1 ? extended : value;
  }
  commit_masked(wave, inst.dst, merged, lane_mask);
}

void commit_half(Wave& wave, const Inst& inst, Row& row, Enable enable) {
  if ((inst.op_sel & 8u) != 0 && !inst.sdwa) {
    const uint32_t* old = wave.vgpr(inst.dst);
    KTRACE_EACH_LANE(l) { row.at[l] = (old[l] & 0xffffu) | row.at[l] << 16; }
  }
  commit_result(wave, inst, row, enable);
}

void finish_f32(const Wave& wave, const Inst& inst, Row& row) {
  const unsigned omod = effective_omod(wave, inst, 0x20u);
  if (omod != 0) {
    KTRACE_EACH_LANE(l) { row.at[l] = bits_as<uint32_t>(scaled(bits_as<float>(row.at[l]), omod)); }
  }
  if (inst.clamp) {
    const bool nan_is_zero = clamps_nan(wave);
    KTRACE_EACH_LANE(l) { row.at[l] = bits_as<uint32_t>(clamped(bits_as<float>(row.at[l]), nan_is_zero)); }
  }
  if ((wave.mode & 0x20u) == 0) {
    KTRACE_EACH_LANE(l) { row.at[l] = flushed_f32(row.at[l]); }
  }
}

void finish_f16(const Wave& wave, const Inst& inst, RowF32& row) {
  const unsigned omod = effective_omod(wave, inst, 0x80u);
  if (omod != 0) {
    KTRACE_EACH_LANE(l) { row.at[l] = scaled(row.at[l], omod); }
  }
  if (inst.clamp) {
    const bool nan_is_zero = clamps_nan(wave);
    KTRACE_EACH_LANE(l) { row.at[l] = clamped(row.at[l], nan_is_zero); }
  }
}

void finish_f64(const Wave& wave, const Inst& inst, Row64& row) {
  const unsigned omod = effective_omod(wave, inst, 0x80u);
  if (omod != 0) {
    KTRACE_EACH_LANE(l) { row.at[l] = bits_as<uint64_t>(scaled(bits_as<double>(row.at[l]), omod)); }
  }
  if (inst.clamp) {
    const bool nan_is_zero = clamps_nan(wave);
    KTRACE_EACH_LANE(l) { row.at[l] = bits_as<uint64_t>(clamped(bits_as<double>(row.at[l]), nan_is_zero)); }
  }
  if (flushes_half_outputs(wave)) {
    flush_doubles(row);
  }
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
