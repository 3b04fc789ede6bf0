// The instruction formats of GFX9 as CDNA has them. Knows field positions, not what instructions do.
#include "core/decode.hpp"

namespace ktrace::softdev {

namespace {

constexpr uint16_t code_sdwa = 249;
constexpr uint16_t code_dpp = 250;

constexpr uint32_t bits(uint32_t word, unsigned high, unsigned low) {
  return (word >> low) & (0xffffffffu >> (31 - (high - low)));
}
constexpr uint8_t bits8(uint32_t word, unsigned high, unsigned low) {
  return static_cast<uint8_t>(bits(word, high, low));
}
constexpr uint16_t bits16(uint32_t word, unsigned high, unsigned low) {
  return static_cast<uint16_t>(bits(word, high, low));
}
constexpr int32_t sign_extend(uint32_t value, unsigned width) {
  return static_cast<int32_t>(value << (32 - width)) >> (32 - width);
}

// Moves a VGPR operand code to the accumulation registers.
void use_agpr(uint16_t& code) {
  if (code >= code_vgpr && code < code_agpr) {
    code = static_cast<uint16_t>(code + 256);
  }
}

void take_literal(Inst& inst) {
  inst.size = 8;
  inst.literal = inst.words[1];
}

// ----------------------------------------------------------------------------------------------------------
// scalar

void decode_sop1(Inst& inst, uint32_t word) {
  inst.encoding = Encoding::sop1;
  inst.op = bits16(word, 15, 8);
  inst.dst = bits16(word, 22, 16);
  inst.src[0] = bits16(word, 7, 0);
  inst.src_count = 1;
}

void decode_sopc(Inst& inst, uint32_t word) {
  inst.encoding = Encoding::sopc;
  inst.op = bits16(word, 22, 16);
  inst.src[0] = bits16(word, 7, 0);
  inst.src[1] = bits16(word, 15, 8);
  inst.src_count = 2;
}

void decode_sop2(Inst& inst, uint32_t word) {
  inst.encoding = Encoding::sop2;
  inst.op = bits16(word, 29, 23);
  inst.dst = bits16(word, 22, 16);
  inst.src[0] = bits16(word, 7, 0);
  inst.src[1] = bits16(word, 15, 8);
  inst.src_count = 2;
}

void decode_sopk(Inst& inst, uint32_t word) {
  inst.encoding = Encoding::sopk;
  inst.op = bits16(word, 27, 23);
  inst.dst = bits16(word, 22, 16);
  inst.imm = sign_extend(word, 16);
  constexpr uint16_t setreg_imm32 = 20;
  if (inst.op == setreg_imm32) {
    take_literal(inst);
  }
}

void decode_scalar(Inst& inst, uint32_t word) {
  switch (bits(word, 31, 23)) {
    case 0x17d:
      decode_sop1(inst, word);
      break;
    case 0x17e:
      decode_sopc(inst, word);
      break;
    case 0x17f:
      inst.encoding = Encoding::sopp;
      inst.op = bits16(word, 22, 16);
      inst.imm = sign_extend(word, 16);
      return;
    default:
      if (bits(word, 31, 28) == 0xb) {
        decode_sopk(inst, word);
        return;
      }
      decode_sop2(inst, word);
  }
  for (unsigned k = 0; k < inst.src_count; ++k) {
    if (inst.src[k] == code_literal) {
      take_literal(inst);
    }
  }
}

void decode_smem(Inst& inst, uint32_t word, uint32_t high) {
  inst.encoding = Encoding::smem;
  inst.op = bits16(word, 25, 18);
  inst.saddr = static_cast<uint16_t>(bits(word, 5, 0) * 2);
  inst.dst = bits16(word, 12, 6);
  inst.returns = bits(word, 16, 16) != 0;
  const bool has_immediate = bits(word, 17, 17) != 0;
  inst.soffset_en = bits(word, 14, 14) != 0;
  inst.soffset = bits16(high, 31, 25);
  if (has_immediate) {
    inst.imm = sign_extend(bits(high, 20, 0), 21);
  } else if (!inst.soffset_en) {
    // The oldest form: the offset field holds the SGPR's number.
    inst.soffset_en = true;
    inst.soffset = bits16(high, 6, 0);
  }
  if (inst.op == 36 || inst.op == 37) {
    inst.time_class = TimeClass::smem_clock;
  } else if (inst.op >= 16 && inst.op <= 26) {
    inst.time_class = TimeClass::smem_store;
  } else {
    inst.time_class = TimeClass::smem_load;
  }
}

// ----------------------------------------------------------------------------------------------------------
// vector

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
  inst.encoding = Encoding::vop1;
  inst.op = static_cast<uint16_t>(vop1_base + bits(word, 16, 9));
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

// Passes of four cycles: 4 * M * N * K * blocks / (operations per cycle of the matrix unit for the type).
uint8_t matrix_passes(uint32_t op, Arch arch) {
  switch (op) {
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
    case 110:
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
    if (available < 4 || bits(words[2], 31, 23) != 0x1a7) {
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

// ----------------------------------------------------------------------------------------------------------
// memory

TimeClass vmem_time_class(uint16_t op) {
  if (op >= 64 && op <= 108) {
    return TimeClass::vmem_atomic;
  }
  return op >= 24 && op <= 31 ? TimeClass::vmem_store : TimeClass::vmem_load;
}

uint8_t vmem_dwords(uint16_t op) {
  if (op >= 20 && op <= 23) {
    return static_cast<uint8_t>(op - 19);
  }
  if (op >= 28 && op <= 31) {
    return static_cast<uint8_t>(op - 27);
  }
  return op >= 96 ? 2 : 1;
}

void decode_ds(Inst& inst, uint32_t word, uint32_t high) {
  const bool global_data_share = bits(word, 16, 16) != 0;
  inst.encoding = global_data_share ? Encoding::unknown : Encoding::ds;
  inst.op = bits16(word, 24, 17);
  inst.imm = static_cast<int32_t>(bits(word, 15, 0));
  const uint32_t agpr = bits(word, 25, 25) ? 256 : 0;
  inst.vaddr = bits16(high, 7, 0);
  inst.vdata = static_cast<uint16_t>(bits(high, 15, 8) + agpr);
  inst.vdata2 = static_cast<uint16_t>(bits(high, 23, 16) + agpr);
  inst.dst = static_cast<uint16_t>(bits(high, 31, 24) + agpr);
  inst.time_class = TimeClass::lds;
  const bool two =
      inst.op == 14 || inst.op == 15 || inst.op == 55 || inst.op == 56 || inst.op == 77 || inst.op == 118;
  const bool four =
      inst.op == 78 || inst.op == 79 || inst.op == 119 || inst.op == 120 || inst.op == 223 || inst.op == 255;
  inst.data_dwords = four ? 4 : two ? 2 : inst.op == 222 || inst.op == 254 ? 3 : 1;
}

void decode_flat(Inst& inst, uint32_t word, uint32_t high, Arch arch) {
  const uint32_t segment = bits(word, 15, 14);
  inst.encoding = segment == 3 ? Encoding::unknown : Encoding::flat;
  inst.segment = static_cast<Segment>(segment);
  inst.op = bits16(word, 24, 18);
  inst.imm = segment == 0 ? static_cast<int32_t>(bits(word, 11, 0)) : sign_extend(bits(word, 12, 0), 13);
  inst.returns = bits(word, 16, 16) != 0;
  const uint32_t agpr = bits(high, 23, 23) ? 256 : 0;
  inst.vaddr = bits16(high, 7, 0);
  inst.vdata = static_cast<uint16_t>(bits(high, 15, 8) + agpr);
  inst.saddr = bits16(high, 22, 16);
  inst.dst = static_cast<uint16_t>(bits(high, 31, 24) + agpr);
  const bool bit13 = bits(word, 13, 13) != 0;
  if (arch == Arch::gfx90a) {
    inst.to_lds = bit13;  // M0-addressed load into LDS, as an ordinary load's flag
    inst.offen = inst.saddr == saddr_off;
  } else {
    inst.offen = bit13;  // scratch: the vector address is used, alone or with saddr
  }
  constexpr uint16_t lds_dwordx4 = 125;
  constexpr uint16_t lds_dwordx3 = 126;
  const bool wide_lds = inst.op == lds_dwordx4 || inst.op == lds_dwordx3;
  if ((inst.op >= 38 && inst.op <= 42) || wide_lds) {
    inst.to_lds = true;
  }
  inst.time_class = wide_lds ? TimeClass::vmem_load : vmem_time_class(inst.op);
  inst.data_dwords = inst.op == lds_dwordx4 ? 4 : wide_lds ? 3 : vmem_dwords(inst.op);
}

void decode_mubuf(Inst& inst, uint32_t word, uint32_t high) {
  inst.encoding = Encoding::mubuf;
  inst.op = bits16(word, 24, 18);
  inst.imm = static_cast<int32_t>(bits(word, 11, 0));
  inst.offen = bits(word, 12, 12) != 0;
  inst.idxen = bits(word, 13, 13) != 0;
  inst.returns = bits(word, 14, 14) != 0;
  inst.to_lds = bits(word, 16, 16) != 0;
  const uint32_t agpr = bits(high, 23, 23) ? 256 : 0;
  inst.vaddr = bits16(high, 7, 0);
  inst.vdata = static_cast<uint16_t>(bits(high, 15, 8) + agpr);
  inst.dst = inst.vdata;
  inst.saddr = static_cast<uint16_t>(bits(high, 20, 16) * 4);
  inst.soffset = bits16(high, 31, 24);
  inst.time_class = vmem_time_class(inst.op);
  inst.data_dwords = vmem_dwords(inst.op);
}

void decode_vector_32(Inst& inst, uint32_t word, uint32_t high) {
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
  inst.time_class = vector_time_class(inst.op);
}

}  // namespace

Inst decode(const uint32_t* words, size_t available, Arch arch) {
  Inst inst;
  for (size_t k = 0; k < 4 && k < available; ++k) {
    inst.words[k] = words[k];
  }
  const uint32_t word = inst.words[0];
  const uint32_t high = inst.words[1];
  if (bits(word, 31, 31) == 0) {
    decode_vector_32(inst, word, high);
  } else if (bits(word, 31, 30) == 2) {
    decode_scalar(inst, word);
  } else {
    inst.size = 8;
    switch (bits(word, 31, 26)) {
      case 0x30:
        decode_smem(inst, word, high);
        break;
      case 0x34:
        if (bits(word, 31, 23) == 0x1a7) {
          decode_vop3p(inst, inst.words, available, arch);
        } else {
          decode_vop3(inst, word, high);
        }
        if (inst.encoding != Encoding::mfma) {
          inst.time_class = inst.op < vop3p_base ? vector_time_class(inst.op) : TimeClass::valu;
        }
        break;
      case 0x36:
        decode_ds(inst, word, high);
        break;
      case 0x37:
        decode_flat(inst, word, high, arch);
        break;
      case 0x38:
        decode_mubuf(inst, word, high);
        break;
      default:
        inst.encoding = Encoding::unknown;  // MTBUF, MIMG, EXP, VINTRP: graphics
    }
  }
  if (size_t{inst.size} > available * 4) {
    inst.encoding = Encoding::unknown;  // cut off by the end of the code
  }
  return inst;
}

}  // namespace ktrace::softdev
