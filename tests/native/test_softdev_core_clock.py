"""The clock model of the software device: what kernels take, compared with each other.

A body runs between two readings of the clock, in as many waves as it says; its cycles are those of
the slowest wave. The numbers that appear here are rows of the table in software-device.md.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from support.asm_kernel import AsmKernel
from support.compile_kernel import any_compiler
from support.hip import Launch, launch_kernels

TARGET = "gfx942"
EMPTY = ""
ALU = "  v_add_u32 v10, v10, v10\n" * 32
LOADED = "  v_add_u32 v10, v10, v20\n"
WAIT = "  s_waitcnt vmcnt(0)\n"
LOAD = "  global_load_dword v20, v[2:3], off\n"
BARRIER = "  s_barrier\n"
MATRIX = "  v_mfma_f32_32x32x2_f32 a[{0}:{1}], v10, v11, a[{0}:{1}]\n"  # 16 passes
NARROW = "  v_mfma_f32_16x16x16_f16 v[24:27], v[12:13], v[14:15], v[24:27]\n"  # 4 passes
FIRST_WAVE = "  s_cmp_lg_u32 s20, 0\n  s_cbranch_scc1 .Lothers\n{}.Lothers:\n"

# v[2:3] is the lane's own dword of the buffer, s[4:5] its begin, s20 the wave in its workgroup.
BEGIN = """
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_and_b32 v0, 0x3ff, v0
  v_lshrrev_b32 v1, 6, v0
  v_readfirstlane_b32 s20, v1
  v_lshlrev_b32 v4, 2, v0
  v_and_b32 v5, 63, v0
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v3, s5
  v_add_co_u32 v2, vcc, s4, v4
  v_addc_co_u32 v3, vcc, 0, v3, vcc
  v_lshlrev_b32 v6, 2, v5
  v_mul_u32_u24 v7, 0x80, v5
  {before}
  s_barrier
  s_memtime s[8:9]
  s_waitcnt lgkmcnt(0)
"""
END = """
  s_memtime s[10:11]
  s_waitcnt lgkmcnt(0)
  s_sub_u32 s10, s10, s8
  s_lshl_b32 s21, s20, 2
  s_store_dword s10, s[6:7], s21
  s_dcache_wb
"""


@dataclass(frozen=True)
class Body:
    """What is measured."""

    text: str
    waves: int = 1
    before: str = ""  # not measured


def cycles(*bodies: Body) -> list[int]:
    """What each takes on top of an empty body, in its slowest wave."""
    launches = []
    for body in (Body(EMPTY), *bodies):
        text = BEGIN.format(before=body.before) + body.text + END
        kernel = AsmKernel(text, arguments=2, lds=16384, vgprs=128)
        code_object = any_compiler(TARGET).assemble(kernel.source(TARGET))
        data, out = np.zeros(65536, np.uint32), np.zeros(16, np.uint32)
        block = (64 * body.waves, 1, 1)
        launches.append(Launch(code_object, "test_kernel", [data, out], (1, 1, 1), block))
    outcome = launch_kernels(launches, TARGET)
    assert outcome.statuses == [0] * len(launches), outcome.errors
    empty, *measured = (int(buffers[1].max()) for buffers in outcome.arrays)
    return [cycle - empty for cycle in measured]
