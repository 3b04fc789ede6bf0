// Scalar arithmetic with one operand, and the operations on EXEC.
#include <cstdint>

#include "core/dispatch.hpp"
#include "core/scalar_operands.hpp"

namespace ktrace::softdev {

namespace {

#define KTRACE_UNARY(read, write, expression) \
  [](Wave& wave, const Inst& inst) {          \
    const auto a = read(wave, inst);          \
    write(wave, inst, expression);            \
  }

uint32_t reverse(uint32_t value) {
  uint32_t result = 0;
  for (unsigned k = 0; k < 32; ++k) {
    result |= (value >> k & 1) << (31 - k);
  }
  return result;
}
uint64_t reverse(uint64_t value) {
  return uint64_t{reverse(static_cast<uint32_t>(value))} << 32 | reverse(static_cast<uint32_t>(value >> 32));
}

uint32_t population(uint64_t value) { return static_cast<uint32_t>(__builtin_popcountll(value)); }
// Searches return -1 if there is no such bit.
uint32_t first_one(uint64_t value) { return value ? static_cast<uint32_t>(__builtin_ctzll(value)) : ~0u; }
uint32_t leading_zeros(uint32_t value) { return value ? static_cast<uint32_t>(__builtin_clz(value)) : ~0u; }
uint32_t leading_zeros(uint64_t value) { return value ? static_cast<uint32_t>(__builtin_clzll(value)) : ~0u; }
// The first bit from the top that differs from the sign.
template <typename T>
uint32_t leading_signs(T value) {
  return leading_zeros(as_signed(value) < 0 ? static_cast<T>(~value) : value);
}

// Whole quads, where any lane of the quad is on.
template <typename T>
T whole_quads(T value) {
  T result = 0;
  for (unsigned k = 0; k < sizeof(T) * 8; k += 4) {
    if (value >> k & 15) {
      result |= T{15} << k;
    }
  }
  return result;
}

template <typename T>
T quad_mask(T value) {
  T result = 0;
  for (unsigned k = 0; k < sizeof(T) * 8; k += 4) {
    result |= T{(value >> k & 15) != 0} << (k / 4);
  }
  return result;
}

uint64_t replicate_bits(uint32_t value) {
  uint64_t result = 0;
  for (unsigned k = 0; k < 32; ++k) {
    result |= uint64_t{value >> k & 1} * 3 << (2 * k);
  }
  return result;
}

void cmov_b32(Wave& wave, const Inst& inst) {
  if (wave.scc) {
    set32(wave, inst, a32(wave, inst));
  }
}
void cmov_b64(Wave& wave, const Inst& inst) {
  if (wave.scc) {
    set64(wave, inst, a64(wave, inst));
  }
}

template <bool one>
void bitset_b32(Wave& wave, const Inst& inst) {
  const uint32_t bit = 1u << (a32(wave, inst) & 31);
  set32(wave, inst, one ? wave.sgpr[inst.dst] | bit : wave.sgpr[inst.dst] & ~bit);
}
template <bool one>
void bitset_b64(Wave& wave, const Inst& inst) {
  const uint64_t bit = uint64_t{1} << (a32(wave, inst) & 63);
  const uint64_t old = wave.sgpr64(inst.dst & 126u);
  set64(wave, inst, one ? old | bit : old & ~bit);
}

// s_*_saveexec_b64: the old EXEC to the destination, a combination of it with the source to EXEC.
#define KTRACE_SAVE_EXEC(expression)    \
  [](Wave& wave, const Inst& inst) {    \
    const uint64_t a = a64(wave, inst); \
    const uint64_t exec = wave.exec();  \
    const uint64_t next = expression;   \
    set64(wave, inst, exec);            \
    wave.set_exec(next);                \
    wave.scc = next != 0;               \
  }
// s_*_wrexec_b64: the combination to both.
#define KTRACE_WRITE_EXEC(expression)   \
  [](Wave& wave, const Inst& inst) {    \
    const uint64_t a = a64(wave, inst); \
    const uint64_t exec = wave.exec();  \
    const uint64_t next = expression;   \
    wave.set_exec(next);                \
    set64(wave, inst, next);            \
    wave.scc = next != 0;               \
  }

// Register-indexed moves: M0 is added to a register number.
unsigned relative(const Wave& wave, const Inst& inst, unsigned reg, unsigned width) {
  const unsigned index = reg + wave.sgpr[code_m0];
  if (reg > 101 || wave.sgpr[code_m0] > 101 || index + width > 102) {
    fault(wave, inst, "s%u indexed with M0 = %u is no SGPR", reg, wave.sgpr[code_m0]);
  }
  return index;
}
void movrels_b32(Wave& wave, const Inst& inst) {
  set32(wave, inst, wave.sgpr[relative(wave, inst, inst.src[0], 1)]);
}
void movrels_b64(Wave& wave, const Inst& inst) {
  set64(wave, inst, wave.sgpr64(relative(wave, inst, inst.src[0], 2)));
}
void movreld_b32(Wave& wave, const Inst& inst) {
  wave.sgpr[relative(wave, inst, inst.dst, 1)] = a32(wave, inst);
}
void movreld_b64(Wave& wave, const Inst& inst) {
  wave.set_sgpr64(relative(wave, inst, inst.dst, 2), a64(wave, inst));
}

void set_gpr_idx_idx(Wave& wave, const Inst& inst) {
  wave.sgpr[code_m0] = (wave.sgpr[code_m0] & ~0xffu) | (a32(wave, inst) & 0xff);
}

}  // namespace

Handler sop1_handler(uint16_t op) {
  switch (op) {
    case 0:
      return KTRACE_UNARY(a32, set32, a);
    case 1:
      return KTRACE_UNARY(a64, set64, a);
    case 2:
      return cmov_b32;
    case 3:
      return cmov_b64;
    case 4:
      return KTRACE_UNARY(a32, set32_scc, ~a);
    case 5:
      return KTRACE_UNARY(a64, set64_scc, ~a);
    case 6:
      return KTRACE_UNARY(a32, set32_scc, whole_quads(a));
    case 7:
      return KTRACE_UNARY(a64, set64_scc, whole_quads(a));
    case 8:
      return KTRACE_UNARY(a32, set32, reverse(a));
    case 9:
      return KTRACE_UNARY(a64, set64, reverse(a));
    case 10:
      return KTRACE_UNARY(a32, set32_scc, 32 - population(a));
    case 11:
      return KTRACE_UNARY(a64, set32_scc, 64 - population(a));
    case 12:
      return KTRACE_UNARY(a32, set32_scc, population(a));
    case 13:
      return KTRACE_UNARY(a64, set32_scc, population(a));
    case 14:
      return KTRACE_UNARY(a32, set32, first_one(~a));
    case 15:
      return KTRACE_UNARY(a64, set32, first_one(~a));
    case 16:
      return KTRACE_UNARY(a32, set32, first_one(a));
    case 17:
      return KTRACE_UNARY(a64, set32, first_one(a));
    case 18:
      return KTRACE_UNARY(a32, set32, leading_zeros(a));
    case 19:
      return KTRACE_UNARY(a64, set32, leading_zeros(a));
    case 20:
      return KTRACE_UNARY(a32, set32, leading_signs(a));
    case 21:
      return KTRACE_UNARY(a64, set32, leading_signs(a));
    case 22:
      return KTRACE_UNARY(a32, set32, static_cast<uint32_t>(static_cast<int8_t>(a)));
    case 23:
      return KTRACE_UNARY(a32, set32, static_cast<uint32_t>(static_cast<int16_t>(a)));
    case 24:
      return bitset_b32<false>;
    case 25:
      return bitset_b64<false>;
    case 26:
      return bitset_b32<true>;
    case 27:
      return bitset_b64<true>;
    case 32:
      return KTRACE_SAVE_EXEC(a & exec);
    case 33:
      return KTRACE_SAVE_EXEC(a | exec);
    case 34:
      return KTRACE_SAVE_EXEC(a ^ exec);
    case 35:
      return KTRACE_SAVE_EXEC(a & ~exec);
    case 36:
      return KTRACE_SAVE_EXEC(a | ~exec);
    case 37:
      return KTRACE_SAVE_EXEC(~(a & exec));
    case 38:
      return KTRACE_SAVE_EXEC(~(a | exec));
    case 39:
      return KTRACE_SAVE_EXEC(~(a ^ exec));
    case 40:
      return KTRACE_UNARY(a32, set32_scc, quad_mask(a));
    case 41:
      return KTRACE_UNARY(a64, set64_scc, quad_mask(a));
    case 42:
      return movrels_b32;
    case 43:
      return movrels_b64;
    case 44:
      return movreld_b32;
    case 45:
      return movreld_b64;
    case 48:
      return KTRACE_UNARY(a32, set32_scc, as_signed(a) < 0 ? 0u - a : a);
    case 50:
      return set_gpr_idx_idx;
    case 51:
      return KTRACE_SAVE_EXEC(~a & exec);
    case 52:
      return KTRACE_SAVE_EXEC(~a | exec);
    case 53:
      return KTRACE_WRITE_EXEC(~a & exec);
    case 54:
      return KTRACE_WRITE_EXEC(a & ~exec);
    case 55:
      return KTRACE_UNARY(a32, set64, replicate_bits(a));
    default:
      return nullptr;
  }
}

}  // namespace ktrace::softdev
