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

  // `weight` lines that are like this one.
  void touch(uint64_t line, unsigned weight = 1) {
    m_lines += weight;
    if (m_in_l1 && m_cu.l1.touch(line)) {
      return;
    }
    m_latency = std::max(m_latency, clock_model::l2_latency);
    if (!m_cu.xcd->l2.touch(line)) {
      m_latency = clock_model::memory_latency;
      m_missing += weight;
    }
  }
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

// Neighbouring lanes in one line share its access; `before` is the line before. Returns the most lanes that
// did.
class LaneWalk {
 public:
  LaneWalk(Walk& walk, const Footprint& footprint) : m_walk(walk), m_footprint(footprint) {}

  void consecutive(unsigned first_lane, unsigned count) {
    const uint64_t begin = m_footprint.addresses[first_lane];
    const uint64_t last = line_of(begin + uint64_t{count} * m_footprint.size - 1);
    const uint64_t first = line_of(begin);
    for (uint64_t line = first == m_before ? first + 1 : first; line <= last; ++line) {
      m_walk.touch(line);
    }
    m_before = last;
    constexpr auto line_bytes = static_cast<unsigned>(clock_model::line);
    m_most = std::max(m_most, std::min(count, line_bytes / m_footprint.size));
  }
  // One line in `sample` is looked up and stands for the others.
  void scattered(unsigned first_lane, uint64_t exec) {
    constexpr auto sample = static_cast<unsigned>(clock_model::scatter_sample);
    unsigned lines = 0;
    for (unsigned lane = first_lane; exec; ++lane, exec >>= 1) {
      if (!(exec & 1)) {
        continue;
      }
      const uint64_t line = line_of(m_footprint.addresses[lane]);
      if (line != m_before) {
        m_sharing = 0;
        if (lines++ % sample == 0) {
          m_walk.touch(line);
        }
      }
      m_before = line;
      m_most = std::max(m_most, ++m_sharing);
    }
    m_walk.skip(lines - (lines + sample - 1) / sample);
  }
  unsigned most() const { return m_most; }

 private:
  Walk& m_walk;
  const Footprint& m_footprint;
  uint64_t m_before = ~uint64_t{0};
  unsigned m_sharing = 0;
  unsigned m_most = 0;
};

// All lanes, each next to the one before.
unsigned walk_consecutive(Walk& walk, uint64_t begin, unsigned size) {
  const uint64_t last = line_of(begin + uint64_t{lanes} * size - 1);
  for (uint64_t line = line_of(begin); line <= last; ++line) {
    walk.touch(line);
  }
  constexpr auto line_bytes = static_cast<unsigned>(clock_model::line);
  return std::min(lanes, line_bytes / size);
}

unsigned walk_access(Walk& walk, const Footprint& footprint) {
  LaneWalk lanes_walk(walk, footprint);
  if (footprint.exec == ~uint64_t{0} && is_consecutive(footprint.addresses, footprint.size, lanes)) {
    lanes_walk.consecutive(0, lanes);
    return lanes_walk.most();
  }
  for (unsigned first = 0; first < lanes; first += group_lanes) {
    const uint64_t exec = footprint.exec >> first & 0xffff;
    if (exec == 0xffff && is_consecutive(footprint.addresses + first, footprint.size, group_lanes)) {
      lanes_walk.consecutive(first, group_lanes);
    } else if (exec) {
      lanes_walk.scattered(first, exec);
    }
  }
  return lanes_walk.most();
}

// Results of vector memory arrive in order, each as long as its lines take.
void push_vector(Wave& wave, uint64_t ready, uint64_t cycles) {
  wave.last_vector_result = std::max(ready, wave.last_vector_result + cycles);
  push_vmcnt(wave, wave.last_vector_result);
}

// Keeps L1 busy for its lines; the interpreter has counted the address unit already.
uint64_t occupy_l1(Wave& wave, uint64_t lines) {
  const uint64_t cycles = std::max(lines * clock_model::line_cycles, clock_model::vmem_cycles);
  wave.clock->units.free_at(Unit::vmem) += cycles - clock_model::vmem_cycles;
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
  Walk walk(*wave.clock, traffic);
  const unsigned sharing = walk_access(walk, footprint);
  finish_walk(wave, walk, sharing, traffic);
}

void finish_consecutive_access(Wave& wave, uint64_t begin, unsigned size, Traffic traffic) {
  Walk walk(*wave.clock, traffic);
  const unsigned sharing = walk_consecutive(walk, begin, size);
  finish_walk(wave, walk, sharing, traffic);
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
