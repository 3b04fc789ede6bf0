// Decoding on first execution: the instruction, its handler and its cost.
#include "core/text.hpp"

#include "core/clock.hpp"
#include "core/decode.hpp"
#include "core/dispatch.hpp"
#include "core/machine.hpp"
#include "memory/memory.hpp"
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

// Program control may do anything. Memory instructions wait while their counter is full.
After after_of(const Inst& inst) {
  constexpr uint16_t wait_count = 12;
  if (inst.encoding >= Encoding::vop1 && inst.encoding <= Encoding::mfma) {
    return After::next;
  }
  if (inst.encoding >= Encoding::sop1 && inst.encoding <= Encoding::sopk) {
    return changes_pc(inst) ? After::anyhow : After::next;
  }
  const bool is_wait = inst.encoding == Encoding::sopp && inst.op == wait_count;
  return inst.encoding >= Encoding::smem || is_wait ? After::later : After::anyhow;
}

// s_set_gpr_idx_on changes how the next one is executed.
bool is_in_line(const Decoded& decoded) {
  constexpr uint16_t set_gpr_idx_on = 17;
  const Inst& inst = decoded.inst;
  return decoded.start == Start::in_turn && decoded.turns == 1 && decoded.after == After::next &&
         inst.unit != static_cast<uint8_t>(Unit::matrix) &&
         !(inst.encoding == Encoding::sopc && inst.op == set_gpr_idx_on);
}

// Opcodes of SMEM and MUBUF.
constexpr uint16_t first_smem_store = 16, smem_invalidate = 32, smem_write_back = 33,
                   smem_invalidate_volatile = 34, smem_write_back_volatile = 35, first_smem_clock = 36,
                   last_smem_clock = 37;
constexpr uint16_t last_vector_move = 39, vector_write_back = 40;

bool is_scalar_store(const Inst& inst) {
  return inst.encoding == Encoding::smem &&
         ((inst.op >= first_smem_store && inst.op < smem_invalidate) || inst.op == smem_write_back ||
          inst.op == smem_write_back_volatile);
}

// What waves of different CUs tell each other with: atomics, accesses of the agent's or the system's scope,
// and what makes caches agree. On gfx90a, stores of every scope look the same.
bool is_noticed_by_others(const Inst& inst, Arch arch) {
  constexpr uint32_t flat_sc1 = 1u << 25, mubuf_sc1 = 1u << 15, mtbuf_sc1 = 1u << 21;
  const bool is_wide = arch == Arch::gfx90a && (inst.returns || inst.time_class == TimeClass::vmem_store);
  switch (inst.encoding) {
    case Encoding::smem:
      return inst.op >= first_smem_store && (inst.op < first_smem_clock || inst.op > last_smem_clock);
    case Encoding::flat:
      return inst.segment != Segment::scratch &&
             (is_wide || (inst.words[0] & flat_sc1) != 0 || inst.time_class == TimeClass::vmem_atomic);
    case Encoding::mubuf:  // behind the moves: cache control and atomics
      return is_wide || (inst.words[0] & mubuf_sc1) != 0 || inst.op > last_vector_move;
    case Encoding::mtbuf:
      return is_wide || (inst.words[1] & mtbuf_sc1) != 0;
    default:
      return false;
  }
}

// What a wave hears of others with: loads of a wide scope, and what empties caches. (Atomics hear, too. What
// they hear has been told with atomics and vector stores, which keep their order.)
bool hears_others(const Inst& inst, Arch arch) {
  switch (inst.encoding) {
    case Encoding::smem:
      return inst.op == smem_invalidate || inst.op == smem_invalidate_volatile;
    case Encoding::flat:
    case Encoding::mtbuf:
      return inst.time_class == TimeClass::vmem_load && is_noticed_by_others(inst, arch);
    case Encoding::mubuf:
      return inst.op != vector_write_back && inst.time_class != TimeClass::vmem_store &&
             inst.time_class != TimeClass::vmem_atomic && is_noticed_by_others(inst, arch);
    default:
      return false;
  }
}

Start start_of(const Inst& inst, Arch arch) {
  const auto unit = static_cast<Unit>(inst.unit);
  if (unit == Unit::none) {
    return Start::at_once;
  }
  if (unit <= Unit::matrix) {
    return Start::in_turn;
  }
  return is_noticed_by_others(inst, arch) ? Start::in_order : Start::on_cu;
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
    case Encoding::flat:
    case Encoding::mubuf:
    case Encoding::mtbuf:
      return memory_handler(inst);
    case Encoding::mfma:
      return mfma_handler(inst.op);
    case Encoding::vop1:
    case Encoding::vop2:
    case Encoding::vop3:
    case Encoding::vopc:
    case Encoding::vop3p:
      return inst.op == op_mad_f32 || inst.op == op_mad_legacy_f32 ? mad_handler(inst)
                                                                   : vector_handler(inst.op);
    case Encoding::unknown:
      break;
  }
  return nullptr;
}

// Every dword may be the first of an instruction. Taking a constant for one costs speed, no more. Damaged
// code objects begin anywhere; instructions are at multiples of 4.
bool Text::read_hears() const {
  constexpr uint32_t smem = 0x30, flat = 0x37, mubuf = 0x38, mtbuf = 0x3a;
  for (uint64_t pc = (base + 3) & ~uint64_t{3}; pc + 4 <= base + size; pc += 4) {
    const auto* const words = reinterpret_cast<const uint32_t*>(pc);
    const uint32_t encoding = *words >> 26;
    if ((encoding == smem || encoding == flat || encoding == mubuf || encoding == mtbuf) &&
        hears_others(decode(words, (base + size - pc) / 4, arch), arch)) {
      return true;
    }
  }
  return false;
}

Line Text::line_at(uint64_t pc, const Decoded& first) const {
  Line line;
  const Decoded* decoded = &first;
  for (unsigned k = 0; k < Line::most && decoded->is_in_line; ++k) {
    const bool is_scalar = decoded->inst.unit == static_cast<uint8_t>(Unit::salu);
    line.scalar = static_cast<uint16_t>(line.scalar | unsigned{is_scalar} << k);
    line.count = static_cast<uint16_t>(k + 1);
    pc += decoded->inst.size;
    if (!contains(pc)) {
      break;
    }
    const Decoded* next = at(pc);
    decoded->next.store(next, std::memory_order_release);
    decoded = next;
  }
  first.line.store(line, std::memory_order_release);
  return line;
}

bool Text::hears() const {
  if (!m_hears) {
    m_hears = read_hears();
  }
  return *m_hears;
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
  if (m_used == block_size) {
    m_blocks.emplace_back(new Decoded[block_size]);
    m_used = 0;
  }
  Decoded& decoded = m_blocks.back()[m_used++];
  decoded.inst = inst;
  decoded.start = start_of(inst, arch);
  if (decoded.start == Start::in_order && is_scalar_store(inst) && !hears()) {
    decoded.start = Start::on_cu;  // nobody can tell when
  }
  const uint64_t turns = inst.busy_cycles / Turns::cycles;
  decoded.turns = static_cast<uint8_t>(inst.result_cycles == 0 && turns <= 32 ? turns : 0);
  decoded.after = after_of(inst);
  decoded.is_in_line = is_in_line(decoded);
  if (decoded.is_in_line) {
    Line line;
    line.count = 0;
    decoded.line.store(line, std::memory_order_relaxed);
  }
  if (inst.encoding >= Encoding::vop1) {
    decoded.registers = registers_of(inst, arch);
  }
  slot.store(&decoded, std::memory_order_release);
  return &decoded;
}

}  // namespace ktrace::softdev
