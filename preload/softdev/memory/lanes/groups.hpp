// Moves the dwords of 16 lanes between registers and memory. A group's `rows` have one dword of each of its
// lanes, those of the next register are 64 dwords further on.
#pragma once

#include <cstdint>
#include <cstring>

#include "memory/lanes/rows.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

template <unsigned dwords>
inline void load_dwords(uint32_t* rows, unsigned lane, const uint8_t* memory) {
  for (unsigned k = 0; k < dwords; ++k) {
    std::memcpy(&rows[k * lanes + lane], memory + 4 * k, 4);
  }
}
template <unsigned dwords>
inline void store_dwords(const uint32_t* rows, unsigned lane, uint8_t* memory) {
  for (unsigned k = 0; k < dwords; ++k) {
    std::memcpy(memory + 4 * k, &rows[k * lanes + lane], 4);
  }
}

#if defined(__SSE2__)
inline __m128i load_four(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }
inline void store_four(void* to, __m128i value) { _mm_storeu_si128(static_cast<__m128i*>(to), value); }

// Four lanes' dwords, `dwords` of them used, to the rows of these lanes.
template <unsigned dwords>
inline void put_lanes(uint32_t* rows, __m128i a, __m128i b, __m128i c, __m128i d) {
  const __m128i ab = _mm_unpacklo_epi32(a, b), cd = _mm_unpacklo_epi32(c, d);
  store_four(rows, _mm_unpacklo_epi64(ab, cd));
  if constexpr (dwords > 1) {
    store_four(rows + lanes, _mm_unpackhi_epi64(ab, cd));
  }
  if constexpr (dwords > 2) {
    const __m128i high_ab = _mm_unpackhi_epi32(a, b), high_cd = _mm_unpackhi_epi32(c, d);
    store_four(rows + 2 * lanes, _mm_unpacklo_epi64(high_ab, high_cd));
    if constexpr (dwords > 3) {
      store_four(rows + 3 * lanes, _mm_unpackhi_epi64(high_ab, high_cd));
    }
  }
}

template <unsigned dwords>
inline __m128i load_lane(const uint8_t* from) {
  if constexpr (dwords == 1) {
    int32_t value;
    std::memcpy(&value, from, sizeof value);
    return _mm_cvtsi32_si128(value);
  } else if constexpr (dwords == 2) {
    return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  } else if constexpr (dwords == 3) {
    uint32_t third;
    std::memcpy(&third, from + 8, sizeof third);
    return _mm_unpacklo_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)),
                              _mm_cvtsi32_si128(static_cast<int>(third)));
  } else {
    return load_four(from);
  }
}
#endif

#if defined(__AVX2__)
inline __m256i load_far(const uint8_t* low, const uint8_t* high) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(load_four(low)), load_four(high), 1);
}
inline void store_eight(uint32_t* to, __m256i value) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), value);
}

// Eight lanes with four dwords each: the upper halves of the registers hold lanes 4 to 7.
template <class PlaceOf>
inline void gather_eight_by_four(uint32_t* rows, PlaceOf place) {
  const __m256i a = load_far(place(0), place(4)), b = load_far(place(1), place(5));
  const __m256i c = load_far(place(2), place(6)), d = load_far(place(3), place(7));
  const __m256i low_ab = _mm256_unpacklo_epi32(a, b), low_cd = _mm256_unpacklo_epi32(c, d);
  const __m256i high_ab = _mm256_unpackhi_epi32(a, b), high_cd = _mm256_unpackhi_epi32(c, d);
  store_eight(rows, _mm256_unpacklo_epi64(low_ab, low_cd));
  store_eight(rows + lanes, _mm256_unpackhi_epi64(low_ab, low_cd));
  store_eight(rows + 2 * lanes, _mm256_unpacklo_epi64(high_ab, high_cd));
  store_eight(rows + 3 * lanes, _mm256_unpackhi_epi64(high_ab, high_cd));
}
#endif

// Four lanes, from where `place` says.
template <unsigned dwords, class PlaceOf>
inline void gather_four(uint32_t* rows, PlaceOf place) {
#if defined(__SSE4_1__)
  if constexpr (dwords == 1) {
    const auto dword = [&](unsigned lane) {
      int32_t value;
      std::memcpy(&value, place(lane), sizeof value);
      return value;
    };
    const __m128i one = _mm_cvtsi32_si128(dword(0)), two = _mm_insert_epi32(one, dword(1), 1);
    store_four(rows, _mm_insert_epi32(_mm_insert_epi32(two, dword(2), 2), dword(3), 3));
    return;
  }
#endif
#if defined(__SSE2__)
  put_lanes<dwords>(rows, load_lane<dwords>(place(0)), load_lane<dwords>(place(1)),
                    load_lane<dwords>(place(2)), load_lane<dwords>(place(3)));
#else
  for (unsigned lane = 0; lane < 4; ++lane) {
    load_dwords<dwords>(rows, lane, place(lane));
  }
#endif
}

// The whole group, from where `place` says that a lane's dwords are. Rows and places do not overlap.
template <unsigned dwords, class PlaceOf>
inline void gather_group(uint32_t* rows, PlaceOf place) {
#if defined(__AVX2__)
  if constexpr (dwords == 4) {
    for (unsigned first = 0; first < group_lanes; first += 8) {
      gather_eight_by_four(rows + first, [&](unsigned lane) { return place(first + lane); });
    }
    return;
  }
#endif
  for (unsigned first = 0; first < group_lanes; first += 4) {
    gather_four<dwords>(rows + first, [&](unsigned lane) { return place(first + lane); });
  }
}

// All lanes, each `step` bytes from the one before.
template <unsigned dwords>
inline void gather_steps(uint32_t* rows, const uint8_t* memory, int64_t step) {
  const int64_t thrice = 3 * step;
#if defined(__AVX2__)
  if constexpr (dwords == 4) {
    for (unsigned lane = 0; lane < lanes; lane += 8, memory += 8 * step) {
      const uint8_t* const upper = memory + 4 * step;
      gather_eight_by_four(rows + lane, [&](unsigned k) {
        return (k < 4 ? memory : upper) + (k % 4 == 3 ? thrice : k % 4 * step);
      });
    }
    return;
  }
#endif
  for (unsigned lane = 0; lane < lanes; lane += 4, memory += 4 * step) {
    gather_four<dwords>(rows + lane, [&](unsigned k) { return memory + (k == 3 ? thrice : k * step); });
  }
}

// The other way, lowest lane first.
template <unsigned dwords, class PlaceOf>
inline void scatter_group(const uint32_t* rows, PlaceOf place) {
#if defined(__SSE2__)
  if constexpr (dwords == 2 || dwords == 4) {
    for (unsigned lane = 0; lane < group_lanes; lane += 4) {
      const __m128i first = load_four(rows + lane), second = load_four(rows + lanes + lane);
      const __m128i ab = _mm_unpacklo_epi32(first, second), cd = _mm_unpackhi_epi32(first, second);
      const auto at = [&](unsigned k) { return reinterpret_cast<__m128i*>(place(lane + k)); };
      if constexpr (dwords == 2) {
        _mm_storel_epi64(at(0), ab);
        _mm_storel_epi64(at(1), _mm_unpackhi_epi64(ab, ab));
        _mm_storel_epi64(at(2), cd);
        _mm_storel_epi64(at(3), _mm_unpackhi_epi64(cd, cd));
      } else {
        const __m128i third = load_four(rows + 2 * lanes + lane), fourth = load_four(rows + 3 * lanes + lane);
        const __m128i high_ab = _mm_unpacklo_epi32(third, fourth),
                      high_cd = _mm_unpackhi_epi32(third, fourth);
        _mm_storeu_si128(at(0), _mm_unpacklo_epi64(ab, high_ab));
        _mm_storeu_si128(at(1), _mm_unpackhi_epi64(ab, high_ab));
        _mm_storeu_si128(at(2), _mm_unpacklo_epi64(cd, high_cd));
        _mm_storeu_si128(at(3), _mm_unpackhi_epi64(cd, high_cd));
      }
    }
    return;
  }
#endif
  for (unsigned lane = 0; lane < group_lanes; ++lane) {
    store_dwords<dwords>(rows, lane, place(lane));
  }
}

#if defined(__AVX512F__)
// Sixteen dwords of a run that are those of active lanes, from dword 16 * part on.
template <unsigned dwords>
inline __mmask16 active_dwords(uint32_t active, unsigned part) {
  if (dwords == 1 || active == whole_group) {
    return static_cast<__mmask16>(active);
  } else if constexpr (dwords == 2) {
    return static_cast<__mmask16>(_pdep_u32(active, 0x55555555u) * 3 >> 16 * part);
  } else {
    return static_cast<__mmask16>(_pdep_u64(active, 0x1111111111111111u) * 15 >> 16 * part);
  }
}

// Stores through masks are slow, and registers may be written as a whole.
inline void put_row(uint32_t* row, uint32_t active, __m512i values) {
  if (active != whole_group) {
    values = _mm512_mask_mov_epi32(_mm512_loadu_si512(row), static_cast<__mmask16>(active), values);
  }
  _mm512_storeu_si512(row, values);
}
inline __m512i get_memory(const uint8_t* memory, __mmask16 active) {
  return active == whole_group ? _mm512_loadu_si512(memory) : _mm512_maskz_loadu_epi32(active, memory);
}
inline void put_memory(uint8_t* memory, __mmask16 active, __m512i values) {
  if (active == whole_group) {
    _mm512_storeu_si512(memory, values);
  } else {
    _mm512_mask_storeu_epi32(memory, active, values);
  }
}

template <unsigned dwords>
inline void load_run_masked(uint32_t* rows, const uint8_t* memory, uint32_t active) {
  __m512i part[dwords];
  for (unsigned k = 0; k < dwords; ++k) {
    part[k] = get_memory(memory + 64 * k, active_dwords<dwords>(active, k));
  }
  const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  const __m512i odd = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
  if constexpr (dwords == 1) {
    put_row(rows, active, part[0]);
  } else if constexpr (dwords == 2) {
    put_row(rows, active, _mm512_permutex2var_epi32(part[0], even, part[1]));
    put_row(rows + lanes, active, _mm512_permutex2var_epi32(part[0], odd, part[1]));
  } else {
    const __m512i even_low = _mm512_permutex2var_epi32(part[0], even, part[1]),
                  even_high = _mm512_permutex2var_epi32(part[2], even, part[3]),
                  odd_low = _mm512_permutex2var_epi32(part[0], odd, part[1]),
                  odd_high = _mm512_permutex2var_epi32(part[2], odd, part[3]);
    put_row(rows, active, _mm512_permutex2var_epi32(even_low, even, even_high));
    put_row(rows + lanes, active, _mm512_permutex2var_epi32(odd_low, even, odd_high));
    put_row(rows + 2 * lanes, active, _mm512_permutex2var_epi32(even_low, odd, even_high));
    put_row(rows + 3 * lanes, active, _mm512_permutex2var_epi32(odd_low, odd, odd_high));
  }
}

// Dword k of a lane next to its dword k + 1: those of lanes 0 to 7, and of lanes 8 to 15.
inline void interleave(__m512i a, __m512i b, __m512i& low, __m512i& high) {
  low = _mm512_permutex2var_epi32(a, _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0),
                                  b);
  high = _mm512_permutex2var_epi32(
      a, _mm512_set_epi32(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8), b);
}

template <unsigned dwords>
inline void store_run_masked(const uint32_t* rows, uint8_t* memory, uint32_t active) {
  __m512i part[dwords];
  if constexpr (dwords == 1) {
    part[0] = _mm512_loadu_si512(rows);
  } else if constexpr (dwords == 2) {
    interleave(_mm512_loadu_si512(rows), _mm512_loadu_si512(rows + lanes), part[0], part[1]);
  } else {
    // Dwords 0 and 2, then 1 and 3: interleaved once more they are in order.
    __m512i even[2], odd[2];
    interleave(_mm512_loadu_si512(rows), _mm512_loadu_si512(rows + 2 * lanes), even[0], even[1]);
    interleave(_mm512_loadu_si512(rows + lanes), _mm512_loadu_si512(rows + 3 * lanes), odd[0], odd[1]);
    interleave(even[0], odd[0], part[0], part[1]);
    interleave(even[1], odd[1], part[2], part[3]);
  }
  for (unsigned k = 0; k < dwords; ++k) {
    put_memory(memory + 64 * k, active_dwords<dwords>(active, k), part[k]);
  }
}
#endif

// The active lanes, from memory that has the group's lanes side by side.
template <unsigned dwords>
inline void load_run(uint32_t* rows, const uint8_t* memory, uint32_t active) {
#if defined(__AVX512F__)
  if constexpr (dwords != 3) {
    load_run_masked<dwords>(rows, memory, active);
    return;
  }
#endif
  if (active == whole_group) {
    if constexpr (dwords == 1) {
      std::memcpy(rows, memory, group_lanes * 4);
    } else {
      gather_group<dwords>(rows, [&](unsigned lane) { return memory + lane * dwords * 4; });
    }
    return;
  }
  for_each_lane(active, [&](unsigned lane) { load_dwords<dwords>(rows, lane, memory + lane * dwords * 4); });
}

template <unsigned dwords>
inline void store_run(const uint32_t* rows, uint8_t* memory, uint32_t active) {
#if defined(__AVX512F__)
  if constexpr (dwords != 3) {
    store_run_masked<dwords>(rows, memory, active);
    return;
  }
#endif
  if (active == whole_group) {
    if constexpr (dwords == 1) {
      std::memcpy(memory, rows, group_lanes * 4);
    } else {
      scatter_group<dwords>(rows, [&](unsigned lane) { return memory + lane * dwords * 4; });
    }
    return;
  }
  for_each_lane(active, [&](unsigned lane) { store_dwords<dwords>(rows, lane, memory + lane * dwords * 4); });
}

// The active lanes, all from one place.
template <unsigned dwords>
inline void load_together(uint32_t* rows, const uint8_t* memory, uint32_t active) {
  for (unsigned k = 0; k < dwords; ++k) {
    uint32_t value;
    std::memcpy(&value, memory + 4 * k, 4);
    uint32_t* row = rows + k * lanes;
    if (active == whole_group) {
      for (unsigned lane = 0; lane < group_lanes; lane += chunk_lanes) {
        store_chunk(row + lane, splat(value));
      }
    } else {
      for_each_lane(active, [&](unsigned lane) { row[lane] = value; });
    }
  }
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
