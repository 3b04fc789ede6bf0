// One decoded instruction. Knows field layouts' results, not how they were packed (decode.cpp) nor what they
// do.
//
// Operand codes (`src`, and `soffset`) are the ISA's own 9-bit codes, with one extension:
//     0..101 SGPR   102/103 FLAT_SCRATCH   104/105 XNACK_MASK   106/107 VCC   108..123 TTMP   124 M0 126/127
//     EXEC 128..192 integers 0..64   193..208 -1..-16   235..239 apertures   240..248 inline floats
//     251/252/253 VCCZ/EXECZ/SCC 255 literal (`Inst::literal`)   256..511 VGPR   512..767 AccVGPR (ours:
//     `code - 256` is an index for Wave::vgpr)
// SDWA (249) and DPP (250) never appear: the decoder puts the real source there and fills the modifier
// fields.
#pragma once

#include <cstdint>

namespace ktrace::softdev {

struct Wave;
struct Inst;
using Handler = void (*)(Wave&, const Inst&);

enum class Encoding : uint8_t {
  unknown,
  sop1,
  sop2,
  sopc,
  sopk,
  sopp,
  smem,
  vop1,
  vop2,
  vop3,   // 64-bit form of VOP1, VOP2 and the VOP3-only instructions
  vopc,   // both the 32-bit form and the 64-bit form (`vop3_form`)
  vop3p,  // packed math and v_accvgpr_*
  mfma,   // matrix instructions (VOP3P-MAI)
  ds,
  flat,  // FLAT, GLOBAL and SCRATCH: see `segment`
  mubuf,
  mtbuf,
};

// The canonical vector opcode space: where the VOP3 encoding puts every instruction, so that the e32, e64,
// SDWA and DPP forms of one instruction have one number and one handler. VOP3P, MFMA included, follows.
enum : uint16_t {
  vopc_base = 0x000,
  vop2_base = 0x100,
  vop1_base = 0x140,
  vop3_base = 0x1c0,   // VOP3-only instructions keep their own number, which is >= this
  vop3p_base = 0x400,  // + 7-bit opcode
  vector_op_count = 0x480,
  op_mad_legacy_f32 = 448,  // gfx90a only
  op_mad_f32 = 449,         // gfx90a only; its v_mac_f32, v_madmk_f32 and v_madak_f32 are decoded as this
};

enum : uint16_t {
  code_vcc = 106,
  code_m0 = 124,
  code_exec = 126,
  code_literal = 255,
  code_vgpr = 256,
  code_agpr = 512,
  saddr_off = 0x7f,  // `saddr` of a FLAT instruction without a scalar base
};

// Sub-dword selectors of SDWA, `dst_sel` and `src_sel`: 0..3 byte, 4..5 word, 6 dword.
enum : uint8_t { sdwa_byte0 = 0, sdwa_word0 = 4, sdwa_word1 = 5, sdwa_dword = 6 };
// `dst_unused`: 0 pad with zero, 1 sign extend, 2 preserve.

enum class Segment : uint8_t { flat = 0, scratch = 1, global = 2 };

// What an instruction costs and which counter it uses: rows of the clock model's table (clock.cpp).
enum class TimeClass : uint8_t {
  salu,
  valu,
  valu_slow,  // 64-bit floats and 32-bit integer multiplication
  transcendental,
  matrix,  // Inst::passes says for how long
  smem_load,
  smem_store,
  smem_clock,  // s_memtime, s_memrealtime
  lds,
  vmem_load,
  vmem_store,
  vmem_atomic,
  count,
};

// What nearly every instruction is asked for comes first: it lies in one line of the host's caches
// (text.hpp).
struct Inst {
  Handler handler = nullptr;  // never null once the core has decoded it

  uint16_t src[3] = {};
  uint16_t dst =
      0;  // VGPR index (0..255, 256..511 AccVGPR); SGPR number for scalar instructions and v_readlane
  uint16_t scalar_dst = 0;  // SGPR pair of a comparison's result or of a carry-out (VCC in the 32-bit forms)
  // Memory. AccVGPR bits are folded into the VGPR indices.
  uint16_t vaddr = 0;
  uint16_t vdata = 0;
  uint16_t vdata2 = 0;
  uint16_t saddr = saddr_off;  // FLAT, SMEM base, or first SGPR of a buffer descriptor
  uint16_t soffset = 0;        // operand code
  int32_t imm = 0;             // signed immediate: branch distance in dwords, memory offset in bytes, simm16

  uint8_t size = 4;  // bytes: 4, 8 or 16
  Encoding encoding = Encoding::unknown;
  // The clock model's answer for this instruction, filled in by the core.
  uint8_t unit = 0;
  // Whether VOP3, VOP3P, SDWA or DPP modifiers may change what a source or the result is: if not, there are
  // none.
  bool may_be_modified = true;
  uint16_t busy_cycles = 0;
  uint16_t result_cycles = 0;  // MFMA: until everything can read the result

  // VOP3, VOP3P, SDWA and DPP modifiers: bit k belongs to src[k].
  uint8_t abs = 0;
  uint8_t neg = 0;     // VOP3P: of the low half
  uint8_t neg_hi = 0;  // VOP3P only
  uint8_t op_sel = 0;  // bit 3: VOP3 writes the high half
  uint8_t op_sel_hi = 7;
  uint8_t omod = 0;  // 1: x2, 2: x4, 3: /2
  bool clamp = false;
  bool vop3_form = false;

  Segment segment = Segment::flat;
  bool offen = false;  // MUBUF; SCRATCH: the vector address is used
  bool idxen = false;
  bool returns = false;  // atomics: the old value is wanted
  uint16_t op = 0;       // canonical opcode for vector encodings, the encoding's own opcode otherwise
  uint32_t literal = 0;  // value of operand code 255
  uint8_t src_count = 0;

  bool sdwa = false;
  uint8_t dst_sel = sdwa_dword;
  uint8_t dst_unused = 0;
  uint8_t src_sel[2] = {sdwa_dword, sdwa_dword};
  uint8_t src_sext = 0;  // bit k: sign extend src[k]

  bool dpp = false;
  uint8_t row_mask = 15;
  uint8_t bank_mask = 15;
  uint16_t dpp_ctrl = 0;

  // MFMA. The accumulator bits are already folded into src[] and dst.
  uint8_t cbsz = 0;
  uint8_t abid = 0;
  uint8_t blgp = 0;
  uint8_t passes = 0;  // of 4 cycles through the matrix unit
  // v_mfma_scale_* (gfx950, 16 bytes): operand codes of the two scales and the byte that each takes.
  uint16_t scale_src[2] = {};
  uint8_t scale_op_sel[2] = {};

  uint8_t data_format = 0;  // MTBUF
  uint8_t number_format = 0;
  TimeClass time_class = TimeClass::salu;
  uint8_t data_dwords = 1;  // memory: dwords per lane, for the clock model

  bool foreign : 1;       // another target's: the one that it was decoded for lacks it
  bool bound_ctrl : 1;    // DPP: 1: an invalid source lane reads 0; 0: the lane is not written
  bool scaled : 1;        // MFMA: with scales
  bool to_lds : 1;        // memory: what is loaded goes to LDS
  bool soffset_en : 1;    // SMEM: `soffset` is used
  bool global_share : 1;  // DS: ds_gws_*, or what once was the global data share

  uint32_t words[4] = {};  // raw; only `size` bytes of it are meaningful

  Inst()
      : foreign(false),
        bound_ctrl(false),
        scaled(false),
        to_lds(false),
        soffset_en(false),
        global_share(false) {}
};

}  // namespace ktrace::softdev
