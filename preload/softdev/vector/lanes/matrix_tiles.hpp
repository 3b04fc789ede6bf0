// Small dense products, the inner part of matrix instructions: rows[r][c] += a[k][r] * b[k][c] over k, in the
// order of k, where a[k], b[k] and rows[r] point to contiguous values.
#pragma once

#include <cmath>

#include "vector/lanes/lanes.hpp"

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#endif

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

// Rows that are computed together, so that their sums stay in the host's registers.
constexpr unsigned row_tile = 4;

inline float multiply_into(float a, float b, float sum) { return std::fma(a, b, sum); }
inline double multiply_into(double a, double b, double sum) { return std::fma(a, b, sum); }
inline int32_t multiply_into(int32_t a, int32_t b, int32_t sum) {
  return static_cast<int32_t>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(a * b));
}

// For row_tile rows.
template <unsigned columns, unsigned depth, class Value>
void accumulate(const Value* const* a, const Value* const* b, unsigned first_row, Value* const* rows) {
  Value sums[row_tile][columns];
  for (unsigned r = 0; r < row_tile; ++r) {
    std::memcpy(sums[r], rows[r], sizeof sums[r]);
  }
  for (unsigned k = 0; k < depth; ++k) {
    for (unsigned r = 0; r < row_tile; ++r) {
      const Value factor = a[k][first_row + r];
      for (unsigned c = 0; c < columns; ++c) {
        sums[r][c] = multiply_into(factor, b[k][c], sums[r][c]);
      }
    }
  }
  for (unsigned r = 0; r < row_tile; ++r) {
    std::memcpy(rows[r], sums[r], sizeof sums[r]);
  }
}

#if defined(__AVX2__) && defined(__FMA__)
// The host's vectors of an element type.
struct VectorF32 {
  using Vector = __m256;
  static Vector load(const float* from) { return _mm256_loadu_ps(from); }
  static Vector broadcast(const float* from) { return _mm256_broadcast_ss(from); }
  static void store(float* to, Vector value) { _mm256_storeu_ps(to, value); }
  static Vector multiply_into(Vector a, Vector b, Vector sum) { return _mm256_fmadd_ps(a, b, sum); }
};
struct VectorF64 {
  using Vector = __m256d;
  static Vector load(const double* from) { return _mm256_loadu_pd(from); }
  static Vector broadcast(const double* from) { return _mm256_broadcast_sd(from); }
  static void store(double* to, Vector value) { _mm256_storeu_pd(to, value); }
  static Vector multiply_into(Vector a, Vector b, Vector sum) { return _mm256_fmadd_pd(a, b, sum); }
};
struct VectorI32 {
  using Vector = __m256i;
  static Vector load(const int32_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const Vector*>(from));
  }
  static Vector broadcast(const int32_t* from) { return _mm256_set1_epi32(*from); }
  static void store(int32_t* to, Vector value) { _mm256_storeu_si256(reinterpret_cast<Vector*>(to), value); }
  static Vector multiply_into(Vector a, Vector b, Vector sum) {
    return _mm256_add_epi32(_mm256_mullo_epi32(a, b), sum);
  }
};

// row_tile rows by two vectors: 8 of the 16 vector registers hold sums.
template <class V, unsigned columns, unsigned depth, class Value>
void accumulate_tiles(const Value* const* a, const Value* const* b, unsigned first_row, Value* const* rows) {
  using Vector = typename V::Vector;
  constexpr unsigned width = sizeof(Vector) / sizeof(Value);
  for (unsigned column = 0; column < columns; column += 2 * width) {
    Vector total[row_tile][2];
    for (unsigned r = 0; r < row_tile; ++r) {
      total[r][0] = V::load(rows[r] + column);
      total[r][1] = V::load(rows[r] + column + width);
    }
    for (unsigned k = 0; k < depth; ++k) {
      const Vector left = V::load(b[k] + column);
      const Vector right = V::load(b[k] + column + width);
      for (unsigned r = 0; r < row_tile; ++r) {
        const Vector factor = V::broadcast(a[k] + first_row + r);
        total[r][0] = V::multiply_into(factor, left, total[r][0]);
        total[r][1] = V::multiply_into(factor, right, total[r][1]);
      }
    }
    for (unsigned r = 0; r < row_tile; ++r) {
      V::store(rows[r] + column, total[r][0]);
      V::store(rows[r] + column + width, total[r][1]);
    }
  }
}
template <unsigned columns, unsigned depth>
void accumulate_wide(const float* const* a, const float* const* b, unsigned row, float* const* rows) {
  accumulate_tiles<VectorF32, columns, depth>(a, b, row, rows);
}
template <unsigned columns, unsigned depth>
void accumulate_wide(const double* const* a, const double* const* b, unsigned row, double* const* rows) {
  accumulate_tiles<VectorF64, columns, depth>(a, b, row, rows);
}
template <unsigned columns, unsigned depth>
void accumulate_wide(const int32_t* const* a, const int32_t* const* b, unsigned row, int32_t* const* rows) {
  accumulate_tiles<VectorI32, columns, depth>(a, b, row, rows);
}
#else
template <unsigned columns, unsigned depth, class Value>
void accumulate_wide(const Value* const* a, const Value* const* b, unsigned row, Value* const* rows) {
  accumulate<columns, depth>(a, b, row, rows);
}
#endif

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
