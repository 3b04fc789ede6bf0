// Scalar comparisons and arithmetic with an immediate: SOPC and SOPK.
#include <cstdint>

#include "core/dispatch.hpp"
#include "core/scalar_operands.hpp"

namespace ktrace::softdev {

namespace {

#define KTRACE_COMPARE(expression)                           \
  [](Wave& wave, const Inst& inst) {                         \
    const uint32_t a = a32(wave, inst), b = b32(wave, inst); \
    wave.scc = expression;                                   \
  }

void bitcmp0_b64(Wave& wave, const Inst& inst) {
  wave.scc = !(a64(wave, inst) >> (b32(wave, inst) & 63) & 1);
}
void bitcmp1_b64(Wave& wave, const Inst& inst) { wave.scc = a64(wave, inst) >> (b32(wave, inst) & 63) & 1; }
void cmp_eq_u64(Wave& wave, const Inst& inst) { wave.scc = a64(wave, inst) == b64(wave, inst); }
void cmp_lg_u64(Wave& wave, const Inst& inst) { wave.scc = a64(wave, inst) != b64(wave, inst); }

// M0 holds the index in its low byte and in bits 12..15 which operands it applies to (src0, src1, src2, dst).
void set_gpr_idx_on(Wave& wave, const Inst& inst) {
  wave.gpr_index_on = true;
  wave.sgpr[code_m0] = (wave.sgpr[code_m0] & ~0xf0ffu) | (a32(wave, inst) & 0xff) | (inst.src[1] & 15u) << 12;
}

// The immediate k is signed; unsigned comparisons zero extend its 16 bits.
#define KTRACE_COMPARE_K(expression)        \
  [](Wave& wave, const Inst& inst) {        \
    const uint32_t d = wave.sgpr[inst.dst]; \
    const int32_t k = inst.imm;             \
    wave.scc = expression;                  \
  }
uint32_t low16(int32_t k) { return static_cast<uint32_t>(k) & 0xffff; }

void movk_i32(Wave& wave, const Inst& inst) { set32(wave, inst, static_cast<uint32_t>(inst.imm)); }
void cmovk_i32(Wave& wave, const Inst& inst) {
  if (wave.scc) {
    movk_i32(wave, inst);
  }
}
void addk_i32(Wave& wave, const Inst& inst) {
  const uint32_t a = wave.sgpr[inst.dst], b = static_cast<uint32_t>(inst.imm), sum = a + b;
  set32(wave, inst, sum);
  wave.scc = (~(a ^ b) & (a ^ sum)) >> 31;
}
void mulk_i32(Wave& wave, const Inst& inst) {
  set32(wave, inst, wave.sgpr[inst.dst] * static_cast<uint32_t>(inst.imm));
}

}  // namespace

Handler sopc_handler(uint16_t op) {
  switch (op) {
    case 0:
    case 6:
      return KTRACE_COMPARE(a == b);
    case 1:
    case 7:
      return KTRACE_COMPARE(a != b);
    case 2:
      return KTRACE_COMPARE(as_signed(a) > as_signed(b));
    case 3:
      return KTRACE_COMPARE(as_signed(a) >= as_signed(b));
    case 4:
      return KTRACE_COMPARE(as_signed(a) < as_signed(b));
    case 5:
      return KTRACE_COMPARE(as_signed(a) <= as_signed(b));
    case 8:
      return KTRACE_COMPARE(a > b);
    case 9:
      return KTRACE_COMPARE(a >= b);
    case 10:
      return KTRACE_COMPARE(a < b);
    case 11:
      return KTRACE_COMPARE(a <= b);
    case 12:
      return KTRACE_COMPARE(!(a >> (b & 31) & 1));
    case 13:
      return KTRACE_COMPARE(a >> (b & 31) & 1);
    case 14:
      return bitcmp0_b64;
    case 15:
      return bitcmp1_b64;
    case 17:
      return set_gpr_idx_on;
    case 18:
      return cmp_eq_u64;
    case 19:
      return cmp_lg_u64;
    default:
      return nullptr;
  }
}

Handler sopk_handler(uint16_t op) {
  switch (op) {
    case 0:
      return movk_i32;
    case 1:
      return cmovk_i32;
    case 2:
      return KTRACE_COMPARE_K(as_signed(d) == k);
    case 3:
      return KTRACE_COMPARE_K(as_signed(d) != k);
    case 4:
      return KTRACE_COMPARE_K(as_signed(d) > k);
    case 5:
      return KTRACE_COMPARE_K(as_signed(d) >= k);
    case 6:
      return KTRACE_COMPARE_K(as_signed(d) < k);
    case 7:
      return KTRACE_COMPARE_K(as_signed(d) <= k);
    case 8:
      return KTRACE_COMPARE_K(d == low16(k));
    case 9:
      return KTRACE_COMPARE_K(d != low16(k));
    case 10:
      return KTRACE_COMPARE_K(d > low16(k));
    case 11:
      return KTRACE_COMPARE_K(d >= low16(k));
    case 12:
      return KTRACE_COMPARE_K(d < low16(k));
    case 13:
      return KTRACE_COMPARE_K(d <= low16(k));
    case 14:
      return addk_i32;
    case 15:
      return mulk_i32;
    default:
      return nullptr;
  }
}

}  // namespace ktrace::softdev
