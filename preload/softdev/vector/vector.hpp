// The interface between the core and the vector instructions: VALU, comparisons, packed math and MFMA.
#pragma once

#include <cstdint>

#include "core/inst.hpp"
#include "core/wave.hpp"

namespace ktrace::softdev {

// The handler of a canonical vector opcode (inst.hpp), or null if that instruction is not implemented; the
// core then raises a fault that names it. Covers VOPC, VOP1, VOP2, VOP3 and VOP3P without the matrix
// instructions. A handler honours all modifiers in the Inst (neg, abs, omod, clamp, op_sel, SDWA, DPP) and
// writes only lanes in EXEC. It must not change pc, time or any other field that wave.hpp reserves to the
// core.
Handler vector_handler(uint16_t canonical_op);

// The same for matrix instructions (Encoding::mfma), by canonical opcode, 0x400 + opcode.
Handler mfma_handler(uint16_t canonical_op);

// The mnemonic without encoding suffix, "v_add_f32", or null for an opcode that no supported target has.
// Covers matrix instructions too.
const char* vector_name(uint16_t canonical_op);

}  // namespace ktrace::softdev
