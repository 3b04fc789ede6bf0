// Running a dispatch: which wave executes when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/clock_memory.hpp"
#include "core/machine.hpp"
#include "core/wave.hpp"

namespace ktrace::softdev {

// Waves and register files, and what the clock model knows of each CU, reused within and between
// dispatches: creating them is what costs.
class WavePool {
 public:
  // Rows of a register file: architectural and accumulation registers, and room for the widest operand behind
  // both.
  static constexpr size_t rows = 256 + 256 + 32;

  WavePool() = default;
  ~WavePool();
  WavePool(const WavePool&) = delete;
  WavePool& operator=(const WavePool&) = delete;

  // Waves have no registers yet.
  Wave* take();
  void give(Wave* wave) { m_free.push_back(wave); }
  // A register file, with anything in it.
  uint32_t* take_registers();
  void give_registers(uint32_t* file) { m_free_registers.push_back(file); }
  // References stay valid.
  CuClock& clock(uint32_t cu, uint32_t xcd);
  // All units free, all caches empty: every dispatch begins so.
  void clear_clocks();

 private:
  std::vector<void*> m_slabs;
  std::vector<std::unique_ptr<Wave>> m_waves;
  std::vector<Wave*> m_free;
  std::vector<uint32_t*> m_free_registers;
  std::deque<CuClock> m_cus;
  std::deque<XcdClock> m_xcds;

  void grow();
};

// Throws Fault for a dispatch that this device cannot run.
void check_dispatch(const Device& device, const Dispatch& dispatch);

// Runs `dispatch` from `begin` on. `end` follows the virtual clock, also when a Fault is thrown.
DispatchResult run_dispatch(const Device& device, const MemoryRegistry& registry, WavePool& pool,
                            const Dispatch& dispatch, uint64_t dispatch_id, uint64_t begin, uint64_t& end);

}  // namespace ktrace::softdev
