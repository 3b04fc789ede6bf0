// The element types of vector operands and rows of them: one lane is one element, a row is a wave's 64.
//
// Everything that touches lanes is compiled once per instruction set of the host (see vector.cmake) and
// lives in a namespace named after it, so that the linker never merges code of two of them.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/wave.hpp"

#ifndef KTRACE_SOFTDEV_ISA
#error "compile with -DKTRACE_SOFTDEV_ISA=<namespace>, see vector.cmake"
#endif

// The sources of an instruction and its local result row never overlap: results reach registers only in
// commit, after the loop.
#ifdef __clang__
// Its pragma for this would also let it change the order of additions.
#define KTRACE_EACH_LANE(l) for (unsigned l = 0; l < lanes; ++l)
#else
#define KTRACE_EACH_LANE(l) _Pragma("GCC ivdep") for (unsigned l = 0; l < lanes; ++l)
#endif

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

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

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
