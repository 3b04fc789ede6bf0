// LDS (DS) instructions: permutations of lanes that run through LDS's crossbar and touch no memory.
#include "memory/lanes/lds.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

namespace {

void store_lanes(Wave& wave, unsigned reg, const Row& values) {
  uint32_t* rows = wave.vgpr(reg);
  if (wave.exec() == all_lanes) {
    std::memcpy(rows, &values, sizeof values);
  } else {
    const uint32_t* mask = wave.mask();
    KTRACE_EACH_LANE(lane) { rows[lane] = (rows[lane] & ~mask[lane]) | (values.at[lane] & mask[lane]); }
  }
  finish_lds(wave);
}

// Lanes that EXEC switches off give 0.
const uint32_t* active_data(Wave& wave, unsigned reg, Row& copy) {
  const uint32_t* data = wave.vgpr(reg);
  if (wave.exec() == all_lanes) {
    return data;
  }
  const uint32_t* mask = wave.mask();
  KTRACE_EACH_LANE(lane) { copy.at[lane] = data[lane] & mask[lane]; }
  return copy.at;
}

// result[l] = data[from[l] % 64]
#if defined(__AVX512F__)
void pick_lanes(Row& result, const uint32_t* data, const Row& from) {
  const __m512i first = _mm512_loadu_si512(data), second = _mm512_loadu_si512(data + 16),
                third = _mm512_loadu_si512(data + 32), fourth = _mm512_loadu_si512(data + 48);
  for (unsigned lane = 0; lane < lanes; lane += 16) {
    const __m512i index = _mm512_load_si512(from.at + lane);
    const __m512i low = _mm512_permutex2var_epi32(first, index, second),
                  high = _mm512_permutex2var_epi32(third, index, fourth);
    const __mmask16 is_high = _mm512_test_epi32_mask(index, _mm512_set1_epi32(32));
    _mm512_store_si512(result.at + lane, _mm512_mask_mov_epi32(low, is_high, high));
  }
}
#elif defined(__AVX2__)
// Eight candidates for each lane, of which bits 3, 4 and 5 of its index choose one.
__m256 pick_eight(const uint32_t* data, __m256i index) {
  const auto candidate = [&](unsigned k) {
    return _mm256_permutevar8x32_ps(_mm256_loadu_ps(reinterpret_cast<const float*>(data) + 8 * k), index);
  };
  const auto choose = [&](__m256 zero, __m256 one, int bit) {
    return _mm256_blendv_ps(zero, one, _mm256_castsi256_ps(_mm256_slli_epi32(index, 31 - bit)));
  };
  return choose(choose(choose(candidate(0), candidate(1), 3), choose(candidate(2), candidate(3), 3), 4),
                choose(choose(candidate(4), candidate(5), 3), choose(candidate(6), candidate(7), 3), 4), 5);
}

void pick_lanes(Row& result, const uint32_t* data, const Row& from) {
  for (unsigned lane = 0; lane < lanes; lane += 8) {
    const __m256i index = _mm256_load_si256(reinterpret_cast<const __m256i*>(from.at + lane));
    _mm256_store_ps(reinterpret_cast<float*>(result.at) + lane, pick_eight(data, index));
  }
}
#else
void pick_lanes(Row& result, const uint32_t* data, const Row& from) {
  for (unsigned lane = 0; lane < lanes; lane += 2) {
    const uint64_t pair = data[from.at[lane] % lanes] | uint64_t{data[from.at[lane + 1] % lanes]} << 32;
    std::memcpy(result.at + lane, &pair, sizeof pair);  // one store for two lanes
  }
}
#endif

void bpermute(Wave& wave, const Inst& inst) {
  const uint32_t* addresses = wave.vgpr(inst.vaddr);
  const uint32_t offset = lds_offset(inst);
  Row from, result, active;
  KTRACE_EACH_LANE(lane) { from.at[lane] = (addresses[lane] + offset) / 4; }
  pick_lanes(result, active_data(wave, inst.vdata, active), from);
  store_lanes(wave, inst.dst, result);
}

// Of several lanes that write to one, the last one wins.
void permute(Wave& wave, const Inst& inst) {
  const uint32_t* addresses = wave.vgpr(inst.vaddr);
  const uint32_t* data = wave.vgpr(inst.vdata);
  const uint32_t offset = lds_offset(inst);
  Row to, result = {};
  KTRACE_EACH_LANE(lane) { to.at[lane] = (addresses[lane] + offset) / 4 % lanes; }
  for_each_lane(wave.exec(), [&](unsigned lane) { result.at[to.at[lane]] = data[lane]; });
  store_lanes(wave, inst.dst, result);
}

// The lane that each lane of a swizzle takes.
void find_swizzled(uint32_t pattern, Row& from) {
  constexpr uint32_t quad_mode = 0x8000;
  if (pattern & quad_mode) {
    KTRACE_EACH_LANE(lane) { from.at[lane] = (lane & ~3u) | (pattern >> (2 * (lane & 3)) & 3); }
  } else {
    const uint32_t and_mask = (pattern & 31) | 32, or_mask = pattern >> 5 & 31, xor_mask = pattern >> 10 & 31;
    KTRACE_EACH_LANE(lane) { from.at[lane] = ((lane & and_mask) | or_mask) ^ xor_mask; }
  }
}

void swizzle(Wave& wave, const Inst& inst) {
  Row from, result, active;
  find_swizzled(lds_offset(inst), from);
  pick_lanes(result, active_data(wave, inst.vaddr, active), from);
  store_lanes(wave, inst.dst, result);
}

}  // namespace

Handler lds_permute_handler(uint16_t op) {
  switch (op) {
    case 61:
      return swizzle;
    case 62:
      return permute;
    case 63:
      return bpermute;
    default:
      return nullptr;
  }
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
