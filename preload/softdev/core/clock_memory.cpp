// Lines of an access, the level that each is found in, and what that takes.
#include "core/clock_memory.hpp"

#include <algorithm>
#include <cstring>

#include "core/counters.hpp"
#include "core/dispatch.hpp"

namespace ktrace::softdev {

namespace {

// Goes through the lines of one access and finds each in the nearest cache.
class Walk {
 public:
  Walk(CuClock& cu, Traffic traffic) : m_cu(cu), m_in_l1(traffic == Traffic::load) {}

  void touch(uint64_t line) {
    ++m_lines;
    if (m_in_l1 && m_cu.l1.touch(line)) {
      return;
    }
    m_latency = std::max(m_latency, clock_model::l2_latency);
    if (!m_cu.xcd->l2.touch(line)) {
      m_latency = clock_model::memory_latency;
      ++m_missing;
    }
  }
  // Lines that are like others.
  void skip(unsigned count) { m_lines += count; }
  uint64_t lines() const { return m_lines; }
  uint64_t missing() const { return m_missing; }
  uint64_t latency() const { return m_latency; }

 private:
  CuClock& m_cu;
  const bool m_in_l1;
  uint64_t m_lines = 0;
  uint64_t m_missing = 0;
  uint64_t m_latency = clock_model::l1_latency;
};

uint64_t line_of(uint64_t address) { return address / clock_model::line; }

constexpr unsigned group_lanes = 16;  // a cycle of the address unit

// The lanes of a group usually follow each other; three of them tell.
bool is_consecutive(const uint64_t* addresses, unsigned size, unsigned count) {
  return addresses[1] - addresses[0] == size && addresses[count - 1] - addresses[0] == (count - 1) * size;
}

// Which active lanes are in another line than the one before them.
uint64_t changes_of(const Footprint& footprint) {
  uint64_t changes = 0, before = ~uint64_t{0};
  for (uint64_t left = footprint.exec; left; left &= left - 1) {
    const int lane = __builtin_ctzll(left);
    const uint64_t line = line_of(footprint.addresses[lane]);
    changes |= uint64_t{line != before} << lane;
    before = line;
  }
  return changes;
}

// Lanes that are each next to the one before; `is_new` tells whether the first line has not been counted yet.
void walk_consecutive(Walk& walk, uint64_t begin, uint64_t size, bool is_new) {
  const uint64_t last = line_of(begin + size - 1);
  for (uint64_t line = line_of(begin) + !is_new; line <= last; ++line) {
    walk.touch(line);
  }
}

// Other lanes of a group: one line in `sample` is looked up and stands for the others.
void walk_scattered(Walk& walk, const uint64_t* addresses, uint64_t changes) {
  constexpr auto sample = static_cast<unsigned>(clock_model::scatter_sample);
  if (changes == 0xffff) {  // a line for each: usual where there is a stride
    for (unsigned lane = 0; lane < group_lanes; lane += sample) {
      walk.touch(line_of(addresses[lane]));
    }
    walk.skip(group_lanes - group_lanes / sample);
    return;
  }
  for (unsigned k = 0; changes; ++k, changes &= changes - 1) {
    if (k % sample == 0) {
      walk.touch(line_of(addresses[__builtin_ctzll(changes)]));
    } else {
      walk.skip(1);
    }
  }
}

bool is_consecutive_group(const Footprint& footprint, unsigned first) {
  return (footprint.exec >> first & 0xffff) == 0xffff &&
         is_consecutive(footprint.addresses + first, footprint.size, group_lanes);
}

void walk_access(Walk& walk, const Footprint& footprint, uint64_t changes) {
  const uint64_t* addresses = footprint.addresses;
  if (footprint.exec == ~uint64_t{0} && is_consecutive(addresses, footprint.size, lanes)) {
    walk_consecutive(walk, addresses[0], uint64_t{lanes} * footprint.size, true);
    return;
  }
  for (unsigned first = 0; first < lanes; first += group_lanes) {
    if (is_consecutive_group(footprint, first)) {
      const bool is_new = (changes >> first & 1) != 0;
      walk_consecutive(walk, addresses[first], uint64_t{group_lanes} * footprint.size, is_new);
    } else {
      walk_scattered(walk, addresses + first, changes >> first & 0xffff);
    }
  }
}

// The most lanes that share a line's access, each with its neighbour.
unsigned most_sharing(const Footprint& footprint, uint64_t changes) {
  constexpr auto line_bytes = static_cast<unsigned>(clock_model::line);
  unsigned most = 0, sharing = 0;
  for (unsigned first = 0; first < lanes; first += group_lanes) {
    if (is_consecutive_group(footprint, first)) {
      most = std::max(most, std::min(lanes, line_bytes / footprint.size));
      continue;
    }
    for (uint64_t left = footprint.exec >> first & 0xffff; left; left &= left - 1) {
      const unsigned lane = first + static_cast<unsigned>(__builtin_ctzll(left));
      sharing = (changes >> lane & 1) != 0 ? 1 : sharing + 1;
      most = std::max(most, sharing);
    }
  }
  return most;
}

// Results of vector memory arrive in order, each as long as its lines take.
void push_vector(Wave& wave, uint64_t ready, uint64_t cycles) {
  wave.last_vector_result = std::max(ready, wave.last_vector_result + cycles);
  push_vmcnt(wave, wave.last_vector_result);
}

// Keeps L1 busy for its lines; the interpreter has counted the address unit already.
uint64_t occupy_l1(Wave& wave, uint64_t lines) {
  const uint64_t cycles = std::max(lines * clock_model::line_cycles, clock_model::vmem_cycles);
  wave.clock->units.extend(Unit::vmem, cycles - clock_model::vmem_cycles);
  return cycles;
}

uint64_t latency_of(Traffic traffic, uint64_t load_latency, unsigned sharing) {
  switch (traffic) {
    case Traffic::store:
      return clock_model::store_latency;
    case Traffic::atomic:
      return clock_model::atomic_latency + sharing * clock_model::atomic_cycles;
    case Traffic::load:
      break;
  }
  return load_latency;
}

void finish_walk(Wave& wave, const Walk& walk, unsigned sharing, Traffic traffic) {
  CuClock& cu = *wave.clock;
  const uint64_t busy = occupy_l1(wave, walk.lines());
  const uint64_t asked = wave.time + busy;
  uint64_t ready = asked + latency_of(traffic, walk.latency(), sharing);
  if (walk.missing()) {
    ready += cu.xcd->memory.serve(asked, walk.missing() * clock_model::line) - asked;
  }
  push_vector(wave, ready, busy);
}

}  // namespace

void finish_vector_access(Wave& wave, const Footprint& footprint, Traffic traffic) {
  finish_vector_access(wave, footprint, traffic, changes_of(footprint));
}

void finish_vector_access(Wave& wave, const Footprint& footprint, Traffic traffic, uint64_t changes) {
  Walk walk(*wave.clock, traffic);
  walk_access(walk, footprint, changes);
  finish_walk(wave, walk, traffic == Traffic::atomic ? most_sharing(footprint, changes) : 0, traffic);
}

void finish_consecutive_access(Wave& wave, uint64_t begin, unsigned size, Traffic traffic) {
  Walk walk(*wave.clock, traffic);
  walk_consecutive(walk, begin, uint64_t{lanes} * size, true);
  constexpr auto line_bytes = static_cast<unsigned>(clock_model::line);
  finish_walk(wave, walk, std::min(lanes, line_bytes / size), traffic);
}

void finish_group_runs(Wave& wave, const uint64_t* begins, unsigned size, Traffic traffic) {
  constexpr unsigned groups = lanes / group_lanes;
  if (begins[groups - 1] - begins[0] == uint64_t{lanes - group_lanes} * size) {
    finish_consecutive_access(wave, begins[0], size, traffic);
    return;
  }
  Walk walk(*wave.clock, traffic);
  uint64_t before = ~uint64_t{0};  // the line of the last lane's first byte
  for (unsigned k = 0; k < groups; ++k) {
    walk_consecutive(walk, begins[k], uint64_t{group_lanes} * size, line_of(begins[k]) != before);
    before = line_of(begins[k] + uint64_t{group_lanes - 1} * size);
  }
  constexpr auto line_bytes = static_cast<unsigned>(clock_model::line);
  finish_walk(wave, walk, std::min(lanes, line_bytes / size), traffic);
}

void finish_scratch_access(Wave& wave, const Inst& inst, Traffic traffic) {
  const uint64_t lines = inst.data_dwords * (lanes * sizeof(uint32_t) / clock_model::line);
  const uint64_t busy = occupy_l1(wave, lines);
  push_vector(wave, wave.time + busy + latency_of(traffic, clock_model::l1_latency, 0), busy);
}

void finish_cache_control(Wave& wave) {
  push_vector(wave, wave.time + clock_model::store_latency, clock_model::vmem_cycles);
}

void finish_scalar(Wave& wave, uint64_t latency) { push_lgkmcnt(wave, wave.time + latency); }

void finish_scalar_access(Wave& wave, uint64_t address, uint64_t size, Traffic traffic) {
  CuClock& cu = *wave.clock;
  uint64_t latency = clock_model::scalar_latency;
  const uint64_t last = (address + size - 1) / clock_model::scalar_line;
  for (uint64_t line = address / clock_model::scalar_line; traffic == Traffic::load && line <= last; ++line) {
    if (!cu.scalar.touch(line)) {
      const bool in_l2 = cu.xcd->l2.touch(line_of(line * clock_model::scalar_line));
      latency = std::max(latency, in_l2 ? clock_model::scalar_l2_latency : clock_model::memory_latency);
    }
  }
  finish_scalar(wave, latency_of(traffic, latency, 0));
}

}  // namespace ktrace::softdev
