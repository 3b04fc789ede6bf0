// The less frequent ways to write results: output modifiers, SDWA, halves of registers.
#include "vector/lanes/results.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {
namespace {

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
  commit(wave, inst.dst, merged, Enable{lane_mask});
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
    flush_floats(row);
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
