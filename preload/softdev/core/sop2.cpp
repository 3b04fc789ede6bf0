// Scalar arithmetic with two operands.
#include <cstdint>

#include "core/dispatch.hpp"
#include "core/scalar_operands.hpp"

namespace ktrace::softdev {

namespace {

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

}  // namespace

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

}  // namespace ktrace::softdev
