// Lanes of a row, as many as fit one vector register of the host.
#pragma once

#include <cstdint>
#include <cstring>

#include "vector/lanes/lanes.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

#if defined(__AVX512F__)
constexpr unsigned chunk_lanes = 16;
#elif defined(__AVX2__)
constexpr unsigned chunk_lanes = 8;
#else
constexpr unsigned chunk_lanes = 4;
#endif

typedef uint32_t Chunk __attribute__((vector_size(chunk_lanes * sizeof(uint32_t))));

inline Chunk load_chunk(const uint32_t* from) {
  Chunk chunk;
  std::memcpy(&chunk, from, sizeof chunk);
  return chunk;
}
inline void store_chunk(uint32_t* to, const Chunk& chunk) { std::memcpy(to, &chunk, sizeof chunk); }

inline Chunk splat(uint32_t value) { return Chunk{} + value; }

// first, first + step, first + 2 * step ...
inline Chunk progress(uint32_t first, uint32_t step) {
  Chunk numbers;
  for (unsigned k = 0; k < chunk_lanes; ++k) {
    numbers[k] = k;
  }
  return numbers * step + first;
}

// Whether any bit of any lane is set.
inline bool any_bit(const Chunk& chunk) {
#if defined(__AVX512F__)
  const __m512i bits = reinterpret_cast<__m512i>(chunk);
  return _mm512_test_epi32_mask(bits, bits) != 0;
#elif defined(__AVX2__)
  const __m256i bits = reinterpret_cast<__m256i>(chunk);
  return _mm256_testz_si256(bits, bits) == 0;
#elif defined(__SSE2__)
  const __m128i bits = reinterpret_cast<__m128i>(chunk);
  return _mm_movemask_epi8(_mm_cmpeq_epi8(bits, _mm_setzero_si128())) != 0xffff;
#else
  uint32_t bits = 0;
  for (unsigned k = 0; k < chunk_lanes; ++k) {
    bits |= chunk[k];
  }
  return bits != 0;
#endif
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
