// Mnemonics of scalar and memory instructions; those of vector instructions are in vector/.
#include <cstdio>
#include <string>

#include "core/decode.hpp"
#include "vector/vector.hpp"

namespace ktrace::softdev {

namespace {

struct Name {
  uint16_t op;
  const char* text;
};

// clang-format off
constexpr Name sop1_names[] = {
    {0, "s_mov_b32"}, {1, "s_mov_b64"}, {2, "s_cmov_b32"}, {3, "s_cmov_b64"}, {4, "s_not_b32"},
    {5, "s_not_b64"}, {6, "s_wqm_b32"}, {7, "s_wqm_b64"}, {8, "s_brev_b32"}, {9, "s_brev_b64"},
    {10, "s_bcnt0_i32_b32"}, {11, "s_bcnt0_i32_b64"}, {12, "s_bcnt1_i32_b32"}, {13, "s_bcnt1_i32_b64"},
    {14, "s_ff0_i32_b32"}, {15, "s_ff0_i32_b64"}, {16, "s_ff1_i32_b32"}, {17, "s_ff1_i32_b64"},
    {18, "s_flbit_i32_b32"}, {19, "s_flbit_i32_b64"}, {20, "s_flbit_i32"}, {21, "s_flbit_i32_i64"},
    {22, "s_sext_i32_i8"}, {23, "s_sext_i32_i16"}, {24, "s_bitset0_b32"}, {25, "s_bitset0_b64"},
    {26, "s_bitset1_b32"}, {27, "s_bitset1_b64"}, {28, "s_getpc_b64"}, {29, "s_setpc_b64"},
    {30, "s_swappc_b64"}, {31, "s_rfe_b64"}, {32, "s_and_saveexec_b64"}, {33, "s_or_saveexec_b64"},
    {34, "s_xor_saveexec_b64"}, {35, "s_andn2_saveexec_b64"}, {36, "s_orn2_saveexec_b64"},
    {37, "s_nand_saveexec_b64"}, {38, "s_nor_saveexec_b64"}, {39, "s_xnor_saveexec_b64"},
    {40, "s_quadmask_b32"}, {41, "s_quadmask_b64"}, {42, "s_movrels_b32"}, {43, "s_movrels_b64"},
    {44, "s_movreld_b32"}, {45, "s_movreld_b64"}, {46, "s_cbranch_join"}, {48, "s_abs_i32"},
    {50, "s_set_gpr_idx_idx"}, {51, "s_andn1_saveexec_b64"}, {52, "s_orn1_saveexec_b64"},
    {53, "s_andn1_wrexec_b64"}, {54, "s_andn2_wrexec_b64"}, {55, "s_bitreplicate_b64_b32"},
};

constexpr Name sop2_names[] = {
    {0, "s_add_u32"}, {1, "s_sub_u32"}, {2, "s_add_i32"}, {3, "s_sub_i32"}, {4, "s_addc_u32"},
    {5, "s_subb_u32"}, {6, "s_min_i32"}, {7, "s_min_u32"}, {8, "s_max_i32"}, {9, "s_max_u32"},
    {10, "s_cselect_b32"}, {11, "s_cselect_b64"}, {12, "s_and_b32"}, {13, "s_and_b64"}, {14, "s_or_b32"},
    {15, "s_or_b64"}, {16, "s_xor_b32"}, {17, "s_xor_b64"}, {18, "s_andn2_b32"}, {19, "s_andn2_b64"},
    {20, "s_orn2_b32"}, {21, "s_orn2_b64"}, {22, "s_nand_b32"}, {23, "s_nand_b64"}, {24, "s_nor_b32"},
    {25, "s_nor_b64"}, {26, "s_xnor_b32"}, {27, "s_xnor_b64"}, {28, "s_lshl_b32"}, {29, "s_lshl_b64"},
    {30, "s_lshr_b32"}, {31, "s_lshr_b64"}, {32, "s_ashr_i32"}, {33, "s_ashr_i64"}, {34, "s_bfm_b32"},
    {35, "s_bfm_b64"}, {36, "s_mul_i32"}, {37, "s_bfe_u32"}, {38, "s_bfe_i32"}, {39, "s_bfe_u64"},
    {40, "s_bfe_i64"}, {41, "s_cbranch_g_fork"}, {42, "s_absdiff_i32"}, {43, "s_rfe_restore_b64"},
    {44, "s_mul_hi_u32"}, {45, "s_mul_hi_i32"}, {46, "s_lshl1_add_u32"}, {47, "s_lshl2_add_u32"},
    {48, "s_lshl3_add_u32"}, {49, "s_lshl4_add_u32"}, {50, "s_pack_ll_b32_b16"}, {51, "s_pack_lh_b32_b16"},
    {52, "s_pack_hh_b32_b16"},
};

constexpr Name sopc_names[] = {
    {0, "s_cmp_eq_i32"}, {1, "s_cmp_lg_i32"}, {2, "s_cmp_gt_i32"}, {3, "s_cmp_ge_i32"}, {4, "s_cmp_lt_i32"},
    {5, "s_cmp_le_i32"}, {6, "s_cmp_eq_u32"}, {7, "s_cmp_lg_u32"}, {8, "s_cmp_gt_u32"}, {9, "s_cmp_ge_u32"},
    {10, "s_cmp_lt_u32"}, {11, "s_cmp_le_u32"}, {12, "s_bitcmp0_b32"}, {13, "s_bitcmp1_b32"},
    {14, "s_bitcmp0_b64"}, {15, "s_bitcmp1_b64"}, {16, "s_setvskip"}, {17, "s_set_gpr_idx_on"},
    {18, "s_cmp_eq_u64"}, {19, "s_cmp_lg_u64"},
};

constexpr Name sopk_names[] = {
    {0, "s_movk_i32"}, {1, "s_cmovk_i32"}, {2, "s_cmpk_eq_i32"}, {3, "s_cmpk_lg_i32"}, {4, "s_cmpk_gt_i32"},
    {5, "s_cmpk_ge_i32"}, {6, "s_cmpk_lt_i32"}, {7, "s_cmpk_le_i32"}, {8, "s_cmpk_eq_u32"},
    {9, "s_cmpk_lg_u32"}, {10, "s_cmpk_gt_u32"}, {11, "s_cmpk_ge_u32"}, {12, "s_cmpk_lt_u32"},
    {13, "s_cmpk_le_u32"}, {14, "s_addk_i32"}, {15, "s_mulk_i32"}, {16, "s_cbranch_i_fork"},
    {17, "s_getreg_b32"}, {18, "s_setreg_b32"}, {20, "s_setreg_imm32_b32"}, {21, "s_call_b64"},
};

constexpr Name sopp_names[] = {
    {0, "s_nop"}, {1, "s_endpgm"}, {2, "s_branch"}, {3, "s_wakeup"}, {4, "s_cbranch_scc0"},
    {5, "s_cbranch_scc1"}, {6, "s_cbranch_vccz"}, {7, "s_cbranch_vccnz"}, {8, "s_cbranch_execz"},
    {9, "s_cbranch_execnz"}, {10, "s_barrier"}, {11, "s_setkill"}, {12, "s_waitcnt"}, {13, "s_sethalt"},
    {14, "s_sleep"}, {15, "s_setprio"}, {16, "s_sendmsg"}, {17, "s_sendmsghalt"}, {18, "s_trap"},
    {19, "s_icache_inv"}, {20, "s_incperflevel"}, {21, "s_decperflevel"}, {22, "s_ttracedata"},
    {23, "s_cbranch_cdbgsys"}, {24, "s_cbranch_cdbguser"}, {25, "s_cbranch_cdbgsys_or_user"},
    {26, "s_cbranch_cdbgsys_and_user"}, {27, "s_endpgm_saved"}, {28, "s_set_gpr_idx_off"},
    {29, "s_set_gpr_idx_mode"}, {30, "s_endpgm_ordered_ps_done"}, {31, "s_set_valu_coexec_mode"},
};

constexpr Name smem_names[] = {
    {0, "s_load_dword"}, {1, "s_load_dwordx2"}, {2, "s_load_dwordx4"}, {3, "s_load_dwordx8"},
    {4, "s_load_dwordx16"}, {5, "s_scratch_load_dword"}, {6, "s_scratch_load_dwordx2"},
    {7, "s_scratch_load_dwordx4"}, {8, "s_buffer_load_dword"}, {9, "s_buffer_load_dwordx2"},
    {10, "s_buffer_load_dwordx4"}, {11, "s_buffer_load_dwordx8"}, {12, "s_buffer_load_dwordx16"},
    {16, "s_store_dword"}, {17, "s_store_dwordx2"}, {18, "s_store_dwordx4"}, {21, "s_scratch_store_dword"},
    {22, "s_scratch_store_dwordx2"}, {23, "s_scratch_store_dwordx4"}, {24, "s_buffer_store_dword"},
    {25, "s_buffer_store_dwordx2"}, {26, "s_buffer_store_dwordx4"}, {32, "s_dcache_inv"}, {33, "s_dcache_wb"},
    {34, "s_dcache_inv_vol"}, {35, "s_dcache_wb_vol"}, {36, "s_memtime"}, {37, "s_memrealtime"},
    {38, "s_atc_probe"}, {39, "s_atc_probe_buffer"}, {40, "s_dcache_discard"}, {41, "s_dcache_discard_x2"},
    {64, "s_buffer_atomic_swap"}, {65, "s_buffer_atomic_cmpswap"}, {66, "s_buffer_atomic_add"},
    {67, "s_buffer_atomic_sub"}, {68, "s_buffer_atomic_smin"}, {69, "s_buffer_atomic_umin"},
    {70, "s_buffer_atomic_smax"}, {71, "s_buffer_atomic_umax"}, {72, "s_buffer_atomic_and"},
    {73, "s_buffer_atomic_or"}, {74, "s_buffer_atomic_xor"}, {75, "s_buffer_atomic_inc"},
    {76, "s_buffer_atomic_dec"}, {96, "s_buffer_atomic_swap_x2"}, {97, "s_buffer_atomic_cmpswap_x2"},
    {98, "s_buffer_atomic_add_x2"}, {99, "s_buffer_atomic_sub_x2"}, {100, "s_buffer_atomic_smin_x2"},
    {101, "s_buffer_atomic_umin_x2"}, {102, "s_buffer_atomic_smax_x2"}, {103, "s_buffer_atomic_umax_x2"},
    {104, "s_buffer_atomic_and_x2"}, {105, "s_buffer_atomic_or_x2"}, {106, "s_buffer_atomic_xor_x2"},
    {107, "s_buffer_atomic_inc_x2"}, {108, "s_buffer_atomic_dec_x2"}, {128, "s_atomic_swap"},
    {129, "s_atomic_cmpswap"}, {130, "s_atomic_add"}, {131, "s_atomic_sub"}, {132, "s_atomic_smin"},
    {133, "s_atomic_umin"}, {134, "s_atomic_smax"}, {135, "s_atomic_umax"}, {136, "s_atomic_and"},
    {137, "s_atomic_or"}, {138, "s_atomic_xor"}, {139, "s_atomic_inc"}, {140, "s_atomic_dec"},
    {160, "s_atomic_swap_x2"}, {161, "s_atomic_cmpswap_x2"}, {162, "s_atomic_add_x2"},
    {163, "s_atomic_sub_x2"}, {164, "s_atomic_smin_x2"}, {165, "s_atomic_umin_x2"}, {166, "s_atomic_smax_x2"},
    {167, "s_atomic_umax_x2"}, {168, "s_atomic_and_x2"}, {169, "s_atomic_or_x2"}, {170, "s_atomic_xor_x2"},
    {171, "s_atomic_inc_x2"}, {172, "s_atomic_dec_x2"},
};

constexpr Name ds_names[] = {
    {0, "ds_add_u32"}, {1, "ds_sub_u32"}, {2, "ds_rsub_u32"}, {3, "ds_inc_u32"}, {4, "ds_dec_u32"},
    {5, "ds_min_i32"}, {6, "ds_max_i32"}, {7, "ds_min_u32"}, {8, "ds_max_u32"}, {9, "ds_and_b32"},
    {10, "ds_or_b32"}, {11, "ds_xor_b32"}, {12, "ds_mskor_b32"}, {13, "ds_write_b32"}, {14, "ds_write2_b32"},
    {15, "ds_write2st64_b32"}, {16, "ds_cmpst_b32"}, {17, "ds_cmpst_f32"}, {18, "ds_min_f32"},
    {19, "ds_max_f32"}, {20, "ds_nop"}, {21, "ds_add_f32"}, {23, "ds_pk_add_f16"}, {24, "ds_pk_add_bf16"},
    {29, "ds_write_addtid_b32"}, {30, "ds_write_b8"}, {31, "ds_write_b16"}, {32, "ds_add_rtn_u32"},
    {33, "ds_sub_rtn_u32"}, {34, "ds_rsub_rtn_u32"}, {35, "ds_inc_rtn_u32"}, {36, "ds_dec_rtn_u32"},
    {37, "ds_min_rtn_i32"}, {38, "ds_max_rtn_i32"}, {39, "ds_min_rtn_u32"}, {40, "ds_max_rtn_u32"},
    {41, "ds_and_rtn_b32"}, {42, "ds_or_rtn_b32"}, {43, "ds_xor_rtn_b32"}, {44, "ds_mskor_rtn_b32"},
    {45, "ds_wrxchg_rtn_b32"}, {46, "ds_wrxchg2_rtn_b32"}, {47, "ds_wrxchg2st64_rtn_b32"},
    {48, "ds_cmpst_rtn_b32"}, {49, "ds_cmpst_rtn_f32"}, {50, "ds_min_rtn_f32"}, {51, "ds_max_rtn_f32"},
    {52, "ds_wrap_rtn_b32"}, {53, "ds_add_rtn_f32"}, {54, "ds_read_b32"}, {55, "ds_read2_b32"},
    {56, "ds_read2st64_b32"}, {57, "ds_read_i8"}, {58, "ds_read_u8"}, {59, "ds_read_i16"},
    {60, "ds_read_u16"}, {61, "ds_swizzle_b32"}, {62, "ds_permute_b32"}, {63, "ds_bpermute_b32"},
    {64, "ds_add_u64"}, {65, "ds_sub_u64"}, {66, "ds_rsub_u64"}, {67, "ds_inc_u64"}, {68, "ds_dec_u64"},
    {69, "ds_min_i64"}, {70, "ds_max_i64"}, {71, "ds_min_u64"}, {72, "ds_max_u64"}, {73, "ds_and_b64"},
    {74, "ds_or_b64"}, {75, "ds_xor_b64"}, {76, "ds_mskor_b64"}, {77, "ds_write_b64"}, {78, "ds_write2_b64"},
    {79, "ds_write2st64_b64"}, {80, "ds_cmpst_b64"}, {81, "ds_cmpst_f64"}, {82, "ds_min_f64"},
    {83, "ds_max_f64"}, {84, "ds_write_b8_d16_hi"}, {85, "ds_write_b16_d16_hi"}, {86, "ds_read_u8_d16"},
    {87, "ds_read_u8_d16_hi"}, {88, "ds_read_i8_d16"}, {89, "ds_read_i8_d16_hi"}, {90, "ds_read_u16_d16"},
    {91, "ds_read_u16_d16_hi"}, {92, "ds_add_f64"}, {96, "ds_add_rtn_u64"}, {97, "ds_sub_rtn_u64"},
    {98, "ds_rsub_rtn_u64"}, {99, "ds_inc_rtn_u64"}, {100, "ds_dec_rtn_u64"}, {101, "ds_min_rtn_i64"},
    {102, "ds_max_rtn_i64"}, {103, "ds_min_rtn_u64"}, {104, "ds_max_rtn_u64"}, {105, "ds_and_rtn_b64"},
    {106, "ds_or_rtn_b64"}, {107, "ds_xor_rtn_b64"}, {108, "ds_mskor_rtn_b64"}, {109, "ds_wrxchg_rtn_b64"},
    {110, "ds_wrxchg2_rtn_b64"}, {111, "ds_wrxchg2st64_rtn_b64"}, {112, "ds_cmpst_rtn_b64"},
    {113, "ds_cmpst_rtn_f64"}, {114, "ds_min_rtn_f64"}, {115, "ds_max_rtn_f64"}, {118, "ds_read_b64"},
    {119, "ds_read2_b64"}, {120, "ds_read2st64_b64"}, {124, "ds_add_rtn_f64"}, {126, "ds_condxchg32_rtn_b64"},
    {152, "ds_gws_sema_release_all"}, {153, "ds_gws_init"}, {154, "ds_gws_sema_v"}, {155, "ds_gws_sema_br"},
    {156, "ds_gws_sema_p"}, {157, "ds_gws_barrier"},
    {182, "ds_read_addtid_b32"}, {183, "ds_pk_add_rtn_f16"}, {184, "ds_pk_add_rtn_bf16"}, {189, "ds_consume"},
    {190, "ds_append"}, {222, "ds_write_b96"}, {223, "ds_write_b128"}, {224, "ds_read_b64_tr_b4"},
    {225, "ds_read_b96_tr_b6"}, {226, "ds_read_b64_tr_b8"}, {227, "ds_read_b64_tr_b16"}, {254, "ds_read_b96"},
    {255, "ds_read_b128"},
};

constexpr Name flat_names[] = {
    {16, "load_ubyte"}, {17, "load_sbyte"}, {18, "load_ushort"}, {19, "load_sshort"}, {20, "load_dword"},
    {21, "load_dwordx2"}, {22, "load_dwordx3"}, {23, "load_dwordx4"}, {24, "store_byte"},
    {25, "store_byte_d16_hi"}, {26, "store_short"}, {27, "store_short_d16_hi"}, {28, "store_dword"},
    {29, "store_dwordx2"}, {30, "store_dwordx3"}, {31, "store_dwordx4"}, {32, "load_ubyte_d16"},
    {33, "load_ubyte_d16_hi"}, {34, "load_sbyte_d16"}, {35, "load_sbyte_d16_hi"}, {36, "load_short_d16"},
    {37, "load_short_d16_hi"}, {38, "load_lds_ubyte"}, {39, "load_lds_sbyte"}, {40, "load_lds_ushort"},
    {41, "load_lds_sshort"}, {42, "load_lds_dword"}, {64, "atomic_swap"}, {65, "atomic_cmpswap"},
    {66, "atomic_add"}, {67, "atomic_sub"}, {68, "atomic_smin"}, {69, "atomic_umin"}, {70, "atomic_smax"},
    {71, "atomic_umax"}, {72, "atomic_and"}, {73, "atomic_or"}, {74, "atomic_xor"}, {75, "atomic_inc"},
    {76, "atomic_dec"}, {77, "atomic_add_f32"}, {78, "atomic_pk_add_f16"}, {79, "atomic_add_f64"},
    {80, "atomic_min_f64"}, {81, "atomic_max_f64"}, {82, "atomic_pk_add_bf16"}, {96, "atomic_swap_x2"},
    {97, "atomic_cmpswap_x2"}, {98, "atomic_add_x2"}, {99, "atomic_sub_x2"}, {100, "atomic_smin_x2"},
    {101, "atomic_umin_x2"}, {102, "atomic_smax_x2"}, {103, "atomic_umax_x2"}, {104, "atomic_and_x2"},
    {105, "atomic_or_x2"}, {106, "atomic_xor_x2"}, {107, "atomic_inc_x2"}, {108, "atomic_dec_x2"},
    {125, "load_lds_dwordx4"}, {126, "load_lds_dwordx3"},
};

constexpr Name mubuf_names[] = {
    {0, "buffer_load_format_x"}, {1, "buffer_load_format_xy"}, {2, "buffer_load_format_xyz"},
    {3, "buffer_load_format_xyzw"}, {4, "buffer_store_format_x"}, {5, "buffer_store_format_xy"},
    {6, "buffer_store_format_xyz"}, {7, "buffer_store_format_xyzw"}, {8, "buffer_load_format_d16_x"},
    {9, "buffer_load_format_d16_xy"}, {10, "buffer_load_format_d16_xyz"}, {11, "buffer_load_format_d16_xyzw"},
    {12, "buffer_store_format_d16_x"}, {13, "buffer_store_format_d16_xy"},
    {14, "buffer_store_format_d16_xyz"}, {15, "buffer_store_format_d16_xyzw"}, {16, "buffer_load_ubyte"},
    {17, "buffer_load_sbyte"}, {18, "buffer_load_ushort"}, {19, "buffer_load_sshort"},
    {20, "buffer_load_dword"}, {21, "buffer_load_dwordx2"}, {22, "buffer_load_dwordx3"},
    {23, "buffer_load_dwordx4"}, {24, "buffer_store_byte"}, {25, "buffer_store_byte_d16_hi"},
    {26, "buffer_store_short"}, {27, "buffer_store_short_d16_hi"}, {28, "buffer_store_dword"},
    {29, "buffer_store_dwordx2"}, {30, "buffer_store_dwordx3"}, {31, "buffer_store_dwordx4"},
    {32, "buffer_load_ubyte_d16"}, {33, "buffer_load_ubyte_d16_hi"}, {34, "buffer_load_sbyte_d16"},
    {35, "buffer_load_sbyte_d16_hi"}, {36, "buffer_load_short_d16"}, {37, "buffer_load_short_d16_hi"},
    {38, "buffer_load_format_d16_hi_x"}, {39, "buffer_store_format_d16_hi_x"}, {40, "buffer_wbl2"},
    {41, "buffer_inv"}, {61, "buffer_store_lds_dword"}, {62, "buffer_wbinvl1"}, {63, "buffer_wbinvl1_vol"}, {64, "buffer_atomic_swap"},
    {65, "buffer_atomic_cmpswap"}, {66, "buffer_atomic_add"}, {67, "buffer_atomic_sub"},
    {68, "buffer_atomic_smin"}, {69, "buffer_atomic_umin"}, {70, "buffer_atomic_smax"},
    {71, "buffer_atomic_umax"}, {72, "buffer_atomic_and"}, {73, "buffer_atomic_or"},
    {74, "buffer_atomic_xor"}, {75, "buffer_atomic_inc"}, {76, "buffer_atomic_dec"},
    {77, "buffer_atomic_add_f32"}, {78, "buffer_atomic_pk_add_f16"}, {79, "buffer_atomic_add_f64"},
    {80, "buffer_atomic_min_f64"}, {81, "buffer_atomic_max_f64"}, {82, "buffer_atomic_pk_add_bf16"},
    {96, "buffer_atomic_swap_x2"}, {97, "buffer_atomic_cmpswap_x2"}, {98, "buffer_atomic_add_x2"},
    {99, "buffer_atomic_sub_x2"}, {100, "buffer_atomic_smin_x2"}, {101, "buffer_atomic_umin_x2"},
    {102, "buffer_atomic_smax_x2"}, {103, "buffer_atomic_umax_x2"}, {104, "buffer_atomic_and_x2"},
    {105, "buffer_atomic_or_x2"}, {106, "buffer_atomic_xor_x2"}, {107, "buffer_atomic_inc_x2"},
    {108, "buffer_atomic_dec_x2"},
};

constexpr Name mtbuf_names[] = {
    {0, "tbuffer_load_format_x"}, {1, "tbuffer_load_format_xy"}, {2, "tbuffer_load_format_xyz"},
    {3, "tbuffer_load_format_xyzw"}, {4, "tbuffer_store_format_x"}, {5, "tbuffer_store_format_xy"},
    {6, "tbuffer_store_format_xyz"}, {7, "tbuffer_store_format_xyzw"}, {8, "tbuffer_load_format_d16_x"},
    {9, "tbuffer_load_format_d16_xy"}, {10, "tbuffer_load_format_d16_xyz"},
    {11, "tbuffer_load_format_d16_xyzw"}, {12, "tbuffer_store_format_d16_x"},
    {13, "tbuffer_store_format_d16_xy"}, {14, "tbuffer_store_format_d16_xyz"},
    {15, "tbuffer_store_format_d16_xyzw"},
};
// clang-format on

template <size_t size>
const char* find(const Name (&names)[size], uint16_t op) {
  for (const Name& name : names) {
    if (name.op == op) {
      return name.text;
    }
  }
  return nullptr;
}

// FLAT, GLOBAL and SCRATCH share their opcodes; the prefix is the segment's.
std::string flat_name(const Inst& inst) {
  const char* name = find(flat_names, inst.op);
  if (!name) {
    return {};
  }
  switch (inst.segment) {
    case Segment::scratch:
      return std::string("scratch_") + name;
    case Segment::global:
      return std::string("global_") + name;
    default:
      return std::string("flat_") + name;
  }
}

const char* encoding_name(Encoding encoding) {
  constexpr const char* names[] = {"unknown", "SOP1", "SOP2", "SOPC",  "SOPK", "SOPP",
                                   "SMEM",    "VOP1", "VOP2", "VOP3",  "VOPC", "VOP3P",
                                   "VOP3P",   "DS",   "FLAT", "MUBUF", "MTBUF"};
  return names[static_cast<unsigned>(encoding)];
}

// A matrix instruction behind its scales.
const char* scaled_name(uint16_t op) {
  constexpr uint16_t small = vop3p_base + 45, large = vop3p_base + 46;
  return op == small   ? "v_mfma_scale_f32_16x16x128_f8f6f4"
         : op == large ? "v_mfma_scale_f32_32x32x64_f8f6f4"
                       : nullptr;
}

const char* plain_name(const Inst& inst) {
  switch (inst.encoding) {
    case Encoding::sop1:
      return find(sop1_names, inst.op);
    case Encoding::sop2:
      return find(sop2_names, inst.op);
    case Encoding::sopc:
      return find(sopc_names, inst.op);
    case Encoding::sopk:
      return find(sopk_names, inst.op);
    case Encoding::sopp:
      return find(sopp_names, inst.op);
    case Encoding::smem:
      return find(smem_names, inst.op);
    case Encoding::ds:
      return find(ds_names, inst.op);
    case Encoding::mubuf:
      return find(mubuf_names, inst.op);
    case Encoding::mtbuf:
      return find(mtbuf_names, inst.op);
    case Encoding::unknown:
    case Encoding::flat:
      return nullptr;
    case Encoding::mfma:
      return inst.scaled ? scaled_name(inst.op) : vector_name(inst.op);
    default:
      return inst.op == op_mad_f32 ? "v_mad_f32" : vector_name(inst.op);
  }
}

}  // namespace

bool has_mnemonic(const Inst& inst) {
  return inst.encoding == Encoding::flat ? !flat_name(inst).empty() : plain_name(inst) != nullptr;
}

std::string mnemonic(const Inst& inst) {
  if (inst.encoding == Encoding::flat) {
    const std::string name = flat_name(inst);
    if (!name.empty()) {
      return name;
    }
  } else if (const char* name = plain_name(inst)) {
    return name;
  }
  if (inst.encoding == Encoding::unknown) {
    return "unknown encoding";
  }
  char text[40];
  std::snprintf(text, sizeof text, "%s opcode %u", encoding_name(inst.encoding), inst.op);
  return text;
}

}  // namespace ktrace::softdev
