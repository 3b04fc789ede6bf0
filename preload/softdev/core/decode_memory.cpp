// The formats of memory instructions: SMEM, DS, FLAT and MUBUF.
#include "core/decode_parts.hpp"

namespace ktrace::softdev {

namespace {

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

}  // namespace

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

void decode_ds(Inst& inst, uint32_t word, uint32_t high) {
  inst.encoding = Encoding::ds;
  inst.op = bits16(word, 24, 17);
  inst.global_share = bits(word, 16, 16) != 0;
  constexpr uint16_t first_gws = 152, last_gws = 157;
  if (inst.global_share && (inst.op < first_gws || inst.op > last_gws)) {
    inst.encoding = Encoding::unknown;  // the global data share, which these targets lack
  }
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
  inst.data_dwords = four ? 4 : two ? 2 : inst.op == 222 || inst.op == 225 || inst.op == 254 ? 3 : 1;
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

namespace {

// What MUBUF and MTBUF have in common.
void decode_buffer(Inst& inst, uint32_t word, uint32_t high) {
  inst.imm = static_cast<int32_t>(bits(word, 11, 0));
  inst.offen = bits(word, 12, 12) != 0;
  inst.idxen = bits(word, 13, 13) != 0;
  inst.returns = bits(word, 14, 14) != 0;
  const uint32_t agpr = bits(high, 23, 23) ? 256 : 0;
  inst.vaddr = bits16(high, 7, 0);
  inst.vdata = static_cast<uint16_t>(bits(high, 15, 8) + agpr);
  inst.dst = inst.vdata;
  inst.saddr = static_cast<uint16_t>(bits(high, 20, 16) * 4);
  inst.soffset = bits16(high, 31, 24);
}

// Formatted loads and stores of x, xy, xyz and xyzw, as 32- or as packed 16-bit components.
void take_format_cost(Inst& inst) {
  const unsigned components = inst.op % 4u + 1;
  inst.data_dwords = static_cast<uint8_t>(inst.op >= 8 ? (components + 1) / 2 : components);
  inst.time_class = (inst.op & 4) != 0 ? TimeClass::vmem_store : TimeClass::vmem_load;
}

}  // namespace

void decode_mubuf(Inst& inst, uint32_t word, uint32_t high) {
  inst.encoding = Encoding::mubuf;
  inst.op = bits16(word, 24, 18);
  inst.to_lds = bits(word, 16, 16) != 0;
  decode_buffer(inst, word, high);
  if (inst.op < 16) {
    take_format_cost(inst);
    return;
  }
  constexpr uint16_t store_format_d16_hi = 39;
  inst.time_class = inst.op == store_format_d16_hi ? TimeClass::vmem_store : vmem_time_class(inst.op);
  inst.data_dwords = vmem_dwords(inst.op);
}

void decode_mtbuf(Inst& inst, uint32_t word, uint32_t high) {
  inst.encoding = Encoding::mtbuf;
  inst.op = bits16(word, 18, 15);
  inst.data_format = bits8(word, 22, 19);
  inst.number_format = bits8(word, 25, 23);
  decode_buffer(inst, word, high);
  take_format_cost(inst);
}

}  // namespace ktrace::softdev
