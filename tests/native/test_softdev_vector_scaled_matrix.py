"""gfx950's f8f6f4 matrix instructions in all formats, with scales or not, and gfx942's xf32."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from support.exact_float import BF6, BF8_OCP, F32, FP4, FP6, FP8_OCP, Format
from support.matrix_layout import Product, accumulator_words, operation, pack
from support.vector_kernel import LANES, Words, run_operations

FORMATS = (FP8_OCP, BF8_OCP, FP6, BF6, FP4)  # by their number in cbsz and blgp
SHAPES = {"16x16x128": (16, 128), "32x32x64": (32, 64)}
PER_LANE = 32  # elements, and as many to a scale


@dataclass(frozen=True)
class Case:
    """Patterns of A[row][k] and B[column][k], C[row][column], and a scale for each 32 elements."""

    shape: str
    formats: tuple[int, int]
    a: np.ndarray
    b: np.ndarray
    c: np.ndarray
    scales: tuple[np.ndarray, np.ndarray] | None = None  # E8M0, [row][k / 32]
    bytes: tuple[int, int] = (0, 0)

    @property
    def size(self) -> int:
        return SHAPES[self.shape][0]


def random_case(shape: str, formats: tuple[int, int], seed: int, *, scaled: bool = False) -> Case:
    generator = np.random.default_rng(seed)
    size, depth = SHAPES[shape]
    sides = [small_numbers(FORMATS[number], (size, depth), generator) for number in formats]
    scales = [generator.integers(124, 131, (size, depth // PER_LANE)) for _ in formats]
    return Case(
        shape,
        formats,
        sides[0],
        sides[1],
        generator.integers(-100, 101, (size, size)),
        (scales[0], scales[1]) if scaled else None,
        (int(seed % 4), int(seed // 4 % 4)) if scaled else (0, 0),
    )


def small_numbers(
    number: Format, shape: tuple[int, int], generator: np.random.Generator
) -> np.ndarray:
    """Patterns of values between -4 and 4, multiples of 1/4 where the format has them."""
    patterns = np.array([number.round(Fraction(value, 4)) for value in range(-8, 9)])
    return np.array(patterns[generator.integers(0, len(patterns), shape)])


def element(number: Format, group: int, groups: int, place: int) -> int:
    """Which k the element of a lane of a group is."""
    if number.width < 8:
        return PER_LANE * group + place
    return 16 * group + place % 16 + 16 * groups * (place // 16)


def side_words(case: Case, side: int) -> Words:
    number, patterns = FORMATS[case.formats[side]], (case.a, case.b)[side]
    groups = LANES // case.size
    lanes = [
        [
            int(patterns[lane % case.size][element(number, lane // case.size, groups, place)])
            for place in range(PER_LANE)
        ]
        for lane in range(LANES)
    ]
    return pack(lanes, number.width)


def scale_words(case: Case, side: int) -> Words:
    if case.scales is None:
        return np.zeros((LANES, 0), np.uint32)
    shift = 8 * case.bytes[side]
    words = [
        0x3C5A2177 & ~(0xFF << shift)
        | int(case.scales[side][lane % case.size][lane // case.size]) << shift
        for lane in range(LANES)
    ]
    return np.array(words, np.uint32).reshape(LANES, 1)


def values_of(case: Case, side: int) -> np.ndarray:
    """Small multiples of powers of two: float64 has them, and sums of products, exactly."""
    number, patterns = FORMATS[case.formats[side]], (case.a, case.b)[side]
    known = {bits: float(number.finite(bits)) for bits in np.unique(patterns).tolist()}
    values = np.vectorize(known.__getitem__)(patterns)
    if case.scales is None:
        return np.array(values)
    return np.array(values * np.repeat(2.0 ** (case.scales[side] - 127), PER_LANE, axis=1))


def wanted(case: Case) -> Words:
    sums = (values_of(case, 0) @ values_of(case, 1).T + case.c).astype(np.float32)
    return accumulator_words(sums.view(np.uint32))


def run(cases: Sequence[Case]) -> list[Words]:
    operations, inputs = [], []
    for case in cases:
        sides = [side_words(case, side) for side in (0, 1)]
        c = accumulator_words(case.c.astype(np.float32).view(np.uint32))
        scales = [scale_words(case, side) for side in (0, 1)]
        inputs.append(np.concatenate([*sides, c, *scales], axis=1).astype(np.uint32))
        operations.append(
            operation(
                Product(text_of(case), sides[0].shape[1], sides[1].shape[1], c.shape[1],
                        2 if case.scales else 0)
            )
        )  # fmt: skip
    return run_operations("gfx950", operations, inputs)


def text_of(case: Case) -> str:
    options = f"cbsz:{case.formats[0]} blgp:{case.formats[1]}"
    if case.scales is None:
        return f"v_mfma_f32_{case.shape}_f8f6f4 {{d}}, {{a}}, {{b}}, {{d}} {options}"
    low = ",".join(str(byte & 1) for byte in case.bytes)
    high = ",".join(str(byte >> 1) for byte in case.bytes)
    scales = f"v140, v141 op_sel:[{low}] op_sel_hi:[{high}]"
    return f"v_mfma_scale_f32_{case.shape}_f8f6f4 {{d}}, {{a}}, {{b}}, {{d}}, {scales} {options}"


PAIRS = [(a, b) for a in range(5) for b in range(5)]


def all_pairs(*, scaled: bool) -> None:
    cases = [
        random_case(shape, pair, 100 + k, scaled=scaled)
        for shape in SHAPES
        for k, pair in enumerate(PAIRS)
    ]

    results = run(cases)

    for case, result in zip(cases, results, strict=True):
        np.testing.assert_array_equal(result, wanted(case), f"{case.shape} {case.formats}")


def test_products_of_all_pairs_of_formats() -> None:
    all_pairs(scaled=False)


def test_scaled_products_of_all_pairs_of_formats() -> None:
    all_pairs(scaled=True)


def test_a_scale_of_all_ones_is_no_number() -> None:
    case = random_case("16x16x128", (4, 4), 7, scaled=True)
    assert case.scales is not None
    case.scales[0][3][2] = 255

    (result,) = run([case])

    sums = result.view(np.float32)
    nans = {
        (item, lane) for lane in range(LANES) for item in range(4) if np.isnan(sums[lane, item])
    }
    assert nans == {(3, column) for column in range(16)}  # row 3


@pytest.mark.parametrize(("size", "depth"), [(16, 8), (32, 4)])
def test_xf32_uses_ten_fraction_bits_of_its_operands(size: int, depth: int) -> None:
    generator = np.random.default_rng(size)
    a, b = (generator.standard_normal((size, depth)).astype(np.float32) for _ in range(2))
    a[0, :3] = np.array([0x3F801000, 0x3F803000, 0x3F801001], np.uint32).view(np.float32)
    lanes = [
        [side[lane % size][lane // size * 2 + e] for e in range(2)]
        for side in (a, b)
        for lane in range(LANES)
    ]
    words = np.array(lanes, np.float32).view(np.uint32)
    results = size * size // LANES
    zeroes = np.zeros((LANES, results), np.uint32)
    text = f"v_mfma_f32_{size}x{size}x{depth}_xf32 {{d}}, {{a}}, {{b}}, {{d}}"
    inputs = np.concatenate([words[:LANES], words[LANES:], zeroes], axis=1)

    (result,) = run_operations("gfx942", [operation(Product(text, 2, 2, results))], [inputs])

    rounded = [np.vectorize(ten_bits)(side) for side in (a, b)]
    assert rounded[0][0, :3].tolist() == [1.0, 1.00390625 - 2**-9, 1.0009765625]
    wanted_sums = rounded[0] @ rounded[1].T
    got = np.zeros((size, size))
    for row in range(size):
        for column in range(size):
            got[row, column] = result.view(np.float32)[lane_of(size, row, column)]
    np.testing.assert_allclose(got, wanted_sums, rtol=0, atol=2e-6)


def ten_bits(value: float) -> float:
    exact_value = F32.finite(int(np.float32(value).view(np.uint32)))
    return float(Format(19, 8, 10, 127).finite(Format(19, 8, 10, 127).round(exact_value)))


def lane_of(size: int, row: int, column: int) -> tuple[int, int]:
    if size == 32:
        return column + 32 * (row // 4 % 2), row % 4 + 4 * (row // 8)
    return column + 16 * (row // 4), row % 4
