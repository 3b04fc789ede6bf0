"""What MODE changes: denormals, rounding, clamping of NaN, IEEE minimum; and mixed precision."""

import math
from fractions import Fraction

import numpy as np
import pytest

from support.exact_float import F16, F32
from support.vector_kernel import Operation, run_operations
from support.vector_values import EDGES_F32, float_records, records

# s_setreg of MODE's fields; hwreg(id, first bit, bits).
ROUND_F32 = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), {}\n  "
ROUND_F16_F64 = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 2, 2), {}\n  "
DENORMALS_F32 = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), {}\n  "
DENORMALS_F16_F64 = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 6, 2), {}\n  "
DX10_CLAMP = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 8, 1), {}\n  "
IEEE = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 9, 1), {}\n  "
TINY, SMALLEST_NORMAL = 0x00000001, 0x00800000
INPUTS = float_records(EDGES_F32, (32, 23, 127))


Case = tuple[str, tuple[int, ...]]  # text, and a, b, c, d as far as needed


def run(*cases: Case) -> list[list[int]]:
    """The outputs of every case, in one launch each."""
    records_of_cases = []
    for _, operands in cases:
        record = np.zeros((1, 8), np.uint32)
        record[0, : 2 * len(operands) : 2] = operands
        records_of_cases.append(record)
    operations = [Operation(text) for text, _ in cases]
    outputs = run_operations("gfx942", operations, records_of_cases)
    return [output[0].tolist() for output in outputs]


def half_of(value: float) -> int:
    return int(np.float16(value).view(np.uint16))


def f32_of(value: float) -> int:
    return int(np.float32(value).view(np.uint32))


def destinations(*cases: Case) -> list[int]:
    return [output[0] for output in run(*cases)]


def test_denormals_are_flushed_where_mode_says_so() -> None:
    keep_all, keep_outputs, keep_inputs, flush = (DENORMALS_F32.format(k) for k in (3, 2, 1, 0))
    add, halve = "v_add_f32 {d}, {a}, {b}", "v_mul_f32 {d}, 0.5, {a}"

    got = destinations(
        (keep_all + add, (TINY, TINY)),
        (keep_outputs + add, (TINY, TINY)),
        (keep_inputs + add, (TINY, TINY)),
        (flush + add, (TINY, TINY)),
        (keep_outputs + halve, (SMALLEST_NORMAL,)),
        (keep_inputs + halve, (SMALLEST_NORMAL,)),
        (flush + halve, (SMALLEST_NORMAL | 1 << 31,)),
        (keep_all + "v_fmac_f32 {d}, 0, {a}", (0, 0, 0, TINY)),
        (keep_outputs + "v_fmac_f32 {d}, 0, {a}", (0, 0, 0, TINY)),
    )

    assert got == [2, 0, 0, 0, SMALLEST_NORMAL // 2, 0, 1 << 31, TINY, 0]


def test_denormals_of_halves_and_doubles_are_flushed_where_mode_says_so() -> None:
    modes = [DENORMALS_F16_F64.format(k) for k in (3, 2, 1, 0)]
    smallest_f16, negative_f16 = 0x0400, 0x8001
    records = (
        ("v_add_f16 {d}, {a}, {b}", (1, 1)),
        ("v_mul_f16 {d}, 0.5, {a}", (smallest_f16,)),
        ("v_pk_add_f16 {d}, {a}, {b}", (0x00018001, 0)),
        ("v_cvt_f32_f16 {d}, {a}", (negative_f16,)),
        ("v_fma_mixlo_f16 {d}, {a}, 1.0, 0 op_sel_hi:[1,0,0]\n  v_and_b32 {d}, 0xffff, {d}", (1,)),
    )

    got = [destinations(*((mode + text, operands) for text, operands in records)) for mode in modes]

    denormal = f32_of(-(2.0**-24))
    assert got == [
        [2, 0x0200, 0x00018001, denormal, 1],
        [0, 0x0200, 0, 0x80000000, 0],  # only outputs are kept: -0 + 0
        [0, 0, 0x00008000, denormal, 0],  # only inputs are kept
        [0, 0, 0, 0x80000000, 0],
    ]


@pytest.mark.parametrize(("mode", "wanted"), [(3, (2, 1 << 19)), (2, (0, 1 << 19)), (1, (0, 0))])
def test_denormal_doubles(mode: int, wanted: tuple[int, int]) -> None:
    setting = DENORMALS_F16_F64.format(mode)
    inputs = np.zeros((1, 8), np.uint32)
    inputs[0, [0, 2]] = 1  # a and b: the smallest
    halved = np.zeros((1, 8), np.uint32)
    halved[0, 1] = 0x00100000  # a: the smallest normal number
    texts = ("v_add_f64 {dd}, {aa}, {bb}", "v_mul_f64 {dd}, {aa}, 0.5")

    added, multiplied = run_operations(
        "gfx942", [Operation(setting + text) for text in texts], [inputs, halved]
    )

    assert (int(added[0, 0]), int(multiplied[0, 1])) == wanted


def test_moves_and_classes_keep_denormals_in_every_mode() -> None:
    flush = DENORMALS_F32.format(0)

    moved, chosen, asked = run(
        (flush + "v_mov_b32 {d}, {a}", (TINY,)),
        (flush + "v_cndmask_b32 {d}, {a}, {b}, vcc", (TINY, TINY)),
        (flush + "v_cmp_class_f32 {m}, {a}, {b}", (TINY, 1 << 7)),
    )

    assert moved[0] == TINY
    assert chosen[0] == TINY
    assert asked[2] & 1


def test_rounding_direction_of_f32() -> None:
    small = F32.round(Fraction(1, 3 << 23))  # a third of the last place of 1.0
    add = "v_add_f32 {d}, 1.0, {a}"

    got = destinations(*((ROUND_F32.format(k) + add, (small,)) for k in range(4)))

    assert got == [0x3F800000, 0x3F800001, 0x3F800000, 0x3F800000]


def test_rounding_direction_of_f16() -> None:
    third, large, tiny = Fraction(1, 3), Fraction(100001), Fraction(1, 3 << 20)
    values = [F32.round(value) for value in (third, -third, large, -large, tiny)]
    convert = "v_cvt_f16_f32 {d}, {a}"

    for direction in range(4):
        text = ROUND_F16_F64.format(direction) + convert

        got = destinations(*((text, (value,)) for value in values))

        assert got == [_directed_half(F32.value(value), direction) for value in values]


def _directed_half(value: Fraction | str, direction: int) -> int:
    assert isinstance(value, Fraction)
    nearest = F16.round(value)
    if direction == 0:
        return nearest
    sign, magnitude = nearest & 0x8000, nearest & 0x7FFF
    exact = abs(value)
    if magnitude == 0x7C00 or abs(F16.finite(magnitude)) > exact:
        magnitude -= 1
    away = (direction == 1 and not sign) or (direction == 2 and sign != 0)
    inexact = F16.finite(magnitude) != exact
    return sign | (magnitude + (1 if away and inexact else 0))


def test_clamping_a_nan_depends_on_dx10_clamp() -> None:
    clamp = "v_add_f32 {d}, {a}, {b} clamp"

    zero, nan = destinations(
        (clamp, (0x7FC00000, 0)), (DX10_CLAMP.format(0) + clamp, (0x7FC00000, 0))
    )

    assert zero == 0
    assert F32.is_nan(nan)


def test_omod_works_only_without_output_denormals() -> None:
    double, halve = "v_add_f32 {d}, {a}, {b} mul:2", "v_add_f32 {d}, {a}, {b} div:2"
    flush = DENORMALS_F32.format(0)
    one = f32_of(1.0)

    got = destinations((flush + double, (one,)), (flush + halve, (one,)), (double, (one,)))

    assert got == [f32_of(2.0), f32_of(0.5), one]


@pytest.mark.parametrize("name", ["min", "max"])
def test_ieee_mode_quiets_signaling_nans(name: str) -> None:
    text = f"v_{name}_f32 {{d}}, {{a}}, {{b}}"
    signaling, quiet, one = 0x7F800001, 0x7FC00000, f32_of(1.0)

    got = destinations(
        (text, (signaling, one)),
        (text, (one, signaling)),
        (text, (quiet, one)),
        (IEEE.format(0) + text, (signaling, one)),
    )

    assert got == [0x7FC00001, 0x7FC00001, one, one]


def test_minimum_and_maximum_order_zeroes() -> None:
    zero, negative = 0, 1 << 31
    low, high = "v_min_f32 {d}, {a}, {b}", "v_max_f32 {d}, {a}, {b}"

    got = destinations(
        (low, (zero, negative)), (low, (negative, zero)),
        (high, (zero, negative)), (high, (negative, zero)),
    )  # fmt: skip

    assert got == [negative, negative, zero, zero]


def test_minimum_and_maximum_of_numbers() -> None:
    operations = [Operation("v_min_f32 {d}, {a}, {b}"), Operation("v_max_f32 {d}, {a}, {b}")]

    low, high = run_operations("gfx942", operations, [INPUTS] * 2)

    a, b = (np.ascontiguousarray(INPUTS[:, k]).view(np.float32) for k in (0, 2))
    numbers = ~np.isnan(a) & ~np.isnan(b)
    for output, function in ((low, np.minimum), (high, np.maximum)):
        got = np.ascontiguousarray(output[:, 0]).view(np.float32)
        np.testing.assert_array_equal(got[numbers], function(a, b)[numbers])


def test_mixed_precision_sources_and_destinations() -> None:
    packed = half_of(3.0) << 16 | half_of(2.0)
    old = 0xABCD1234
    mixed = (packed, f32_of(4.0), f32_of(1.0), old)

    got = destinations(
        (
            "v_fma_mix_f32 {d}, {a}, {b}, {c} op_sel:[1,0,0] op_sel_hi:[1,1,0]",
            (packed, packed, f32_of(0.5)),
        ),
        ("v_fma_mixlo_f16 {d}, {a}, {b}, {c} op_sel_hi:[1,0,0]", mixed),
        ("v_fma_mixhi_f16 {d}, {a}, {b}, {c} op_sel_hi:[1,0,0]", mixed),
        (
            "v_fma_mix_f32 {d}, -{a}, |{b}|, -{c} op_sel_hi:[0,0,0]",
            (f32_of(2.0), f32_of(-3.0), f32_of(1.0)),
        ),
    )

    nine = half_of(9.0)
    assert got == [f32_of(6.5), 0xABCD0000 | nine, nine << 16 | 0x1234, f32_of(-7.0)]


def test_dot_products_of_halves() -> None:
    a = half_of(3.0) << 16 | half_of(2.0)
    b = half_of(-5.0) << 16 | half_of(7.0)
    quarter = f32_of(0.25)

    got = destinations(
        ("v_dot2_f32_f16 {d}, {a}, {b}, {c}", (a, b, quarter)),
        ("v_dot2c_f32_f16 {d}, {a}, {b}", (a, b, 0, quarter)),
        (
            "v_dot2_f32_f16 {d}, {a}, {b}, {c} neg_lo:[1,0,0] neg_hi:[1,0,0]",
            (a, b, quarter),
        ),
    )

    assert got == [f32_of(-0.75), f32_of(-0.75), f32_of(1.25)]


def test_packed_halves_swap_and_negate() -> None:
    a = half_of(3.0) << 16 | half_of(2.0)
    b = half_of(-5.0) << 16 | half_of(7.0)
    old = half_of(1.0) << 16 | half_of(0.5)

    got = destinations(
        ("v_pk_mul_f16 {d}, {a}, {b} op_sel:[1,0] op_sel_hi:[0,1]", (a, b)),
        ("v_pk_add_f16 {d}, {a}, {b} neg_lo:[0,1] neg_hi:[1,0]", (a, b)),
        ("v_pk_fmac_f16 {d}, {a}, {b}", (a, b, 0, old)),
        ("v_pack_b32_f16 {d}, {a}, {b} op_sel:[1,0,0]", (a, b)),
    )

    assert got == [
        half_of(-10.0) << 16 | half_of(21.0),
        half_of(-8.0) << 16 | half_of(-5.0),
        half_of(-14.0) << 16 | half_of(14.5),
        half_of(7.0) << 16 | half_of(3.0),
    ]


def test_op_sel_of_half_instructions() -> None:
    a = half_of(3.0) << 16 | half_of(2.0)
    b = half_of(-5.0) << 16 | half_of(7.0)
    fma = "v_fma_f16 {d}, {a}, {b}, 1.0 "

    high, low = destinations(
        (fma + "op_sel:[1,0,0,1]", (a, b, 0, 0x1234ABCD)),
        (fma + "op_sel:[0,1,0,0]", (a, b, 0, 0x1234ABCD)),
    )

    assert high == half_of(22.0) << 16 | 0xABCD
    assert low == half_of(-9.0)


def test_exponent_scaling() -> None:
    single, inline, half, double = run(
        ("v_ldexp_f32 {d}, {a}, {b}", (f32_of(1.5), 10)),
        ("v_ldexp_f32 {d}, {a}, -2", (f32_of(1.5),)),
        ("v_ldexp_f16 {d}, {a}, {b}", (half_of(1.5), 0xFFFE)),
        ("v_ldexp_f64 {dd}, 1.0, {a}", (0xFFFFFBFE,)),
    )

    assert single[0] == f32_of(1536.0)
    assert inline[0] == f32_of(0.375)
    assert half[0] == half_of(0.375)
    assert double[:2] == _words(math.ldexp(1.0, -1026))


def _words(value: float) -> list[int]:
    words: list[int] = np.array([value]).view(np.uint32).tolist()
    return words


@pytest.mark.parametrize(
    ("direction", "third", "root"),
    [
        (0, 0x3EAAAAAB, 0x3FB504F3),  # nearest
        (1, 0x3EAAAAAB, 0x3FB504F4),  # up
        (2, 0x3EAAAAAA, 0x3FB504F3),  # down
        (3, 0x3EAAAAAA, 0x3FB504F3),  # to zero
    ],
)
def test_reciprocals_and_roots_follow_the_rounding_direction(
    direction: int, third: int, root: int
) -> None:
    setting = ROUND_F32.format(direction)

    of_three, of_two = run(
        (setting + "v_rcp_f32 {d}, {a}", (f32_of(3.0),)),
        (setting + "v_sqrt_f32 {d}, {a}", (f32_of(2.0),)),
    )

    assert (of_three[0], of_two[0]) == (third, root)


def test_results_do_not_depend_on_the_lane_code() -> None:
    partly = "s_mov_b32 exec_lo, 0x12345678\n  s_mov_b32 exec_hi, 0xffff0f0f\n  "
    settings = ("", DENORMALS_F32.format(0) + DENORMALS_F16_F64.format(0), partly)
    texts = (
        "v_exp_f32 {d}, {a}", "v_log_f32 {d}, {a}", "v_sin_f32 {d}, {a}", "v_rsq_f32 {d}, {a}",
        "v_rcp_f32 {d}, -{a} clamp", "v_sqrt_f32 {d}, |{a}| mul:2", "v_cvt_f16_f32 {d}, {a}",
        "v_cvt_f32_f16 {d}, {a}", "v_mul_f64 {dd}, {aa}, |{bb}| clamp",
        "v_pk_mul_f32 {dd}, {aa}, s[20:21] neg_lo:[1,0] clamp", "v_fmac_f64 {dd}, {aa}, {bb}",
    )  # fmt: skip
    inputs = records(EDGES_F32, random=512)
    operations = [
        Operation(setting + text, nan_bits=64 if "f64" in text else 32)
        for setting in settings
        for text in texts
    ]

    run_operations("gfx942", operations, [inputs] * len(operations))  # compares
