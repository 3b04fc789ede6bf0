"""Scalar memory, clocks and hardware registers of the software device."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from support.asm_kernel import AsmKernel
from support.compile_kernel import any_compiler
from support.hip import Launch, launch_kernel

TARGETS = ("gfx942", "gfx950")
CYCLES_PER_TICK = 21

# s[8:11] becomes a buffer descriptor of {records} bytes at the first argument.
DESCRIPTOR = """
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s8, s4
  s_and_b32 s9, s5, 0xffff
  s_mov_b32 s10, {records}
  s_mov_b32 s11, 0x00027000
"""
VALUES = """
  s_mov_b32 s16, 0x11111111
  s_mov_b32 s17, 0x22222222
  s_mov_b32 s18, 0x33333333
  s_mov_b32 s19, 0x44444444
"""
FLUSH = "\n  s_dcache_wb\n  s_waitcnt lgkmcnt(0)\n"


def run(
    body: str, arguments: list[npt.NDArray[Any]], target: str = "gfx942", waves: int = 1
) -> list[npt.NDArray[Any]]:
    kernel = AsmKernel(body, arguments=len(arguments))
    code_object = any_compiler(target).assemble(kernel.source(target))
    launch = Launch(code_object, "test_kernel", arguments, (1, 1, 1), (64 * waves, 1, 1))
    return launch_kernel(launch, target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("offset", "stored"),
    [(0, 4), (16, 4), (32, 2), (36, 1), (40, 0), (48, 0), (0xFFFFFFF0, 0)],
)
def test_a_scalar_buffer_store_writes_only_what_is_inside(
    target: str, offset: int, stored: int
) -> None:
    memory = np.zeros(32, np.uint32)
    body = DESCRIPTOR.format(records=40) + VALUES
    body += f"  s_mov_b32 s20, {offset:#x}\n  s_buffer_store_dwordx4 s[16:19], s[8:11], s20" + FLUSH

    memory, _ = run(body, [memory, np.zeros(1, np.uint32)], target)

    expected = np.zeros(32, np.uint32)
    words = [0x11111111, 0x22222222, 0x33333333, 0x44444444][:stored]
    expected[offset // 4 : offset // 4 + stored] = words
    assert memory.tolist() == expected.tolist()


def test_scalar_buffer_stores_of_each_width_with_immediate_offsets() -> None:
    body = DESCRIPTOR.format(records=64) + VALUES
    body += "  s_buffer_store_dword s16, s[8:11], 0x4\n"
    body += "  s_buffer_store_dwordx2 s[18:19], s[8:11], 0x10\n"
    body += "  s_buffer_store_dwordx2 s[18:19], s[8:11], 0x3c" + FLUSH

    memory, _ = run(body, [np.zeros(20, np.uint32), np.zeros(1, np.uint32)])

    expected = np.zeros(20, np.uint32)
    expected[[1, 4, 5, 15]] = [0x11111111, 0x33333333, 0x44444444, 0x33333333]
    assert memory.tolist() == expected.tolist()


def test_a_scalar_buffer_load_reads_zero_outside() -> None:
    memory = np.arange(100, 116, dtype=np.uint32)
    body = DESCRIPTOR.format(records=40)
    body += "  s_buffer_load_dwordx8 s[16:23], s[8:11], 0x10\n  s_waitcnt lgkmcnt(0)\n"
    body += "  s_store_dwordx4 s[16:19], s[6:7], 0x0\n  s_store_dwordx4 s[20:23], s[6:7], 0x10"

    _, out = run(body + FLUSH, [memory, np.full(8, 7, np.uint32)])

    assert out.tolist() == [104, 105, 106, 107, 108, 109, 0, 0]


def test_a_stride_scales_the_number_of_records() -> None:
    body = DESCRIPTOR.format(records=2) + VALUES
    body += "  s_or_b32 s9, s9, 0x00100000\n"  # 16 bytes each
    body += "  s_buffer_store_dwordx4 s[16:19], s[8:11], 0x18" + FLUSH

    memory, _ = run(body, [np.zeros(16, np.uint32), np.zeros(1, np.uint32)])

    assert np.flatnonzero(memory).tolist() == [6, 7]


def test_plain_scalar_loads_and_stores() -> None:
    memory = np.arange(1, 33, dtype=np.uint32)
    body = """
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_load_dwordx16 s[16:31], s[4:5], 0x20
  s_mov_b32 s8, 0x14
  s_load_dwordx2 s[32:33], s[4:5], s8 offset:0x4
  s_load_dword s34, s[4:5], 0x7
  s_waitcnt lgkmcnt(0)
  s_store_dwordx4 s[16:19], s[6:7], 0x0
  s_store_dwordx4 s[28:31], s[6:7], 0x10
  s_store_dwordx2 s[32:33], s[6:7], 0x20
  s_store_dword s34, s[6:7], 0x28
"""

    _, out = run(body + FLUSH, [memory, np.zeros(11, np.uint32)])

    assert out.tolist() == [9, 10, 11, 12, 21, 22, 23, 24, 7, 8, 2]


def test_scalar_atomics_return_the_old_value() -> None:
    body = """
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s8, 5
  s_atomic_add s8, s[4:5], 0x0 glc
  s_waitcnt lgkmcnt(0)
  s_store_dword s8, s[6:7], 0x0
"""

    memory, out = run(body + FLUSH, [np.array([37], np.uint32), np.zeros(1, np.uint32)])

    assert (memory.tolist(), out.tolist()) == ([42], [37])


def test_both_clocks_show_one_time_that_advances() -> None:
    body = """
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_memtime s[8:9]
  s_memrealtime s[10:11]
  s_waitcnt lgkmcnt(0)
  s_sleep 100
  s_memtime s[12:13]
  s_memrealtime s[14:15]
  s_waitcnt lgkmcnt(0)
  s_store_dwordx4 s[8:11], s[4:5], 0x0
  s_store_dwordx4 s[12:15], s[4:5], 0x10
"""

    (out,) = run(body + FLUSH, [np.zeros(4, np.uint64)])
    cycles0, ticks0, cycles1, ticks1 = (int(value) for value in out)

    assert abs(cycles0 - ticks0 * CYCLES_PER_TICK) <= 2 * CYCLES_PER_TICK
    assert abs(cycles1 - ticks1 * CYCLES_PER_TICK) <= 2 * CYCLES_PER_TICK
    assert 6400 <= cycles1 - cycles0 < 7600  # s_sleep 100 is 6400 cycles
    assert cycles0 > 2_100_000_000  # the clock begins at one second


def test_a_wait_pays_for_the_memory_latency() -> None:
    body = """
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_mov_b32 v1, 0
  s_waitcnt lgkmcnt(0)
  s_memtime s[8:9]
  s_waitcnt lgkmcnt(0)
  global_load_dword v2, v1, s[4:5]
  global_load_dword v3, v1, s[4:5] offset:4
  {wait}
  s_memtime s[10:11]
  s_waitcnt lgkmcnt(0)
  s_sub_u32 s8, s10, s8
  s_store_dword s8, s[6:7], 0x0
"""
    cycles = {}

    for wait in ("", "s_waitcnt vmcnt(1)", "s_waitcnt vmcnt(0)"):
        arguments = [np.zeros(2, np.uint32), np.zeros(1, np.uint32)]
        cycles[wait] = int(run(body.format(wait=wait) + FLUSH, arguments)[1][0])

    assert cycles[""] < 200
    assert 500 < cycles["s_waitcnt vmcnt(1)"] < cycles["s_waitcnt vmcnt(0)"]


def test_hardware_registers_say_where_a_wave_runs() -> None:
    body = """
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_getreg_b32 s8, hwreg(HW_REG_HW_ID)
  s_getreg_b32 s9, hwreg(20)
  s_getreg_b32 s10, hwreg(HW_REG_MODE, 4, 4)
  s_lshl_b32 s11, s2, 4
  s_waitcnt lgkmcnt(0)
  s_store_dwordx4 s[8:11], s[4:5], s11
"""
    groups = 8 * 38 * 2
    code_object = any_compiler("gfx942").assemble(AsmKernel(body + FLUSH).source("gfx942"))
    launch = Launch(code_object, "test_kernel", [np.zeros((groups, 4), np.uint32)], (groups, 1, 1))

    (out,) = launch_kernel(launch, "gfx942")
    hw_id, xcc = out[:, 0], out[:, 1]
    cu, engine = hw_id >> 8 & 15, hw_id >> 13 & 7

    assert xcc.tolist() == [group % 8 for group in range(groups)]
    assert len({(x, e, c) for x, e, c in zip(xcc, engine, cu, strict=True)}) == 8 * 38
    assert set(engine.tolist()) == {0, 1, 2, 3}
    assert cu.max() == 9
    assert set((hw_id >> 4 & 3).tolist()) == {0, 1}  # the second workgroup of a CU: another SIMD
    assert out[:, 2].tolist() == [0xC] * groups  # the descriptor's default: f16 and f64 denormals


def test_set_register_changes_mode() -> None:
    body = """
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0x9
  s_getreg_b32 s8, hwreg(HW_REG_MODE, 0, 8)
  s_mov_b32 s9, 0x2
  s_setreg_b32 hwreg(HW_REG_MODE, 0, 2), s9
  s_getreg_b32 s9, hwreg(HW_REG_MODE, 0, 8)
  s_waitcnt lgkmcnt(0)
  s_store_dwordx2 s[8:9], s[4:5], 0x0
"""

    (out,) = run(body + FLUSH, [np.zeros(2, np.uint32)])

    assert out.tolist() == [0xC9, 0xCA]


def test_calls_return() -> None:
    body = """
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_mov_b32 s8, 0
  s_getpc_b64 s[10:11]
here:
  s_add_u32 s10, s10, function-here
  s_addc_u32 s11, s11, 0
  s_swappc_b64 s[30:31], s[10:11]
  s_swappc_b64 s[30:31], s[10:11]
  s_call_b64 s[30:31], function
  s_waitcnt lgkmcnt(0)
  s_store_dword s8, s[4:5], 0x0
  s_dcache_wb
  s_endpgm
function:
  s_add_u32 s8, s8, 7
  s_setpc_b64 s[30:31]
"""

    (out,) = run(body, [np.zeros(1, np.uint32)])

    assert out.tolist() == [21]


def test_gpr_indexing_moves_the_operands_that_are_enabled() -> None:
    body = """
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_mov_b32 v10, 10
  v_mov_b32 v11, 11
  v_mov_b32 v12, 12
  v_mov_b32 v20, 20
  v_mov_b32 v23, 23
  s_mov_b32 s8, 2
  s_set_gpr_idx_on s8, gpr_idx(SRC0)
  v_mov_b32 v20, v10
  s_set_gpr_idx_off
  s_mov_b32 s8, 3
  s_set_gpr_idx_on s8, gpr_idx(DST)
  v_mov_b32 v20, v11
  s_set_gpr_idx_off
  v_mov_b32 v24, v20
  v_mov_b32 v25, v23
  v_mov_b32 v1, 0
  s_waitcnt lgkmcnt(0)
  global_store_dwordx2 v1, v[24:25], s[4:5]
"""

    (out,) = run(body, [np.zeros(2, np.uint32)])

    assert out.tolist() == [12, 11]
