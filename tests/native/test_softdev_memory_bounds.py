"""Memory instructions of whole waves keep to allocations, to LDS and to 32-bit offsets."""

import numpy as np
import numpy.typing as npt
import pytest

from support.asm_kernel import AsmKernel
from support.compile_kernel import any_compiler
from support.hip import Launch, fault_of, launch_kernels

TARGET = "gfx942"
COPIES = ("baseline", "avx2", "")
PAGE = 4096  # an allocation of whole pages ends where nothing is mapped
LANE = np.arange(64)

# s[4:5]: the page; s[6:7]: results; v1, v3: 4 and 16 times the lane; v2: v1 of the first 16 lanes,
# again and again.
PROLOGUE = """
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32 v1, 2, v0
  v_and_b32 v2, 15, v0
  v_lshlrev_b32 v2, 2, v2
  v_lshlrev_b32 v3, 4, v0
  s_waitcnt lgkmcnt(0)
"""
WAIT = "  s_waitcnt vmcnt(0) lgkmcnt(0)\n"


def launch(body: str, page: npt.NDArray[np.uint32], lds: int = 0) -> Launch:
    kernel = AsmKernel(PROLOGUE + body + WAIT, arguments=2, lds=lds)
    code_object = any_compiler(TARGET).assemble(kernel.source(TARGET))
    return Launch(code_object, "test_kernel", [page, np.zeros((4, 64), np.uint32)])


def fault(body: str, copy: str, lds: int = 0) -> str:
    page = np.zeros(PAGE // 4, np.uint32)
    return fault_of(launch(body, page, lds), TARGET, {"KTRACE_SOFT_LANES": copy})


@pytest.mark.parametrize("copy", COPIES)
def test_active_lanes_may_end_with_the_allocation(copy: str) -> None:
    # Lanes 0 to 21 are on; those after them would be behind the page.
    page = np.arange(PAGE // 4, dtype=np.uint32)
    dword = f"""
  s_add_u32 s4, s4, {PAGE - 22 * 4}
  s_addc_u32 s5, s5, 0
  s_mov_b64 exec, 0x3fffff
  global_load_dword v8, v1, s[4:5]
  s_waitcnt vmcnt(0)
  global_store_dword v1, v8, s[6:7]
  global_store_dword v1, v0, s[4:5]
"""
    four = f"""
  s_add_u32 s4, s4, {PAGE - 22 * 16}
  s_addc_u32 s5, s5, 0
  s_mov_b64 exec, 0x3fffff
  global_load_dwordx4 v[8:11], v3, s[4:5]
  s_waitcnt vmcnt(0)
  global_store_dword v1, v8, s[6:7]
  global_store_dword v1, v11, s[6:7] offset:256
  v_mov_b32 v9, v0
  global_store_dwordx4 v3, v[8:11], s[4:5]
"""
    launches = [launch(dword, page.copy()), launch(four, page.copy())]

    outcome = launch_kernels(launches, TARGET, {"KTRACE_SOFT_LANES": copy})

    assert outcome.statuses == [0, 0], outcome.errors
    (after_one, one), (after_four, four_rows) = outcome.arrays
    first = 1024 - 22 * 4
    assert one[0, :22].tolist() == list(range(1002, 1024))
    assert after_one.tolist() == [*range(1002), *range(22)]
    assert four_rows[0, :22].tolist() == list(range(first, 1024, 4))
    assert four_rows[1, :22].tolist() == list(range(first + 3, 1024, 4))
    assert after_four[first + 1 :: 4].tolist() == list(range(22))
    assert not one[0, 22:].any()


@pytest.mark.parametrize("copy", COPIES)
def test_the_first_lane_outside_is_named_however_lanes_lie(copy: str) -> None:
    start = f"  s_add_u32 s4, s4, {PAGE - 64}\n  s_addc_u32 s5, s5, 0\n"
    tile = start + "  v_cmp_eq_u32 vcc, 37, v0\n  v_cndmask_b32 v4, v2, v1, vcc\n"
    wrapping = """
  v_add_u32 v4, -16, v1
  s_add_u32 s4, s4, 16
  s_addc_u32 s5, s5, -1
"""
    in_lds = "  v_cmp_eq_u32 vcc, 37, v0\n  v_cndmask_b32 v4, v2, v1, vcc\n"

    # A tile of 16 lanes at the end of the page, but for lane 37.
    assert ", lane 37: " in fault(tile + "  global_load_dword v8, v4, s[4:5]\n", copy)
    # The offsets of lanes 4 and up have wrapped: they are 4 GiB below those before.
    message = fault(wrapping + "  global_store_dword v4, v0, s[4:5]\n", copy)
    assert "write of 4 bytes at 0x" in message
    assert ", lane 4: " in message
    # Lane 37 alone leaves the tile, and LDS with it.
    inside = "LDS access out of range: 4 bytes at 0x94 of 128 allocated, lane 37"
    assert inside in fault(in_lds + "  ds_read2_b32 v[8:9], v4 offset1:4\n", copy, 128)


@pytest.mark.parametrize("copy", COPIES)
def test_lanes_that_are_off_may_point_anywhere(copy: str) -> None:
    # Lanes 16 to 31 and 40 to 63 are off; theirs are no addresses.
    body = """
  v_mov_b32 v4, 0x7ffffff0
  s_mov_b32 s8, 0x0000ffff
  s_mov_b32 s9, 0x000000ff
  s_mov_b64 exec, s[8:9]
  v_mov_b32 v4, v1
  global_load_dword v8, v4, s[4:5]
  ds_write_b32 v4, v0
  s_waitcnt vmcnt(0) lgkmcnt(0)
  ds_read_b32 v9, v4
  global_atomic_add v4, v0, s[4:5] offset:1024
  s_waitcnt lgkmcnt(0)
  s_mov_b64 exec, -1
  global_store_dword v1, v8, s[6:7]
  global_store_dword v1, v9, s[6:7] offset:256
"""
    page = np.arange(PAGE // 4, dtype=np.uint32)

    outcome = launch_kernels([launch(body, page, lds=256)], TARGET, {"KTRACE_SOFT_LANES": copy})

    assert outcome.statuses == [0], outcome.errors
    after, rows = outcome.arrays[0]
    is_on = (LANE < 16) | (LANE >= 32) & (LANE < 40)
    assert np.array_equal(rows[0], np.where(is_on, LANE, 0))
    assert np.array_equal(rows[1], np.where(is_on, LANE, 0))
    assert np.array_equal(after[256:320], 256 + LANE + np.where(is_on, LANE, 0))
