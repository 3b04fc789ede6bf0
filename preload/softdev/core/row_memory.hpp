// Whole waves at once: checks of 64 addresses, and moves between registers and memory where neighbouring
// lanes have neighbouring addresses. What does not fit here goes lane by lane, with the same result.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/wave.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace ktrace::softdev {

constexpr uint64_t all_lanes = ~uint64_t{0};

// Lane l's offset is lane 0's + l * stride, without wrapping.
template <unsigned stride>
inline bool are_consecutive(const uint32_t* offsets) {
  const uint32_t first = offsets[0];
  uint32_t difference = 0;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    difference |= offsets[lane] ^ (first + lane * stride);
  }
  return difference == 0 && first <= ~uint32_t{0} - (lanes - 1) * stride;
}

inline bool are_equal(const uint32_t* values, const uint32_t* mask, uint32_t wanted) {
  uint32_t difference = 0;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    difference |= (values[lane] ^ wanted) & mask[lane];
  }
  return difference == 0;
}

// offsets[l] - low <= span modulo 2^32, for all lanes of the mask.
inline bool are_within(const uint32_t* offsets, const uint32_t* mask, uint32_t low, uint32_t span) {
  // Signed comparisons are the ones that every host has for vectors.
  constexpr uint32_t sign = 0x80000000u;
  const auto limit = static_cast<int32_t>(span ^ sign);
  uint32_t outside = 0;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const auto distance = static_cast<int32_t>((offsets[lane] - low) ^ sign);
    outside |= (distance > limit ? ~uint32_t{0} : 0) & mask[lane];
  }
  return outside == 0;
}

// Memory with `dwords` per lane, lane after lane, to rows with one dword of every lane each.
template <unsigned dwords>
inline void split_lanes(uint32_t* rows, const uint8_t* memory) {
#if defined(__SSE2__)
  const auto load = [&](size_t dword) {
    return _mm_castsi128_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(memory + dword * 4)));
  };
  const auto store = [&](size_t dword, __m128 value) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(rows + dword), _mm_castps_si128(value));
  };
  if constexpr (dwords == 2 || dwords == 4) {
    for (size_t lane = 0; lane < lanes; lane += 4) {
      __m128 a = load(lane * dwords), b = load(lane * dwords + 4);
      if constexpr (dwords == 2) {
        store(lane, _mm_shuffle_ps(a, b, _MM_SHUFFLE(2, 0, 2, 0)));
        store(lanes + lane, _mm_shuffle_ps(a, b, _MM_SHUFFLE(3, 1, 3, 1)));
      } else {
        __m128 c = load(lane * dwords + 8), d = load(lane * dwords + 12);
        _MM_TRANSPOSE4_PS(a, b, c, d);
        store(lane, a);
        store(lanes + lane, b);
        store(2 * lanes + lane, c);
        store(3 * lanes + lane, d);
      }
    }
    return;
  }
#endif
  for (unsigned lane = 0; lane < lanes; ++lane) {
    for (unsigned k = 0; k < dwords; ++k) {
      std::memcpy(&rows[k * lanes + lane], memory + (lane * dwords + k) * 4, 4);
    }
  }
}

// The other way.
template <unsigned dwords>
inline void join_lanes(const uint32_t* rows, uint8_t* memory) {
#if defined(__SSE2__)
  const auto load = [&](size_t dword) {
    return _mm_castsi128_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(rows + dword)));
  };
  const auto store = [&](size_t dword, __m128 value) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(memory + dword * 4), _mm_castps_si128(value));
  };
  if constexpr (dwords == 2 || dwords == 4) {
    for (size_t lane = 0; lane < lanes; lane += 4) {
      __m128 a = load(lane), b = load(lanes + lane);
      if constexpr (dwords == 2) {
        store(lane * dwords, _mm_unpacklo_ps(a, b));
        store(lane * dwords + 4, _mm_unpackhi_ps(a, b));
      } else {
        __m128 c = load(2 * lanes + lane), d = load(3 * lanes + lane);
        _MM_TRANSPOSE4_PS(a, b, c, d);
        store(lane * dwords, a);
        store(lane * dwords + 4, b);
        store(lane * dwords + 8, c);
        store(lane * dwords + 12, d);
      }
    }
    return;
  }
#endif
  for (unsigned lane = 0; lane < lanes; ++lane) {
    for (unsigned k = 0; k < dwords; ++k) {
      std::memcpy(memory + (lane * dwords + k) * 4, &rows[k * lanes + lane], 4);
    }
  }
}

// As split_lanes, from wherever `place` says that a lane's dwords are. Rows and places do not overlap.
template <unsigned dwords, class PlaceOf>
inline void gather_lanes(uint32_t* rows, PlaceOf place) {
#if defined(__SSE2__)
  const auto load = [&](unsigned lane) {
    const uint8_t* from = place(lane);
    if constexpr (dwords == 1) {
      int32_t value;
      std::memcpy(&value, from, sizeof value);
      return _mm_cvtsi32_si128(value);
    } else if constexpr (dwords == 2) {
      return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    } else {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    }
  };
  const auto store = [&](size_t dword, __m128i value) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(rows + dword), value);
  };
  if constexpr (dwords != 3) {
    for (unsigned lane = 0; lane < lanes; lane += 4) {
      const __m128i a = load(lane), b = load(lane + 1), c = load(lane + 2), d = load(lane + 3);
      const __m128i ab = _mm_unpacklo_epi32(a, b), cd = _mm_unpacklo_epi32(c, d);
      store(lane, _mm_unpacklo_epi64(ab, cd));
      if constexpr (dwords > 1) {
        store(lanes + lane, _mm_unpackhi_epi64(ab, cd));
      }
      if constexpr (dwords == 4) {
        const __m128i high_ab = _mm_unpackhi_epi32(a, b), high_cd = _mm_unpackhi_epi32(c, d);
        store(2 * lanes + lane, _mm_unpacklo_epi64(high_ab, high_cd));
        store(3 * lanes + lane, _mm_unpackhi_epi64(high_ab, high_cd));
      }
    }
    return;
  }
#endif
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const uint8_t* from = place(lane);
    for (unsigned k = 0; k < dwords; ++k) {
      std::memcpy(&rows[k * lanes + lane], from + 4 * k, 4);
    }
  }
}

// The other way, lowest lane first.
template <unsigned dwords, class PlaceOf>
inline void scatter_lanes(const uint32_t* rows, PlaceOf place) {
#if defined(__SSE2__)
  const auto load = [&](size_t dword) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows + dword));
  };
  const auto at = [&](unsigned lane) { return reinterpret_cast<__m128i*>(place(lane)); };
  if constexpr (dwords == 2 || dwords == 4) {
    for (unsigned lane = 0; lane < lanes; lane += 4) {
      const __m128i first = load(lane), second = load(lanes + lane);
      const __m128i ab = _mm_unpacklo_epi32(first, second), cd = _mm_unpackhi_epi32(first, second);
      if constexpr (dwords == 2) {
        _mm_storel_epi64(at(lane), ab);
        _mm_storel_epi64(at(lane + 1), _mm_unpackhi_epi64(ab, ab));
        _mm_storel_epi64(at(lane + 2), cd);
        _mm_storel_epi64(at(lane + 3), _mm_unpackhi_epi64(cd, cd));
      } else {
        const __m128i third = load(2 * lanes + lane), fourth = load(3 * lanes + lane);
        const __m128i high_ab = _mm_unpacklo_epi32(third, fourth),
                      high_cd = _mm_unpackhi_epi32(third, fourth);
        _mm_storeu_si128(at(lane), _mm_unpacklo_epi64(ab, high_ab));
        _mm_storeu_si128(at(lane + 1), _mm_unpackhi_epi64(ab, high_ab));
        _mm_storeu_si128(at(lane + 2), _mm_unpacklo_epi64(cd, high_cd));
        _mm_storeu_si128(at(lane + 3), _mm_unpackhi_epi64(cd, high_cd));
      }
    }
    return;
  }
#endif
  for (unsigned lane = 0; lane < lanes; ++lane) {
    uint8_t* to = place(lane);
    for (unsigned k = 0; k < dwords; ++k) {
      std::memcpy(to + 4 * k, &rows[k * lanes + lane], 4);
    }
  }
}

}  // namespace ktrace::softdev
