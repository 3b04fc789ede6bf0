// f16 and bf16 to and from float, for one value and for a row. The row forms use F16C where this copy of the
// code may; both give the same bits.
#pragma once

#include "vector/lanes/lanes.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

// Numbered like MODE's rounding fields.
enum class Rounding : uint8_t { even = 0, up = 1, down = 2, zero = 3 };

inline float widen_half(uint32_t half) {
  const uint32_t sign = (half & 0x8000u) << 16;
  const uint32_t magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00u) {
    const uint32_t quiet = magnitude > 0x7c00u ? 0x400000u : 0u;
    return bits_as<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13 | quiet);
  }
  // Reading the fraction as an integer makes subnormals exact without a loop.
  const float scaled = magnitude < 0x400u ? static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f
                                          : bits_as<float>((magnitude << 13) + (112u << 23));
  return bits_as<float>(sign | bits_as<uint32_t>(scaled));
}

inline bool rounds_away(Rounding rounding, bool negative, uint32_t kept, uint32_t rest, uint32_t halfway) {
  switch (rounding) {
    case Rounding::even:
      return rest > halfway || (rest == halfway && (kept & 1u) != 0);
    case Rounding::up:
      return rest != 0 && !negative;
    case Rounding::down:
      return rest != 0 && negative;
    default:
      return false;
  }
}

inline uint32_t narrow_half(float value, Rounding rounding) {
  const uint32_t bits = bits_as<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    return sign | 0x7e00u | (magnitude >> 13 & 0x3ffu);
  }
  if (magnitude == 0x7f800000u) {
    return sign | 0x7c00u;
  }
  if (magnitude >= 0x47800000u) {  // 65536 and above
    const bool to_infinity = rounds_away(rounding, sign != 0, 1, 2, 1);
    return sign | (to_infinity ? 0x7c00u : 0x7bffu);
  }
  const uint32_t exponent = magnitude >> 23;
  uint32_t kept;
  uint32_t rest;
  uint32_t halfway;
  if (exponent >= 113) {
    kept = (magnitude - (112u << 23)) >> 13;
    rest = magnitude & 0x1fffu;
    halfway = 0x1000u;
  } else {
    const uint32_t fraction = exponent != 0 ? (magnitude & 0x7fffffu) | 0x800000u : magnitude;
    const uint32_t shift = exponent < 96 ? 30u : 126u - exponent;
    kept = fraction >> shift;
    rest = fraction & ((1u << shift) - 1u);
    halfway = 1u << (shift - 1u);
  }
  // A carry out of the fraction is the next exponent, infinity included.
  return sign | (kept + (rounds_away(rounding, sign != 0, kept, rest, halfway) ? 1u : 0u));
}

inline float widen_bfloat(uint32_t bfloat) { return bits_as<float>(bfloat << 16); }

inline uint32_t narrow_bfloat(float value) {
  const uint32_t bits = bits_as<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  const uint32_t quiet_nan = bits >> 16 | 0x40u;
  return (bits & 0x7fffffffu) > 0x7f800000u ? quiet_nan : rounded;
}

// `in` may hold anything above bit 15.
inline void widen_half_row(const uint32_t* in, float* out) {
#if defined(__AVX512F__)
  for (unsigned l = 0; l < lanes; l += 16) {
    const __m256i halves = _mm512_maskz_cvtepi32_epi16(every_lane, _mm512_loadu_si512(in + l));
    _mm512_storeu_ps(out + l, _mm512_maskz_cvtph_ps(every_lane, halves));
  }
#elif defined(__F16C__) && defined(__AVX2__)
  const __m256i low_half = _mm256_set1_epi32(0xffff);
  for (unsigned l = 0; l < lanes; l += 16) {
    const __m256i first =
        _mm256_and_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + l)), low_half);
    const __m256i second =
        _mm256_and_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + l + 8)), low_half);
    const __m256i halves = _mm256_permute4x64_epi64(_mm256_packus_epi32(first, second), 0xd8);
    _mm256_storeu_ps(out + l, _mm256_cvtph_ps(_mm256_castsi256_si128(halves)));
    _mm256_storeu_ps(out + l + 8, _mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1)));
  }
#else
  for (unsigned l = 0; l < lanes; ++l) {
    out[l] = widen_half(in[l] & 0xffffu);
  }
#endif
}

template <Rounding rounding>
inline void narrow_half_row(const float* in, uint32_t* out) {
#if defined(__F16C__) && defined(__AVX2__)
  constexpr int immediate = rounding == Rounding::even   ? 0
                            : rounding == Rounding::down ? 1
                            : rounding == Rounding::up   ? 2
                                                         : 3;
#if defined(__AVX512F__)
  for (unsigned l = 0; l < lanes; l += 16) {
    const __m256i halves = _mm512_maskz_cvtps_ph(every_lane, _mm512_loadu_ps(in + l), immediate);
    _mm512_storeu_si512(out + l, _mm512_maskz_cvtepu16_epi32(every_lane, halves));
  }
#else
  for (unsigned l = 0; l < lanes; l += 8) {
    const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(in + l), immediate);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + l), _mm256_cvtepu16_epi32(halves));
  }
#endif
#else
  for (unsigned l = 0; l < lanes; ++l) {
    out[l] = narrow_half(in[l], rounding);
  }
#endif
}

inline void narrow_half_row(const float* in, uint32_t* out, Rounding rounding) {
  switch (rounding) {
    case Rounding::even:
      return narrow_half_row<Rounding::even>(in, out);
    case Rounding::up:
      return narrow_half_row<Rounding::up>(in, out);
    case Rounding::down:
      return narrow_half_row<Rounding::down>(in, out);
    case Rounding::zero:
      return narrow_half_row<Rounding::zero>(in, out);
  }
}

inline Rounding rounding_f32(const Wave& wave) { return static_cast<Rounding>(wave.mode & mode_round_f32); }
inline Rounding rounding_f16(const Wave& wave) {
  return static_cast<Rounding>((wave.mode & mode_round_f64_f16) >> 2);
}

// a * b + c rounded so that a further rounding to f16 is the correctly rounded one: a * b is exact in
// float, and making an inexact sum odd keeps it off every f16 tie. Inputs are f16 values.
inline float fma_half(float a, float b, float c) {
  const float product = a * b;
  const float sum = product + c;
  const float c_part = sum - product;
  const float error = (product - (sum - c_part)) + (c - c_part);
  const uint32_t bits = bits_as<uint32_t>(sum);
  const uint32_t inexact = (error > 0) | (error < 0);
  const uint32_t outward = (error > 0) == (sum > 0) ? 1u : 0xffffffffu;
  return bits_as<float>(bits + (inexact & ~bits & 1u) * outward);
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
