// 64-bit values of some lanes at once, put together from rows of their low and high words.
//
// The lanes of a block are in the order in which a vector of the host interleaves two others without moving
// anything between its 128-bit parts. Which lane is where does not matter to what is computed for each alone.
#pragma once

#include "vector/lanes/lanes.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

#if defined(__AVX512F__)
constexpr unsigned block_lanes = 16;
#elif defined(__AVX2__)
constexpr unsigned block_lanes = 8;
#else
// Values are computed one by one here. Reading a vector of them back at once would wait for its last one: all
// lanes come in between.
constexpr unsigned block_lanes = lanes;
#endif

struct alignas(64) WideWords {
  uint64_t at[block_lanes];
};

template <class Lane>
struct WideBlock : WideWords {
  Lane operator[](unsigned k) const { return bits_as<Lane>(at[k]); }
};

inline void interleave(const uint32_t* low, const uint32_t* high, WideWords& words) {
#if defined(__AVX512F__)
  const __m512i l = _mm512_loadu_si512(low);
  const __m512i h = _mm512_loadu_si512(high);
  _mm512_store_si512(words.at, _mm512_maskz_unpacklo_epi32(every_lane, l, h));
  _mm512_store_si512(words.at + 8, _mm512_maskz_unpackhi_epi32(every_lane, l, h));
#elif defined(__AVX2__)
  const __m256i l = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(low));
  const __m256i h = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(high));
  _mm256_store_si256(reinterpret_cast<__m256i*>(words.at), _mm256_unpacklo_epi32(l, h));
  _mm256_store_si256(reinterpret_cast<__m256i*>(words.at + 4), _mm256_unpackhi_epi32(l, h));
#else
  for (unsigned k = 0; k < block_lanes; ++k) {
    words.at[k] = low[k] | uint64_t{high[k]} << 32;
  }
#endif
}

inline void deinterleave(const WideWords& words, uint32_t* low, uint32_t* high) {
#if defined(__AVX512F__)
  const __m512 first = _mm512_load_ps(words.at);
  const __m512 second = _mm512_load_ps(words.at + 8);
  _mm512_storeu_ps(low, _mm512_maskz_shuffle_ps(every_lane, first, second, 0x88));
  _mm512_storeu_ps(high, _mm512_maskz_shuffle_ps(every_lane, first, second, 0xdd));
#elif defined(__AVX2__)
  const __m256 first = _mm256_castsi256_ps(_mm256_load_si256(reinterpret_cast<const __m256i*>(words.at)));
  const __m256 second =
      _mm256_castsi256_ps(_mm256_load_si256(reinterpret_cast<const __m256i*>(words.at + 4)));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(low),
                      _mm256_castps_si256(_mm256_shuffle_ps(first, second, 0x88)));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(high),
                      _mm256_castps_si256(_mm256_shuffle_ps(first, second, 0xdd)));
#else
  for (unsigned k = 0; k < block_lanes; ++k) {
    low[k] = static_cast<uint32_t>(words.at[k]);
    high[k] = static_cast<uint32_t>(words.at[k] >> 32);
  }
#endif
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
