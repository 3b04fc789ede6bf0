// Small dense products, the inner part of matrix instructions: rows[r][c] += a[k][r] * b[k][c] over k, in the
// order of k, where a[k], b[k] and rows[r] point to contiguous values.
#pragma once

#include <cmath>

#include "vector/lanes/lanes.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

// Rows that are computed together, so that their sums stay in the host's registers.
#if defined(__AVX512F__)
template <unsigned columns>
constexpr unsigned row_tile = columns >= 16 ? 8 : 4;
#else
template <unsigned columns>
constexpr unsigned row_tile = 4;
#endif

inline float multiply_into(float a, float b, float sum) { return std::fma(a, b, sum); }
inline double multiply_into(double a, double b, double sum) { return std::fma(a, b, sum); }
inline int32_t multiply_into(int32_t a, int32_t b, int32_t sum) {
  return static_cast<int32_t>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(a * b));
}

// For row_tile rows.
template <unsigned columns, unsigned depth, class Value>
void accumulate(const Value* const* a, const Value* const* b, unsigned first_row, Value* const* rows) {
  constexpr unsigned tile = row_tile<columns>;
  Value sums[tile][columns];
  for (unsigned r = 0; r < tile; ++r) {
    std::memcpy(sums[r], rows[r], sizeof sums[r]);
  }
  for (unsigned k = 0; k < depth; ++k) {
    for (unsigned r = 0; r < tile; ++r) {
      const Value factor = a[k][first_row + r];
      for (unsigned c = 0; c < columns; ++c) {
        sums[r][c] = multiply_into(factor, b[k][c], sums[r][c]);
      }
    }
  }
  for (unsigned r = 0; r < tile; ++r) {
    std::memcpy(rows[r], sums[r], sizeof sums[r]);
  }
}

#if defined(__AVX2__) && defined(__FMA__)
// The host's vectors of an element type.
#if defined(__AVX512F__)
struct VectorF32 {
  using Vector = __m512;
  static Vector load(const float* from) { return _mm512_loadu_ps(from); }
  static Vector broadcast(const float* from) { return _mm512_set1_ps(*from); }
  static void store(float* to, Vector value) { _mm512_storeu_ps(to, value); }
  static Vector multiply_into(Vector a, Vector b, Vector sum) { return _mm512_fmadd_ps(a, b, sum); }
};
struct VectorF64 {
  using Vector = __m512d;
  static Vector load(const double* from) { return _mm512_loadu_pd(from); }
  static Vector broadcast(const double* from) { return _mm512_set1_pd(*from); }
  static void store(double* to, Vector value) { _mm512_storeu_pd(to, value); }
  static Vector multiply_into(Vector a, Vector b, Vector sum) { return _mm512_fmadd_pd(a, b, sum); }
};
struct VectorI32 {
  using Vector = __m512i;
  static Vector load(const int32_t* from) { return _mm512_loadu_si512(from); }
  static Vector broadcast(const int32_t* from) { return _mm512_set1_epi32(*from); }
  static void store(int32_t* to, Vector value) { _mm512_storeu_si512(to, value); }
  static Vector multiply_into(Vector a, Vector b, Vector sum) {
    return _mm512_add_epi32(_mm512_mullo_epi32(a, b), sum);
  }
};
#else
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

#endif

// row_tile rows by two vectors, or by one that is a whole row: half of the vector registers hold sums, at
// most.
template <class V, unsigned columns, unsigned depth, class Value>
void accumulate_tiles(const Value* const* a, const Value* const* b, unsigned first_row, Value* const* rows) {
  using Vector = typename V::Vector;
  constexpr unsigned width = sizeof(Vector) / sizeof(Value);
  constexpr unsigned across = columns > width ? 2 : 1;
  constexpr unsigned tile = row_tile<columns>;
  for (unsigned column = 0; column < columns; column += across * width) {
    Vector total[tile][across];
    for (unsigned r = 0; r < tile; ++r) {
      for (unsigned n = 0; n < across; ++n) {
        total[r][n] = V::load(rows[r] + column + n * width);
      }
    }
    for (unsigned k = 0; k < depth; ++k) {
      Vector right[across];
      for (unsigned n = 0; n < across; ++n) {
        right[n] = V::load(b[k] + column + n * width);
      }
      for (unsigned r = 0; r < tile; ++r) {
        const Vector factor = V::broadcast(a[k] + first_row + r);
        for (unsigned n = 0; n < across; ++n) {
          total[r][n] = V::multiply_into(factor, right[n], total[r][n]);
        }
      }
    }
    for (unsigned r = 0; r < tile; ++r) {
      for (unsigned n = 0; n < across; ++n) {
        V::store(rows[r] + column + n * width, total[r][n]);
      }
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
