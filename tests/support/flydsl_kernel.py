"""A kernel in assembly that does what FlyDSL's compiler puts into a kernel, for a 64 KiB buffer.

Each workgroup is one wave: it takes a number, fills its region with a range `work` whose payload is
its block, and counts its two events. Its buffer has one partition and room for eight waves.
"""

from __future__ import annotations

from support.asm_kernel import AsmKernel

BUFFER_BYTES = 65536
ROOM = 8
"""Waves."""
RANGE_ID = 1

_HEADER_SLOTS, _WAVE_SLOTS = 16, BUFFER_BYTES // 32 - 16
_PUSH, _POP = 0x8100_0001, 0x0200_0000
_EVENT = """
  s_memrealtime s[20:21]
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s22, s6
  s_mov_b32 s23, 0
  s_buffer_store_dwordx4 s[20:23], s[16:19], {offset}
  s_getreg_b32 s24, hwreg(HW_REG_HW_ID)
  s_getreg_b32 s25, hwreg(HW_REG_XCC_ID)
  s_mov_b32 s26, {packed:#x}
  s_mov_b32 s27, 0
  s_buffer_store_dwordx4 s[24:27], s[16:19], {offset} + 16
  s_waitcnt lgkmcnt(0)
"""
_BODY = f"""
  s_load_dwordx2 s[8:9], s[2:3], 0x0
  s_waitcnt lgkmcnt(0)
  s_mov_b64 exec, 1
  v_mov_b32 v2, 1
  s_cmp_lg_u32 s6, 0
  s_cbranch_scc1 claim
  v_mov_b32 v1, 4
  global_atomic_add v1, v2, s[8:9]
claim:
  v_mov_b32 v1, 0x100
  global_atomic_add v3, v1, v2, s[8:9] sc0
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s10, v3
  s_min_u32 s10, s10, {ROOM}
  s_lshl_b32 s11, s10, 8
  s_sub_i32 s12, {_WAVE_SLOTS}, s11
  s_max_i32 s12, s12, 0
  s_min_i32 s12, s12, 256
  s_lshl_b32 s18, s12, 5
  s_add_u32 s11, s11, {_HEADER_SLOTS}
  s_lshl_b32 s11, s11, 5
  s_add_u32 s16, s8, s11
  s_addc_u32 s17, s9, 0
  s_and_b32 s17, s17, 0xffff
  s_mov_b32 s19, 0x27000
  s_mov_b32 s20, 0
  s_mov_b32 s21, 0
  s_mov_b32 s22, s4
  s_mov_b32 s23, s5
  s_buffer_store_dwordx4 s[20:23], s[16:19], 0
  s_mov_b32 s24, s0
  s_mov_b32 s25, s1
  s_mov_b32 s26, s6
  s_mov_b32 s27, 0
  s_buffer_store_dwordx4 s[24:27], s[16:19], 16
{_EVENT.format(offset=32, packed=_PUSH)}
{_EVENT.format(offset=64, packed=_POP)}
  s_mov_b32 s20, 2
  s_buffer_store_dword s20, s[16:19], 0
  s_dcache_wb
"""
_DESCRIPTOR = "  .amdhsa_user_sgpr_queue_ptr 1\n  .amdhsa_user_sgpr_dispatch_id 1"


def flydsl_source(target: str, *, body: str = _BODY, directives: str = _DESCRIPTOR) -> str:
    """Return the assembly; `body` and `directives` make it a kernel that is none of FlyDSL's."""
    kernel = AsmKernel(body, name="traced_kernel_0", directives=directives)
    return kernel.source(target).replace("value_kind: by_value", "value_kind: global_buffer")
