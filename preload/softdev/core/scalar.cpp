// Scalar arithmetic: SOP1, SOP2, SOPC and the arithmetic half of SOPK.
#include <cstdint>

#include "core/dispatch.hpp"
#include "core/wave.hpp"

namespace ktrace::softdev {

namespace {

uint32_t a32(const Wave& wave, const Inst& inst) { return read_scalar(wave, inst, inst.src[0]); }
uint32_t b32(const Wave& wave, const Inst& inst) { return read_scalar(wave, inst, inst.src[1]); }
uint64_t a64(const Wave& wave, const Inst& inst) {
  return read_scalar64(wave, inst, inst.src[0], OperandType::integer);
}
uint64_t b64(const Wave& wave, const Inst& inst) {
  return read_scalar64(wave, inst, inst.src[1], OperandType::integer);
}
int32_t as_signed(uint32_t value) { return static_cast<int32_t>(value); }
int64_t as_signed(uint64_t value) { return static_cast<int64_t>(value); }

// Destinations above the last SGPR would be constants: the decoder lets the 7-bit field through, so 0..127 it
// is.
void set32(Wave& wave, const Inst& inst, uint32_t value) { wave.sgpr[inst.dst] = value; }
void set64(Wave& wave, const Inst& inst, uint64_t value) {
  if (inst.dst >= 127) {
    fault(wave, inst, "a 64-bit result does not fit into s%u", inst.dst);
  }
  wave.set_sgpr64(inst.dst, value);
}

// Most logical instructions set SCC to whether the result is not 0.
void set32_scc(Wave& wave, const Inst& inst, uint32_t value) {
  set32(wave, inst, value);
  wave.scc = value != 0;
}
void set64_scc(Wave& wave, const Inst& inst, uint64_t value) {
  set64(wave, inst, value);
  wave.scc = value != 0;
}

// A handler from an expression over a and b (32 bits) that sets SCC, or not; likewise 64 bits.
#define KTRACE_LOGIC32(expression)                            \
  [](Wave& wave, const Inst& inst) {                          \
    const uint32_t a = a32(wave, inst), b = b32(wave, inst);  \
    set32_scc(wave, inst, static_cast<uint32_t>(expression)); \
  }
#define KTRACE_LOGIC64(expression)                            \
  [](Wave& wave, const Inst& inst) {                          \
    const uint64_t a = a64(wave, inst), b = b64(wave, inst);  \
    set64_scc(wave, inst, static_cast<uint64_t>(expression)); \
  }
#define KTRACE_PLAIN32(expression)                           \
  [](Wave& wave, const Inst& inst) {                         \
    const uint32_t a = a32(wave, inst), b = b32(wave, inst); \
    set32(wave, inst, static_cast<uint32_t>(expression));    \
  }
// Shifts of 64-bit values have a 32-bit second operand.
#define KTRACE_SHIFT64(expression)                            \
  [](Wave& wave, const Inst& inst) {                          \
    const uint64_t a = a64(wave, inst);                       \
    const uint32_t b = b32(wave, inst);                       \
    set64_scc(wave, inst, static_cast<uint64_t>(expression)); \
  }

void add_u32(Wave& wave, const Inst& inst) {
  const uint64_t sum = uint64_t{a32(wave, inst)} + b32(wave, inst);
  set32(wave, inst, static_cast<uint32_t>(sum));
  wave.scc = static_cast<uint32_t>(sum >> 32);
}

void sub_u32(Wave& wave, const Inst& inst) {
  const uint32_t a = a32(wave, inst), b = b32(wave, inst);
  set32(wave, inst, a - b);
  wave.scc = b > a;
}

void add_i32(Wave& wave, const Inst& inst) {
  const uint32_t a = a32(wave, inst), b = b32(wave, inst), sum = a + b;
  set32(wave, inst, sum);
  wave.scc = (~(a ^ b) & (a ^ sum)) >> 31;
}

void sub_i32(Wave& wave, const Inst& inst) {
  const uint32_t a = a32(wave, inst), b = b32(wave, inst), difference = a - b;
  set32(wave, inst, difference);
  wave.scc = ((a ^ b) & (a ^ difference)) >> 31;
}

void addc_u32(Wave& wave, const Inst& inst) {
  const uint64_t sum = uint64_t{a32(wave, inst)} + b32(wave, inst) + wave.scc;
  set32(wave, inst, static_cast<uint32_t>(sum));
  wave.scc = static_cast<uint32_t>(sum >> 32);
}

void subb_u32(Wave& wave, const Inst& inst) {
  const uint64_t a = a32(wave, inst), b = uint64_t{b32(wave, inst)} + wave.scc;
  set32(wave, inst, static_cast<uint32_t>(a - b));
  wave.scc = b > a;
}

// SCC says that the first operand was taken.
#define KTRACE_SELECT(take_a)                                \
  [](Wave& wave, const Inst& inst) {                         \
    const uint32_t a = a32(wave, inst), b = b32(wave, inst); \
    const bool first = take_a;                               \
    set32(wave, inst, first ? a : b);                        \
    wave.scc = first;                                        \
  }

void cselect_b32(Wave& wave, const Inst& inst) {
  set32(wave, inst, wave.scc ? a32(wave, inst) : b32(wave, inst));
}
void cselect_b64(Wave& wave, const Inst& inst) {
  set64(wave, inst, wave.scc ? a64(wave, inst) : b64(wave, inst));
}

void bfm_b64(Wave& wave, const Inst& inst) {
  const uint32_t width = a32(wave, inst) & 63, shift = b32(wave, inst) & 63;
  set64(wave, inst, ((uint64_t{1} << width) - 1) << shift);
}

// The second operand of a bit field extraction: offset in the low bits, width at 16.
template <typename T>
T extract_unsigned(T value, uint32_t field) {
  constexpr unsigned size = sizeof(T) * 8;
  const unsigned offset = field & (size - 1), width = field >> 16 & 0x7f;
  const T shifted = value >> offset;
  return width >= size ? shifted : shifted & ((T{1} << width) - 1);
}

template <typename T>
T extract_signed(T value, uint32_t field) {
  constexpr unsigned size = sizeof(T) * 8;
  const unsigned offset = field & (size - 1);
  unsigned width = field >> 16 & 0x7f;
  if (width == 0) {
    return 0;
  }
  if (width + offset > size) {
    width = size - offset;
  }
  const T at_top = value << (size - width - offset);
  return static_cast<T>(as_signed(at_top) >> (size - width));
}

void mul_hi_u32(Wave& wave, const Inst& inst) {
  set32(wave, inst, static_cast<uint32_t>(uint64_t{a32(wave, inst)} * b32(wave, inst) >> 32));
}
void mul_hi_i32(Wave& wave, const Inst& inst) {
  const int64_t product = int64_t{as_signed(a32(wave, inst))} * as_signed(b32(wave, inst));
  set32(wave, inst, static_cast<uint32_t>(static_cast<uint64_t>(product) >> 32));
}

template <unsigned shift>
void lshl_add_u32(Wave& wave, const Inst& inst) {
  const uint64_t sum = (uint64_t{a32(wave, inst)} << shift) + b32(wave, inst);
  set32(wave, inst, static_cast<uint32_t>(sum));
  wave.scc = sum >> 32 != 0;
}

Handler sop2_handler(uint16_t op) {
  switch (op) {
    case 0:
      return add_u32;
    case 1:
      return sub_u32;
    case 2:
      return add_i32;
    case 3:
      return sub_i32;
    case 4:
      return addc_u32;
    case 5:
      return subb_u32;
    case 6:
      return KTRACE_SELECT(as_signed(a) < as_signed(b));
    case 7:
      return KTRACE_SELECT(a < b);
    case 8:
      return KTRACE_SELECT(as_signed(a) > as_signed(b));
    case 9:
      return KTRACE_SELECT(a > b);
    case 10:
      return cselect_b32;
    case 11:
      return cselect_b64;
    case 12:
      return KTRACE_LOGIC32(a & b);
    case 13:
      return KTRACE_LOGIC64(a & b);
    case 14:
      return KTRACE_LOGIC32(a | b);
    case 15:
      return KTRACE_LOGIC64(a | b);
    case 16:
      return KTRACE_LOGIC32(a ^ b);
    case 17:
      return KTRACE_LOGIC64(a ^ b);
    case 18:
      return KTRACE_LOGIC32(a & ~b);
    case 19:
      return KTRACE_LOGIC64(a & ~b);
    case 20:
      return KTRACE_LOGIC32(a | ~b);
    case 21:
      return KTRACE_LOGIC64(a | ~b);
    case 22:
      return KTRACE_LOGIC32(~(a & b));
    case 23:
      return KTRACE_LOGIC64(~(a & b));
    case 24:
      return KTRACE_LOGIC32(~(a | b));
    case 25:
      return KTRACE_LOGIC64(~(a | b));
    case 26:
      return KTRACE_LOGIC32(~(a ^ b));
    case 27:
      return KTRACE_LOGIC64(~(a ^ b));
    case 28:
      return KTRACE_LOGIC32(a << (b & 31));
    case 29:
      return KTRACE_SHIFT64(a << (b & 63));
    case 30:
      return KTRACE_LOGIC32(a >> (b & 31));
    case 31:
      return KTRACE_SHIFT64(a >> (b & 63));
    case 32:
      return KTRACE_LOGIC32(as_signed(a) >> (b & 31));
    case 33:
      return KTRACE_SHIFT64(as_signed(a) >> (b & 63));
    case 34:
      return KTRACE_PLAIN32(((1u << (a & 31)) - 1) << (b & 31));
    case 35:
      return bfm_b64;
    case 36:
      return KTRACE_PLAIN32(a * b);
    case 37:
      return KTRACE_LOGIC32(extract_unsigned(a, b));
    case 38:
      return KTRACE_LOGIC32(extract_signed(a, b));
    case 39:
      return KTRACE_SHIFT64(extract_unsigned(a, b));
    case 40:
      return KTRACE_SHIFT64(extract_signed(a, b));
    case 42:
      return KTRACE_LOGIC32(as_signed(a) > as_signed(b) ? a - b : b - a);
    case 44:
      return mul_hi_u32;
    case 45:
      return mul_hi_i32;
    case 46:
      return lshl_add_u32<1>;
    case 47:
      return lshl_add_u32<2>;
    case 48:
      return lshl_add_u32<3>;
    case 49:
      return lshl_add_u32<4>;
    case 50:
      return KTRACE_PLAIN32((a & 0xffff) | b << 16);
    case 51:
      return KTRACE_PLAIN32((a & 0xffff) | (b & 0xffff0000));
    case 52:
      return KTRACE_PLAIN32(a >> 16 | (b & 0xffff0000));
    default:
      return nullptr;
  }
}

// ------------------------------------------------------------------------------------------------------------
// SOP1

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

// ------------------------------------------------------------------------------------------------------
// SOPC, SOPK

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

}  // namespace

Handler scalar_handler(const Inst& inst) {
  switch (inst.encoding) {
    case Encoding::sop1:
      return sop1_handler(inst.op);
    case Encoding::sop2:
      return sop2_handler(inst.op);
    case Encoding::sopc:
      return sopc_handler(inst.op);
    case Encoding::sopk:
      return sopk_handler(inst.op);
    default:
      return nullptr;
  }
}

}  // namespace ktrace::softdev
