// The element types of vector operands and rows of them: one lane is one element, a row is a wave's 64.
//
// Everything that touches lanes is compiled once per instruction set of the host (see copies.cmake) and
// lives in a namespace named after it, so that the linker never merges code of two of them.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/wave.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#ifndef KTRACE_SOFTDEV_ISA
#error "compile with -DKTRACE_SOFTDEV_ISA=<namespace>, see copies.cmake"
#endif

// The sources of an instruction and its local result row never overlap: results reach registers only in
// commit, after the loop.
#ifdef __clang__
// Its pragma for this would also let it change the order of additions.
#define KTRACE_EACH_OF(count, l) for (unsigned l = 0; l < (count); ++l)
#else
#define KTRACE_EACH_OF(count, l) _Pragma("GCC ivdep") for (unsigned l = 0; l < (count); ++l)
#endif
#define KTRACE_EACH_LANE(l) KTRACE_EACH_OF(lanes, l)

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

#if defined(__AVX512F__)
constexpr unsigned vector_lanes = 16;
// For the masked forms of intrinsics: those without read what GCC takes for an uninitialized variable (its
// bug 105593).
constexpr __mmask16 every_lane = 0xffff;
inline __mmask16 mask_of(uint64_t mask, unsigned first) { return static_cast<__mmask16>(mask >> first); }
#endif

struct alignas(64) Row {
  uint32_t at[lanes];
};
struct alignas(64) Row64 {
  uint64_t at[lanes];
};
struct alignas(64) RowF32 {
  float at[lanes];
};

template <class To, class From>
inline To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "a bit pattern keeps its size");
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

// Operand types. `Lane` is what an operation computes with: 16-bit integers are widened to int, so that one
// row layout serves all, and f16 to float, which makes most f16 operations exact before the final rounding.
struct U32 {
  using Lane = uint32_t;
};
struct I32 {
  using Lane = int32_t;
};
struct F32 {
  using Lane = float;
};
struct U16 {
  using Lane = uint32_t;
};
struct I16 {
  using Lane = int32_t;
};
struct F16 {
  using Lane = float;
};
struct U64 {
  using Lane = uint64_t;
};
struct I64 {
  using Lane = int64_t;
};
// A register of 32 bits among operands of 64.
struct ZeroExtended {
  using Lane = uint64_t;
};
struct F64 {
  using Lane = double;
};
// The destination's old value as a source: fmac, dot2c.
template <class Type>
struct Old {
  using Lane = typename Type::Lane;
};

template <class Type>
constexpr bool is_half_width = false;
template <>
inline constexpr bool is_half_width<U16> = true;
template <>
inline constexpr bool is_half_width<I16> = true;
template <>
inline constexpr bool is_half_width<F16> = true;

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

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
