// Which instructions of a target are not executed, asked of the tables that execution itself uses.
#include <cstdio>
#include <string>

#include "core/decode.hpp"
#include "core/decode_parts.hpp"
#include "core/text.hpp"

namespace ktrace::softdev {

namespace {

constexpr uint16_t last_op = vector_op_count;

// An instruction as the decoder would give it, but for its operands.
Inst instruction(Encoding encoding, uint16_t op) {
  Inst inst;
  inst.encoding = encoding;
  inst.op = op;
  inst.size = 8;
  inst.saddr = 0;
  constexpr uint16_t first_gws = 152, last_gws = 157;
  inst.global_share = encoding == Encoding::ds && op >= first_gws && op <= last_gws;
  return inst;
}

// The encoding that stands for all that share the numbers of vector instructions.
constexpr Encoding encodings[] = {Encoding::sop1, Encoding::sop2,  Encoding::sopc, Encoding::sopk,
                                  Encoding::sopp, Encoding::smem,  Encoding::vop3, Encoding::ds,
                                  Encoding::flat, Encoding::mubuf, Encoding::mtbuf};
constexpr uint16_t numbers_of(Encoding encoding) { return encoding == Encoding::vop3 ? last_op : 256; }

bool loads_lds(uint16_t flat_op) {
  return (flat_op >= 38 && flat_op <= 42) || flat_op == 125 || flat_op == 126;
}

struct Count {
  unsigned known = 0;
  std::string missing;  // a line each
};

void consider(Inst inst, Arch arch, Count& count) {
  constexpr uint16_t ld_scale = vop3p_base + 44;  // a part of v_mfma_scale_*
  if (!has_mnemonic(inst) || !exists_on(inst, arch) || inst.op == ld_scale) {
    return;
  }
  ++count.known;
  if (!find_handler(inst)) {
    count.missing += mnemonic(inst) + '\n';
  }
}

void consider_flat(uint16_t op, Arch arch, Count& count) {
  for (const Segment segment : {Segment::flat, Segment::global, Segment::scratch}) {
    Inst inst = instruction(Encoding::flat, op);
    inst.segment = segment;
    inst.to_lds = loads_lds(op);
    const bool exists = segment == Segment::flat
                            ? !inst.to_lds
                            : segment == Segment::global || op < 64 || (inst.to_lds && op < 125);
    if (exists) {
      consider(inst, arch, count);
    }
  }
}

Count count_all(Arch arch) {
  Count count;
  for (const Encoding encoding : encodings) {
    for (uint16_t op = 0; op < numbers_of(encoding); ++op) {
      if (encoding == Encoding::flat) {
        consider_flat(op, arch, count);
      } else {
        consider(instruction(encoding, op), arch, count);
      }
    }
  }
  for (const uint16_t op : {uint16_t{vop3p_base + 45}, uint16_t{vop3p_base + 46}}) {
    Inst inst = instruction(Encoding::mfma, op);
    inst.scaled = true;
    consider(inst, arch, count);
  }
  return count;
}

}  // namespace

// Writes the mnemonics that `target` has and that are not executed to `text`, a line each, cut off at
// `text_size` bytes with the final 0. Returns how many instructions of the target there are, 0 for an unknown
// one.
extern "C" __attribute__((visibility("default"))) unsigned ktrace_softdev_missing(const char* target,
                                                                                  char* text,
                                                                                  size_t text_size) {
  Arch arch = Arch::gfx942;
  if (!find_arch(target, arch)) {
    return 0;
  }
  const Count count = count_all(arch);
  std::snprintf(text, text_size, "%s", count.missing.c_str());
  return count.known;
}

}  // namespace ktrace::softdev
