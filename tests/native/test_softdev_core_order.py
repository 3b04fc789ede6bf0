"""What workgroups on different CUs see of each other, and where they go: by virtual time.

The device runs a CU ahead of the others, and yet a wave may not see what another one does later.
"""

from functools import cache

import numpy as np
import pytest

from support.asm_kernel import AsmKernel
from support.compile_kernel import any_compiler
from support.hip import Launch, launch_kernels

SHARED_SLACK = 2048
"""Cycles by which CUs may disagree on what they tell each other (xcd_run.cpp)."""

# Workgroup 0 tells workgroup 1 something after a while; each writes down when, in cycles.
SIGNAL = """
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_mov_b32 v0, 0
  v_mov_b32 v1, 1
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc0 .Lconsumer
  s_movk_i32 s8, {pauses}
.Lpause:
  s_sleep 1
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 .Lpause
  s_memtime s[10:11]
  s_waitcnt lgkmcnt(0)
  {tell}
  s_branch .Lend
.Lconsumer:
  {ask}
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s9, v2
  s_cmp_lg_u32 s9, 0
  s_cbranch_scc0 .Lconsumer
  s_memtime s[10:11]
  s_waitcnt lgkmcnt(0)
.Lend:
  s_lshl_b32 s12, s2, 3
  s_store_dwordx2 s[10:11], s[6:7], s12
  s_dcache_wb
"""
PAUSES = 80  # of 64 cycles and a loop: about 7,000
SCALAR_STORE = """
  s_mov_b32 s13, 1
  s_store_dword s13, s[4:5], 0x0
  s_dcache_wb
"""
SCALAR_LOAD = """
  s_dcache_inv
  s_load_dword s14, s[4:5], 0x0
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v2, s14
"""
# How it is told, and how it is asked for.
WAYS = {
    "store and load": (
        "global_store_dword v0, v1, s[4:5] {store_scope}",
        "global_load_dword v2, v0, s[4:5] {load_scope}",
    ),
    "atomics": (
        "global_atomic_add v0, v1, s[4:5]",
        "global_atomic_or v2, v0, v0, s[4:5] {returns}",
    ),
    "scalar cache": (SCALAR_STORE, SCALAR_LOAD),
    "scalar store and vector load": (SCALAR_STORE, "global_load_dword v2, v0, s[4:5] {load_scope}"),
}
SCOPES = {
    "gfx942": {"store_scope": "sc1", "load_scope": "sc1", "returns": "sc0"},
    "gfx90a": {"store_scope": "", "load_scope": "glc", "returns": "glc"},
}


@cache
def delay(target: str, way: str) -> int:
    """Cycles from the telling to the hearing."""
    tell, ask = (part.format(**SCOPES[target]) for part in WAYS[way])
    body = SIGNAL.format(pauses=PAUSES, tell=tell, ask=ask)
    code_object = any_compiler(target).assemble(AsmKernel(body, arguments=2).source(target))
    flag, times = np.zeros(16, np.uint32), np.zeros(2, np.uint64)
    launch = Launch(code_object, "test_kernel", [flag, times], (2, 1, 1), (64, 1, 1))
    outcome = launch_kernels([launch], target)
    assert outcome.statuses == [0], outcome.errors
    told, heard = outcome.arrays[0][1]
    return int(heard) - int(told)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("target", SCOPES)
def test_a_signal_is_heard_when_it_was_given(target: str, way: str) -> None:
    assert -SHARED_SLACK < delay(target, way) < 2 * SHARED_SLACK


# Every workgroup writes down its CU (HW_ID's bits 8 to 11 and 13 to 15) and XCD.
WHERE = """
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_getreg_b32 s8, hwreg(HW_REG_HW_ID, 8, 8)
  s_getreg_b32 s9, hwreg(HW_REG_XCC_ID, 0, 4)
  s_lshl_b32 s9, s9, 8
  s_or_b32 s8, s8, s9
  s_lshl_b32 s12, s2, 2
  s_waitcnt lgkmcnt(0)
  s_store_dword s8, s[4:5], s12
  s_dcache_wb
  s_sleep 8
"""


def test_workgroups_of_equal_length_go_to_all_cus_alike() -> None:
    groups = 304 * 3 * 4  # 3 at a time fit on each of 304 CUs
    code_object = any_compiler("gfx942").assemble(AsmKernel(WHERE, lds=20480).source("gfx942"))
    places = np.zeros(groups, np.uint32)
    launch = Launch(code_object, "test_kernel", [places], (groups, 1, 1), (64, 1, 1))
    outcome = launch_kernels([launch], "gfx942")
    assert outcome.statuses == [0], outcome.errors
    _, counts = np.unique(outcome.arrays[0][0], return_counts=True)
    assert len(counts) == 304
    assert counts.min() >= 11
    assert counts.max() <= 13


# Eight loads, one after the other; when that began, and how long it took.
LOADS = (
    """
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32 v1, 2, v0
  s_memtime s[8:9]
  s_waitcnt lgkmcnt(0)
"""
    + "  global_load_dword v20, v1, s[4:5]\n  s_waitcnt vmcnt(0)\n" * 8
)
LOADED = """
  s_memtime s[10:11]
  s_waitcnt lgkmcnt(0)
  s_sub_u32 s9, s10, s8
  s_lshl_b32 s12, s2, 3
  s_store_dwordx2 s[8:9], s[6:7], s12
  s_dcache_wb
"""


@pytest.mark.parametrize(("rounds", "last"), [(3, 7284), (20, 29488)])
def test_workgroups_start_where_and_when_others_have_left(rounds: int, last: int) -> None:
    """The device is full with 16 for each of 304 CUs; an XCD starts one every 12 cycles.

    Those of three rounds have all begun when the last place is taken for the first time. Then a
    round is 1,316 cycles long: the loads, what is around them, and 160 until the next one starts.
    """
    full = 304 * 16
    groups = full * rounds
    text = AsmKernel(LOADS + LOADED, arguments=2, vgprs=128).source("gfx942")
    data, times = np.zeros(64, np.uint32), np.zeros(groups * 2, np.uint32)
    code_object = any_compiler("gfx942").assemble(text)
    launch = Launch(code_object, "test_kernel", [data, times], (groups, 1, 1), (64, 1, 1))
    outcome = launch_kernels([launch], "gfx942")
    assert outcome.statuses == [0], outcome.errors
    begin, duration = outcome.arrays[0][1].reshape(-1, 2).astype(np.int64).T
    assert np.percentile(duration, [5, 95]) == pytest.approx([1080, 1080], abs=8)
    begin -= begin.min()
    assert begin[:full].max() == 12 * (full // 8 - 1)
    assert begin.max() == pytest.approx(last, rel=0.01)
