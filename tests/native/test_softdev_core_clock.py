"""The clock model of the software device: what kernels take, compared with each other.

A body runs between two readings of the clock, in as many waves as it says; its cycles are those of
the slowest wave. The numbers that appear here are rows of the table in software-device.md.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from support.asm_kernel import AsmKernel
from support.compile_kernel import any_compiler
from support.hip import Launch, launch_kernels
from support.preloaded import ROOT

TARGET = "gfx942"
EMPTY = ""
ADD = "  v_add_u32 v10, v10, v10\n"
ALU = ADD * 32
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


def cycles(*bodies: Body, target: str = TARGET) -> list[int]:
    """What each takes on top of an empty body, in its slowest wave."""
    launches = []
    for body in (Body(EMPTY), *bodies):
        text = BEGIN.format(before=body.before) + body.text + END
        kernel = AsmKernel(text, arguments=2, lds=16384, vgprs=128)
        code_object = any_compiler(target).assemble(kernel.source(target))
        data, out = np.zeros(65536, np.uint32), np.zeros(16, np.uint32)
        block = (64 * body.waves, 1, 1)
        launches.append(Launch(code_object, "test_kernel", [data, out], (1, 1, 1), block))
    outcome = launch_kernels(launches, target)
    assert outcome.statuses == [0] * len(launches), outcome.errors
    empty, *measured = (int(buffers[1].max()) for buffers in outcome.arrays)
    return [cycle - empty for cycle in measured]


@pytest.fixture(scope="module")
def measured() -> Callable[[str], int]:
    """Cycles of each body, by name; all of them in one process."""
    names = list(BODIES)
    by_name = dict(zip(names, cycles(*BODIES.values()), strict=True))
    return by_name.__getitem__


STRIDED = """
  v_lshlrev_b32 v8, 7, v5
  v_add_co_u32 v8, vcc, s4, v8
  v_mov_b32 v9, s5
  v_addc_co_u32 v9, vcc, 0, v9, vcc
"""
SIXTEEN = "  v_lshlrev_b32 v9, 4, v5\n"
LDS_WAIT = "  s_waitcnt lgkmcnt(0)\n"
LDS_NOW_AND_THEN = ("  ds_read_b32 v20, v6\n" + ADD * 12) * 8
LOADS_NOW_AND_THEN = (LOAD + ADD * 12) * 8
DIFFERENT = "  v_mfma_f32_16x16x16_f16 v[32:35], v[12:13], v[14:15], v[32:35]\n"
BODIES = {
    "alu": Body(ALU),
    "six times alu": Body(ALU * 6),
    "alu in 2 waves of 2 SIMDs": Body(ALU, 2),
    "alu in 8 waves of 4 SIMDs": Body(ALU, 8),
    "transcendentals": Body("  v_exp_f32 v20, v21\n" * 32),
    "scalar beside vector": Body("  v_add_u32 v10, v10, v10\n  s_add_u32 s30, s30, s31\n" * 16, 8),
    "load": Body(LOAD + WAIT),
    "load from L1": Body(LOAD + WAIT, before=LOAD + WAIT),
    "load from L2": Body(LOAD + WAIT, before="  global_atomic_add v4, v10, s[4:5]\n" + WAIT),
    "load, alu, wait": Body(LOAD + ALU * 6 + WAIT),
    "load of 64 lines": Body("  global_load_dword v20, v[8:9], off\n" + WAIT, before=STRIDED),
    "two loads, wait for the first": Body(LOAD * 2 + "  s_waitcnt vmcnt(1)\n"),
    "two loads": Body(LOAD * 2 + WAIT),
    "load and L1, wait for one": Body(
        LOAD + "  global_load_dword v21, v[8:9], off\n  s_waitcnt vmcnt(1)\n",
        before=STRIDED + "  global_load_dword v21, v[8:9], off offset:4\n" + WAIT,
    ),
    "one matrix instruction": Body(MATRIX.format(0, 15)),
    "two matrix instructions": Body(MATRIX.format(0, 15) + MATRIX.format(32, 47)),
    "a chain of four": Body(MATRIX.format(0, 15) * 4),
    "matrix in 2 waves of 2 SIMDs": Body(MATRIX.format(0, 15) * 4, 2),
    "matrix in 8 waves of 4 SIMDs": Body(MATRIX.format(0, 15) * 4, 8),
    "a matrix result is read": Body(NARROW + "  v_add_f32 v28, v24, v24\n"),
    "it is read by the first of two": Body(NARROW + "  v_add_f32 v28, v24, v24\n" + ADD),
    "it is read after enough nops": Body(NARROW + "  s_nop 6\n  v_add_f32 v28, v24, v24\n"),
    "another register is read": Body(NARROW + "  v_add_f32 v28, v29, v29\n"),
    "it is an operand": Body(NARROW + DIFFERENT.replace("v[12:13]", "v[24:25]")),
    "another is an operand": Body(NARROW + DIFFERENT),
    "LDS": Body("  ds_read_b32 v20, v6\n" + LDS_WAIT),
    "LDS, one address": Body("  ds_read_b32 v20, v9\n" + LDS_WAIT, before="  v_mov_b32 v9, 0\n"),
    "LDS, one bank": Body("  ds_read_b32 v20, v7\n" + LDS_WAIT),
    "LDS, two lanes a bank": Body(
        "  ds_read_b32 v20, v9\n" + LDS_WAIT, before="  v_lshlrev_b32 v9, 3, v5\n"
    ),
    "LDS atomic, one address": Body(
        "  ds_add_u32 v9, v20\n" + LDS_WAIT, before="  v_mov_b32 v9, 0\n"
    ),
    "LDS in 8 waves": Body("  ds_read_b128 v[20:23], v9\n" * 4 + LDS_WAIT, 8, SIXTEEN),
    "LDS now and then": Body(LDS_NOW_AND_THEN),
    "LDS now and then in 4 waves of 4 SIMDs": Body(LDS_NOW_AND_THEN, 4),
    "loads now and then": Body(LOADS_NOW_AND_THEN),
    "loads now and then in 4 waves of 4 SIMDs": Body(LOADS_NOW_AND_THEN, 4),
    "sleep": Body("  s_sleep 10\n"),
    "barrier": Body(BARRIER, 4),
    "barrier, the first wave works": Body(FIRST_WAVE.format(ALU * 4) + BARRIER, 4),
    "scalar load": Body("  s_load_dword s30, s[4:5], 0x0\n" + LDS_WAIT),
    "scalar load, twice": Body(("  s_load_dword s30, s[4:5], 0x0\n" + LDS_WAIT) * 2),
    "far and near scalar load": Body(
        "  s_load_dword s30, s[4:5], 0x1000\n  s_load_dword s31, s[0:1], 0x0\n"
        "  s_waitcnt lgkmcnt(1)\n"
    ),
    "atomic of 64 lines": Body("  global_atomic_add v7, v20, s[4:5]\n" + WAIT),
    "atomic of one dword": Body(
        "  global_atomic_add v9, v20, s[4:5]\n" + WAIT, before="  v_mov_b32 v9, 0\n"
    ),
}


def test_a_phase_that_waits_for_loads_takes_much_longer_than_one_that_computes(
    measured: Callable[[str], int],
) -> None:
    assert measured("alu") == 32 * 4
    assert measured("load") > 5 * measured("alu")


def test_work_between_a_load_and_its_wait_hides_the_load(measured: Callable[[str], int]) -> None:
    apart = measured("load") + measured("six times alu")

    assert measured("load, alu, wait") < apart - 600


def test_waves_of_one_simd_share_it_and_those_of_two_do_not(
    measured: Callable[[str], int],
) -> None:
    alone = measured("alu")

    assert measured("alu in 2 waves of 2 SIMDs") <= alone + 16
    assert 2 * alone - 16 <= measured("alu in 8 waves of 4 SIMDs") <= 2 * alone + 16


def test_scalar_and_vector_instructions_of_two_waves_issue_side_by_side(
    measured: Callable[[str], int],
) -> None:
    one_after_the_other = 2 * 2 * 16 * 4

    assert measured("scalar beside vector") < one_after_the_other - 40


def test_transcendentals_take_four_times_as_long(measured: Callable[[str], int]) -> None:
    assert measured("transcendentals") == pytest.approx(4 * measured("alu"), abs=16)


def test_caches_have_levels(measured: Callable[[str], int]) -> None:
    assert measured("load from L1") == 120 + 4 + 4
    assert measured("load from L2") == 300 + 4 + 4
    assert measured("load") == 700 + 4 + 4


def test_a_load_of_many_lines_takes_longer_than_one_of_few(measured: Callable[[str], int]) -> None:
    assert measured("load of 64 lines") == measured("load") + 64 * 2 - 4


def test_results_of_vector_memory_arrive_in_order(measured: Callable[[str], int]) -> None:
    assert measured("two loads, wait for the first") <= measured("two loads")
    assert measured("load and L1, wait for one") == measured("load")


def test_scalar_loads_come_in_any_order(measured: Callable[[str], int]) -> None:
    assert measured("far and near scalar load") < 100
    assert measured("scalar load") > 600
    assert measured("scalar load, twice") < measured("scalar load") + 100


def test_matrix_instructions_of_16_passes_are_64_cycles_apart(
    measured: Callable[[str], int],
) -> None:
    assert measured("two matrix instructions") - measured("one matrix instruction") == 64
    assert measured("a chain of four") - measured("one matrix instruction") == 3 * 64


@pytest.mark.parametrize(
    ("target", "text", "passes"),
    [
        ("gfx942", "v_smfmac_f32_16x16x32_f16 v[{0}:{1}], v[8:9], v[12:15], v16", 4),
        ("gfx942", "v_smfmac_f32_32x32x16_f16 v[{0}:{2}], v[8:9], v[12:15], v16", 8),
        ("gfx950", "v_smfmac_f32_16x16x64_f16 v[{0}:{1}], v[8:11], v[12:19], v20", 4),
        ("gfx942", "v_mfma_f64_16x16x4_f64 v[{0}:{3}], v[8:9], v[12:13], 0", 8),
        ("gfx950", "v_mfma_f64_16x16x4_f64 v[{0}:{3}], v[8:9], v[12:13], 0", 16),
    ],
)
def test_sparse_and_double_matrix_instructions_take_their_passes(
    target: str, text: str, passes: int
) -> None:
    one, two = (f"  {text.format(d, d + 3, d + 15, d + 7)}\n" for d in (32, 64))
    single, both = cycles(Body(one), Body(one + two), target=target)

    assert both - single == 4 * passes


def test_waves_of_one_simd_share_its_matrix_unit(measured: Callable[[str], int]) -> None:
    alone = measured("a chain of four")

    assert measured("matrix in 2 waves of 2 SIMDs") <= alone + 16
    assert measured("matrix in 8 waves of 4 SIMDs") >= 2 * alone - 64


def test_reading_a_matrix_result_early_waits_for_it(measured: Callable[[str], int]) -> None:
    assert measured("another register is read") == 8
    assert measured("a matrix result is read") == 4 * (4 + 3 + 1) + 4
    assert measured("it is read after enough nops") == measured("a matrix result is read")
    assert measured("it is read by the first of two") == measured("a matrix result is read") + 4


def test_a_matrix_result_as_an_operand_is_waited_for_too(measured: Callable[[str], int]) -> None:
    assert measured("another is an operand") == 4 * 4 + 4
    assert measured("it is an operand") == 4 * (4 + 3 + 1) + 4


def test_bank_conflicts_are_served_one_after_the_other(measured: Callable[[str], int]) -> None:
    assert measured("LDS") == 68
    assert measured("LDS, one address") == 68
    assert measured("LDS, two lanes a bank") == 68 + 2 * 1
    assert measured("LDS, one bank") == 68 + 2 * 31
    assert measured("LDS atomic, one address") == 68 + 2 * 31


def test_waves_of_a_cu_share_its_lds(measured: Callable[[str], int]) -> None:
    assert measured("LDS in 8 waves") >= 8 * 4 * 4 * 2


@pytest.mark.parametrize("what", ["LDS now and then", "loads now and then"])
def test_what_one_wave_leaves_of_a_unit_is_there_for_the_others(
    what: str, measured: Callable[[str], int]
) -> None:
    alone = 8 * 13 * 4

    assert measured(what) == pytest.approx(alone, abs=8)
    assert measured(f"{what} in 4 waves of 4 SIMDs") == pytest.approx(alone, abs=8)


def test_sleep_counts_in_64_cycles(measured: Callable[[str], int]) -> None:
    assert measured("sleep") == 10 * 64 + 4


def test_a_barrier_waits_for_the_slowest_wave(measured: Callable[[str], int]) -> None:
    slower = measured("barrier, the first wave works") - measured("barrier")

    assert slower == pytest.approx(4 * measured("alu"), abs=32)


def test_atomics_on_one_dword_are_done_one_after_the_other(measured: Callable[[str], int]) -> None:
    assert measured("atomic of one dword") - 64 * 4 == pytest.approx(420 + 16, abs=16)
    assert measured("atomic of 64 lines") == pytest.approx(420 + 64 * 2, abs=16)


def test_the_same_kernel_takes_the_same_time_in_every_process() -> None:
    body = Body(LOAD + ALU + "  ds_read_b32 v20, v7\n" + WAIT + NARROW, 8, STRIDED)

    assert cycles(body) == cycles(body)


def test_the_documented_table_is_the_models() -> None:
    header = (ROOT / "preload/softdev/core/clock_parameters.hpp").read_text()
    page = (ROOT / "docs/reference/software-device.md").read_text()
    rows = re.findall(r'X\((\w+), (\d+), "([^"]*)",[\s\\]*"([^"]*)"\)', header)
    shown = re.findall(r"^\| `(\w+)` \| (\d+) \| (.*) \| (.*) \|$", page, re.MULTILINE)

    assert len(rows) > 30
    assert [row for row in shown if row[0] in {name for name, *_ in rows}] == rows
