// KTRACE_SOFT_CHECK: what a kernel does that hardware does not promise to work, though it works here.
// Knows registers and counters of one wave; reports each place once and counts the rest.
#pragma once

#include <cstdint>
#include <deque>

#include "core/registers.hpp"
#include "core/wave.hpp"

namespace ktrace::softdev {

// One wave's registers that wait for memory or for the matrix unit.
class WaveChecks {
 public:
  explicit WaveChecks(Arch arch) : m_arch(arch) {}
  // Before and after the handler.
  void before(Wave& wave, const Inst& inst);
  void after(Wave& wave, const Inst& inst);

 private:
  enum class Counter : uint8_t { none, vector, lds, scalar };
  struct Pending {
    Counter counter = Counter::none;
    uint64_t number = 0;  // of the operation, among those of its counter
    uint64_t pc = 0;
  };
  struct Matrix {
    RegisterSpan result;
    uint64_t state;  // wait states executed before it
    unsigned wanted;
    uint64_t pc;
  };
  static constexpr unsigned registers = 768;

  const Arch m_arch;
  Pending m_pending[registers];
  unsigned m_pending_count = 0;
  uint64_t m_issued[4] = {};  // by Counter
  std::deque<Matrix> m_matrix;
  uint64_t m_states = 0;

  void wait(uint32_t field);
  template <typename Done>
  void forget(Done done);
  void check_span(const Wave& wave, const Inst& inst, const RegisterSpan& span, bool reads, Counter own);
  void check_matrix(const Wave& wave, const Inst& inst, const RegisterUse& use);
  void remember(const Wave& wave, const Inst& inst, const RegisterUse& use);
  void count_states(const Inst& inst);
};

}  // namespace ktrace::softdev
