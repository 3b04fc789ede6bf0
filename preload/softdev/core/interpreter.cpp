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

// Makes `time` that at which the instruction can start, and its unit of the SIMD busy from then on. If that
// is after the deadline, other waves go first: false is returned, and the unit stays as it was.
bool start_late(Wave& wave, Turns& turns, const Decoded& decoded, uint64_t deadline, uint64_t& time) {
  const Inst& inst = decoded.inst;
  const uint64_t before = time;
  if (time < wave.matrix_ready) {
    time = after_matrix_results(wave, decoded, time);
  }
  const uint64_t turn = turns.first_free(Turns::of(time));
  time = turn * Turns::cycles;
  if (time > deadline && time > before) {
    return false;
  }
  turns.take(turn, inst.busy_cycles / Turns::cycles);
  if (inst.result_cycles != 0) {
    remember_matrix_result(wave, decoded, time);
  }
  return true;
}

// Likewise for the units of the CU, which are free from some cycle on.
inline bool start_on_cu(Wave& wave, CuUnits& units, const Decoded& decoded, uint64_t deadline,
                        uint64_t& time) {
  const uint64_t before = time;
  if (__builtin_expect(time < wave.matrix_ready, 0)) {
    time = after_matrix_results(wave, decoded, time);
  }
  uint64_t& free_at = units.free_at(decoded.inst.unit);
  time = std::max(time, free_at);
  if (__builtin_expect(time > deadline && (time > before || decoded.start == Start::in_order), 0)) {
    return false;
  }
  free_at = time + decoded.inst.busy_cycles;
  return true;
}

// The usual case is a unit that is free.
inline bool start(Wave& wave, CuUnits& units, const Decoded& decoded, uint64_t deadline, uint64_t& time) {
  switch (decoded.start) {
    case Start::at_once:
      return true;
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
  const bool is_simple = decoded.turns != 0 && time >= wave.matrix_ready && turn * Turns::cycles <= deadline;
  if (__builtin_expect(!is_simple || !turns.take_if_free(turn, decoded.turns), 0)) {
    return start_late(wave, turns, decoded, deadline, time);
  }
  time = turn * Turns::cycles;
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
  if (last < turn || line.count < 2) {
    return 0;
  }
  uint64_t ends = uint64_t{1} << std::min<uint64_t>(line.count, last - turn + 1);
  if (line.scalar) {
    ends |= ~scalar.free_from(turn) & line.scalar;
  }
  if (line.vector) {
    ends |= ~vector.free_from(turn) & line.vector;
  }
  const uint64_t started = (ends & -ends) - 1;
  if (const uint64_t turns = line.scalar & started) {
    scalar.take_all(turn, turns);
  }
  if (const uint64_t turns = line.vector & started) {
    vector.take_all(turn, turns);
  }
  return static_cast<unsigned>(__builtin_ctzll(ends));
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

inline Line line_of(const Wave& wave, const Decoded& decoded, uint64_t pc) {
  const Line line = decoded.line.load(std::memory_order_acquire);
  return __builtin_expect(line.count == 0, 0) ? wave.text->line_at(pc, decoded) : line;
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
    if (!checked && decoded->is_in_line && time >= wave.matrix_ready && limit - executed >= Line::most &&
        !wave.gpr_index_on) {
      const uint64_t turn = Turns::of(time);
      if (const unsigned count = start_line(wave, units, line_of(wave, *decoded, pc), turn, deadline)) {
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
    if (!start(wave, units, *decoded, deadline, time)) {
      waits = decoded->start == Start::in_order && time > wave.dispatch->order_horizon;
      break;
    }
    wave.time = time;
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
