// Operands and results of scalar arithmetic, and the tables that its files provide.
#pragma once

#include <cstdint>

#include "core/wave.hpp"

namespace ktrace::softdev {

inline uint32_t a32(const Wave& wave, const Inst& inst) { return read_scalar(wave, inst, inst.src[0]); }
inline uint32_t b32(const Wave& wave, const Inst& inst) { return read_scalar(wave, inst, inst.src[1]); }
inline uint64_t a64(const Wave& wave, const Inst& inst) {
  return read_scalar64(wave, inst, inst.src[0], OperandType::integer);
}
inline uint64_t b64(const Wave& wave, const Inst& inst) {
  return read_scalar64(wave, inst, inst.src[1], OperandType::integer);
}
inline int32_t as_signed(uint32_t value) { return static_cast<int32_t>(value); }
inline int64_t as_signed(uint64_t value) { return static_cast<int64_t>(value); }

// Destinations above the last SGPR would be constants: the decoder lets the 7-bit field through, so 0..127 it
// is.
inline void set32(Wave& wave, const Inst& inst, uint32_t value) { wave.sgpr[inst.dst] = value; }
inline void set64(Wave& wave, const Inst& inst, uint64_t value) {
  if (inst.dst >= 127) {
    fault(wave, inst, "a 64-bit result does not fit into s%u", inst.dst);
  }
  wave.set_sgpr64(inst.dst, value);
}

// Most logical instructions set SCC to whether the result is not 0.
inline void set32_scc(Wave& wave, const Inst& inst, uint32_t value) {
  set32(wave, inst, value);
  wave.scc = value != 0;
}
inline void set64_scc(Wave& wave, const Inst& inst, uint64_t value) {
  set64(wave, inst, value);
  wave.scc = value != 0;
}

// By opcode; null for one that is not implemented.
Handler sop1_handler(uint16_t op);
Handler sop2_handler(uint16_t op);
Handler sopc_handler(uint16_t op);
Handler sopk_handler(uint16_t op);

}  // namespace ktrace::softdev
