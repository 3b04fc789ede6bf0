// The instruction loop.
#include "core/interpreter.hpp"

#include <algorithm>

#include "core/check.hpp"
#include "core/dispatch.hpp"
#include "core/matrix_results.hpp"
#include "core/text.hpp"

namespace ktrace::softdev {

namespace {

// Leaves wave.text at the segment of pc, or faults.
void find_text(Wave& wave) {
  for (const auto& text : wave.dispatch->dispatch.code_object->texts()) {
    if (text->contains(wave.pc)) {
      wave.text = text.get();
      return;
    }
  }
  Inst none;
  none.size = 0;
  fault(wave, none, "the program counter 0x%llx is outside of the code object's code",
        static_cast<unsigned long long>(wave.pc));
}

[[noreturn]] void budget_fault(Wave& wave) {
  fault(wave, wave.text->at(wave.pc)->inst,
        "%llu instructions were executed, which is the limit: the kernel probably never ends "
        "(KTRACE_SOFT_BUDGET sets the limit)",
        static_cast<unsigned long long>(wave.dispatch->budget_total));
}

// s_set_gpr_idx: VGPR numbers are relative to M0's low byte; bits 12..15 say which operands.
void run_indexed(Wave& wave, const Inst& inst) {
  const bool is_vector = inst.encoding >= Encoding::vop1 && inst.encoding <= Encoding::mfma;
  if (!is_vector) {
    inst.handler(wave, inst);
    return;
  }
  const uint32_t m0 = wave.sgpr[code_m0];
  const uint32_t index = m0 & 0xff;
  Inst moved = inst;
  for (unsigned k = 0; k < inst.src_count; ++k) {
    if ((m0 >> (12 + k) & 1) && moved.src[k] >= code_vgpr) {
      moved.src[k] = static_cast<uint16_t>(moved.src[k] + index);
      if (moved.src[k] >= code_vgpr + 512) {
        fault(wave, inst, "an operand indexed by %u is no register", index);
      }
    }
  }
  if (m0 >> 15 & 1) {
    moved.dst = static_cast<uint16_t>(moved.dst + index);
    if (moved.dst >= 512) {
      fault(wave, inst, "a result indexed by %u is no register", index);
    }
  }
  moved.handler(wave, moved);
}

// When the instruction's unit is free for it.
inline uint64_t unit_free(CuUnits& units, unsigned simd, const Inst& inst, uint64_t time) {
  if (inst.unit <= static_cast<uint8_t>(Unit::matrix)) {
    const uint64_t turn = (time + Turns::cycles - 1) / Turns::cycles;
    const Turns& turns = units.turns(inst.unit, simd);
    return (__builtin_expect(turns.is_free(turn), 1) ? turn : turns.first_free(turn)) * Turns::cycles;
  }
  const uint64_t free_at = units.free_at(inst.unit);
  return free_at > time ? free_at : time;
}

inline void occupy(CuUnits& units, const Wave& wave, const Inst& inst) {
  if (inst.unit <= static_cast<uint8_t>(Unit::matrix)) {
    units.turns(inst.unit, wave.simd).take(wave.time / Turns::cycles, inst.busy_cycles / Turns::cycles);
  } else {
    units.free_at(inst.unit) = wave.time + inst.busy_cycles;
  }
}

// Makes the wave wait until the instruction can start, unless that is after the deadline: then other waves go
// first, and false is returned. Then the unit is busy with this instruction.
inline bool start(Wave& wave, CuUnits& units, const Decoded& decoded, uint64_t deadline) {
  const Inst& inst = decoded.inst;
  if (inst.unit == static_cast<uint8_t>(Unit::none)) {
    return true;
  }
  uint64_t time = wave.time;
  if (__builtin_expect(time < wave.matrix_ready, 0)) {
    time = after_matrix_results(wave, decoded, time);
  }
  time = unit_free(units, wave.simd, inst, time);
  if (__builtin_expect(time > deadline && time > wave.time, 0)) {
    wave.time = time;
    return false;
  }
  wave.time = time;
  occupy(units, wave, inst);
  if (__builtin_expect(inst.result_cycles != 0, 0)) {
    remember_matrix_result(wave, decoded);
  }
  return true;
}

// The instruction at pc.
inline const Decoded* fetch(Wave& wave) {
  if (__builtin_expect(!wave.text || !wave.text->contains(wave.pc), 0)) {
    find_text(wave);
  }
  return wave.text->at(wave.pc);
}

// The instruction at pc, which is the one behind `before`.
inline const Decoded* fetch_next(Wave& wave, const Decoded& before) {
  const Decoded* next = before.next.load(std::memory_order_acquire);
  if (__builtin_expect(next == nullptr, 0)) {
    next = fetch(wave);
    before.next.store(next, std::memory_order_release);
  }
  return next;
}

}  // namespace

namespace {

template <bool checked>
void run(Wave& wave, CuUnits& units, uint64_t deadline) {
  DispatchState& dispatch = *wave.dispatch;
  const uint64_t limit = dispatch.budget;
  uint64_t executed = 0;
  // Without a branch, what comes next does not wait for wave.pc's way through memory.
  uint64_t pc = wave.pc;
  const Decoded* decoded = fetch(wave);
  do {
    if (__builtin_expect(executed == limit, 0)) {
      budget_fault(wave);
    }
    const Inst& inst = decoded->inst;
    if (!start(wave, units, *decoded, deadline)) {
      break;
    }
    if constexpr (checked) {
      wave.checks->before(wave, inst);
    }
    if (__builtin_expect(wave.gpr_index_on, 0)) {
      run_indexed(wave, inst);
    } else {
      inst.handler(wave, inst);
    }
    if constexpr (checked) {
      wave.checks->after(wave, inst);
    }
    pc += inst.size;
    wave.pc += inst.size;
    wave.time += clock_model::issue;
    ++executed;
    if (__builtin_expect(wave.done, 0)) {
      break;
    }
    if (__builtin_expect(wave.pc == pc, 1)) {
      decoded = fetch_next(wave, *decoded);
    } else {
      pc = wave.pc;
      decoded = fetch(wave);
    }
  } while (wave.time <= deadline && !wave.at_barrier);
  dispatch.budget -= executed;
  wave.instructions += executed;
}

}  // namespace

void run_wave(Wave& wave, CuUnits& units, uint64_t deadline) {
  if (__builtin_expect(wave.checks != nullptr, 0)) {
    run<true>(wave, units, deadline);
  } else {
    run<false>(wave, units, deadline);
  }
}

}  // namespace ktrace::softdev
