// Bank conflicts of LDS.
#include "core/lds_patterns.hpp"
#include "memory/lanes/lds.hpp"
#include "memory/lanes/lds_banks.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

namespace {

// A cycle serves as many lanes as have 32 dwords; a bank that several of them want at different addresses
// serves these one after the other. An access of several dwords uses as many banks side by side.
class BankGroup {
 public:
  explicit BankGroup(unsigned used) : m_banks(used) {}
  void add(uint32_t place, bool shares) {
    const unsigned bank = place % m_banks;
    for (unsigned k = 0; shares && k < m_count[bank]; ++k) {
      if (m_places[bank][k] == place) {
        return;
      }
    }
    m_places[bank][m_count[bank]++] = place;
    m_most = m_count[bank] > m_most ? m_count[bank] : m_most;
  }
  uint32_t extra() const { return m_most ? m_most - 1 : 0; }

 private:
  const unsigned m_banks;
  uint32_t m_places[banks][banks];
  uint8_t m_count[banks] = {};
  uint32_t m_most = 0;
};

// A bit for each lane that is 0.
uint32_t collect_zeros(const Chunk& chunk) {
#if defined(__AVX512F__)
  const __m512i lanes_of = reinterpret_cast<__m512i>(chunk);
  return _mm512_testn_epi32_mask(lanes_of, lanes_of);
#elif defined(__AVX2__)
  const Chunk zeros = reinterpret_cast<Chunk>(chunk == splat(0));
  return static_cast<uint32_t>(_mm256_movemask_ps(reinterpret_cast<__m256>(zeros)));
#elif defined(__SSE2__)
  const Chunk zeros = reinterpret_cast<Chunk>(chunk == splat(0));
  return static_cast<uint32_t>(_mm_movemask_ps(reinterpret_cast<__m128>(zeros)));
#else
  uint32_t bits = 0;
  for (unsigned k = 0; k < chunk_lanes; ++k) {
    bits |= uint32_t{chunk[k] == 0} << k;
  }
  return bits;
#endif
}

// The active ones of 32 lanes that want the same dword as one before them.
uint32_t find_repeated(const uint32_t* dwords, uint32_t active) {
  uint32_t repeated = 0;
  for (uint32_t left = active; left; left &= left - 1) {
    const uint32_t wanted = dwords[__builtin_ctz(left)];
    uint32_t same = 0;
    for (unsigned lane = 0; lane < banks; lane += chunk_lanes) {
      same |= collect_zeros(load_chunk(dwords + lane) ^ wanted) << lane;
    }
    repeated |= same & (left & (left - 1));
  }
  return repeated;
}

// Accesses of one dword: half of the wave is served at once, but for lanes that have to wait for a bank.
uint32_t count_dwords(const LdsAccess& access, uint64_t exec) {
  const BankDigits digits(access.addresses);
  const FullestBank fullest = count_fullest(digits, exec);
  if (access.is_atomic || fullest.extra() == 0) {
    return fullest.extra();
  }
  for (unsigned half = 0; half < 2; ++half) {
    uint32_t dwords[banks];
    for (unsigned lane = 0; lane < banks; ++lane) {
      dwords[lane] = access.addresses[banks * half + lane] / 4;
    }
    const unsigned first = banks * half;
    exec &= ~(uint64_t{find_repeated(dwords, static_cast<uint32_t>(exec >> first))} << first);
  }
  return count_fullest(digits, exec).extra();
}

// Of any width.
uint32_t count_by_bank(const LdsAccess& access, uint64_t exec) {
  const unsigned per_group = banks / access.dwords;
  uint32_t extra = 0;
  for (unsigned first = 0; first < lanes; first += per_group) {
    BankGroup group(per_group);
    for (unsigned lane = first; lane < first + per_group && lane < lanes; ++lane) {
      if (exec >> lane & 1) {
        group.add(access.addresses[lane] / (4 * access.dwords), !access.is_atomic);
      }
    }
    extra += group.extra();
  }
  return extra;
}

uint32_t count_conflicts(const LdsAccess& access, uint64_t exec) {
  return access.dwords == 1 ? count_dwords(access, exec) : count_by_bank(access, exec);
}

// Three lanes tell.
bool looks_free(uint64_t exec, const LdsAccess& access) {
  const uint32_t* at = access.addresses;
  const uint32_t step = at[1] - at[0];
  return is_free(exec, step, access.dwords, access.is_atomic) && at[lanes / 2] - at[0] == lanes / 2 * step &&
         at[lanes - 1] - at[0] == (lanes - 1) * step;
}

// A slot for the pattern, out of some of its lanes.
uint32_t hash_of(const uint32_t* addresses, uint32_t base, const uint32_t* mask, uint32_t seed) {
  constexpr unsigned samples[] = {1, 2, 5, 16, 32, 47, 63};
  constexpr uint32_t golden = 0x9e3779b1;
  uint32_t hash = seed;
  for (const unsigned lane : samples) {
    hash = hash * 31 + ((addresses[lane] - base) & mask[lane]);
  }
  return hash * golden >> 16;
}

bool has_offsets(const LdsPattern& pattern, const uint32_t* addresses, uint32_t base, const uint32_t* mask) {
  Chunk difference{};
  for (unsigned lane = 0; lane < lanes; lane += chunk_lanes) {
    difference |= ((load_chunk(addresses + lane) - base) ^ load_chunk(pattern.offsets + lane)) &
                  load_chunk(mask + lane);
  }
  return !any_bit(difference);
}

// EXEC is not 0.
void learn(LdsPattern& pattern, const LdsAccess& access, uint64_t exec, uint32_t base, const uint32_t* mask) {
  pattern.exec = exec;
  pattern.dwords = access.dwords;
  pattern.is_atomic = access.is_atomic;
  pattern.extra = looks_free(exec, access) ? 0 : count_conflicts(access, exec);
  const auto first = static_cast<int32_t>(access.addresses[first_lane(exec)] - base);
  int32_t low = first, high = first;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    pattern.offsets[lane] = access.addresses[lane] - base;
    const auto offset = static_cast<int32_t>((pattern.offsets[lane] & mask[lane]) |
                                             (static_cast<uint32_t>(first) & ~mask[lane]));
    low = offset < low ? offset : low;
    high = offset > high ? offset : high;
  }
  pattern.low = static_cast<uint32_t>(low);
  pattern.span = static_cast<uint32_t>(high) - pattern.low;
  for_each_group(exec, [&](unsigned lane, uint32_t active) {
    const Layout layout = layout_of(pattern.offsets + lane, mask + lane, active, 4 * access.dwords);
    pattern.layouts[lane / group_lanes] = static_cast<uint8_t>(layout);
  });
  const uint32_t step = access.addresses[1] - access.addresses[0];
  pattern.is_whole = exec == all_lanes && !access.is_atomic &&
                     !is_progression<false>(access.addresses, nullptr, {access.addresses[0], step});
  pattern.is_tiled = pattern.is_whole && pattern.layouts[0] != static_cast<uint8_t>(Layout::anyhow);
  for (const uint8_t layout : pattern.layouts) {
    pattern.is_tiled = pattern.is_tiled && layout == pattern.layouts[0];
  }
}

}  // namespace

const LdsPattern& lds_pattern(Wave& wave, const LdsAccess& access) {
  const uint64_t exec = wave.exec();
  const uint32_t* mask = wave.mask();
  const uint32_t base = lds_base(wave, access.addresses);
  LdsPatterns& patterns = wave.dispatch->lds_patterns;
  LdsPattern& pattern =
      patterns.at[hash_of(access.addresses, base, mask, access.dwords) % LdsPatterns::slots];
  const bool is_known = pattern.exec == exec && pattern.dwords == access.dwords &&
                        pattern.is_atomic == access.is_atomic &&
                        has_offsets(pattern, access.addresses, base, mask);
  if (!is_known) {
    learn(pattern, access, exec, base, mask);
  }
  return pattern;
}

uint32_t lds_conflicts(Wave& wave, const LdsAccess& access) {
  const uint64_t exec = wave.exec();
  if (looks_free(exec, access)) {
    return 0;
  }
  return access.is_atomic && access.dwords == 1 ? count_dwords(access, exec)
                                                : lds_pattern(wave, access).extra;
}

void learn_steps(LdsSteps& known, const LdsSteps& wanted, const Progression& steps) {
  uint32_t addresses[lanes];
  for (unsigned lane = 0; lane < lanes; ++lane) {
    addresses[lane] = steps.at(lane);
  }
  known = wanted;
  known.extra = count_conflicts({addresses, wanted.dwords}, wanted.exec);
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
