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

// When an instruction starts; if it has to wait for other waves, when it could start as far as is known.
struct Started {
  uint64_t time;
  bool now;
};

// From then on the instruction's unit of the SIMD is busy. If that is after the deadline, other waves go
// first, and the unit stays as it was.
Started start_late(Wave& wave, Turns& turns, const Decoded& decoded, uint64_t deadline, uint64_t time) {
  const Inst& inst = decoded.inst;
  const uint64_t before = time;
  if (time < wave.matrix_ready) {
    time = after_matrix_results(wave, decoded, time);
  }
  const uint64_t turn = turns.first_free(Turns::of(time));
  time = turn * Turns::cycles;
  if (time > deadline && time > before) {
    return {time, false};
  }
  turns.take(turn, inst.busy_cycles / Turns::cycles);
  if (inst.result_cycles != 0) {
    remember_matrix_result(wave, decoded, time);
  }
  return {time, true};
}

// Likewise for the units of the CU.
[[gnu::always_inline]] inline Started start_on_cu(Wave& wave, CuUnits& units, const Decoded& decoded,
                                                  uint64_t deadline, uint64_t time) {
  const uint64_t before = time;
  if (__builtin_expect(time < wave.matrix_ready, 0)) {
    time = after_matrix_results(wave, decoded, time);
  }
  BusySlots& slots = units.slots(decoded.inst.unit);
  const uint64_t slot = slots.find(BusySlots::of(time));
  time = slot * BusySlots::cycles;
  if (__builtin_expect(time > deadline && (time > before || decoded.start == Start::in_order), 0)) {
    return {time, false};
  }
  slots.take(slot, BusySlots::of(decoded.inst.busy_cycles));
  return {time, true};
}

// The usual case is a unit that is free.
[[gnu::always_inline]] inline Started start(Wave& wave, CuUnits& units, const Decoded& decoded,
                                            uint64_t deadline, uint64_t time) {
  switch (decoded.start) {
    case Start::at_once:
      return {time, true};
    case Start::in_order:
      deadline = std::min(deadline, wave.dispatch->order_horizon);
      [[fallthrough]];
    case Start::on_cu:
      return start_on_cu(wave, units, decoded, deadline, time);
    case Start::in_turn:
      break;
  }
  Turns& turns = units.turns(decoded.inst.unit, wave.simd);
  const uint64_t turn = Turns::of(time);
  if (__builtin_expect(decoded.turns != 0 && time >= wave.matrix_ready, 1)) {
    const uint64_t taken = turns.take_adjacent(turn, decoded.turns, deadline / Turns::cycles);
    if (__builtin_expect(taken != 0, 1)) {
      return {taken * Turns::cycles, true};
    }
  }
  return start_late(wave, turns, decoded, deadline, time);
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

template <bool checked>
inline void execute(Wave& wave, const Inst& inst) {
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
}

// How many instructions of a line can start one turn after the other from `turn` on, until one would have to
// wait or would start after the deadline. Their turns are taken.
inline unsigned start_line(const Wave& wave, CuUnits& units, Line line, uint64_t turn, uint64_t deadline) {
  Turns& scalar = units.turns(static_cast<uint8_t>(Unit::salu), wave.simd);
  Turns& vector = units.turns(static_cast<uint8_t>(Unit::valu), wave.simd);
  const uint64_t last = deadline / Turns::cycles;
  if (last < turn) {
    return 0;
  }
  uint64_t ends = uint64_t{1} << std::min<uint64_t>(line.count, last - turn + 1);
  if (line.scalar) {
    ends |= ~scalar.free_from(turn) & line.scalar;
  }
  const uint32_t on_vector = line.vector();
  if (on_vector) {
    ends |= ~vector.free_from(turn) & on_vector;
  }
  const uint64_t started = (ends & -ends) - 1;
  if (const uint64_t turns = line.scalar & started) {
    scalar.take_all(turn, turns);
  }
  if (const uint64_t turns = on_vector & started) {
    vector.take_all(turn, turns);
  }
  return static_cast<unsigned>(__builtin_ctzll(ends));
}

// Nothing makes the wave's arithmetic something else than it is.
inline bool may_run_line(const Wave& wave, uint64_t time) {
  return time >= wave.matrix_ready && !wave.gpr_index_on;
}

// Executes `count` instructions in line; `pc` is that of the first, and of the one behind them afterwards.
// Returns the last.
inline const Decoded* run_line(Wave& wave, const Decoded* decoded, unsigned count, uint64_t& pc) {
  for (;;) {
    wave.pc = pc;
    decoded->inst.handler(wave, decoded->inst);
    pc += decoded->inst.size;
    if (--count == 0) {
      return decoded;
    }
    decoded = decoded->next.load(std::memory_order_acquire);
  }
}

// The wave's pc and time live in registers: what comes next does not wait for their way through memory unless
// an instruction may have changed them.
template <bool checked>
bool run(Wave& wave, CuUnits& units, uint64_t deadline) {
  const uint64_t limit = wave.dispatch->budget;
  uint64_t executed = 0, pc = wave.pc, time = wave.time;
  bool waits = false;
  const Decoded* decoded = fetch(wave);
  do {
    Line line = decoded->line.load(std::memory_order_acquire);
    if (!checked && line.count != 1 && may_run_line(wave, time) && limit - executed >= Line::most) {
      if (__builtin_expect(line.count == 0, 0)) {
        line = wave.text->line_at(pc, *decoded);
      }
      const uint64_t turn = Turns::of(time);
      if (const unsigned count = start_line(wave, units, line, turn, deadline)) {
        decoded = run_line(wave, decoded, count, pc);
        executed += count;
        time = (turn + count) * Turns::cycles;
        wave.pc = pc;
        decoded = fetch_next(wave, *decoded);
        continue;
      }
    }
    if (__builtin_expect(executed == limit, 0)) {
      budget_fault(wave);
    }
    const Started started = start(wave, units, *decoded, deadline, time);
    time = started.time;
    wave.time = time;
    if (__builtin_expect(!started.now, 0)) {
      waits = decoded->start == Start::in_order && time > wave.dispatch->order_horizon;
      break;
    }
    execute<checked>(wave, decoded->inst);
    ++executed;
    pc += decoded->inst.size;
    if (decoded->after != After::anyhow) {
      time = (decoded->after == After::next ? time : wave.time) + clock_model::issue;
      wave.pc = pc;
      decoded = fetch_next(wave, *decoded);
      continue;
    }
    time = wave.time + clock_model::issue;
    wave.pc += decoded->inst.size;
    if (__builtin_expect(wave.done || wave.at_barrier, 0)) {
      break;
    }
    decoded = wave.pc == pc ? fetch_next(wave, *decoded) : fetch(wave);
    pc = wave.pc;
  } while (time <= deadline);
  wave.time = time;
  wave.dispatch->budget -= executed;
  wave.instructions += executed;
  return !waits;
}

}  // namespace

bool run_wave(Wave& wave, CuUnits& units, uint64_t deadline) {
  if (__builtin_expect(wave.checks != nullptr, 0)) {
    return run<true>(wave, units, deadline);
  }
  return run<false>(wave, units, deadline);
}

}  // namespace ktrace::softdev
