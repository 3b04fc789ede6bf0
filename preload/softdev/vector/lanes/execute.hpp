// Turns a function of one lane into an instruction handler.
//
// `run<F32(F32, F32), add<float>>` fetches two f32 operands with their modifiers, calls add for 64 lanes
// into a local row, and writes the row under EXEC. An opcode table is then a list of signatures. Reading all
// sources before writing anything is what makes overlapping registers right.
#pragma once

#include "vector/lanes/results.hpp"
#include "vector/lanes/rounding.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

// Where results of 32 bits go: to their register if nothing stands in between, else to a row that is
// committed. A source may be the same register, whose lanes are then read before they are written.
template <class R>
class Target {
 public:
  Target(Wave& wave, const Inst& inst, Enable enable)
      : m_direct(writes_plainly<R>(wave, inst, enable)), m_to(m_direct ? wave.vgpr(inst.dst) : m_row.at) {}
  uint32_t* row() const { return m_to; }
  void commit(Wave& wave, const Inst& inst, Enable enable) {
    if (__builtin_expect(!m_direct, 0)) {
      commit_bits<R>(wave, inst, m_row, enable);
    }
  }

 private:
  Row m_row;
  const bool m_direct;
  uint32_t* const m_to;
};

// Likewise for results of 64 bits. A source may share one of the two registers: each lane is read first.
template <class R>
class WideTarget {
 public:
  WideTarget(Wave& wave, const Inst& inst, Enable enable)
      : m_direct(writes_plainly<R>(wave, inst, enable)),
        m_low(m_direct ? wave.vgpr(inst.dst) : m_result.low()),
        m_high(m_direct ? wave.vgpr(inst.dst + 1u) : m_result.high()) {}
  uint32_t* low() const { return m_low; }
  uint32_t* high() const { return m_high; }
  void commit(Wave& wave, const Inst& inst, Enable enable) {
    if (__builtin_expect(!m_direct, 0)) {
      m_result.commit(wave, inst, enable);
    }
  }

 private:
  Result<R> m_result;
  const bool m_direct;
  uint32_t* const m_low;
  uint32_t* const m_high;
};

// The loop over the lanes. `each` computes the result of one.
template <class R, class Each>
inline void for_lanes(Wave& wave, const Inst& inst, Enable enable, Each each) {
  if constexpr (is_one_register<R>) {
    Target<R> target(wave, inst, enable);
    uint32_t* const to = target.row();
    KTRACE_EACH_LANE(l) { to[l] = bits_of<R>(each(l)); }
    target.commit(wave, inst, enable);
  } else if constexpr (is_two_registers<R>) {
    WideTarget<R> target(wave, inst, enable);
    uint32_t* const low = target.low();
    uint32_t* const high = target.high();
    KTRACE_EACH_LANE(l) {
      const uint64_t bits = bits_as<uint64_t>(each(l));
      low[l] = static_cast<uint32_t>(bits);
      high[l] = static_cast<uint32_t>(bits >> 32);
    }
    target.commit(wave, inst, enable);
  } else {
    Result<R> result;
    KTRACE_EACH_LANE(l) { result.set(l, each(l)); }
    result.commit(wave, inst, enable);
  }
}

// The loop over blocks of lanes where all operands are 64 bits wide. `each` computes the result of one lane.
template <class R, class Each, class... Sources>
inline void for_blocks(Wave& wave, const Inst& inst, Enable enable, Each each, const Sources&... sources) {
  WideTarget<R> target(wave, inst, enable);
  for (unsigned first = 0; first < lanes; first += block_lanes) {
    WideWords results;
    const auto compute = [&](const auto&... blocks) {
      KTRACE_EACH_OF(block_lanes, k) { results.at[k] = bits_as<uint64_t>(each(blocks[k]...)); }
    };
    compute(sources.block(first)...);
    deinterleave(results, target.low() + first, target.high() + first);
  }
  target.commit(wave, inst, enable);
}

template <class R, auto operation, class... Types>
inline void compute(Wave& wave, const Inst& inst, Enable enable, const Source<Types>&... sources) {
  if constexpr (is_two_registers<R> && (gives_blocks<Types> && ...)) {
    for_blocks<R>(wave, inst, enable, [](auto... values) { return operation(values...); }, sources...);
  } else {
    for_lanes<R>(wave, inst, enable, [&](unsigned l) { return operation(sources[l]...); });
  }
}

template <class Signature, auto operation>
struct Run;

template <class R, class A, auto operation>
struct Run<R(A), operation> {
  static void handle(Wave& wave, const Inst& inst) {
    Enable enable;
    const RoundingScope<R> rounding(wave);
    const Source<A> a(wave, inst, 0, enable);
    compute<R, operation, A>(wave, inst, enable, a);
  }
};

template <class R, class A, class B, auto operation>
struct Run<R(A, B), operation> {
  static void handle(Wave& wave, const Inst& inst) {
    Enable enable;
    const RoundingScope<R> rounding(wave);
    const Source<A> a(wave, inst, 0, enable);
    const Source<B> b(wave, inst, 1, enable);
    compute<R, operation, A, B>(wave, inst, enable, a, b);
  }
};

template <class R, class A, class B, class C, auto operation>
struct Run<R(A, B, C), operation> {
  static void handle(Wave& wave, const Inst& inst) {
    Enable enable;
    const RoundingScope<R> rounding(wave);
    const Source<A> a(wave, inst, 0, enable);
    const Source<B> b(wave, inst, 1, enable);
    const Source<C> c(wave, inst, 2, enable);
    compute<R, operation, A, B, C>(wave, inst, enable, a, b, c);
  }
};

template <class Signature, auto operation>
constexpr Handler run = &Run<Signature, operation>::handle;

// Instructions whose clamp bit changes integer arithmetic, and those that IEEE mode changes.
template <Handler wrapping, Handler saturating>
void by_clamp(Wave& wave, const Inst& inst) {
  inst.clamp ? saturating(wave, inst) : wrapping(wave, inst);
}
template <Handler ieee, Handler other>
void by_ieee(Wave& wave, const Inst& inst) {
  (wave.mode & mode_ieee) != 0 ? ieee(wave, inst) : other(wave, inst);
}

// What a family of instructions contributes to the table.
struct OpHandler {
  uint16_t op;
  Handler handler;
};

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
