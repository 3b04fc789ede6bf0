// Which target has which instruction: what is not listed here, all of them have.
#include "core/decode_parts.hpp"

namespace ktrace::softdev {

namespace {

enum : uint8_t { gfx90a = 1, gfx942 = 2, gfx950 = 4, since_gfx942 = gfx942 | gfx950 };

struct Range {
  uint16_t first;
  uint16_t last;
  uint8_t targets;
};

constexpr Range vector_ranges[] = {
    {0x116, 0x116, gfx950},           // v_dot2c_f32_bf16
    {0x117, 0x118, since_gfx942},     // v_fmamk_f32, v_fmaak_f32
    {0x178, 0x178, since_gfx942},     // v_mov_b64
    {0x194, 0x197, since_gfx942},     // v_cvt_*_fp8, v_cvt_*_bf8
    {0x198, 0x19b, gfx950},           // v_prng_b32, v_permlane*_swap_b32, v_cvt_f32_bf16
    {0x1c0, op_mad_f32, gfx90a},      //
    {0x208, 0x208, since_gfx942},     // v_lshl_add_u64
    {0x233, 0x26a, gfx950},           // v_bitop3_*, v_cvt_scalef32_*, v_ashr_pk_*, v_cvt_pk_*
    {0x2a2, 0x2a5, since_gfx942},     // v_cvt_pk_fp8_f32 to v_cvt_sr_bf8_f32
    {0x2a6, 0x2a9, gfx950},           // v_cvt_sr_f16_f32 to v_maximum3_f32
    {0x41a, 0x41c, gfx950},           // v_dot2_f32_bf16, v_pk_minimum3_f16, v_pk_maximum3_f16
    {0x42c, 0x42e, gfx950},           // f8f6f4
    {0x435, 0x43d, gfx950},           // deeper matrix instructions
    {0x43e, 0x43f, gfx942},           // xf32
    {0x443, 0x443, gfx950},           //
    {0x446, 0x447, gfx950},           //
    {0x44b, 0x44b, gfx950},           //
    {0x44e, 0x44f, gfx950},           //
    {0x453, 0x453, gfx950},           //
    {0x454, 0x455, gfx90a | gfx950},  // i8 on the one, f16 on the other
    {0x456, 0x457, since_gfx942},     //
    {0x45a, 0x45b, gfx950},           //
    {0x45d, 0x462, since_gfx942},     //
    {0x463, 0x463, gfx90a},           // between these, numbers that gfx90a uses for bf16 and later
    {0x465, 0x465, gfx90a},           // targets for sparse products
    {0x467, 0x467, gfx90a},           //
    {0x469, 0x469, gfx90a},           //
    {0x46a, 0x46a, since_gfx942},     //
    {0x46b, 0x46b, gfx90a},           //
    {0x46d, 0x46d, gfx90a},           //
    {0x470, 0x47f, since_gfx942},     //
};

constexpr Range ds_ranges[] = {
    {23, 24, since_gfx942},    // ds_pk_add_f16, ds_pk_add_bf16
    {183, 184, since_gfx942},  // and the returning ones
    {224, 227, gfx950},        // ds_read_*_tr_*
};

constexpr Range flat_ranges[] = {
    {38, 42, since_gfx942},  // load_lds_*
    {82, 82, since_gfx942},  // atomic_pk_add_bf16
    {125, 126, gfx950},      // load_lds_dwordx4, load_lds_dwordx3
};

constexpr Range mubuf_ranges[] = {
    {61, 63, gfx90a},  // buffer_store_lds_dword, buffer_wbinvl1, buffer_wbinvl1_vol
    {82, 82, gfx950},  // buffer_atomic_pk_add_bf16
};

template <size_t count>
uint8_t targets_in(const Range (&ranges)[count], uint16_t op) {
  for (const Range& range : ranges) {
    if (op >= range.first && op <= range.last) {
      return range.targets;
    }
  }
  return gfx90a | since_gfx942;
}

uint8_t targets_of(const Inst& inst) {
  constexpr uint16_t add_f32 = 77, pk_add_f16 = 78, load_dwordx3 = 22, load_dwordx4 = 23;
  switch (inst.encoding) {
    case Encoding::ds:
      return targets_in(ds_ranges, inst.op);
    case Encoding::flat:
      if (inst.segment == Segment::flat && (inst.op == add_f32 || inst.op == pk_add_f16)) {
        return since_gfx942;
      }
      return targets_in(flat_ranges, inst.op);
    case Encoding::mubuf:
      if (inst.to_lds && (inst.op == load_dwordx3 || inst.op == load_dwordx4)) {
        return gfx950;
      }
      return targets_in(mubuf_ranges, inst.op);
    default:
      return inst.encoding >= Encoding::vop1 && inst.encoding <= Encoding::mfma
                 ? targets_in(vector_ranges, inst.op)
                 : uint8_t{gfx90a | since_gfx942};
  }
}

}  // namespace

bool exists_on(const Inst& inst, Arch arch) {
  return (targets_of(inst) >> static_cast<unsigned>(arch) & 1) != 0;
}

}  // namespace ktrace::softdev
