// Bank conflicts of LDS.
#include <algorithm>

#include "core/clock_memory.hpp"
#include "core/counters.hpp"
#include "core/dispatch.hpp"

namespace ktrace::softdev {

void finish_lds(Wave& wave) { push_lgkmcnt(wave, wave.time + clock_model::lds_latency); }

void finish_lds(Wave& wave, const LdsAccess& access) {
  const uint32_t extra = wave.dispatch->lds_conflicts.extra_cycles(wave, access);
  wave.clock->units.free_at(Unit::lds) += extra;
  push_lgkmcnt(wave, wave.time + clock_model::lds_latency + extra);
}

namespace {

// A cycle serves as many lanes as have 32 dwords; a bank that several of them want at different addresses
// serves these one after the other. An access of several dwords uses as many banks side by side.
class BankGroup {
 public:
  explicit BankGroup(unsigned banks) : m_banks(banks) {}
  void add(uint32_t place, bool shares) {
    const unsigned bank = place % m_banks;
    for (unsigned k = 0; shares && k < m_count[bank]; ++k) {
      if (m_places[bank][k] == place) {
        return;
      }
    }
    m_places[bank][m_count[bank]++] = place;
    m_most = std::max<uint32_t>(m_most, m_count[bank]);
  }
  uint32_t extra() const { return m_most ? m_most - 1 : 0; }

 private:
  const unsigned m_banks;
  uint32_t m_places[clock_model::lds_banks][clock_model::lds_banks];
  uint8_t m_count[clock_model::lds_banks] = {};
  uint32_t m_most = 0;
};

// Lanes that share nothing: the fullest bank of each group says it.
uint32_t count_crowded(const LdsAccess& access, uint64_t exec) {
  const unsigned per_group = clock_model::lds_banks / access.dwords;
  const int shift = 2 + __builtin_ctz(access.dwords);
  uint32_t extra = 0;
  for (unsigned first = 0; first < lanes; first += per_group) {
    uint8_t count[clock_model::lds_banks] = {};
    uint8_t most = 1;
    for (unsigned lane = first; lane < first + per_group; ++lane) {
      const unsigned bank = (access.addresses[lane] >> shift) % per_group;
      count[bank] = static_cast<uint8_t>(count[bank] + (exec >> lane & 1));
      most = std::max(most, count[bank]);
    }
    extra += most - 1u;
  }
  return extra;
}

uint32_t count_conflicts(const LdsAccess& access, uint64_t exec) {
  if (access.is_atomic && (access.dwords & (access.dwords - 1)) == 0) {
    return count_crowded(access, exec);
  }
  const unsigned per_group = clock_model::lds_banks / access.dwords;
  uint32_t extra = 0;
  for (unsigned first = 0; first < lanes; first += per_group) {
    BankGroup group(per_group);
    for (unsigned lane = first; lane < std::min(first + per_group, lanes); ++lane) {
      if (exec >> lane & 1) {
        group.add(access.addresses[lane] / (4 * access.dwords), !access.is_atomic);
      }
    }
    extra += group.extra();
  }
  return extra;
}

// Lanes that follow each other, or that all want the same: the usual cases, of which three lanes tell.
bool has_no_conflicts(const LdsAccess& access, uint64_t exec) {
  const uint32_t* at = access.addresses;
  const uint32_t step = at[1] - at[0];
  return exec == ~uint64_t{0} && (step == 4 * access.dwords || (step == 0 && !access.is_atomic)) &&
         at[lanes / 2] - at[0] == lanes / 2 * step && at[lanes - 1] - at[0] == (lanes - 1) * step;
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

}  // namespace

uint32_t LdsConflicts::extra_cycles(Wave& wave, const LdsAccess& access) {
  const uint64_t exec = wave.exec();
  if (has_no_conflicts(access, exec)) {
    return 0;
  }
  const uint32_t* mask = wave.mask();
  const uint32_t* at = access.addresses;
  // Moving all lanes by whole dwords changes nothing.
  const uint32_t base = at[exec ? __builtin_ctzll(exec) : 0] & ~3u;
  Pattern& pattern = m_patterns[hash_of(at, base, mask, access.dwords) % slots];
  uint32_t difference = 0;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    difference |= ((at[lane] - base) ^ pattern.offsets[lane]) & mask[lane];
  }
  const bool is_known = difference == 0 && pattern.exec == exec && pattern.dwords == access.dwords &&
                        pattern.is_atomic == access.is_atomic;
  if (!is_known) {
    pattern.exec = exec;
    pattern.dwords = access.dwords;
    pattern.is_atomic = access.is_atomic;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      pattern.offsets[lane] = at[lane] - base;
    }
    pattern.extra = count_conflicts(access, exec);
  }
  return pattern.extra * access.accesses;
}

}  // namespace ktrace::softdev
