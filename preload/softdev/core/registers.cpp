// Registers by encoding; widths are those that the mnemonic names.
#include "core/registers.hpp"

#include <cstdlib>
#include <cstring>
#include <string>

#include "core/atomic.hpp"
#include "core/decode.hpp"

namespace ktrace::softdev {

namespace {

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }
bool begins(const std::string& text, const char* part) { return text.rfind(part, 0) == 0; }
bool ends(const std::string& text, const char* part) {
  const size_t size = std::strlen(part);
  return text.size() >= size && text.compare(text.size() - size, size, part) == 0;
}

struct Widths {
  unsigned dst = 1;
  unsigned src[3] = {1, 1, 1};
  void all(unsigned width) { *this = {width, {width, width, width}}; }
};

bool names_64_bits(const std::string& name) {
  return ends(name, "_f64") || ends(name, "_b64") || ends(name, "_i64") || ends(name, "_u64");
}

// ---- scalar

Widths scalar_widths(const std::string& name) {
  Widths widths;
  if (ends(name, "b64_b32")) {
    widths.dst = 2;
  } else if (contains(name, "_i32_b64") || contains(name, "_i32_i64")) {
    widths.src[0] = 2;
  } else if (begins(name, "s_bitcmp") && ends(name, "_b64")) {
    widths.src[0] = 2;
  } else if (begins(name, "s_bfm_b64") || begins(name, "s_bitset")) {
    widths.dst = ends(name, "_b64") ? 2 : 1;
  } else if (names_64_bits(name)) {
    widths.all(2);
    // Shifts and bit fields take an ordinary number as second operand.
    if (contains(name, "_lshl_") || contains(name, "_lshr_") || contains(name, "_ashr_") ||
        contains(name, "_bfe_")) {
      widths.src[1] = 1;
    }
  }
  return widths;
}

bool sopk_reads_destination(const std::string& name) {
  return begins(name, "s_cmpk") || begins(name, "s_addk") || begins(name, "s_mulk") ||
         begins(name, "s_cmovk") || name == "s_setreg_b32";
}

bool sopk_writes_destination(const std::string& name) {
  return !begins(name, "s_cmpk") && !begins(name, "s_setreg");
}

void scalar_registers(RegisterUse& use, const Inst& inst) {
  const std::string name = mnemonic(inst);
  if (begins(name, "s_movrel") || inst.encoding == Encoding::sopp) {
    return;  // which register is known only when it runs; program control has none
  }
  const Widths widths = scalar_widths(name);
  if (inst.encoding == Encoding::sopk) {
    if (sopk_reads_destination(name)) {
      use.read(inst.dst, 1);
    }
    if (sopk_writes_destination(name)) {
      use.write(inst.dst, name == "s_call_b64" ? 2 : 1);
    }
    return;
  }
  for (unsigned k = 0; k < inst.src_count; ++k) {
    use.read(inst.src[k], widths.src[k]);
  }
  if (inst.encoding != Encoding::sopc && name != "s_setpc_b64") {
    use.write(inst.dst, widths.dst);
  }
}

void smem_registers(RegisterUse& use, const Inst& inst) {
  const unsigned op = inst.op;
  const bool is_buffer = (op >= 8 && op <= 12) || (op >= 24 && op <= 26) || (op >= 64 && op < 128);
  const bool is_clock = op >= 32 && op <= 37;
  if (!is_clock) {
    use.read(inst.saddr, is_buffer ? 4 : 2);
    if (inst.soffset_en) {
      use.read(inst.soffset, 1);
    }
  }
  if (op <= 12) {
    use.write(inst.dst, 1u << (op & 7));
  } else if (op >= 16 && op <= 26) {
    use.read(inst.dst, 1u << (op & 3));
  } else if (op == 36 || op == 37) {
    use.write(inst.dst, 2);
  } else if (op >= 64) {
    const auto atomic = static_cast<AtomicOp>(op >= 128 ? op - 64 : op);
    const unsigned dwords = atomic_dwords(atomic);
    use.read(inst.dst, is_compare(atomic) ? dwords * 2 : dwords);
    if (inst.returns) {
      use.write(inst.dst, dwords);
    }
  }
}

// ---- vector

// Destination first, as the mnemonic has it: v_cvt_f32_f64 makes one register of two.
Widths conversion_widths(const std::string& name) {
  Widths widths;
  if (contains(name, "_scalef32")) {
    return widths;
  }
  if (begins(name, "v_cvt_f64_")) {
    widths.dst = 2;
  } else if (ends(name, "_f64")) {
    widths.src[0] = 2;
  } else if (begins(name, "v_cvt_pk_f32_")) {
    widths.dst = 2;
  }
  return widths;
}

Widths wide_widths(const std::string& name) {
  Widths widths;
  widths.all(2);
  if (begins(name, "v_ldexp") || begins(name, "v_cmp_class") || begins(name, "v_cmpx_class") ||
      begins(name, "v_trig") || name == "v_lshl_add_u64") {
    widths.src[1] = 1;
  } else if (begins(name, "v_lshlrev") || begins(name, "v_lshrrev") || begins(name, "v_ashrrev")) {
    widths.src[0] = 1;
  } else if (begins(name, "v_frexp_exp")) {
    widths.dst = 1;
  }
  return widths;
}

Widths vector_widths(const std::string& name) {
  Widths widths;
  if (begins(name, "v_cvt")) {
    return conversion_widths(name);
  }
  if (name == "v_mad_u64_u32" || name == "v_mad_i64_i32") {
    return {2, {1, 1, 2}};
  }
  if (name == "v_qsad_pk_u16_u8" || name == "v_mqsad_pk_u16_u8") {
    return {2, {2, 1, 2}};
  }
  if (name == "v_mqsad_u32_u8") {
    return {4, {2, 1, 4}};
  }
  if (name == "v_pk_fma_f32" || name == "v_pk_mul_f32" || name == "v_pk_add_f32" || name == "v_pk_mov_b32") {
    widths.all(2);
  } else if (names_64_bits(name)) {
    return wide_widths(name);
  }
  return widths;
}

bool accumulates(const std::string& name) {
  return begins(name, "v_fmac") || begins(name, "v_mac") || begins(name, "v_pk_fmac") ||
         begins(name, "v_dot2c") || begins(name, "v_dot4c") || begins(name, "v_dot8c");
}

// A packed f32 operation whose halves take the same half of a source does not need the other.
void read_packed(RegisterUse& use, const Inst& inst, unsigned k) {
  const unsigned low = inst.op_sel >> k & 1, high = inst.op_sel_hi >> k & 1;
  const bool is_vector = inst.src[k] >= code_vgpr;
  if (is_vector && low == high) {
    use.read(inst.src[k] + low, 1);
  } else {
    use.read(inst.src[k], is_vector ? 2 : 1);
  }
}

// Encodings with room for three sources have the field of the third in instructions of two, where it means
// nothing.
unsigned source_count(const Inst& inst, const std::string& name) {
  const auto has = [&](const char* part) { return contains(name, part); };
  const bool is_packed = inst.encoding == Encoding::vop3p && begins(name, "v_pk_");
  if (is_packed && !has("mad") && !has("fma") && !has("minimum3") && !has("maximum3")) {
    return 2;
  }
  const bool packs_two = has("2xpk16") || has("fp8_f32") || has("bf8_f32") || has("fp4_f32");
  const bool is_scaled = begins(name, "v_cvt_scalef32_");
  return is_scaled && !has("_sr_") && !packs_two ? 2 : inst.src_count;
}

void read_sources(RegisterUse& use, const Inst& inst, const Widths& widths, const std::string& name) {
  const bool is_packed = begins(name, "v_pk_") && widths.dst == 2;
  const unsigned count = source_count(inst, name);
  for (unsigned k = 0; k < count; ++k) {
    if (is_packed) {
      read_packed(use, inst, k);
    } else {
      use.read(inst.src[k], widths.src[k]);
    }
  }
}

bool reads_mask(const std::string& name) {
  return begins(name, "v_cndmask") || contains(name, "addc_co") || contains(name, "subb_co") ||
         contains(name, "subbrev_co");
}

bool has_carry_out(const std::string& name) {
  return contains(name, "_co_u32") || begins(name, "v_div_scale") || begins(name, "v_mad_u64_u32") ||
         begins(name, "v_mad_i64_i32");
}

void vector_registers(RegisterUse& use, const Inst& inst) {
  const std::string name = mnemonic(inst);
  const Widths widths = vector_widths(name);
  const unsigned destination = code_vgpr + inst.dst;
  read_sources(use, inst, widths, name);
  if (reads_mask(name) && inst.src_count == 2) {
    use.read(inst.src[2], 2);
  }
  if (inst.encoding == Encoding::vopc) {
    use.write(inst.scalar_dst, 2);
    return;
  }
  if (begins(name, "v_readlane") || begins(name, "v_readfirstlane")) {
    use.write(inst.dst, 1);
    return;
  }
  if (has_carry_out(name)) {
    use.write(inst.scalar_dst, 2);
  }
  if (name == "v_nop" || name == "v_clrexcp") {
    return;
  }
  if (accumulates(name)) {
    use.read(destination, widths.dst);
  }
  use.write(destination, widths.dst);
  if (contains(name, "swap")) {
    use.read(destination, 1);
    use.write(inst.src[0], 1);
  }
}

// ---- matrix

unsigned element_bits(const std::string& name) {
  if (ends(name, "f64")) {
    return 64;
  }
  if (ends(name, "f16") || ends(name, "bf16_1k")) {  // bf16 too
    return 16;
  }
  return ends(name, "f32") ? 32 : 8;
}

// "v_mfma_f32_32x32x4_2b_f16": 2 blocks of 32 x 32, a depth of 4.
struct MatrixShape {
  unsigned size = 0, depth = 0, blocks = 1;
  explicit MatrixShape(const std::string& name) {
    const size_t at = name.find_first_of("0123456789", name.find('_', 7) + 1);
    const char* text = name.c_str() + at;
    char* end = nullptr;
    size = static_cast<unsigned>(std::strtoul(text, &end, 10));
    std::strtoul(end + 1, &end, 10);
    depth = static_cast<unsigned>(std::strtoul(end + 1, &end, 10));
    if (*end == '_' && end[1] >= '0' && end[1] <= '9') {
      blocks = static_cast<unsigned>(std::strtoul(end + 1, &end, 10));
    }
  }
};

// Formats of f8f6f4, as cbsz and blgp name them: 2 and 3 have six bits, 4 has four.
unsigned format_bits(unsigned format) { return format < 2 ? 8 : format < 4 ? 6 : 4; }

void matrix_registers(RegisterUse& use, const Inst& inst, Arch arch) {
  const MatrixOperands operands = matrix_operands(inst, arch);
  use.read(inst.src[0], operands.a);
  use.read(inst.src[1], operands.b);
  const std::string name = mnemonic(inst);
  const unsigned destination = code_vgpr + inst.dst;
  if (begins(name, "v_smfmac")) {
    use.read(inst.src[2], operands.c ? 1 : 0);
    use.read(destination, operands.c);
  } else if (inst.src[2] >= code_vgpr) {
    use.read(inst.src[2], operands.c);
  }
  if (inst.scaled) {
    use.read(inst.scale_src[0], 1);
    use.read(inst.scale_src[1], 1);
  }
  use.write(destination, operands.c);
}

// ---- memory

unsigned move_dwords(uint16_t op) {
  if (op >= 20 && op <= 23) {
    return op - 19u;
  }
  return op >= 28 && op <= 31 ? op - 27u : 1;
}

void data_registers(RegisterUse& use, const Inst& inst) {
  const unsigned data = code_vgpr + inst.vdata, result = code_vgpr + inst.dst;
  if (inst.to_lds) {
    return;
  }
  if (is_atomic(inst.op)) {
    const auto atomic = static_cast<AtomicOp>(inst.op);
    const unsigned dwords = atomic_dwords(atomic);
    use.read(data, is_compare(atomic) ? dwords * 2 : dwords);
    if (inst.returns) {
      use.write(result, dwords);
    }
  } else if (inst.op >= 24 && inst.op <= 31) {
    use.read(data, move_dwords(inst.op));
  } else if (inst.op >= 16 && inst.op <= 37) {
    use.write(result, move_dwords(inst.op));
  }
}

void flat_registers(RegisterUse& use, const Inst& inst) {
  const unsigned address = code_vgpr + inst.vaddr;
  const bool has_base = inst.saddr != saddr_off;
  if (inst.segment == Segment::scratch) {
    use.read(address, inst.offen ? 1 : 0);
    use.read(inst.saddr, has_base ? 1 : 0);
  } else if (inst.segment == Segment::global && has_base) {
    use.read(address, 1);
    use.read(inst.saddr, 2);
  } else {
    use.read(address, 2);
  }
  data_registers(use, inst);
}

void buffer_address(RegisterUse& use, const Inst& inst) {
  use.read(code_vgpr + inst.vaddr, (inst.offen ? 1u : 0u) + (inst.idxen ? 1u : 0u));
  use.read(inst.saddr, 4);
  use.read(inst.soffset, 1);
}

void buffer_registers(RegisterUse& use, const Inst& inst) {
  if (inst.op >= 40 && inst.op <= 63) {
    return;  // cache control
  }
  buffer_address(use, inst);
  data_registers(use, inst);
}

struct LdsShape {
  unsigned address = 1, data = 0, data2 = 0, result = 0;
};

unsigned lds_dwords(const std::string& name) {
  if (ends(name, "b128")) {
    return 4;
  }
  if (ends(name, "b96")) {
    return 3;
  }
  return names_64_bits(name) || contains(name, "_b64_") ? 2 : 1;
}

LdsShape lds_shape(const Inst& inst, const std::string& name) {
  const unsigned dwords = lds_dwords(name);
  if (name == "ds_nop") {
    return {0, 0, 0, 0};
  }
  if (contains(name, "addtid")) {
    return inst.op == 29 ? LdsShape{0, 1, 0, 0} : LdsShape{0, 0, 0, 1};
  }
  if (contains(name, "append") || contains(name, "consume")) {
    return {0, 0, 0, 1};
  }
  if (contains(name, "permute")) {
    return {1, 1, 0, 1};
  }
  if (contains(name, "swizzle")) {
    return {1, 0, 0, 1};
  }
  if (begins(name, "ds_read2")) {
    return {1, 0, 0, dwords * 2};
  }
  if (begins(name, "ds_write2")) {
    return {1, dwords, dwords, 0};
  }
  if (begins(name, "ds_read")) {
    return {1, 0, 0, dwords};
  }
  if (begins(name, "ds_write")) {
    return {1, dwords, 0, 0};
  }
  const bool two = contains(name, "cmpst") || contains(name, "mskor") || contains(name, "wrap");
  return {1, dwords, two ? dwords : 0, contains(name, "_rtn") ? dwords : 0};
}

void lds_registers(RegisterUse& use, const Inst& inst) {
  const LdsShape shape = lds_shape(inst, mnemonic(inst));
  use.read(code_vgpr + inst.vaddr, shape.address);
  use.read(code_vgpr + inst.vdata, shape.data);
  use.read(code_vgpr + inst.vdata2, shape.data2);
  use.write(code_vgpr + inst.dst, shape.result);
}

}  // namespace

MatrixOperands matrix_operands(const Inst& inst, Arch arch) {
  const std::string name = mnemonic(inst);
  // gfx90a has other instructions at some of these numbers, and names without the number of blocks.
  const bool is_sparse = begins(name, "v_smfmac");
  const bool is_known = contains(name, "_f8f6f4") || is_sparse || begins(name, "v_mfma_");
  if (!is_known || (arch == Arch::gfx90a && (is_sparse || contains(name, "bf16") || ends(name, "_i8")))) {
    return {};
  }
  const MatrixShape shape(name);
  const unsigned value_dwords = ends(name, "f64") ? 2 : 1;
  MatrixOperands operands;
  operands.c = shape.size * shape.size * shape.blocks / lanes * value_dwords;
  const unsigned elements = shape.size * shape.depth * shape.blocks;
  if (contains(name, "_f8f6f4")) {
    operands.a = elements * format_bits(inst.cbsz) / (lanes * 32);
    operands.b = elements * format_bits(inst.blgp) / (lanes * 32);
    return operands;
  }
  const unsigned bits = element_bits(name);
  operands.b = elements * bits / (lanes * 32);
  operands.b = operands.b ? operands.b : 1;
  operands.a = is_sparse ? operands.b / 2 : operands.b;
  return operands;
}

RegisterUse registers_of(const Inst& inst, Arch arch) {
  RegisterUse use;
  switch (inst.encoding) {
    case Encoding::sop1:
    case Encoding::sop2:
    case Encoding::sopc:
    case Encoding::sopk:
    case Encoding::sopp:
      scalar_registers(use, inst);
      break;
    case Encoding::smem:
      smem_registers(use, inst);
      break;
    case Encoding::vop1:
    case Encoding::vop2:
    case Encoding::vop3:
    case Encoding::vopc:
    case Encoding::vop3p:
      vector_registers(use, inst);
      break;
    case Encoding::mfma:
      matrix_registers(use, inst, arch);
      break;
    case Encoding::ds:
      lds_registers(use, inst);
      break;
    case Encoding::flat:
      flat_registers(use, inst);
      break;
    case Encoding::mubuf:
      buffer_registers(use, inst);
      break;
    case Encoding::mtbuf:
      buffer_address(use, inst);
      break;
    case Encoding::unknown:
      break;
  }
  return use;
}

}  // namespace ktrace::softdev
