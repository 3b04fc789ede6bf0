// How many lanes want the same bank of LDS at once.
#pragma once

#include <cstdint>

#include "core/clock_parameters.hpp"
#include "memory/lanes/rows.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

constexpr auto banks = static_cast<unsigned>(clock_model::lds_banks);
constexpr unsigned bank_bits = 5;
static_assert(1u << bank_bits == banks && lanes == 2 * banks, "a bank's number; a cycle serves half a wave");

// Bit l of at[k] is bit k of the bank that has lane l's dword.
struct BankDigits {
  explicit BankDigits(const uint32_t* addresses);
  uint64_t at[bank_bits];
};

// For each half of the wave.
struct FullestBank {
  uint32_t lanes_in[2];
  uint32_t extra() const { return waiting(lanes_in[0]) + waiting(lanes_in[1]); }

 private:
  static uint32_t waiting(uint32_t all) { return all ? all - 1 : 0; }
};

#if defined(__AVX512BW__)
inline BankDigits::BankDigits(const uint32_t* addresses) {
  const __m512i wanted = _mm512_set1_epi32(4 * (banks - 1));
  const auto load = [&](unsigned lane) {
    return _mm512_and_si512(_mm512_loadu_si512(addresses + lane), wanted);
  };
  // Packing works on four dwords of each operand at a time: they are to be put in order afterwards.
  const __m512i packed =
      _mm512_packus_epi16(_mm512_packus_epi32(load(0), load(16)), _mm512_packus_epi32(load(32), load(48)));
  const __m512i order = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
  // With a mask: GCC 12 warns of what the form without one leaves undefined.
  const __m512i bytes = _mm512_maskz_permutexvar_epi32(0xffff, order, packed);
  for (unsigned k = 0; k < bank_bits; ++k) {
    at[k] = _mm512_test_epi8_mask(bytes, _mm512_set1_epi8(static_cast<char>(4 << k)));
  }
}

// Of each dword.
inline __m512i count_bits(__m512i values) {
  const __m512i by_nibble = _mm512_set4_epi32(0x04030302, 0x03020201, 0x03020201, 0x02010100);
  const __m512i nibble = _mm512_set1_epi8(15);
  const auto upper = reinterpret_cast<__m512i>(reinterpret_cast<Chunk>(values) >> 4);
  const __m512i low = _mm512_shuffle_epi8(by_nibble, _mm512_and_si512(values, nibble));
  const __m512i high = _mm512_shuffle_epi8(by_nibble, _mm512_and_si512(upper, nibble));
  const __m512i words = _mm512_maddubs_epi16(_mm512_add_epi8(low, high), _mm512_set1_epi8(1));
  return _mm512_madd_epi16(words, _mm512_set1_epi16(1));
}

// An element for each of eight banks, with a bit for each lane.
inline FullestBank count_fullest(const BankDigits& digits, uint64_t active) {
  constexpr int is_active_and_equal = 0x90;  // a & ~(b ^ c)
  const auto digit = [&](unsigned k) { return _mm512_set1_epi64(static_cast<int64_t>(digits.at[k])); };
  __m512i there = _mm512_set1_epi64(static_cast<int64_t>(active));
  there = _mm512_ternarylogic_epi64(there, digit(0), _mm512_set_epi64(-1, 0, -1, 0, -1, 0, -1, 0),
                                    is_active_and_equal);
  there = _mm512_ternarylogic_epi64(there, digit(1), _mm512_set_epi64(-1, -1, 0, 0, -1, -1, 0, 0),
                                    is_active_and_equal);
  there = _mm512_ternarylogic_epi64(there, digit(2), _mm512_set_epi64(-1, -1, -1, -1, 0, 0, 0, 0),
                                    is_active_and_equal);
  Chunk most{};
  const auto count = [&](__m512i of_banks) {
    const Chunk counts = reinterpret_cast<Chunk>(count_bits(of_banks));
    most = counts > most ? counts : most;
  };
  // a & b' & c' for each way to negate b and c or not
  count(_mm512_ternarylogic_epi64(there, digit(3), digit(4), 0x10));
  count(_mm512_ternarylogic_epi64(there, digit(3), digit(4), 0x40));
  count(_mm512_ternarylogic_epi64(there, digit(3), digit(4), 0x20));
  count(_mm512_ternarylogic_epi64(there, digit(3), digit(4), 0x80));
  alignas(64) uint32_t by_bank[chunk_lanes];
  store_chunk(by_bank, most);
  const auto half = [&](unsigned first) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(by_bank + first));
  };
  const __m256i four = _mm256_max_epu32(half(0), half(8));
  const __m128i two = _mm_max_epu32(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
  const auto both =
      static_cast<uint64_t>(_mm_cvtsi128_si64(_mm_max_epu32(two, _mm_unpackhi_epi64(two, two))));
  return {{static_cast<uint32_t>(both), static_cast<uint32_t>(both >> 32)}};
}
#else
// One bit of every lane.
inline uint64_t collect_bit(const uint32_t* values, unsigned bit) {
  uint64_t bits = 0;
  for (unsigned lane = 0; lane < lanes; lane += chunk_lanes) {
    const Chunk chunk = load_chunk(values + lane);
#if defined(__AVX2__)
    const int top = _mm256_movemask_ps(reinterpret_cast<__m256>(chunk << (31 - bit)));
    bits |= uint64_t{static_cast<uint32_t>(top)} << lane;
#elif defined(__SSE2__)
    const int top = _mm_movemask_ps(reinterpret_cast<__m128>(chunk << (31 - bit)));
    bits |= uint64_t{static_cast<uint32_t>(top)} << lane;
#else
    for (unsigned k = 0; k < chunk_lanes; ++k) {
      bits |= uint64_t{chunk[k] >> bit & 1} << (lane + k);
    }
#endif
  }
  return bits;
}

inline BankDigits::BankDigits(const uint32_t* addresses) {
  for (unsigned k = 0; k < bank_bits; ++k) {
    at[k] = collect_bit(addresses, 2 + k);
  }
}

// An element for each bank, with a bit for each lane of a half.
inline uint32_t count_fullest_of(const BankDigits& digits, uint64_t active, unsigned half) {
  const unsigned shift = banks * half;
  Chunk most{};
  for (unsigned first = 0; first < banks; first += chunk_lanes) {
    const Chunk bank = progress(first, 1);
    Chunk there = splat(static_cast<uint32_t>(active >> shift));
    for (unsigned k = 0; k < bank_bits; ++k) {
      there &= ~(splat(static_cast<uint32_t>(digits.at[k] >> shift)) ^ (0u - (bank >> k & 1u)));
    }
    there -= there >> 1 & 0x55555555u;
    there = (there & 0x33333333u) + (there >> 2 & 0x33333333u);
    there = (there + (there >> 4)) & 0x0f0f0f0fu;
    there += there >> 8;
    const Chunk count = (there + (there >> 16)) & 0x3fu;
    most = count > most ? count : most;
  }
  uint32_t result = 0;
  for (unsigned k = 0; k < chunk_lanes; ++k) {
    result = most[k] > result ? most[k] : result;
  }
  return result;
}

inline FullestBank count_fullest(const BankDigits& digits, uint64_t active) {
  return {{count_fullest_of(digits, active, 0), count_fullest_of(digits, active, 1)}};
}
#endif

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
