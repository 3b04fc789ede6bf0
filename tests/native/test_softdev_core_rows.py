"""Memory instructions that are done for 64 lanes at once: each lane gets what it asked for."""

import numpy as np
import numpy.typing as npt
import pytest

from support.asm_kernel import AsmKernel
from support.compile_kernel import any_compiler
from support.hip import Argument, Launch, fault_of, launch_kernels

TARGET = "gfx942"
LANE = np.arange(64)
PAGE = 4096  # an allocation of whole pages ends where nothing is mapped
Words = npt.NDArray[np.uint32]

# s[4:5], s[6:7]: the arguments; v1, v2, v3: 4, 8 and 16 times the lane.
PROLOGUE = """
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32 v1, 2, v0
  v_lshlrev_b32 v2, 3, v0
  v_lshlrev_b32 v3, 4, v0
  s_waitcnt lgkmcnt(0)
"""
WAIT = "  s_waitcnt vmcnt(0) lgkmcnt(0)\n"


def launch(body: str, first: Argument, second: Argument, lds: int = 0) -> Launch:
    kernel = AsmKernel(PROLOGUE + body, arguments=2, lds=lds)
    code_object = any_compiler(TARGET).assemble(kernel.source(TARGET))
    return Launch(code_object, "test_kernel", [first, second])


def run_all(launches: list[Launch]) -> list[list[npt.NDArray[np.generic]]]:
    outcome = launch_kernels(launches, TARGET)
    assert set(outcome.statuses) == {0}, outcome.errors
    return outcome.arrays


def fault(body: str, first: Argument, lds: int = 0) -> str:
    return fault_of(launch(body, first, np.zeros(64, np.uint32), lds), TARGET)


def random_bytes(size: int) -> npt.NDArray[np.uint8]:
    return np.random.default_rng(size).integers(0, 256, size).astype(np.uint8)


# dwords, the suffix, and the register with that many times 4 per lane
WIDTHS = [(1, "dword", "v1"), (2, "dwordx2", "v2"), (4, "dwordx4", "v3")]
SPACINGS = ["side by side", "apart", "backwards", "all at one place"]


def lane_offsets(spacing: str, size: int) -> Words:
    offsets = {
        "side by side": LANE * size,
        "apart": LANE * 36,
        "backwards": (63 - LANE) * size,
        "all at one place": LANE * 0,
    }
    return offsets[spacing].astype(np.uint32)


@pytest.mark.parametrize("spacing", SPACINGS)
def test_loads_of_every_width_take_each_lanes_own_bytes(spacing: str) -> None:
    data, launches, expected = random_bytes(PAGE), [], []
    for dwords, suffix, _ in WIDTHS:
        for shift in (0, 1, 2, 7):
            # The address register is overwritten by the result.
            body = f"""
  global_load_dword v8, v1, s[6:7]
  s_waitcnt vmcnt(0)
  global_load_{suffix} v[8:{7 + dwords}], v8, s[4:5] offset:{shift}
  s_waitcnt vmcnt(0)
"""
            body = body.replace("v[8:8]", "v8")
            body += "".join(
                f"  global_store_dword v1, v{8 + k}, s[6:7] offset:{k * 256}\n"
                for k in range(dwords)
            )
            offsets = lane_offsets(spacing, dwords * 4)
            out = np.zeros((4, 64), np.uint32)
            out[0] = offsets
            launches.append(launch(body + WAIT, data, out))
            places = (offsets + shift)[:, None] + np.arange(dwords * 4)
            expected.append(data[places].view(np.uint32).T)

    for (_, out), wanted in zip(run_all(launches), expected, strict=True):
        assert np.array_equal(out[: len(wanted)], wanted)


@pytest.mark.parametrize("spacing", SPACINGS)
def test_stores_of_every_width_reach_each_lanes_own_bytes_lowest_lane_first(spacing: str) -> None:
    values = np.random.default_rng(5).integers(0, 1 << 32, (4, 64), np.uint32)
    launches, expected = [], []
    for dwords, suffix, _ in WIDTHS:
        for shift in (0, 3):
            data = np.zeros(PAGE, np.uint8)
            offsets = lane_offsets(spacing, dwords * 4)
            loads = "".join(
                f"  global_load_dword v{8 + k}, v1, s[6:7] offset:{k * 256}\n" for k in range(5)
            )
            body = f"{loads}{WAIT}  global_store_{suffix} v12, v[8:{7 + dwords}], s[4:5]"
            body = body.replace("v[8:8]", "v8") + f" offset:{shift}\n{WAIT}"
            launches.append(launch(body, data, np.vstack([values, offsets])))
            wanted = data.copy()
            for lane in range(64):
                place = offsets[lane] + shift
                wanted[place : place + dwords * 4] = values[:dwords, lane].copy().view(np.uint8)
            expected.append(wanted)

    for (data, _), wanted in zip(run_all(launches), expected, strict=True):
        assert np.array_equal(data, wanted)


def test_bytes_and_halves_side_by_side_are_extended_as_asked() -> None:
    data = random_bytes(PAGE)
    halves = data.view(np.uint16)
    old = 0xAAAABBBB
    cases = {
        ("ubyte", 1): data[1:65].astype(np.uint32),
        ("sbyte", 1): data[1:65].view(np.int8).astype(np.int32).view(np.uint32),
        ("ushort", 2): halves[1:65].astype(np.uint32),
        ("sshort", 2): halves[1:65].view(np.int16).astype(np.int32).view(np.uint32),
        ("short_d16_hi", 2): halves[1:65].astype(np.uint32) << 16 | (old & 0xFFFF),
        ("short_d16", 2): halves[1:65].astype(np.uint32) | (old & 0xFFFF0000),
    }
    launches = [
        launch(
            f"""
  v_mul_u32_u24 v4, {size}, v0
  v_mov_b32 v8, {old}
  global_load_{name} v8, v4, s[4:5] offset:{size}
  s_waitcnt vmcnt(0)
  global_store_dword v1, v8, s[6:7]
{WAIT}""",
            data,
            np.zeros(64, np.uint32),
        )
        for name, size in cases
    ]

    for (_, out), wanted in zip(run_all(launches), cases.values(), strict=True):
        assert np.array_equal(out, wanted)


def test_lanes_that_are_switched_off_neither_move_nor_count() -> None:
    # Lanes 0..7 and 40..63 are off and have addresses that are none.
    body = f"""
  v_mov_b32 v4, -1
  v_mov_b32 v8, 7
  s_mov_b32 s8, 0xffffff00
  s_mov_b32 s9, 0x000000ff
  s_mov_b64 exec, s[8:9]
  v_mov_b32 v4, v1
  global_load_dword v8, v4, s[4:5]
  s_waitcnt vmcnt(0)
  global_store_dword v4, v8, s[4:5] offset:1024
  s_mov_b64 exec, -1
  global_store_dword v1, v8, s[6:7]
{WAIT}"""
    data = np.arange(1024, dtype=np.uint32)
    ((after, out),) = run_all([launch(body, data, np.zeros(64, np.uint32))])

    is_on = (LANE >= 8) & (LANE < 40)
    assert np.array_equal(out, np.where(is_on, LANE, 7))
    assert np.array_equal(after[256:320], np.where(is_on, LANE, 256 + LANE))


def test_lanes_may_be_in_different_allocations() -> None:
    # Even lanes read the first buffer, odd ones the second.
    body = f"""
  v_and_b32 v4, 1, v0
  v_cmp_eq_u32 vcc, 1, v4
  v_mov_b32 v5, s4
  v_mov_b32 v6, s5
  v_mov_b32 v7, s6
  v_mov_b32 v8, s7
  v_cndmask_b32 v10, v5, v7, vcc
  v_cndmask_b32 v11, v6, v8, vcc
  v_add_co_u32 v10, vcc, v10, v1
  v_addc_co_u32 v11, vcc, 0, v11, vcc
  global_load_dword v9, v[10:11], off
  s_waitcnt vmcnt(0)
  global_store_dword v1, v9, s[6:7] offset:256
{WAIT}"""
    first, second = np.arange(64, dtype=np.uint32), np.zeros(128, np.uint32)
    second[:64] = 1000 + LANE
    ((_, out),) = run_all([launch(body, first, second)])

    assert np.array_equal(out[64:], np.where(LANE % 2, 1000 + LANE, LANE))


def test_a_run_may_end_with_the_allocation_and_no_later() -> None:
    data = np.arange(PAGE // 4, dtype=np.uint32)
    load = "  global_load_dword v8, v1, s[4:5] offset:{}\n"
    body = "  s_add_u32 s4, s4, 3072\n  s_addc_u32 s5, s5, 0\n" + load
    store = f"  s_waitcnt vmcnt(0)\n  global_store_dword v1, v8, s[6:7]\n{WAIT}"
    ((_, out),) = run_all([launch(body.format(768) + store, data, np.zeros(64, np.uint32))])

    assert np.array_equal(out, data[-64:])
    message = fault(body.format(896) + store, data)
    assert "read of 4 bytes at 0x" in message
    assert ", lane 32: " in message
    assert "global_load_dword" in message


@pytest.mark.parametrize(
    ("text", "size", "lane"),
    [
        ("global_store_dwordx4 v3, v[8:11], s[4:5]", 16, 16),
        ("global_load_dwordx2 v[8:9], v2, s[4:5]", 8, 32),
        ("global_atomic_add v1, v8, s[4:5]", 4, 63),
    ],
)
def test_the_first_lane_outside_is_named(text: str, size: int, lane: int) -> None:
    start = PAGE - size * lane
    body = f"  s_add_u32 s4, s4, {start}\n  s_addc_u32 s5, s5, 0\n  {text}\n{WAIT}"

    message = fault(body, np.zeros(PAGE, np.uint8))

    assert f" of {size} bytes at 0x" in message
    assert f", lane {lane}: " in message


def test_lds_moves_of_every_width_take_each_lanes_own_bytes() -> None:
    launches, expected = [], []
    words = np.random.default_rng(6).integers(0, 1 << 32, 1024, np.uint32)
    fill = "".join(
        f"""
  global_load_dword v8, v1, s[4:5] offset:{256 * k}
  s_waitcnt vmcnt(0)
  ds_write_b32 v1, v8 offset:{256 * k}
"""
        for k in range(16)
    )
    for dwords, bits in ((1, 32), (2, 64), (4, 128)):
        for spacing in SPACINGS:
            offsets = lane_offsets(spacing, dwords * 4)
            if spacing == "apart":
                offsets = (LANE * 48).astype(np.uint32)
            registers = f"v[8:{7 + dwords}]" if dwords > 1 else "v8"
            stores = "".join(
                f"  global_store_dword v1, v{8 + k}, s[6:7] offset:{256 * k}\n"
                for k in range(dwords)
            )
            # Compilers fold an offset into a base that is negative on its own.
            body = f"""{fill}
  global_load_dword v8, v1, s[6:7]
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_subrev_u32 v8, 64, v8
  ds_read_b{bits} {registers}, v8 offset:64
  s_waitcnt lgkmcnt(0)
{stores}{WAIT}"""
            out = np.zeros((4, 64), np.uint32)
            out[0] = offsets
            launches.append(launch(body, words, out, lds=4096))
            places = offsets[:, None] // 4 + np.arange(dwords)
            expected.append(words[places].T)

    for (_, out), wanted in zip(run_all(launches), expected, strict=True):
        assert np.array_equal(out[: len(wanted)], wanted)


def test_two_lds_reads_may_overwrite_their_address() -> None:
    body = f"""
  ds_write_b32 v1, v0
  v_add_u32 v4, 64, v0
  ds_write_b32 v1, v4 offset:256
  v_lshlrev_b32 v8, 2, v0
  s_waitcnt lgkmcnt(0)
  ds_read2_b32 v[8:9], v8 offset1:64
  s_waitcnt lgkmcnt(0)
  v_sub_u32 v10, 0xfc, v1
  ds_read2_b32 v[10:11], v10 offset1:64
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v8, s[4:5]
  global_store_dword v1, v9, s[4:5] offset:256
  global_store_dword v1, v10, s[4:5] offset:512
  global_store_dword v1, v11, s[4:5] offset:768
{WAIT}"""
    zeros = np.zeros(64, np.uint32)
    ((out, _),) = run_all([launch(body, np.zeros((4, 64), np.uint32), zeros, lds=512)])

    assert np.array_equal(out, [LANE, LANE + 64, 63 - LANE, 127 - LANE])


@pytest.mark.parametrize(
    ("text", "allocated", "size", "address", "lane"),
    [
        ("ds_read_b32 v8, v1", 128, 4, "0x80", 32),
        ("ds_write_b128 v3, v[8:11] offset:16", 256, 16, "0x100", 15),
        ("ds_read2_b32 v[8:9], v1 offset1:32", 256, 4, "0x100", 32),
        ("ds_add_u32 v1, v8", 128, 4, "0x80", 32),
        ("ds_read_b64 v[8:9], v1", 256, 8, "0xfc", 63),
    ],
)
def test_the_first_lane_outside_of_lds_is_named(
    text: str, allocated: int, size: int, address: str, lane: int
) -> None:
    message = fault(f"  {text}\n{WAIT}", np.zeros(64, np.uint32), lds=allocated)

    wanted = f"LDS access out of range: {size} bytes at {address} of {allocated} allocated"
    assert f"{wanted}, lane {lane}" in message


def test_flat_runs_through_the_aperture_of_lds() -> None:
    body = f"""
  s_mov_b64 s[8:9], src_shared_base
  v_mov_b32 v5, s9
  v_mov_b32 v4, v1
  ds_write_b32 v1, v2
  s_waitcnt lgkmcnt(0)
  flat_load_dword v8, v[4:5]
  flat_store_dword v[4:5], v0 offset:256
  s_waitcnt vmcnt(0) lgkmcnt(0)
  ds_read_b32 v9, v1 offset:256
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v8, s[4:5]
  global_store_dword v1, v9, s[4:5] offset:256
{WAIT}"""
    zeros = np.zeros(64, np.uint32)
    ((out, _),) = run_all([launch(body, np.zeros((2, 64), np.uint32), zeros, lds=512)])

    assert np.array_equal(out, [8 * LANE, LANE])


def test_atomics_of_lanes_at_one_place_happen_in_the_order_of_lanes() -> None:
    body = f"""
  v_mov_b32 v4, 0
  global_atomic_add v8, v4, v1, s[4:5] sc0
  ds_write_b32 v4, v4
  s_waitcnt vmcnt(0) lgkmcnt(0)
  ds_add_rtn_u32 v9, v4, v1
  global_atomic_cmpswap v10, v4, v[0:1], s[4:5] offset:4 sc0
  s_waitcnt vmcnt(0) lgkmcnt(0)
  global_store_dword v1, v8, s[6:7]
  global_store_dword v1, v9, s[6:7] offset:256
  global_store_dword v1, v10, s[6:7] offset:512
{WAIT}"""
    first = np.array([5, 0], np.uint32)
    ((after, out),) = run_all([launch(body, first, np.zeros((3, 64), np.uint32), lds=64)])

    before = np.concatenate([[0], np.cumsum(4 * LANE)[:-1]])
    assert after[0] == 5 + (4 * LANE).sum()
    assert np.array_equal(out[0], 5 + before)
    assert np.array_equal(out[1], before)
    # Lane l swaps l in if it finds 4 * l: lane 0 alone does.
    assert np.array_equal(out[2], LANE * 0)
