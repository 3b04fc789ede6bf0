// What running dispatches leaves behind for the next ones: creating it is what costs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/clock_memory.hpp"
#include "core/wave.hpp"

namespace ktrace::softdev {

struct StartedGroup;  // compute_unit.hpp

// Waves, register files and workgroups. Of one thread at a time.
class WavePool {
 public:
  // Rows of a register file: architectural and accumulation registers, and room for the widest operand behind
  // both.
  static constexpr size_t rows = 256 + 256 + 32;

  WavePool();
  ~WavePool();
  WavePool(const WavePool&) = delete;
  WavePool& operator=(const WavePool&) = delete;

  // Waves have no registers yet.
  Wave* take();
  void give(Wave* wave) { m_free.push_back(wave); }
  // A register file of which the first so many architectural and accumulation registers are 0, the others
  // anything.
  uint32_t* take_registers(uint32_t vgprs, uint32_t agprs);
  // The same numbers as when it was taken. It is cleared now, while it is in the host's caches.
  void give_registers(uint32_t* file, uint32_t vgprs, uint32_t agprs);
  // A workgroup in the state in which the last one left it, or a new one.
  std::unique_ptr<StartedGroup> take_group();
  void give_group(std::unique_ptr<StartedGroup> group);

 private:
  std::vector<void*> m_slabs;
  std::vector<std::unique_ptr<Wave>> m_waves;
  std::vector<Wave*> m_free;
  struct RegisterFile {
    uint32_t* rows;
    uint32_t clear_vgprs;  // so many of the first are 0
    uint32_t clear_agprs;
  };
  std::vector<RegisterFile> m_free_registers;
  std::vector<std::unique_ptr<StartedGroup>> m_free_groups;

  void grow();
};

// What a device keeps between its dispatches. References stay valid.
class DevicePools {
 public:
  // Those of a Worker of a dispatch, by number.
  WavePool& waves(unsigned worker);
  // What the clock model knows of a CU.
  CuClock& clock(uint32_t cu, uint32_t xcd);
  // All units free, all caches empty: every dispatch begins so.
  void clear_clocks();

 private:
  std::deque<WavePool> m_waves;
  std::deque<CuClock> m_cus;
  std::deque<XcdClock> m_xcds;
};

}  // namespace ktrace::softdev
