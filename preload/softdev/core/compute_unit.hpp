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
  uint32_t serial = 0;  // of the dispatch
  uint32_t simd = 0;
  uint32_t slot = 0;  // of the SIMD
};

// A workgroup with all its waves. Its LDS comes into being with the first of them.
struct StartedGroup : Workgroup {
  std::vector<Resident> residents;
  GroupShape shape = {};
  bool has_lds = false;
};

struct Runnable {
  uint64_t time;  // the wave's
  Resident* resident;
};

struct ComputeUnit {
  static constexpr uint64_t never = ~uint64_t{0};

  uint32_t index = 0;  // of the device
  CuClock* clock = nullptr;
  std::vector<Runnable> runnable;  // in order of start
  std::vector<std::unique_ptr<StartedGroup>> groups;
  std::vector<uint64_t> vacancies;      // when the next workgroup could start, for each that ended
  uint16_t slots[CuUnits::simds] = {};  // one bit per occupied wave slot

  // The first of those with the lowest time, null if there are none, and the lowest time of the others.
  struct Choice {
    Runnable* first = nullptr;
    uint64_t next = never;
  };
  Choice choose() {
    Choice choice;
    uint64_t lowest = never;
    for (Runnable& each : runnable) {
      if (each.time < lowest) {
        choice.next = lowest;
        choice.first = &each;
        lowest = each.time;
      } else {
        choice.next = std::min(choice.next, each.time);
      }
    }
    return choice;
  }
  // When it has something to do next.
  uint64_t next_time() {
    const Runnable* first = choose().first;
    const uint64_t wave = first ? first->time : never;
    return vacancies.empty() ? wave : std::min(wave, *std::min_element(vacancies.begin(), vacancies.end()));
  }
  void remove(const Resident& resident) {
    runnable.erase(std::find_if(runnable.begin(), runnable.end(),
                                [&](const Runnable& each) { return each.resident == &resident; }));
  }
  // Takes the first free slot of the SIMD with the fewest waves.
  void give_slot(Resident& resident) {
    unsigned simd = 0;
    for (unsigned k = 1; k < CuUnits::simds; ++k) {
      if (__builtin_popcount(slots[k]) < __builtin_popcount(slots[simd])) {
        simd = k;
      }
    }
    resident.simd = simd;
    resident.slot = static_cast<uint32_t>(__builtin_ctz(~unsigned{slots[simd]}));
    slots[simd] = static_cast<uint16_t>(slots[simd] | 1u << resident.slot);
  }
  void free_slot(const Resident& resident) {
    slots[resident.simd] = static_cast<uint16_t>(slots[resident.simd] & ~(1u << resident.slot));
  }
};

}  // namespace ktrace::softdev
