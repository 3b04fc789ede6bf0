"""Movement between lanes and parts of registers: DPP, SDWA, permutations, lane reads, EXEC."""

from collections.abc import Callable

import numpy as np
import pytest

from support.vector_kernel import LANES, Operation, Words, run_operations
from support.vector_values import records

INPUTS = records((1,), random=2 * LANES - 1)
A, B, D = INPUTS[:, 0], INPUTS[:, 2], INPUTS[:, 6]
EXEC = 0xFFFF0F0F_12345678


def s16(value: int) -> int:
    return (value & 0xFFFF ^ 0x8000) - 0x8000


def run(text: str, target: str = "gfx942") -> Words:
    (output,) = run_operations(target, [Operation(text)], [INPUTS])
    return output


def by_lane(formula: Callable[[int], int]) -> list[int]:
    return [formula(lane) for lane in range(LANES)] * (len(INPUTS) // LANES)


# Where each lane reads from; None leaves the lane unwritten.
DPP: dict[str, Callable[[int], int | None]] = {
    "quad_perm:[3,1,0,2]": lambda lane: (lane & ~3) + (3, 1, 0, 2)[lane & 3],
    "row_shl:1": lambda lane: lane + 1 if lane % 16 < 15 else None,
    "row_shl:15": lambda lane: lane + 15 if lane % 16 < 1 else None,
    "row_shr:1": lambda lane: lane - 1 if lane % 16 else None,
    "row_shr:8": lambda lane: lane - 8 if lane % 16 >= 8 else None,
    "row_ror:3": lambda lane: (lane & ~15) + (lane - 3) % 16,
    "wave_shl:1": lambda lane: lane + 1 if lane < 63 else None,
    "wave_rol:1": lambda lane: (lane + 1) % 64,
    "wave_shr:1": lambda lane: lane - 1 if lane else None,
    "wave_ror:1": lambda lane: (lane - 1) % 64,
    "row_mirror": lambda lane: (lane & ~15) + 15 - lane % 16,
    "row_half_mirror": lambda lane: (lane & ~7) + 7 - lane % 8,
    "row_bcast:15": lambda lane: (lane & ~15) - 1 if lane >= 16 else None,
    "row_bcast:31": lambda lane: 31 if lane >= 32 else None,
    "row_newbcast:5": lambda lane: (lane & ~15) + 5,
}


@pytest.fixture(scope="module")
def dpp_moves() -> dict[str, tuple[Words, Words, Words]]:
    """Plain, with bound_ctrl, and with half of the lanes switched off."""
    set_exec = (
        f"s_mov_b32 exec_lo, {EXEC & 0xFFFFFFFF:#x}\n  s_mov_b32 exec_hi, {EXEC >> 32:#x}\n  "
    )
    forms = ("{}", "{} bound_ctrl:0", "partial")
    operations = []
    for control in DPP:
        move = f"v_mov_b32_dpp {{d}}, {{a}} {control} row_mask:0xf bank_mask:0xf"
        operations += [
            Operation(move),
            Operation(f"{move} bound_ctrl:0"),
            Operation(set_exec + move),
        ]
    outputs = run_operations("gfx942", operations, [INPUTS] * len(operations))
    count = len(forms)
    return {c: tuple(outputs[count * k : count * k + count]) for k, c in enumerate(DPP)}  # type: ignore[misc]


@pytest.mark.parametrize("control", DPP)
def test_dpp_move(dpp_moves: dict[str, tuple[Words, Words, Words]], control: str) -> None:
    plain, bounded, partial = dpp_moves[control]

    for k in range(len(INPUTS)):
        wave, lane = k - k % LANES, k % LANES
        source = DPP[control](lane)
        moved = None if source is None else int(A[wave + source])
        assert plain[k, 0] == (D[k] if moved is None else moved)
        assert bounded[k, 0] == (0 if moved is None else moved)
        readable = source is not None and EXEC >> source & 1
        written = EXEC >> lane & 1 and readable
        assert partial[k, 0] == (moved if written else D[k])


def test_dpp_masks_and_arithmetic() -> None:
    masked = run("v_mov_b32_dpp {d}, {a} row_mirror row_mask:0x5 bank_mask:0x3")
    added = run("v_add_u32_dpp {d}, {a}, {b} row_ror:1 row_mask:0xf bank_mask:0xf")
    negated = run("v_add_f32_dpp {d}, -{a}, |{b}| quad_perm:[0,0,0,0] row_mask:0xf bank_mask:0xf")

    lanes = np.arange(len(INPUTS)) % LANES
    written = ((0x5 >> (lanes // 16)) & 1) & ((0x3 >> (lanes // 4 % 4)) & 1)
    row = np.arange(len(INPUTS)) & ~15
    np.testing.assert_array_equal(masked[:, 0], np.where(written, A[row + 15 - lanes % 16], D))
    np.testing.assert_array_equal(added[:, 0], A[row + (lanes - 1) % 16] + B)
    first = A[np.arange(len(INPUTS)) & ~3] ^ np.uint32(0x80000000)
    with np.errstate(all="ignore"):
        total = first.view(np.float32) + (B & np.uint32(0x7FFFFFFF)).view(np.float32)
    np.testing.assert_array_equal(np.ascontiguousarray(negated[:, 0]).view(np.float32), total)


def halves_of(words: Words) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return np.ascontiguousarray(words).view(np.float16).reshape(-1, 2).astype(np.float64)


def is_normal(words: Words) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.asarray((words & 0x7F800000) != 0)


def test_dpp_dot_products_add_what_another_lane_has() -> None:
    dot = "v_dot2c_f32_f16_dpp {d}, {a}, {b} row_shr:1 row_mask:0xf bank_mask:0xf"
    lanes = np.arange(len(INPUTS))

    plain, bounded = run(dot), run(f"{dot} bound_ctrl:0")

    moved = halves_of(np.where(lanes % 16, A[lanes - 1], 0).astype(np.uint32))
    with np.errstate(all="ignore"):
        products = (moved * halves_of(B)).sum(axis=1)
        total = (products + D.view(np.float32)).astype(np.float32)
    compared = is_normal(D) & is_normal(total.view(np.uint32))
    written = compared & (lanes % 16 != 0)
    assert written.sum() > 50
    for got, where in ((plain, written), (bounded, compared)):
        floats = np.ascontiguousarray(got[:, 0]).view(np.float32)
        np.testing.assert_array_equal(floats[where], total[where])
    np.testing.assert_array_equal(plain[lanes % 16 == 0, 0], D[lanes % 16 == 0])


SDWA: dict[str, Callable[[int, int, int], int]] = {
    "v_add_u32_sdwa {d}, {a}, {b} dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_2 "
    "src1_sel:WORD_1": lambda a, b, d: (a >> 16 & 255) + (b >> 16),
    "v_add_u32_sdwa {d}, sext({a}), {b} dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_0 "
    "src1_sel:DWORD": lambda a, b, d: s16(a) + b,
    "v_add_u32_sdwa {d}, {a}, {b} dst_sel:BYTE_1 dst_unused:UNUSED_PAD src0_sel:DWORD "
    "src1_sel:DWORD": lambda a, b, d: ((a + b) & 255) << 8,
    "v_add_u32_sdwa {d}, {a}, {b} dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0 "
    "src1_sel:BYTE_3": lambda a, b, d: d & 0xFFFF | ((a & 0xFFFF) + (b >> 24)) << 16,
    "v_add_u32_sdwa {d}, {a}, {b} dst_sel:WORD_0 dst_unused:UNUSED_SEXT src0_sel:DWORD "
    "src1_sel:DWORD": lambda a, b, d: s16(a + b),
    "v_lshlrev_b32_sdwa {d}, {a}, {b} dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_0 "
    "src1_sel:WORD_0": lambda a, b, d: (b & 0xFFFF) << (a & 31),
    "v_mov_b32_sdwa {d}, {a} dst_sel:BYTE_3 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_1": (
        lambda a, b, d: d & 0xFFFFFF | (a >> 8 & 255) << 24
    ),
    "v_max_i16_sdwa {d}, {a}, {b} dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 "
    "src1_sel:WORD_0": lambda a, b, d: d & 0xFFFF | max(s16(a >> 16), s16(b)) << 16,
}


@pytest.mark.parametrize("text", SDWA)
def test_sdwa_selects_and_places_parts(text: str) -> None:
    output = run(text)

    formula = SDWA[text]
    wanted = [
        formula(a, b, d) & 0xFFFFFFFF
        for a, b, d in zip(A.tolist(), B.tolist(), D.tolist(), strict=True)
    ]
    assert output[:, 0].tolist() == wanted


def test_sdwa_comparison_writes_the_named_mask() -> None:
    output = run("v_cmp_lt_u32_sdwa s[20:21], {a}, {b} src0_sel:BYTE_0 src1_sel:BYTE_1")

    bits = [(a & 255) < (b >> 8 & 255) for a, b in zip(A.tolist(), B.tolist(), strict=True)]
    for wave in range(len(INPUTS) // LANES):
        mask = sum(int(bit) << k for k, bit in enumerate(bits[wave * LANES : (wave + 1) * LANES]))
        assert int(output[wave * LANES, 2]) | int(output[wave * LANES, 3]) << 32 == mask


def test_reading_and_writing_single_lanes() -> None:
    read = run("v_readlane_b32 s20, {a}, 37\n  s_mov_b32 s21, 9\n  v_readlane_b32 s21, {a}, s21")
    first = run("s_mov_b64 exec, 0x50\n  v_readfirstlane_b32 s20, {a}")
    none = run("s_mov_b64 exec, 0\n  v_readfirstlane_b32 s20, {a}")
    written = run("s_mov_b64 exec, 0\n  v_writelane_b32 {d}, 42, 5")

    start = np.arange(len(INPUTS)) & ~(LANES - 1)
    np.testing.assert_array_equal(read[:, 2], A[start + 37])
    np.testing.assert_array_equal(read[:, 3], A[start + 9])
    np.testing.assert_array_equal(first[:, 2], A[start + 4])
    np.testing.assert_array_equal(none[:, 2], A[start])
    np.testing.assert_array_equal(written[:, 0], np.where(np.arange(len(D)) % LANES == 5, 42, D))


def test_only_active_lanes_are_written() -> None:
    set_exec = (
        f"s_mov_b32 exec_lo, {EXEC & 0xFFFFFFFF:#x}\n  s_mov_b32 exec_hi, {EXEC >> 32:#x}\n  "
    )

    single = run(set_exec + "v_add_u32 {d}, {a}, {b}")
    double = run(set_exec + "v_lshlrev_b64 {dd}, 4, {aa}")
    accumulation = run(
        "v_accvgpr_write_b32 a3, {d}\n  s_nop 1\n  " + set_exec + "v_accvgpr_write_b32 a3, {a}\n"
        "  s_mov_b64 exec, -1\n  v_accvgpr_mov_b32 a4, a3\n  v_accvgpr_read_b32 {d}, a4"
    )

    active = np.array(by_lane(lambda lane: EXEC >> lane & 1), bool)
    wide = (A | INPUTS[:, 1].astype(np.uint64) << np.uint64(32)) << np.uint64(4)
    np.testing.assert_array_equal(single[:, 0], np.where(active, A + B, D))
    np.testing.assert_array_equal(double[:, 0], np.where(active, wide.astype(np.uint32), D))
    high = (wide >> np.uint64(32)).astype(np.uint32)
    np.testing.assert_array_equal(double[:, 1], np.where(active, high, INPUTS[:, 7]))
    np.testing.assert_array_equal(accumulation[:, 0], np.where(active, A, D))


def test_mask_counts_and_swaps() -> None:
    low = run("v_mbcnt_lo_u32_b32 {d}, {a}, {b}")
    high = run("v_mbcnt_hi_u32_b32 {d}, {a}, {b}")
    swapped = run("v_swap_b32 {a}, {b}")

    below_low = by_lane(lambda lane: (1 << min(lane, 32)) - 1)
    below_high = by_lane(lambda lane: (1 << max(lane - 32, 0)) - 1)
    for output, below in ((low, below_low), (high, below_high)):
        wanted = [
            ((a & mask).bit_count() + b) & 0xFFFFFFFF
            for a, mask, b in zip(A.tolist(), below, B.tolist(), strict=True)
        ]
        assert output[:, 0].tolist() == wanted
    np.testing.assert_array_equal(swapped[:, 4], B)
    np.testing.assert_array_equal(swapped[:, 6], A)


@pytest.mark.parametrize("group", [16, 32])
def test_gfx950_swaps_groups_of_lanes(group: int) -> None:
    output = run(f"v_permlane{group}_swap_b32 {{a}}, {{b}}", "gfx950")

    k = np.arange(len(INPUTS))
    odd = (k // group) % 2 == 1
    np.testing.assert_array_equal(output[:, 4], np.where(odd, B[k - group * odd], A))
    np.testing.assert_array_equal(output[:, 6], np.where(odd, B, A[(k + group) % len(A)]))


def test_packed_moves_choose_registers() -> None:
    output = run("v_pk_mov_b32 {dd}, {aa}, {bb} op_sel:[1,0]")

    np.testing.assert_array_equal(output[:, 0], INPUTS[:, 1])
    np.testing.assert_array_equal(output[:, 1], B)
