// Decoding on first execution: the instruction, its handler and its cost.
#include "core/text.hpp"

#include "core/clock.hpp"
#include "core/decode.hpp"
#include "core/dispatch.hpp"
#include "core/machine.hpp"
#include "vector/vector.hpp"

namespace ktrace::softdev {

namespace {

void unknown_instruction(Wave& wave, const Inst& inst) {
  if (inst.encoding == Encoding::unknown) {
    fault(wave, inst, "unknown instruction");
  }
  if (inst.foreign) {
    fault(wave, inst, "unknown instruction: %s has no %s", arch_name(wave.arch), mnemonic(inst).c_str());
  }
  fault(wave, inst, "unknown instruction: the software device does not implement %s", mnemonic(inst).c_str());
}

bool changes_pc(const Inst& inst) {
  constexpr uint16_t set_pc = 29, swap_pc = 30, call = 21;
  return (inst.encoding == Encoding::sop1 && (inst.op == set_pc || inst.op == swap_pc)) ||
         (inst.encoding == Encoding::sopk && inst.op == call);
}

// Arithmetic, that is: everything but program control and memory.
bool goes_on(const Inst& inst) {
  const bool is_vector = inst.encoding >= Encoding::vop1 && inst.encoding <= Encoding::mfma;
  const bool is_scalar = inst.encoding >= Encoding::sop1 && inst.encoding <= Encoding::sopk;
  return is_vector || (is_scalar && !changes_pc(inst));
}

Start start_of(const Inst& inst) {
  const auto unit = static_cast<Unit>(inst.unit);
  return unit == Unit::none ? Start::at_once : unit <= Unit::matrix ? Start::in_turn : Start::on_cu;
}

}  // namespace

Handler find_handler(const Inst& inst) {
  if (inst.foreign || inst.global_share) {
    return nullptr;
  }
  switch (inst.encoding) {
    case Encoding::sop1:
    case Encoding::sop2:
    case Encoding::sopc:
    case Encoding::sopk:
    case Encoding::sopp: {
      const Handler handler = scalar_handler(inst);
      return handler ? handler : program_handler(inst);
    }
    case Encoding::smem:
      return smem_handler(inst);
    case Encoding::ds:
      return ds_handler(inst);
    case Encoding::flat:
      return flat_handler(inst);
    case Encoding::mubuf:
      return mubuf_handler(inst);
    case Encoding::mtbuf:
      return format_handler(inst);
    case Encoding::mfma:
      return mfma_handler(inst.op);
    case Encoding::vop1:
    case Encoding::vop2:
    case Encoding::vop3:
    case Encoding::vopc:
    case Encoding::vop3p:
      return inst.op == op_mad_f32 ? mad_handler(inst) : vector_handler(inst.op);
    case Encoding::unknown:
      break;
  }
  return nullptr;
}

const Decoded* Text::decode_at(uint64_t pc) const {
  const std::lock_guard lock(m_mutex);
  Slot& slot = m_by_dword[(pc - base) >> 2];
  if (const Decoded* decoded = slot.load(std::memory_order_relaxed)) {
    return decoded;  // another thread was faster
  }
  Inst inst = decode(reinterpret_cast<const uint32_t*>(pc), (base + size - pc) / 4, arch);
  inst.handler = find_handler(inst);
  if (!inst.handler) {
    inst.handler = unknown_instruction;
  }
  set_cost(inst, arch == Arch::gfx950);
  Decoded& decoded = m_decoded.emplace_back();
  decoded.inst = inst;
  decoded.start = start_of(inst);
  decoded.takes_one_turn = inst.busy_cycles == Turns::cycles && inst.result_cycles == 0;
  decoded.goes_on = goes_on(inst);
  if (inst.encoding >= Encoding::vop1) {
    decoded.registers = registers_of(inst, arch);
  }
  slot.store(&m_decoded.back(), std::memory_order_release);
  return &m_decoded.back();
}

}  // namespace ktrace::softdev
