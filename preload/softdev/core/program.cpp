// Program control: branches, calls, waits, barriers, hardware registers.
#include <cstdint>

#include "core/dispatch.hpp"
#include "core/wave.hpp"

namespace ktrace::softdev {

namespace {

// The core adds the instruction's size to pc afterwards, so a jump goes short by it.
void jump(Wave& wave, const Inst& inst, uint64_t target) {
  wave.pc = target - inst.size;
  wave.time += clock_model::branch_taken;
}

void branch(Wave& wave, const Inst& inst) {
  jump(wave, inst, wave.pc + inst.size + static_cast<uint64_t>(int64_t{inst.imm} * 4));
}

#define KTRACE_BRANCH_IF(condition)  \
  [](Wave& wave, const Inst& inst) { \
    if (condition) {                 \
      branch(wave, inst);            \
    }                                \
  }

void no_effect(Wave&, const Inst&) {}

void wait_states(Wave& wave, const Inst& inst) { wave.time += static_cast<uint64_t>(inst.imm & 15) * 4; }

void end_program(Wave& wave, const Inst&) { wave.done = true; }

void barrier(Wave& wave, const Inst&) { wave.at_barrier = true; }

void wait_count(Wave& wave, const Inst& inst) {
  const uint32_t field = static_cast<uint32_t>(inst.imm);
  const uint32_t vector_memory = (field & 15) | (field >> 14 & 3) << 4;
  const uint32_t lds_and_scalar = field >> 8 & 15;
  wait_vmcnt(wave, vector_memory);
  if (lds_and_scalar < 15) {  // the field's maximum is no wait
    wait_lgkmcnt(wave, lds_and_scalar);
  }
}

void sleep(Wave& wave, const Inst& inst) {
  wave.time += static_cast<uint64_t>(inst.imm & 127) * clock_model::sleep_unit;
}

void trap(Wave& wave, const Inst& inst) {
  constexpr int debug_trap = 3;
  const int id = inst.imm & 0xff;
  if (id != debug_trap) {  // which goes on when no debugger is attached
    fault(wave, inst, "trap %d: the kernel stopped itself (abort, assert or __builtin_trap)", id);
  }
}

void set_gpr_idx_off(Wave& wave, const Inst&) { wave.gpr_index_on = false; }
void set_gpr_idx_mode(Wave& wave, const Inst& inst) {
  wave.sgpr[code_m0] = (wave.sgpr[code_m0] & ~0xf000u) | static_cast<uint32_t>(inst.imm & 15) << 12;
}

Handler sopp_handler(uint16_t op) {
  switch (op) {
    case 0:
      return wait_states;
    case 1:
      return end_program;
    case 2:
      return branch;
    case 4:
      return KTRACE_BRANCH_IF(wave.scc == 0);
    case 5:
      return KTRACE_BRANCH_IF(wave.scc != 0);
    case 6:
      return KTRACE_BRANCH_IF(wave.vcc() == 0);
    case 7:
      return KTRACE_BRANCH_IF(wave.vcc() != 0);
    case 8:
      return KTRACE_BRANCH_IF(wave.exec() == 0);
    case 9:
      return KTRACE_BRANCH_IF(wave.exec() != 0);
    case 10:
      return barrier;
    case 12:
      return wait_count;
    case 14:
      return sleep;
    case 18:
      return trap;
    case 27:
      return end_program;  // s_endpgm_saved
    case 28:
      return set_gpr_idx_off;
    case 29:
      return set_gpr_idx_mode;
    case 3:   // s_wakeup
    case 11:  // s_setkill: 0 in compiled code
    case 13:  // s_sethalt
    case 15:  // s_setprio
    case 16:  // s_sendmsg: an interrupt to a host that does not listen
    case 19:  // s_icache_inv
    case 20:
    case 21:  // s_incperflevel, s_decperflevel
    case 22:  // s_ttracedata
    case 23:
    case 24:
    case 25:
    case 26:  // s_cbranch_cdbg*: never taken, no debugger
      return no_effect;
    default:
      return nullptr;
  }
}

void get_pc(Wave& wave, const Inst& inst) { wave.set_sgpr64(inst.dst & 126u, wave.pc + inst.size); }

void set_pc(Wave& wave, const Inst& inst) {
  jump(wave, inst, read_scalar64(wave, inst, inst.src[0], OperandType::integer));
}

void swap_pc(Wave& wave, const Inst& inst) {
  const uint64_t target = read_scalar64(wave, inst, inst.src[0], OperandType::integer);
  wave.set_sgpr64(inst.dst & 126u, wave.pc + inst.size);
  jump(wave, inst, target);
}

void call(Wave& wave, const Inst& inst) {
  wave.set_sgpr64(inst.dst & 126u, wave.pc + inst.size);
  branch(wave, inst);
}

// simm16 of s_getreg and s_setreg: register, first bit, width.
struct Field {
  explicit Field(int32_t immediate)
      : id(static_cast<uint32_t>(immediate) & 63),
        offset(static_cast<uint32_t>(immediate) >> 6 & 31),
        width((static_cast<uint32_t>(immediate) >> 11 & 31) + 1) {}
  uint32_t id, offset, width;
  uint32_t mask() const { return width == 32 ? ~0u : (1u << width) - 1; }
};

enum HardwareRegister : uint32_t {
  mode_register = 1,
  status_register = 2,
  trap_status = 3,
  hw_id_register = 4,
  gpr_alloc = 5,
  lds_alloc = 6,
  ib_status = 7,
  shared_memory_bases = 15,
  xcc_id_register = 20,
};

uint32_t status_of(const Wave& wave) {
  constexpr uint32_t valid = 1u << 16;
  return wave.scc | uint32_t{wave.exec() == 0} << 9 | uint32_t{wave.vcc() == 0} << 10 | valid;
}

uint32_t read_register(const Wave& wave, const Inst& inst, uint32_t id) {
  switch (id) {
    case mode_register:
      return wave.mode;
    case status_register:
      return status_of(wave);
    case hw_id_register:
      return wave.hw_id;
    case xcc_id_register:
      return wave.xcc_id;
    case lds_alloc:
      return static_cast<uint32_t>((wave.workgroup->lds.size() + 511) / 512) << 12;
    case shared_memory_bases:
      return static_cast<uint32_t>(shared_aperture >> 48) << 16 |
             static_cast<uint32_t>(private_aperture >> 48);
    case trap_status:
    case gpr_alloc:
    case ib_status:
      return 0;
    default:
      fault(wave, inst, "hardware register %u is not modelled", id);
  }
}

void get_register(Wave& wave, const Inst& inst) {
  const Field field(inst.imm);
  wave.sgpr[inst.dst] = read_register(wave, inst, field.id) >> field.offset & field.mask();
}

void set_register(Wave& wave, const Inst& inst, uint32_t value) {
  const Field field(inst.imm);
  const uint32_t mask = field.mask() << field.offset;
  if (field.id == mode_register) {
    wave.mode = (wave.mode & ~mask) | (value << field.offset & mask);
  } else if (field.id != trap_status) {  // clearing exceptions that never happen
    fault(wave, inst, "writing hardware register %u is not modelled", field.id);
  }
}

void set_register_sgpr(Wave& wave, const Inst& inst) { set_register(wave, inst, wave.sgpr[inst.dst]); }
void set_register_literal(Wave& wave, const Inst& inst) { set_register(wave, inst, inst.literal); }

}  // namespace

Handler program_handler(const Inst& inst) {
  if (inst.encoding == Encoding::sopp) {
    return sopp_handler(inst.op);
  }
  if (inst.encoding == Encoding::sop1) {
    switch (inst.op) {
      case 28:
        return get_pc;
      case 29:
        return set_pc;
      case 30:
        return swap_pc;
      default:
        return nullptr;
    }
  }
  if (inst.encoding == Encoding::sopk) {
    switch (inst.op) {
      case 17:
        return get_register;
      case 18:
        return set_register_sgpr;
      case 20:
        return set_register_literal;
      case 21:
        return call;
      default:
        return nullptr;
    }
  }
  return nullptr;
}

}  // namespace ktrace::softdev
