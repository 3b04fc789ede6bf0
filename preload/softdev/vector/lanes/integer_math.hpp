// Scalar meanings of integer and bit operations. 16-bit forms get operands widened to 32 bits, and their
// results are cut to 16 on the way out.
#pragma once

#include <algorithm>

#include "vector/lanes/lanes.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

inline uint32_t as_unsigned(int32_t value) { return static_cast<uint32_t>(value); }
inline int32_t as_signed(uint32_t value) { return static_cast<int32_t>(value); }

template <class Int>
Int copy(Int a) {
  return a;
}

// ---- arithmetic
inline uint32_t add_int(uint32_t a, uint32_t b) { return a + b; }
inline uint32_t subtract_int(uint32_t a, uint32_t b) { return a - b; }
inline uint32_t subtract_reversed_int(uint32_t a, uint32_t b) { return b - a; }
inline uint32_t add_saturating_u32(uint32_t a, uint32_t b) { return a + b < a ? ~0u : a + b; }
inline uint32_t subtract_saturating(uint32_t a, uint32_t b) { return a > b ? a - b : 0u; }
inline uint32_t subtract_reversed_saturating(uint32_t a, uint32_t b) { return subtract_saturating(b, a); }
inline uint32_t saturate_u16(uint32_t value) { return std::min(value, 0xffffu); }
inline int32_t saturate_i16(int32_t value) { return std::max(-32768, std::min(value, 32767)); }
inline int32_t saturate_i32(int64_t value) {
  return static_cast<int32_t>(std::max<int64_t>(INT32_MIN, std::min<int64_t>(value, INT32_MAX)));
}
inline uint32_t saturate_u32(uint64_t value) {
  return static_cast<uint32_t>(std::min<uint64_t>(value, UINT32_MAX));
}
inline uint32_t add_saturating_u16(uint32_t a, uint32_t b) { return saturate_u16(a + b); }
inline int32_t add_i16(int32_t a, int32_t b) { return a + b; }
inline int32_t subtract_i16(int32_t a, int32_t b) { return a - b; }
inline int32_t add_saturating_i16(int32_t a, int32_t b) { return saturate_i16(a + b); }
inline int32_t subtract_saturating_i16(int32_t a, int32_t b) { return saturate_i16(a - b); }
inline int32_t add_saturating_i32(int32_t a, int32_t b) { return saturate_i32(int64_t{a} + b); }
inline int32_t subtract_saturating_i32(int32_t a, int32_t b) { return saturate_i32(int64_t{a} - b); }
inline uint32_t multiply_low(uint32_t a, uint32_t b) { return a * b; }
inline uint32_t multiply_saturating_u16(uint32_t a, uint32_t b) { return saturate_u16(a * b); }
inline uint32_t multiply_high_u32(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(uint64_t{a} * b >> 32);
}
inline int32_t multiply_high_i32(int32_t a, int32_t b) { return static_cast<int32_t>(int64_t{a} * b >> 32); }
inline int32_t low_24_signed(int32_t a) { return static_cast<int32_t>(as_unsigned(a) << 8) >> 8; }
inline uint32_t low_24(uint32_t a) { return a & 0xffffffu; }
inline int32_t multiply_i24(int32_t a, int32_t b) {
  return as_signed(as_unsigned(low_24_signed(a)) * as_unsigned(low_24_signed(b)));
}
inline int32_t multiply_high_i24(int32_t a, int32_t b) {
  return static_cast<int32_t>(int64_t{low_24_signed(a)} * low_24_signed(b) >> 32);
}
inline uint32_t multiply_u24(uint32_t a, uint32_t b) { return low_24(a) * low_24(b); }
inline uint32_t multiply_high_u24(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(uint64_t{low_24(a)} * low_24(b) >> 32);
}
inline uint32_t multiply_add(uint32_t a, uint32_t b, uint32_t c) { return a * b + c; }
inline uint32_t multiply_add_saturating_u16(uint32_t a, uint32_t b, uint32_t c) {
  return static_cast<uint32_t>(std::min<uint64_t>(uint64_t{a} * b + c, 0xffff));
}
inline int32_t multiply_add_i16(int32_t a, int32_t b, int32_t c) {
  return as_signed(as_unsigned(a * b) + as_unsigned(c));
}
inline int32_t multiply_add_saturating_i16(int32_t a, int32_t b, int32_t c) {
  return static_cast<int32_t>(std::max<int64_t>(-32768, std::min<int64_t>(int64_t{a} * b + c, 32767)));
}
inline int32_t multiply_add_i24(int32_t a, int32_t b, int32_t c) {
  return as_signed(as_unsigned(multiply_i24(a, b)) + as_unsigned(c));
}
inline int32_t multiply_add_saturating_i24(int32_t a, int32_t b, int32_t c) {
  return saturate_i32(int64_t{low_24_signed(a)} * low_24_signed(b) + c);
}
inline uint32_t multiply_add_u24(uint32_t a, uint32_t b, uint32_t c) { return multiply_u24(a, b) + c; }
inline uint32_t multiply_add_saturating_u24(uint32_t a, uint32_t b, uint32_t c) {
  return saturate_u32(uint64_t{low_24(a)} * low_24(b) + c);
}
inline uint32_t multiply_add_u16_u32(uint32_t a, uint32_t b, uint32_t c) { return a * b + c; }
inline uint32_t multiply_add_saturating_u16_u32(uint32_t a, uint32_t b, uint32_t c) {
  return saturate_u32(uint64_t{a} * b + c);
}
inline int32_t multiply_add_saturating_i16_i32(int32_t a, int32_t b, int32_t c) {
  return saturate_i32(int64_t{a} * b + c);
}
template <class Int>
Int minimum_int(Int a, Int b) {
  return a < b ? a : b;
}
template <class Int>
Int maximum_int(Int a, Int b) {
  return a > b ? a : b;
}
template <class Int>
Int minimum_of_3_int(Int a, Int b, Int c) {
  return minimum_int(minimum_int(a, b), c);
}
template <class Int>
Int maximum_of_3_int(Int a, Int b, Int c) {
  return maximum_int(maximum_int(a, b), c);
}
template <class Int>
Int median_of_3_int(Int a, Int b, Int c) {
  return maximum_int(minimum_int(a, b), minimum_int(maximum_int(a, b), c));
}

// ---- bits
inline uint32_t bit_and(uint32_t a, uint32_t b) { return a & b; }
inline uint32_t bit_or(uint32_t a, uint32_t b) { return a | b; }
inline uint32_t bit_xor(uint32_t a, uint32_t b) { return a ^ b; }
inline uint32_t bit_xnor(uint32_t a, uint32_t b) { return ~(a ^ b); }
inline uint32_t bit_not(uint32_t a) { return ~a; }
// The shifts take the amount first, as their "rev" names say.
inline uint32_t shift_left(uint32_t amount, uint32_t a) { return a << (amount & 31u); }
inline uint32_t shift_right(uint32_t amount, uint32_t a) { return a >> (amount & 31u); }
inline int32_t shift_right_signed(int32_t amount, int32_t a) { return a >> (amount & 31); }
inline uint32_t shift_left_16(uint32_t amount, uint32_t a) { return a << (amount & 15u); }
inline uint32_t shift_right_16(uint32_t amount, uint32_t a) { return a >> (amount & 15u); }
inline int32_t shift_right_signed_16(int32_t amount, int32_t a) { return a >> (amount & 15); }
inline uint64_t shift_left_64(uint64_t amount, uint64_t a) { return a << (amount & 63u); }
inline uint64_t shift_right_64(uint64_t amount, uint64_t a) { return a >> (amount & 63u); }
inline int64_t shift_right_signed_64(uint64_t amount, int64_t a) { return a >> (amount & 63u); }
inline uint64_t shift_left_add_64(uint64_t a, uint64_t amount, uint64_t b) {
  return (a << (amount & 7u)) + b;
}
inline uint32_t shift_left_add(uint32_t a, uint32_t amount, uint32_t b) { return (a << (amount & 31u)) + b; }
inline uint32_t add_shift_left(uint32_t a, uint32_t b, uint32_t amount) { return (a + b) << (amount & 31u); }
inline uint32_t shift_left_or(uint32_t a, uint32_t amount, uint32_t b) { return (a << (amount & 31u)) | b; }
inline uint32_t add_3(uint32_t a, uint32_t b, uint32_t c) { return a + b + c; }
inline uint32_t and_or(uint32_t a, uint32_t b, uint32_t c) { return (a & b) | c; }
inline uint32_t or_3(uint32_t a, uint32_t b, uint32_t c) { return a | b | c; }
inline uint32_t xor_add(uint32_t a, uint32_t b, uint32_t c) { return (a ^ b) + c; }
inline uint32_t select_bits(uint32_t mask, uint32_t a, uint32_t b) { return (mask & a) | (~mask & b); }
inline uint32_t bit_field_mask(uint32_t width, uint32_t offset) {
  return ((1u << (width & 31u)) - 1u) << (offset & 31u);
}
inline uint32_t extract_bits(uint32_t a, uint32_t offset, uint32_t width) {
  return a >> (offset & 31u) & ((1u << (width & 31u)) - 1u);
}
inline int32_t extract_bits_signed(int32_t a, uint32_t offset, uint32_t width) {
  const uint32_t start = offset & 31u;
  const uint32_t count = width & 31u;
  // A field that runs past bit 31 gets copies of the sign: the shift to the top stops at 0.
  const uint32_t to_top = start + count < 32u ? 32u - start - count : 0u;
  const uint32_t back = start + count < 32u ? 32u - count : start;
  const int32_t field = static_cast<int32_t>(as_unsigned(a) << (to_top & 31u)) >> (back & 31u);
  return count == 0 ? 0 : field;
}
inline uint32_t reverse_bits(uint32_t a) {
  a = a >> 16 | a << 16;
  a = (a >> 8 & 0x00ff00ffu) | (a & 0x00ff00ffu) << 8;
  a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
  a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
  return (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
}
inline uint32_t first_high_one(uint32_t a) { return a != 0 ? static_cast<uint32_t>(__builtin_clz(a)) : ~0u; }
inline uint32_t first_low_one(uint32_t a) { return a != 0 ? static_cast<uint32_t>(__builtin_ctz(a)) : ~0u; }
inline uint32_t first_high_sign_change(int32_t a) { return first_high_one(as_unsigned(a < 0 ? ~a : a)); }
inline uint32_t count_ones(uint32_t a) {
  a -= a >> 1 & 0x55555555u;
  a = (a & 0x33333333u) + (a >> 2 & 0x33333333u);
  return ((a + (a >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}
inline uint32_t count_ones_add(uint32_t a, uint32_t b) { return count_ones(a) + b; }
inline uint32_t align_bits(uint32_t high, uint32_t low, uint32_t amount) {
  return static_cast<uint32_t>((uint64_t{high} << 32 | low) >> (amount & 31u));
}
inline uint32_t align_bytes(uint32_t high, uint32_t low, uint32_t amount) {
  return align_bits(high, low, (amount & 3u) * 8u);
}
uint32_t permute_bytes(uint32_t high, uint32_t low, uint32_t selectors);
inline uint32_t pseudo_random(uint32_t a) { return a << 1 ^ ((0u - (a >> 31)) & 197u); }

// ---- sums of absolute differences and byte arithmetic
inline uint32_t absolute_difference(uint32_t a, uint32_t b) { return a > b ? a - b : b - a; }
inline uint32_t byte_of(uint32_t a, unsigned n) { return a >> (8 * n) & 0xffu; }
inline uint32_t sad_u8(uint32_t a, uint32_t b, uint32_t c) {
  for (unsigned n = 0; n < 4; ++n) {
    c += absolute_difference(byte_of(a, n), byte_of(b, n));
  }
  return c;
}
inline uint32_t sad_high_u8(uint32_t a, uint32_t b, uint32_t c) { return (sad_u8(a, b, 0) << 16) + c; }
inline uint32_t sad_u16(uint32_t a, uint32_t b, uint32_t c) {
  return c + absolute_difference(a & 0xffffu, b & 0xffffu) + absolute_difference(a >> 16, b >> 16);
}
inline uint32_t sad_u32(uint32_t a, uint32_t b, uint32_t c) { return absolute_difference(a, b) + c; }
// Bytes of b that are 0 do not count.
inline uint32_t masked_sad_u8(uint32_t a, uint32_t b, uint32_t c) {
  for (unsigned n = 0; n < 4; ++n) {
    const uint32_t reference = byte_of(b, n);
    c += reference == 0 ? 0u : absolute_difference(byte_of(a, n), reference);
  }
  return c;
}
inline uint32_t average_u8(uint32_t a, uint32_t b, uint32_t round_up) {
  uint32_t result = 0;
  for (unsigned n = 0; n < 4; ++n) {
    result |= (byte_of(a, n) + byte_of(b, n) + (round_up >> (8 * n) & 1u)) >> 1 << (8 * n);
  }
  return result;
}
inline uint32_t saturate_byte(int32_t value) { return as_unsigned(std::max(0, std::min(value, 255))); }
inline uint32_t saturate_signed_byte(int32_t value) {
  return as_unsigned(std::max(-128, std::min(value, 127))) & 0xffu;
}
inline uint32_t saturate_pack_u8_i16(uint32_t a) {
  return saturate_byte(static_cast<int16_t>(a & 0xffffu)) | saturate_byte(static_cast<int16_t>(a >> 16)) << 8;
}
inline uint32_t shift_pack_i8(int32_t a, int32_t b, uint32_t amount) {
  return saturate_signed_byte(a >> (amount & 31u)) | saturate_signed_byte(b >> (amount & 31u)) << 8;
}
inline uint32_t shift_pack_u8(int32_t a, int32_t b, uint32_t amount) {
  return saturate_byte(a >> (amount & 31u)) | saturate_byte(b >> (amount & 31u)) << 8;
}
inline uint32_t pack_saturated_u16(uint32_t a, uint32_t b) { return saturate_u16(a) | saturate_u16(b) << 16; }
inline uint32_t pack_saturated_i16(int32_t a, int32_t b) {
  return (as_unsigned(saturate_i16(a)) & 0xffffu) | as_unsigned(saturate_i16(b)) << 16;
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
