// The rules: reads before s_waitcnt, reads before the matrix unit is done, memory that nobody has allocated,
// LDS that nothing wrote (check_lds.cpp).
#include "core/check.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <string>

#include "core/check_lds.hpp"
#include "core/check_report.hpp"
#include "core/dispatch.hpp"

namespace ktrace::softdev {

namespace {

constexpr uint32_t most_vmcnt = 63, most_lgkmcnt = 15;  // of s_waitcnt's fields: no wait

bool is_wait(const Inst& inst) { return inst.encoding == Encoding::sopp && inst.op == 12; }
bool is_nop(const Inst& inst) { return inst.encoding == Encoding::sopp && inst.op == 0; }
bool is_vector(const Inst& inst) { return inst.encoding >= Encoding::vop1; }

std::string name_of(unsigned code) {
  if (code >= code_agpr) {
    return "a" + std::to_string(code - code_agpr);
  }
  if (code >= code_vgpr) {
    return "v" + std::to_string(code - code_vgpr);
  }
  return code == code_vcc || code == code_vcc + 1 ? "vcc" : "s" + std::to_string(code);
}

std::string offset_of(const Wave& wave, uint64_t pc) {
  char text[32];
  const Dispatch& dispatch = wave.dispatch->dispatch;
  std::snprintf(text, sizeof text, "+0x%" PRIx64, pc - dispatch.kernel->entry);
  const std::string source = dispatch.code_object->source_of(pc);
  return source.empty() ? text : text + (" (" + source + ")");
}

// Wait states that LLVM's GCNHazardRecognizer keeps between a matrix instruction and a read of its result.
unsigned states_after(const Inst& inst, Arch arch) {
  // gfx90a has other numbers; the passes of f8f6f4 depend on its formats.
  const bool has_formats = inst.op == vop3p_base + 45 || inst.op == vop3p_base + 46;
  if (arch == Arch::gfx90a || has_formats || inst.scaled) {
    return 0;
  }
  return static_cast<unsigned>(inst.result_cycles / clock_model::issue) - 1;
}

}  // namespace

template <typename Done>
void WaveChecks::forget(Done done) {
  if (!m_pending_count) {
    return;
  }
  for (Pending& pending : m_pending) {
    if (pending.counter != Counter::none && done(pending)) {
      pending = {};
      --m_pending_count;
    }
  }
}

// Vector memory and LDS answer in order. Scalar memory does not: only a wait for all tells.
void WaveChecks::wait(uint32_t field) {
  const uint64_t vector = (field & 15) | (field >> 14 & 3) << 4, lgkm = field >> 8 & 15;
  forget([&](const Pending& pending) {
    switch (pending.counter) {
      case Counter::vector:
        return vector < most_vmcnt && pending.number + vector < m_issued[1];
      case Counter::lds:
        return lgkm < most_lgkmcnt && pending.number + lgkm < m_issued[2];
      default:
        return lgkm == 0;
    }
  });
}

void WaveChecks::check_span(const Wave& wave, const Inst& inst, const RegisterSpan& span, bool reads,
                            Counter own) {
  const unsigned end = std::min<unsigned>(span.first + span.count, registers);
  for (unsigned code = span.first; code < end; ++code) {
    const Pending& pending = m_pending[code];
    // Results of one counter that come in order may go to one register.
    const bool in_order = !reads && pending.counter == own && own != Counter::scalar;
    if (pending.counter == Counter::none || in_order) {
      continue;
    }
    const char* counter = pending.counter == Counter::vector ? "vmcnt" : "lgkmcnt";
    report_finding(wave, inst, Rule::wait,
                   std::string(reads ? "reads " : "overwrites ") + name_of(code) + " without an s_waitcnt " +
                       counter + " for what loads it at " + offset_of(wave, pending.pc));
    return;
  }
}

void WaveChecks::check_matrix(const Wave& wave, const Inst& inst, const RegisterUse& use) {
  while (!m_matrix.empty() && m_states - m_matrix.front().state > 32) {
    m_matrix.pop_front();
  }
  for (const Matrix& matrix : m_matrix) {
    const uint64_t states = m_states - matrix.state - 1;
    if (states >= matrix.wanted) {
      continue;
    }
    // The accumulator of another matrix instruction is the hardware's own business.
    const unsigned count =
        inst.encoding == Encoding::mfma ? std::min<unsigned>(2, use.read_count) : use.read_count;
    for (unsigned k = 0; k < count; ++k) {
      if (use.reads[k].overlaps(matrix.result)) {
        report_finding(wave, inst, Rule::matrix,
                       "reads " + name_of(std::max(use.reads[k].first, matrix.result.first)) + " " +
                           std::to_string(states) + " wait states after the matrix instruction at " +
                           offset_of(wave, matrix.pc) + " that writes it; " + std::to_string(matrix.wanted) +
                           " are needed (s_nop)");
        return;
      }
    }
  }
}

void WaveChecks::remember(const Wave& wave, const Inst& inst, const RegisterUse& use) {
  Counter counter = Counter::none;
  switch (inst.encoding) {
    case Encoding::flat:
    case Encoding::mubuf:
    case Encoding::mtbuf:
      counter = Counter::vector;
      break;
    case Encoding::ds:
      counter = Counter::lds;
      break;
    case Encoding::smem:
      counter = Counter::scalar;
      break;
    default:
      break;
  }
  if (counter == Counter::none) {
    return;
  }
  const uint64_t number = m_issued[static_cast<unsigned>(counter)]++;
  for (unsigned k = 0; k < use.write_count; ++k) {
    const unsigned end = std::min<unsigned>(use.writes[k].first + use.writes[k].count, registers);
    for (unsigned code = use.writes[k].first; code < end; ++code) {
      m_pending_count += m_pending[code].counter == Counter::none;
      m_pending[code] = {counter, number, wave.pc};
    }
  }
}

void WaveChecks::count_states(const Inst& inst) {
  m_states += is_nop(inst) ? static_cast<unsigned>(inst.imm & 15) + 1 : 1;
}

void WaveChecks::before(Wave& wave, const Inst& inst) {
  check_lds(wave, inst);
  if (is_wait(inst)) {
    wait(static_cast<uint32_t>(inst.imm));
  }
  const RegisterUse use = registers_of(inst, m_arch);
  // With indexed registers the operands are not those that the instruction names.
  const bool has_effect = !wave.gpr_index_on && (!is_vector(inst) || wave.exec() != 0);
  if (has_effect && m_pending_count) {
    const Counter own = inst.encoding == Encoding::ds     ? Counter::lds
                        : inst.encoding == Encoding::smem ? Counter::scalar
                        : inst.encoding >= Encoding::ds   ? Counter::vector
                                                          : Counter::none;
    for (unsigned k = 0; k < use.read_count; ++k) {
      check_span(wave, inst, use.reads[k], true, own);
    }
    for (unsigned k = 0; k < use.write_count; ++k) {
      check_span(wave, inst, use.writes[k], false, own);
    }
  }
  if (has_effect && is_vector(inst) && !m_matrix.empty()) {
    check_matrix(wave, inst, use);
  }
  remember(wave, inst, use);
  if (inst.encoding == Encoding::mfma) {
    const unsigned wanted = states_after(inst, m_arch);
    if (wanted && use.write_count) {
      m_matrix.push_back({use.writes[0], m_states, wanted, wave.pc});
    }
  }
  count_states(inst);
}

void WaveChecks::after(Wave& wave, const Inst& inst) {
  if (const uint64_t address = wave.dispatch->memory.take_foreign()) {
    char text[120];
    std::snprintf(text, sizeof text, "accesses memory at 0x%" PRIx64 ", which is mapped, but no allocation",
                  address);
    report_finding(wave, inst, Rule::allocation, text);
  }
}

}  // namespace ktrace::softdev
