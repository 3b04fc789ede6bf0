// The formats of vector instructions: VOP1, VOP2, VOPC, VOP3, VOP3P, with SDWA, DPP and literals.
#include "core/decode_parts.hpp"

namespace ktrace::softdev {

namespace {

constexpr uint16_t code_sdwa = 249;
constexpr uint16_t code_dpp = 250;
constexpr uint32_t vop3p_prefix = 0x1a7;  // bits 31..23

// Moves a VGPR operand code to the accumulation registers.
void use_agpr(uint16_t& code) {
  if (code >= code_vgpr && code < code_agpr) {
    code = static_cast<uint16_t>(code + 256);
  }
}

uint8_t source_count(uint16_t op) {
  if (op < vop1_base) {
    return 2;
  }
  if (op < vop3_base) {
    constexpr uint16_t nop = vop1_base + 0;
    constexpr uint16_t clrexcp = vop1_base + 53;
    return op == nop || op == clrexcp ? 0 : 1;
  }
  // The VOP3-only instructions are a block of three-operand ones followed by one of two-operand ones, with
  // exceptions.
  constexpr uint16_t cvt_pk_f16_f32 = 615;
  constexpr uint16_t cvt_pk_bf16_f32 = 616;
  constexpr uint16_t pack_b32_f16 = 672;
  constexpr uint16_t minimum3_f32 = 680;
  if (op == cvt_pk_f16_f32 || op == cvt_pk_bf16_f32) {
    return 2;
  }
  return op >= 640 && op < minimum3_f32 && op != 654 ? 2 : (op == pack_b32_f16 ? 2 : 3);
}

bool is_transcendental(uint16_t op) {
  return (op >= 352 && op <= 362) || (op >= 381 && op <= 385) || op == 393 || op == 394 || op == 395 ||
         op == 396;
}

bool is_slow(uint16_t op) {
  const bool f64_conversion = op == 323 || op == 324 || op == 335 || op == 336 || (op >= 341 && op <= 346);
  const bool f64_compare = (op >= 96 && op <= 127) || op == 18 || op == 19;
  const bool f64_arithmetic =
      op == 260 || op == 460 || op == 479 || op == 481 || op == 483 || (op >= 640 && op <= 644);
  const bool multiply = op == 488 || op == 489 || (op >= 645 && op <= 647);
  return f64_conversion || f64_compare || f64_arithmetic || multiply;
}

TimeClass vector_time_class(uint16_t op) {
  if (is_transcendental(op)) {
    return TimeClass::transcendental;
  }
  return is_slow(op) ? TimeClass::valu_slow : TimeClass::valu;
}

void decode_sdwa(Inst& inst, uint32_t high) {
  inst.sdwa = true;
  inst.size = 8;
  inst.src[0] = static_cast<uint16_t>(bits(high, 7, 0) + (bits(high, 23, 23) ? 0 : code_vgpr));
  if (inst.encoding == Encoding::vopc) {
    inst.scalar_dst = bits(high, 15, 15) ? bits16(high, 14, 8) : uint16_t{code_vcc};
  } else {
    inst.dst_sel = bits8(high, 10, 8);
    inst.dst_unused = bits8(high, 12, 11);
    inst.clamp = bits(high, 13, 13) != 0;
    inst.omod = bits8(high, 15, 14);
  }
  inst.src_sel[0] = bits8(high, 18, 16);
  inst.src_sel[1] = bits8(high, 26, 24);
  inst.src_sext = static_cast<uint8_t>(bits(high, 19, 19) | bits(high, 27, 27) << 1);
  inst.neg = static_cast<uint8_t>(bits(high, 20, 20) | bits(high, 28, 28) << 1);
  inst.abs = static_cast<uint8_t>(bits(high, 21, 21) | bits(high, 29, 29) << 1);
  if (inst.src_count > 1 && bits(high, 31, 31)) {
    inst.src[1] = static_cast<uint16_t>(inst.src[1] - code_vgpr);
  }
}

void decode_dpp(Inst& inst, uint32_t high) {
  inst.dpp = true;
  inst.size = 8;
  inst.src[0] = static_cast<uint16_t>(bits(high, 7, 0) + code_vgpr);
  inst.dpp_ctrl = bits16(high, 16, 8);
  inst.bound_ctrl = bits(high, 19, 19) != 0;
  inst.neg = static_cast<uint8_t>(bits(high, 20, 20) | bits(high, 22, 22) << 1);
  inst.abs = static_cast<uint8_t>(bits(high, 21, 21) | bits(high, 23, 23) << 1);
  inst.bank_mask = bits8(high, 27, 24);
  inst.row_mask = bits8(high, 31, 28);
}

// SDWA, DPP and literals all announce themselves in the first source.
void decode_extension(Inst& inst, uint32_t high) {
  if (inst.src[0] == code_sdwa) {
    decode_sdwa(inst, high);
  } else if (inst.src[0] == code_dpp) {
    decode_dpp(inst, high);
  } else if (inst.src[0] == code_literal) {
    take_literal(inst);
  }
}

void decode_vop1(Inst& inst, uint32_t word, uint32_t high) {
  inst.op = static_cast<uint16_t>(vop1_base + bits(word, 16, 9));
  if (inst.op >= vop3_base) {
    return;  // numbers of the 64-bit form: here they mean nothing
  }
  inst.encoding = Encoding::vop1;
  inst.src_count = source_count(inst.op);
  inst.dst = bits16(word, 24, 17);
  inst.src[0] = bits16(word, 8, 0);
  decode_extension(inst, high);
  constexpr uint16_t accvgpr_mov = vop1_base + 82;
  if (inst.op == accvgpr_mov) {
    use_agpr(inst.src[0]);
    inst.dst = static_cast<uint16_t>(inst.dst + 256);
  }
}

void decode_vop2(Inst& inst, uint32_t word, uint32_t high) {
  const uint32_t op = bits(word, 30, 25);
  inst.encoding = Encoding::vop2;
  inst.op = static_cast<uint16_t>(vop2_base + op);
  inst.src_count = 2;
  inst.dst = bits16(word, 24, 17);
  inst.src[0] = bits16(word, 8, 0);
  inst.src[1] = static_cast<uint16_t>(code_vgpr + bits(word, 16, 9));
  // Carries and v_cndmask_b32 use VCC in this form.
  inst.scalar_dst = code_vcc;
  inst.src[2] = code_vcc;
  const bool fmamk = op == 23 || op == 36;  // src0 * literal + src1
  const bool fmaak = op == 24 || op == 37;  // src0 * src1 + literal
  if (fmamk || fmaak) {
    take_literal(inst);
    inst.src_count = 3;
    inst.src[2] = fmamk ? inst.src[1] : uint16_t{code_literal};
    inst.src[1] = fmamk ? uint16_t{code_literal} : inst.src[1];
    return;
  }
  decode_extension(inst, high);
}

void decode_vopc(Inst& inst, uint32_t word, uint32_t high) {
  inst.encoding = Encoding::vopc;
  inst.op = bits16(word, 24, 17);
  inst.src_count = 2;
  inst.src[0] = bits16(word, 8, 0);
  inst.src[1] = static_cast<uint16_t>(code_vgpr + bits(word, 16, 9));
  inst.scalar_dst = code_vcc;
  decode_extension(inst, high);
}

void take_three_sources(Inst& inst, uint32_t high) {
  inst.src[0] = bits16(high, 8, 0);
  inst.src[1] = bits16(high, 17, 9);
  inst.src[2] = bits16(high, 26, 18);
}

void decode_vop3(Inst& inst, uint32_t word, uint32_t high) {
  inst.size = 8;
  inst.vop3_form = true;
  inst.op = bits16(word, 25, 16);
  inst.src_count = source_count(inst.op);
  take_three_sources(inst, high);
  inst.omod = bits8(high, 28, 27);
  inst.neg = bits8(high, 31, 29);
  inst.clamp = bits(word, 15, 15) != 0;
  if (inst.op < vop2_base) {
    inst.encoding = Encoding::vopc;
    inst.scalar_dst = bits16(word, 7, 0);
    inst.abs = bits8(word, 10, 8);
    return;
  }
  inst.encoding = Encoding::vop3;
  inst.dst = bits16(word, 7, 0);
  // v_add_co_u32 .. v_subbrev_co_u32, v_div_scale_*, v_mad_u64_u32 and v_mad_i64_i32 have a scalar result
  // where the others have abs and op_sel.
  const bool carry = inst.op >= 281 && inst.op <= 286;
  if (carry || inst.op == 480 || inst.op == 481 || inst.op == 488 || inst.op == 489) {
    inst.scalar_dst = bits16(word, 14, 8);
  } else {
    inst.abs = bits8(word, 10, 8);
    inst.op_sel = bits8(word, 14, 11);
  }
}

bool is_matrix(uint32_t op) {
  return (op >= 44 && op <= 46) || (op >= 53 && op <= 87) || (op >= 90 && op <= 127);
}

// Sparse matrix instructions: the third source holds indices, in ordinary VGPRs whatever the accumulator bit
// says.
bool is_sparse(uint32_t op) {
  switch (op) {
    case 57:
    case 58:
    case 59:
    case 60:
    case 61:
    case 67:
    case 70:
    case 71:
    case 75:
    case 78:
    case 79:
    case 83:
    case 90:
    case 91:
    case 98:
    case 100:
    case 102:
    case 104:
    case 106:
    case 108:
      return true;
    default:
      return op >= 120;
  }
}

bool is_sparse_16x16(uint32_t op, Arch arch) {
  if (arch == Arch::gfx90a) {
    return false;  // it has others there
  }
  switch (op) {
    case 67:
    case 90:
    case 98:
    case 102:
    case 106:
      return true;
    default:
      return (op >= 57 && op <= 61) || (op >= 120 && op <= 123);
  }
}

// Passes of four cycles: 4 * M * N * K * blocks / (operations per cycle of the matrix unit for the type).
uint8_t matrix_passes(uint32_t op, Arch arch) {
  if (is_sparse_16x16(op, arch)) {
    return 4;
  }
  switch (op) {
    case 110:  // f64 16x16x4
      return arch == Arch::gfx950 ? 16 : 8;
    case 64:
    case 68:
    case 72:
    case 80:
    case 93:
    case 46:
      return 16;
    case 65:
    case 69:
    case 73:
    case 81:
    case 94:
    case 45:
      return 8;
    case 66:
    case 74:
    case 82:
    case 95:
      return 2;
    case 111:
      return 4;
    case 76:
    case 96:  // 32x32x8 f16 and bf16
      return arch == Arch::gfx90a ? 16 : 8;
    case 77:
    case 97:  // 16x16x16
      return arch == Arch::gfx90a ? 8 : 4;
    case 53:
    case 54:
    case 62:
    case 84:
    case 87:
    case 112:
    case 113:
    case 114:
    case 115:
      return 4;
    default:
      return 8;
  }
}

void decode_matrix(Inst& inst, uint32_t word, uint32_t high, Arch arch) {
  const uint32_t op = bits(word, 22, 16);
  inst.encoding = Encoding::mfma;
  inst.time_class = TimeClass::matrix;
  inst.passes = matrix_passes(op, arch);
  inst.cbsz = bits8(word, 10, 8);
  inst.abid = bits8(word, 14, 11);
  inst.blgp = bits8(high, 31, 29);
  inst.neg = 0;
  if (bits(high, 27, 27)) {
    use_agpr(inst.src[0]);
  }
  if (bits(high, 28, 28)) {
    use_agpr(inst.src[1]);
  }
  if (bits(word, 15, 15)) {
    inst.dst = static_cast<uint16_t>(inst.dst + 256);
    if (!is_sparse(op)) {
      use_agpr(inst.src[2]);
    }
  }
}

void decode_vop3p(Inst& inst, const uint32_t* words, size_t available, Arch arch) {
  uint32_t word = words[0];
  uint32_t high = words[1];
  inst.size = 8;
  constexpr uint32_t ld_scale = 44;
  if (bits(word, 22, 16) == ld_scale) {
    // v_mfma_scale_*: two dwords of scales in front of an ordinary matrix instruction.
    inst.size = 16;
    if (available < 4 || bits(words[2], 31, 23) != vop3p_prefix) {
      inst.encoding = Encoding::unknown;
      return;
    }
    inst.scaled = true;
    inst.scale_src[0] = bits16(high, 8, 0);
    inst.scale_src[1] = bits16(high, 17, 9);
    for (unsigned k = 0; k < 2; ++k) {
      const unsigned low_bit = bits(word, 11 + k, 11 + k);
      inst.scale_op_sel[k] = static_cast<uint8_t>(low_bit | bits(high, 27 + k, 27 + k) << 1);
    }
    word = words[2];
    high = words[3];
  }
  const uint32_t op = bits(word, 22, 16);
  inst.op = static_cast<uint16_t>(vop3p_base + op);
  inst.dst = bits16(word, 7, 0);
  inst.src_count = 3;
  take_three_sources(inst, high);
  if (is_matrix(op)) {
    decode_matrix(inst, word, high, arch);
    return;
  }
  inst.encoding = Encoding::vop3p;
  inst.neg = bits8(high, 31, 29);
  inst.neg_hi = bits8(word, 10, 8);
  inst.op_sel = bits8(word, 13, 11);
  inst.op_sel_hi = static_cast<uint8_t>(bits(high, 28, 27) | bits(word, 14, 14) << 2);
  inst.clamp = bits(word, 15, 15) != 0;
  constexpr uint32_t accvgpr_read = 88;
  constexpr uint32_t accvgpr_write = 89;
  if (op == accvgpr_read) {
    inst.src_count = 1;
    use_agpr(inst.src[0]);
  } else if (op == accvgpr_write) {
    inst.src_count = 1;
    inst.dst = static_cast<uint16_t>(inst.dst + 256);
  }
}

// The forms of gfx90a's unfused multiply-add, whose opcodes mean other instructions on later targets.
void unify_mad(Inst& inst) {
  constexpr uint16_t mac = vop2_base + 22, madmk = vop2_base + 23, madak = vop2_base + 24;
  if (inst.op == mac) {
    inst.src[2] = static_cast<uint16_t>(code_vgpr + inst.dst);
    inst.src_count = 3;
  }
  if (inst.op == mac || inst.op == madmk || inst.op == madak) {
    inst.op = op_mad_f32;
  }
}

// Fields have room for numbers that the instruction cannot mean: scalar results that are no SGPRs, and
// constants where only a register can stand. Handlers rely on never seeing them.
bool is_impossible(const Inst& inst) {
  constexpr uint16_t readfirstlane = vop1_base + 2, readlane = 649;
  constexpr uint16_t swap = vop1_base + 81, accvgpr_mov = vop1_base + 82;
  constexpr uint16_t permlane16_swap = vop1_base + 89, permlane32_swap = vop1_base + 90;
  constexpr uint16_t accvgpr_read = vop3p_base + 88;
  if (inst.sdwa &&
      (inst.dst_sel > sdwa_dword || inst.src_sel[0] > sdwa_dword || inst.src_sel[1] > sdwa_dword)) {
    return true;
  }
  if (inst.encoding == Encoding::mfma) {
    return inst.src[0] < code_vgpr || inst.src[1] < code_vgpr;
  }
  switch (inst.op) {
    case readfirstlane:
    case readlane:
      return inst.dst > 127;
    case swap:
    case accvgpr_mov:
    case permlane16_swap:
    case permlane32_swap:
    case accvgpr_read:
      return inst.src[0] < code_vgpr;
    default:
      return inst.scalar_dst > code_exec;
  }
}

void refuse_impossible(Inst& inst) {
  if (is_impossible(inst)) {
    inst.encoding = Encoding::unknown;
  }
}

}  // namespace

void decode_vector_32(Inst& inst, uint32_t word, uint32_t high, Arch arch) {
  switch (bits(word, 30, 25)) {
    case 62:
      decode_vopc(inst, word, high);
      break;
    case 63:
      decode_vop1(inst, word, high);
      break;
    default:
      decode_vop2(inst, word, high);
      break;
  }
  if (arch == Arch::gfx90a) {
    unify_mad(inst);
  }
  inst.time_class = vector_time_class(inst.op);
  refuse_impossible(inst);
}

void decode_vector_64(Inst& inst, size_t available, Arch arch) {
  if (bits(inst.words[0], 31, 23) == vop3p_prefix) {
    decode_vop3p(inst, inst.words, available, arch);
    if (inst.encoding != Encoding::mfma) {
      inst.time_class = TimeClass::valu;
    }
    refuse_impossible(inst);
    return;
  }
  decode_vop3(inst, inst.words[0], inst.words[1]);
  if (arch == Arch::gfx90a) {
    unify_mad(inst);
  }
  inst.time_class = vector_time_class(inst.op);
  refuse_impossible(inst);
}

}  // namespace ktrace::softdev
