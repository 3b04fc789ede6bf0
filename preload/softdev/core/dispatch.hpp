// What the waves of one dispatch share, and the handlers that the core itself provides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/clock_memory.hpp"
#include "core/counters.hpp"
#include "core/lds_patterns.hpp"
#include "core/machine.hpp"
#include "core/process_map.hpp"
#include "core/wave.hpp"

namespace ktrace::softdev {

// Which addresses are memory: the registry's ranges first, then the process's own map, of which as
// much is read as is needed, and trusted for one dispatch.
class AddressSpace {
 public:
  // Memory that is mapped, but that HIP knows nothing of.
  enum class Foreign : uint8_t { allowed, noticed, refused };

  explicit AddressSpace(const MemoryRegistry& registry) : m_registry(registry) {}
  // `own` is what kernels may reach of the dispatch itself.
  void set_up(std::vector<Region> own, Foreign foreign) {
    m_own = std::move(own);
    m_foreign_use = foreign;
  }

  // The region that holds all of [address, address + size) and allows the access, or null. Always inlined:
  // code that is compiled for several instruction sets must not share a function (copies.cmake).
  [[gnu::always_inline]] const Region* find(uint64_t address, uint64_t size, bool write) {
    if (__builtin_expect(m_generation != m_registry.generation(), 0)) {
      return find_slowly(address, size, write);
    }
    for (const Region& region : m_recent) {
      if (address >= region.base && address < region.end && size <= region.end - address &&
          (region.writable || !write)) {
        return &region;
      }
    }
    return find_slowly(address, size, write);
  }
  // Foreign memory that was noticed, told once; 0 if there was none.
  uint64_t take_foreign() { return std::exchange(m_foreign, 0); }
  // For a message: what is near the address.
  std::string describe(uint64_t address, bool write) const;
  // Whether an access there was allowed lately. For signal handlers: takes no lock.
  bool has_met(uint64_t address) const;

 private:
  const MemoryRegistry& m_registry;
  Region m_recent[8];
  unsigned m_next = 0;
  uint64_t m_generation = 0;
  std::vector<Region> m_mappings;
  bool m_mappings_read = false;
  std::vector<Region> m_own;
  Foreign m_foreign_use = Foreign::allowed;
  uint64_t m_foreign = 0;
  Region m_foreign_region;

  const Region* find_slowly(uint64_t address, uint64_t size, bool write);
  const Region* remember(const Region& region);
  const Region* find_own(uint64_t address, uint64_t size);
  Region find_mapping(uint64_t address, uint64_t size, bool write) const;
  void learn_mappings(uint64_t address, uint64_t size, bool write);
  const Region* meet_foreign(const Region& mapping, uint64_t address);
};

struct DispatchState {
  DispatchState(const Dispatch& wanted, const Device& on, const MemoryRegistry& registry,
                uint64_t budget_left)
      : dispatch(wanted), device(on), memory(registry), budget(budget_left) {}

  const Dispatch& dispatch;
  const Device& device;
  AddressSpace memory;
  uint64_t budget;  // instructions that may still be executed
  uint64_t budget_total = 0;
  // The latest time at which what other CUs may notice can start on the CU that runs.
  uint64_t order_horizon = ~uint64_t{0};
  LdsPatterns lds_patterns;
};

// Handlers by encoding; null for an opcode that is not implemented.
Handler scalar_handler(const Inst& inst);   // SOP1, SOP2, SOPC, SOPK
Handler program_handler(const Inst& inst);  // SOPP, and SOPK's branches and hardware registers
Handler smem_handler(const Inst& inst);
Handler mad_handler(const Inst& inst);  // v_mad_f32 and v_mad_legacy_f32 of gfx90a

[[noreturn]] void memory_fault(const Wave& wave, const Inst& inst, uint64_t address, uint64_t size,
                               bool write, int lane);

// The host address of a device address that lies in no aperture; faults if it is no memory.
[[gnu::always_inline]] inline uint8_t* host_address(Wave& wave, const Inst& inst, uint64_t address,
                                                    uint64_t size, bool write, int lane) {
  if (__builtin_expect(wave.dispatch->memory.find(address, size, write) == nullptr, 0)) {
    memory_fault(wave, inst, address, size, write, lane);
  }
  return reinterpret_cast<uint8_t*>(address);
}

}  // namespace ktrace::softdev
