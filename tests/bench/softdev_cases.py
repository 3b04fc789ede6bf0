"""The loops of softdev_bench.py: one wave executes 32 equal instructions over and over."""

from dataclasses import dataclass

from support.asm_kernel import AsmKernel

TARGET = "gfx942"
REPEATED = 32
LOOP_OVERHEAD = 4
"""Instructions of a loop besides the repeated ones."""
PROLOGUE = 32
"""About as many instructions come before the loop."""
BUFFER_BYTES = 1 << 20

VALU, GLOBAL, LDS, MATRIX = 1.3, 3.0, 3.0, 5.0
"""How many times as fast as the prototype each class of kernel is wanted to be."""


@dataclass(frozen=True)
class Loop:
    """One wave that executes an instruction over and over."""

    name: str
    instruction: str
    target: float | None = None
    """Least ratio to the prototype; None where there is none."""
    setup: str = ""
    loops: int = 3000

    def source(self) -> str:
        """The whole assembly text."""
        body = _BODY.format(setup=self.setup, repeated=f"  {self.instruction}\n" * REPEATED)
        return AsmKernel(body, 2, lds=16384, vgprs=128, directives=_MODE).source(TARGET)

    @property
    def instructions(self) -> int:
        """How many the wave executes."""
        return self.loops * (REPEATED + LOOP_OVERHEAD) + PROLOGUE


# s[8:9]: the buffer. v1, v2, v3: 4, 16 and 272 times the lane; v[4:5]: the address of its dword.
# v6, v7, v8: 132, 8 and 2 times the lane. v[32:63] hold data; v[64:95] are for results.
_BODY = """
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  v_and_b32 v0, 63, v0
  v_lshlrev_b32 v1, 2, v0
  v_lshlrev_b32 v2, 4, v0
  v_mul_u32_u24 v3, 0x110, v0
  v_mul_u32_u24 v6, 0x84, v0
  v_lshlrev_b32 v7, 3, v0
  v_lshlrev_b32 v8, 1, v0
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v5, s9
  v_add_co_u32 v4, vcc, s8, v1
  v_addc_co_u32 v5, vcc, 0, v5, vcc
  global_load_dwordx4 v[32:35], v2, s[8:9]
  global_load_dwordx4 v[36:39], v2, s[8:9] offset:1024
  global_load_dwordx4 v[40:43], v2, s[8:9] offset:2048
  global_load_dwordx4 v[44:47], v2, s[8:9] offset:3072
  global_load_dwordx4 v[48:51], v2, s[8:9]
  global_load_dwordx4 v[52:55], v2, s[8:9] offset:1024
  global_load_dwordx4 v[56:59], v2, s[8:9] offset:2048
  global_load_dwordx4 v[60:63], v2, s[8:9] offset:3072
  s_mov_b32 s12, s8
  s_mov_b32 s13, s9
  s_mov_b32 s14, 0x100000
  s_mov_b32 s15, 0x00027000
  s_mov_b32 m0, -1
  s_waitcnt vmcnt(0)
{setup}
.p2align 6
again:
{repeated}
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_sub_u32 s10, s10, 1
  s_cmp_lg_u32 s10, 0
  s_cbranch_scc1 again
"""
# As HIP's compilers set it: denormals are kept.
_MODE = "  .amdhsa_float_denorm_mode_32 3"
_PARTLY = """
  s_mov_b32 exec_lo, 0xffffffff
  s_mov_b32 exec_hi, 0x0000ffff
"""

LOOPS = (
    Loop("s_nop", "s_nop 0"),
    Loop("s_add_u32", "s_add_u32 s20, s21, s22"),
    Loop("s_and_b64", "s_and_b64 s[20:21], s[22:23], s[24:25]"),
    Loop("s_load_dwordx4", "s_load_dwordx4 s[20:23], s[8:9], 0x0"),
    Loop("v_mov_b32", "v_mov_b32 v64, v32", VALU),
    Loop("v_add_f32", "v_add_f32 v64, v32, v33", VALU),
    Loop("v_add_f32, scalar", "v_add_f32 v64, s20, v33", VALU),
    Loop("v_mul_f32, constant", "v_mul_f32 v64, 0.5, v33", VALU),
    Loop("v_add_f32, 48 lanes", "v_add_f32 v64, v32, v33", VALU, _PARTLY),
    Loop("v_add_u32", "v_add_u32 v64, v32, v33", VALU),
    Loop("v_lshlrev_b32", "v_lshlrev_b32 v64, 3, v33", VALU),
    Loop("v_mul_lo_u32", "v_mul_lo_u32 v64, v32, v33", VALU),
    Loop("v_lshl_add_u64", "v_lshl_add_u64 v[64:65], v[32:33], 3, v[34:35]", VALU),
    Loop("v_addc_co_u32", "v_addc_co_u32 v64, vcc, v32, v33, vcc", VALU),
    Loop("v_cmp_lt_f32", "v_cmp_lt_f32 vcc, v32, v33", VALU),
    Loop("v_cndmask_b32", "v_cndmask_b32 v64, v32, v33, vcc", VALU),
    Loop("v_fmac_f32", "v_fmac_f32 v64, v32, v33", VALU),
    Loop("v_fma_f32", "v_fma_f32 v64, v32, v33, v34", VALU),
    Loop("v_fma_f64", "v_fma_f64 v[64:65], v[32:33], v[34:35], v[36:37]", VALU),
    Loop("v_exp_f32", "v_exp_f32 v64, v32", VALU),
    Loop("v_rcp_f32", "v_rcp_f32 v64, v32", VALU),
    Loop("v_cvt_f16_f32", "v_cvt_f16_f32 v64, v32", VALU),
    Loop("v_add_f16", "v_add_f16 v64, v32, v33", VALU),
    Loop("v_pk_fma_f16", "v_pk_fma_f16 v64, v32, v33, v34", VALU),
    Loop("v_pk_fma_f32", "v_pk_fma_f32 v[64:65], v[32:33], v[34:35], v[36:37]", VALU),
    Loop("v_add_f32 row_shr:1", "v_add_f32_dpp v64, v32, v33 row_shr:1", VALU),
    Loop("v_mov_b32 quad_perm", "v_mov_b32_dpp v64, v32 quad_perm:[1,0,3,2]", VALU),
    Loop("v_add_u32 sdwa", "v_add_u32_sdwa v64, v32, v33 dst_sel:DWORD src0_sel:BYTE_1", VALU),
    Loop("global_load_dword", "global_load_dword v64, v1, s[8:9]", GLOBAL),
    Loop("global_load_dword, 64-bit", "global_load_dword v64, v[4:5], off", GLOBAL),
    Loop("global_load_dwordx2", "global_load_dwordx2 v[64:65], v7, s[8:9]", GLOBAL),
    Loop("global_load_dwordx4", "global_load_dwordx4 v[64:67], v2, s[8:9]", GLOBAL),
    Loop("global_load_ushort", "global_load_ushort v64, v8, s[8:9]", GLOBAL),
    Loop("global_load_dword, strided", "global_load_dword v64, v3, s[8:9]", GLOBAL),
    Loop("global_load_dwordx4, strided", "global_load_dwordx4 v[64:67], v3, s[8:9]", GLOBAL),
    Loop("global_load_dword, 48 lanes", "global_load_dword v64, v1, s[8:9]", GLOBAL, _PARTLY),
    Loop("global_store_dword", "global_store_dword v1, v32, s[8:9]", GLOBAL),
    Loop("global_store_dwordx4", "global_store_dwordx4 v2, v[32:35], s[8:9]", GLOBAL),
    Loop("global_store_short", "global_store_short v8, v32, s[8:9]", GLOBAL),
    Loop("flat_load_dword", "flat_load_dword v64, v[4:5]", GLOBAL),
    Loop("buffer_load_dword", "buffer_load_dword v64, v1, s[12:15], 0 offen", GLOBAL),
    Loop("buffer_load_dwordx4", "buffer_load_dwordx4 v[64:67], v2, s[12:15], 0 offen", GLOBAL),
    Loop("buffer_store_dword", "buffer_store_dword v32, v1, s[12:15], 0 offen", GLOBAL),
    Loop("global_atomic_add", "global_atomic_add v1, v0, s[8:9]", GLOBAL),
    Loop("global_atomic_add, returning", "global_atomic_add v64, v1, v0, s[8:9] sc0", GLOBAL),
    Loop("global_atomic_add_f32", "global_atomic_add_f32 v1, v32, s[8:9]", GLOBAL),
    Loop("ds_read_b32", "ds_read_b32 v64, v1", LDS),
    Loop("ds_read_b64", "ds_read_b64 v[64:65], v7", LDS),
    Loop("ds_read_b128", "ds_read_b128 v[64:67], v2", LDS),
    Loop("ds_read_b32, strided", "ds_read_b32 v64, v6", LDS),
    Loop("ds_read2_b32", "ds_read2_b32 v[64:65], v1 offset1:64", LDS),
    Loop("ds_read_u16", "ds_read_u16 v64, v8", LDS),
    Loop("ds_write_b32", "ds_write_b32 v1, v32", LDS),
    Loop("ds_write_b128", "ds_write_b128 v2, v[32:35]", LDS),
    Loop("ds_bpermute_b32", "ds_bpermute_b32 v64, v1, v32", LDS),
    Loop("ds_swizzle_b32", "ds_swizzle_b32 v64, v32 offset:swizzle(SWAP,1)", LDS),
    Loop("ds_add_u32", "ds_add_u32 v1, v0", LDS),
    Loop("ds_add_f32", "ds_add_f32 v1, v32", LDS),
    Loop("mfma f32 16x16x4", "v_mfma_f32_16x16x4_f32 v[64:67], v32, v33, v[64:67]", MATRIX),
    Loop(
        "mfma f16 16x16x16",
        "v_mfma_f32_16x16x16_f16 v[64:67], v[32:33], v[34:35], v[64:67]",
        MATRIX,
    ),
    Loop(
        "mfma f16 32x32x8", "v_mfma_f32_32x32x8_f16 v[64:79], v[32:33], v[34:35], v[64:79]", MATRIX
    ),
    Loop(
        "mfma f16 4x4x4", "v_mfma_f32_4x4x4_16b_f16 v[64:67], v[32:33], v[34:35], v[64:67]", MATRIX
    ),
    Loop(
        "mfma bf16 16x16x16",
        "v_mfma_f32_16x16x16_bf16 v[64:67], v[32:33], v[34:35], v[64:67]",
        MATRIX,
    ),
    Loop(
        "mfma bf16 32x32x8",
        "v_mfma_f32_32x32x8_bf16 v[64:79], v[32:33], v[34:35], v[64:79]",
        MATRIX,
    ),
    Loop(
        "mfma fp8 16x16x32",
        "v_mfma_f32_16x16x32_fp8_fp8 v[64:67], v[32:33], v[34:35], v[64:67]",
        MATRIX,
        loops=800,
    ),
    Loop(
        "mfma fp8 32x32x16",
        "v_mfma_f32_32x32x16_fp8_fp8 v[64:79], v[32:33], v[34:35], v[64:79]",
        MATRIX,
        loops=800,
    ),
    Loop(
        "mfma f64 16x16x4", "v_mfma_f64_16x16x4_f64 v[64:71], v[32:33], v[34:35], v[64:71]", MATRIX
    ),
    Loop(
        "mfma i8 16x16x32",
        "v_mfma_i32_16x16x32_i8 v[64:67], v[32:33], v[34:35], v[64:67]",
        MATRIX,
    ),
    Loop(
        "mfma i8 32x32x16",
        "v_mfma_i32_32x32x16_i8 v[64:79], v[32:33], v[34:35], v[64:79]",
        MATRIX,
    ),
)
