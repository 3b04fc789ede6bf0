// A CU as the scheduler sees it: its workgroups, and their waves by virtual time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/clock_memory.hpp"
#include "core/wave.hpp"
#include "core/wave_setup.hpp"

namespace ktrace::softdev {

struct StartedGroup;

// A wave in its slot. Until its first instruction is due it has neither state nor registers: the whole device
// is full of waves that have just been started, and they would push each other out of the host's caches.
struct Resident {
  Wave* wave = nullptr;
  StartedGroup* group = nullptr;
  uint64_t start_time = 0;
  uint32_t number = 0;  // within the workgroup
  uint32_t simd = 0;
  uint32_t slot = 0;     // of the SIMD
  uint32_t arrival = 0;  // among those that can run: of two at the same time, the earlier goes first
};

// A workgroup with all its waves. Its LDS comes into being with the first of them.
struct StartedGroup : Workgroup {
  std::vector<Resident> residents;
  uint64_t start_time = 0;
  GroupShape shape = {};
  bool has_lds = false;
};

class ComputeUnit {
 public:
  static constexpr uint64_t never = ~uint64_t{0};

  uint32_t within_xcd = 0;
  CuClock* clock = nullptr;
  std::vector<std::unique_ptr<StartedGroup>> groups;
  std::vector<uint64_t> vacancies;  // when the next workgroup could start, for each that ended

  // The wave whose turn it is, null if there is none, and the time of the one after it.
  Resident* first() const { return m_runnable.empty() ? nullptr : m_runnable[0].resident; }
  uint64_t first_time() const { return m_runnable.empty() ? never : m_runnable[0].time; }
  uint64_t second_time() const { return m_runnable.size() < 2 ? never : m_runnable[1].time; }
  // The host's caches have room for few waves: the state of the next one is fetched while the first runs.
  void prefetch_second() const {
    constexpr unsigned host_line = 64, hot_bytes = 704;  // up to the counters
    const Wave* const wave = m_runnable.size() < 2 ? nullptr : m_runnable[1].resident->wave;
    for (unsigned k = 0; wave && k < hot_bytes; k += host_line) {
      __builtin_prefetch(reinterpret_cast<const char*>(wave) + k);
    }
  }
  void add(Resident& resident, uint64_t time) {
    resident.arrival = m_arrivals++;
    size_t place = m_runnable.size();
    m_runnable.push_back({time, &resident});
    for (; place > 0 && m_runnable[place - 1].time > time; --place) {
      m_runnable[place] = m_runnable[place - 1];
    }
    m_runnable[place] = {time, &resident};
  }
  void remove_first() { m_runnable.erase(m_runnable.begin()); }
  // The first one has run until `time`.
  void move_first(uint64_t time) {
    const Runnable moved = {time, m_runnable[0].resident};
    const size_t count = m_runnable.size();
    size_t place = 0;
    for (; place + 1 < count && goes_before(m_runnable[place + 1], moved); ++place) {
      m_runnable[place] = m_runnable[place + 1];
    }
    m_runnable[place] = moved;
  }
  uint64_t next_vacancy() const {
    return vacancies.empty() ? never : *std::min_element(vacancies.begin(), vacancies.end());
  }
  // When it has something to do next.
  uint64_t next_time() const { return std::min(first_time(), next_vacancy()); }
  // Takes the first free slot of the SIMD with the fewest waves.
  void give_slot(Resident& resident) {
    unsigned simd = 0;
    for (unsigned k = 1; k < CuUnits::simds; ++k) {
      simd = m_waves[k] < m_waves[simd] ? k : simd;
    }
    resident.simd = simd;
    resident.slot = static_cast<uint32_t>(__builtin_ctz(~unsigned{m_slots[simd]}));
    m_slots[simd] = static_cast<uint16_t>(m_slots[simd] | 1u << resident.slot);
    ++m_waves[simd];
  }
  void free_slot(const Resident& resident) {
    m_slots[resident.simd] = static_cast<uint16_t>(m_slots[resident.simd] & ~(1u << resident.slot));
    --m_waves[resident.simd];
  }

 private:
  struct Runnable {
    uint64_t time;  // the wave's
    Resident* resident;
  };
  std::vector<Runnable> m_runnable;  // by time, then by arrival
  uint32_t m_arrivals = 0;
  uint16_t m_slots[CuUnits::simds] = {};  // one bit per occupied wave slot
  uint8_t m_waves[CuUnits::simds] = {};   // occupied slots

  static bool goes_before(const Runnable& a, const Runnable& b) {
    return a.time < b.time || (a.time == b.time && a.resident->arrival < b.resident->arrival);
  }
};

}  // namespace ktrace::softdev
