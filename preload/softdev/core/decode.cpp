// Which format an instruction has, and the scalar formats. Knows field positions, not what instructions do.
#include "core/decode.hpp"

#include "core/decode_parts.hpp"

namespace ktrace::softdev {

namespace {

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

// The packed instructions and the matrix instructions read their modifiers themselves.
bool may_be_modified(const Inst& inst) {
  const bool is_plain_form = inst.encoding >= Encoding::vop1 && inst.encoding <= Encoding::vopc;
  const unsigned modifiers = unsigned{inst.abs} | inst.neg | inst.neg_hi | inst.op_sel | inst.omod |
                             inst.clamp | inst.sdwa | inst.dpp;
  return !is_plain_form || modifiers != 0;
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
    decode_vector_32(inst, word, high, arch);
  } else if (bits(word, 31, 30) == 2) {
    decode_scalar(inst, word);
  } else {
    inst.size = 8;
    switch (bits(word, 31, 26)) {
      case 0x30:
        decode_smem(inst, word, high);
        break;
      case 0x34:
        decode_vector_64(inst, available, arch);
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
      case 0x3a:
        decode_mtbuf(inst, word, high);
        break;
      default:
        inst.encoding = Encoding::unknown;  // MIMG, EXP, VINTRP: graphics
    }
  }
  if (size_t{inst.size} > available * 4) {
    inst.encoding = Encoding::unknown;  // cut off by the end of the code
  }
  inst.foreign = !exists_on(inst, arch);
  inst.may_be_modified = may_be_modified(inst);
  return inst;
}

}  // namespace ktrace::softdev
