// Addresses in LDS, and what an access costs: checks of bounds, patterns, bank conflicts.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/dispatch.hpp"
#include "memory/lanes/lane_memory.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

[[noreturn]] void lds_fault(const Wave& wave, const Inst& inst, uint64_t address, unsigned size,
                            unsigned lane);

// The bytes of an LDS address, checked.
inline uint8_t* lds_memory(Wave& wave, const Inst& inst, uint64_t address, unsigned size, unsigned lane) {
  std::vector<uint8_t>& lds = wave.workgroup->lds;
  if (__builtin_expect(address + size > lds.size(), 0)) {
    lds_fault(wave, inst, address, size, lane);
  }
  return lds.data() + address;
}

inline uint32_t lds_offset(const Inst& inst) { return static_cast<uint32_t>(inst.imm); }

// Copied, because a read may overwrite its own address register.
struct LdsAddresses {
  LdsAddresses(const Wave& wave, const Inst& inst) { std::memcpy(at, wave.vgpr(inst.vaddr), sizeof at); }
  alignas(64) uint32_t at[lanes];
};

// Where lane 0 of a progression has its bytes, active or not, if every active lane has `size` bytes inside of
// LDS; else null. Addresses wrap: compilers fold offsets into negative bases.
[[gnu::always_inline]] inline uint8_t* lds_origin(Wave& wave, uint64_t exec, const Progression& steps,
                                                  uint32_t offset, unsigned size) {
  const std::vector<uint8_t>& lds = wave.workgroup->lds;
  const unsigned lowest = first_lane(exec);
  const int64_t begin = steps.at(lowest) + offset, distance = steps.distance(exec), end = begin + distance;
  if ((distance < 0 ? end : begin) < 0 ||
      static_cast<uint64_t>(distance < 0 ? begin : end) + size > lds.size()) {
    return nullptr;
  }
  const int64_t back = int64_t{static_cast<int32_t>(steps.step)} * lowest;
  return reinterpret_cast<uint8_t*>(reinterpret_cast<uint64_t>(lds.data()) +
                                    static_cast<uint64_t>(begin - back));
}

// `dwords` of every lane; atomics of one dword do not share a bank's answer.
struct LdsAccess {
  const uint32_t* addresses;
  unsigned dwords;
  bool is_atomic = false;
};

// Lanes that follow each other, or that all want the same.
inline bool is_free(uint64_t exec, uint32_t step, unsigned dwords, bool is_atomic) {
  return exec == all_lanes && (step == 4 * dwords || (step == 0 && !is_atomic));
}

// Cycles on top of those of an access without bank conflicts. EXEC is not 0.
uint32_t lds_conflicts(Wave& wave, const LdsAccess& access);

void learn_steps(LdsSteps& known, const LdsSteps& wanted, const Progression& steps);

template <unsigned dwords>
inline uint32_t lds_conflicts(Wave& wave, uint64_t exec, const Progression& steps) {
  if (is_free(exec, steps.step, dwords, false)) {
    return 0;
  }
  const uint32_t phase = steps.at(first_lane(exec)) % (4 * dwords);
  LdsSteps& known = wave.dispatch->lds_patterns.steps[(steps.step / 4 + dwords) % LdsPatterns::step_slots];
  if (known.exec != exec || known.step != steps.step || known.phase != phase || known.dwords != dwords) {
    learn_steps(known, {exec, steps.step, phase, dwords}, steps);
  }
  return known.extra;
}

// The pattern that the addresses have, which are given from lds_base on.
const LdsPattern& lds_pattern(Wave& wave, const LdsAccess& access);

// The pattern that the instruction met last if all lanes, which are on, have it again; else null.
inline const LdsPattern* find_met(Wave& wave, const Inst& inst, const uint32_t* addresses, unsigned dwords) {
  LdsPatterns& patterns = wave.dispatch->lds_patterns;
  const LdsPattern& pattern = patterns.at[patterns.met_by(inst)];
  if (!pattern.is_whole || pattern.dwords != dwords) {
    return nullptr;
  }
  const uint32_t base = addresses[0] & ~3u;
  Chunk difference{};
  for (unsigned lane = 0; lane < lanes; lane += chunk_lanes) {
    difference |= (load_chunk(addresses + lane) - base) ^ load_chunk(pattern.offsets + lane);
  }
  return any_bit(difference) ? nullptr : &pattern;
}

inline void remember_met(Wave& wave, const Inst& inst, const LdsPattern& pattern) {
  LdsPatterns& patterns = wave.dispatch->lds_patterns;
  patterns.met_by(inst) = static_cast<uint8_t>(&pattern - patterns.at);
}

// Moving all lanes by whole dwords changes no pattern. EXEC is not 0.
inline uint32_t lds_base(Wave& wave, const uint32_t* addresses) {
  return addresses[first_lane(wave.exec())] & ~3u;
}

// Whether `size` bytes of every active lane lie in LDS. `begin` is the base with an offset; it wraps.
inline bool is_inside(Wave& wave, const LdsPattern& pattern, uint32_t begin, unsigned size) {
  const uint32_t lowest = begin + pattern.low;
  return uint64_t{lowest} + pattern.span + size <= wave.workgroup->lds.size();
}

// Parts of the table of DS instructions; null for an opcode that is another part's.
Handler lds_atomic_handler(uint16_t op);
Handler lds_permute_handler(uint16_t op);
Handler lds_transpose_handler(uint16_t op);
Handler lds_exchange_handler(uint16_t op);

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
