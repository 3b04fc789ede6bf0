"""Sparse matrix instructions: every shape, random patterns, against products of whole matrices."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from support.exact_float import (
    BF8_FNUZ,
    BF8_OCP,
    BF16,
    F16,
    F32,
    FP8_FNUZ,
    FP8_OCP,
    Format,
)
from support.matrix_layout import Product, accumulator_words, operation, pack
from support.vector_kernel import LANES, Words, run_operations

INT8 = None


@dataclass(frozen=True)
class Form:
    """A shape; the formats of A and B, None for 8-bit integers."""

    name: str
    size: int
    depth: int
    a: Format | None
    b: Format | None

    @property
    def width(self) -> int:
        return self.a.width if self.a else 8

    @property
    def per_lane(self) -> int:
        """Elements of B; A has half of them."""
        return self.depth * self.size // LANES

    @property
    def index_sets(self) -> int:
        return 32 // self.per_lane  # 2 bits for each element of A


def eights(size: int, depth: int, fp8: Format, bf8: Format) -> list[Form]:
    kinds = {"fp8": fp8, "bf8": bf8}
    return [
        Form(f"v_smfmac_f32_{size}x{size}x{depth}_{a}_{b}", size, depth, kinds[a], kinds[b])
        for a in kinds
        for b in kinds
    ]


def forms(fp8: Format, bf8: Format) -> list[Form]:
    return [
        Form("v_smfmac_f32_16x16x32_f16", 16, 32, F16, F16),
        Form("v_smfmac_f32_32x32x16_f16", 32, 16, F16, F16),
        Form("v_smfmac_f32_16x16x32_bf16", 16, 32, BF16, BF16),
        Form("v_smfmac_f32_32x32x16_bf16", 32, 16, BF16, BF16),
        Form("v_smfmac_i32_16x16x64_i8", 16, 64, INT8, INT8),
        Form("v_smfmac_i32_32x32x32_i8", 32, 32, INT8, INT8),
        *eights(16, 64, fp8, bf8),
        *eights(32, 32, fp8, bf8),
    ]


DEEP = [
    Form("v_smfmac_f32_16x16x64_f16", 16, 64, F16, F16),
    Form("v_smfmac_f32_32x32x32_f16", 32, 32, F16, F16),
    Form("v_smfmac_f32_16x16x64_bf16", 16, 64, BF16, BF16),
    Form("v_smfmac_f32_32x32x32_bf16", 32, 32, BF16, BF16),
    Form("v_smfmac_i32_16x16x128_i8", 16, 128, INT8, INT8),
    Form("v_smfmac_i32_32x32x64_i8", 32, 64, INT8, INT8),
    *eights(16, 128, FP8_OCP, BF8_OCP),
    *eights(32, 64, FP8_OCP, BF8_OCP),
]
FORMS = {"gfx942": forms(FP8_FNUZ, BF8_FNUZ), "gfx950": forms(FP8_OCP, BF8_OCP) + DEEP}


@dataclass(frozen=True)
class Case:
    """Matrices for a form: A as it is kept and the places of its elements; C."""

    form: Form
    kept: np.ndarray  # [row][depth / 2]
    places: np.ndarray  # [row][depth / 2], 0..3
    b: np.ndarray  # [column][depth]
    c: np.ndarray  # [row][column]
    index_set: int = 0

    def whole_a(self) -> np.ndarray:
        whole = np.zeros((self.form.size, self.form.depth), int)
        for row in range(self.form.size):
            for k, (value, place) in enumerate(zip(self.kept[row], self.places[row], strict=True)):
                whole[row, k // 2 * 4 + place] += value
        return whole

    def product(self) -> np.ndarray:
        return np.array(self.whole_a() @ self.b.T + self.c)


def random_case(form: Form, seed: int, index_set: int = 0) -> Case:
    generator = np.random.default_rng(seed)
    half = (form.size, form.depth // 2)
    pairs = [sorted(generator.choice(4, 2, replace=False)) for _ in range(half[0] * half[1] // 2)]
    return Case(
        form,
        generator.integers(-4, 5, half),
        np.array(pairs).reshape(half),
        generator.integers(-4, 5, (form.size, form.depth)),
        generator.integers(-100, 101, (form.size, form.size)),
        index_set,
    )


def pattern(number: Format | None, value: int) -> int:
    return number.round(Fraction(int(value))) if number else int(value) & 0xFF


def words(case: Case) -> Words:
    form = case.form
    a, b, indices = [], [], []
    for lane in range(LANES):
        row, group = lane % form.size, lane // form.size
        first = group * form.per_lane
        here = slice(first // 2, first // 2 + form.per_lane // 2)
        a.append([pattern(form.a, value) for value in case.kept[row][here]])
        b.append([pattern(form.b, value) for value in case.b[row][first : first + form.per_lane]])
        packed = sum(int(place) << (2 * k) for k, place in enumerate(case.places[row][here]))
        shift = case.index_set * form.per_lane
        others = 0xDEADBEEF & ~(((1 << form.per_lane) - 1) << shift)  # other sets do not matter
        indices.append([packed << shift | others])
    c = np.array([[result_pattern(form, value) for value in row] for row in case.c], np.uint32)
    parts = [pack(a, form.width), pack(b, form.width), accumulator_words(c), np.array(indices)]
    return np.concatenate(parts, axis=1).astype(np.uint32)


def result_pattern(form: Form, value: int) -> int:
    return F32.round(Fraction(int(value))) if form.a else int(value) & 0xFFFFFFFF


def run(target: str, cases: Sequence[Case], options: Sequence[str]) -> list[Words]:
    operations = []
    for case, text in zip(cases, options, strict=True):
        form = case.form
        a = form.per_lane * form.width // 64
        line = f"{form.name} {{d}}, {{a}}, {{b}}, v140 {text}"
        d = form.size * form.size // LANES
        operations.append(operation(Product(line, a, 2 * a, d, 1)))
    return run_operations(target, operations, [words(case) for case in cases])


def wanted(case: Case) -> Words:
    product = case.product()
    patterns = [[result_pattern(case.form, value) for value in row] for row in product]
    return accumulator_words(np.array(patterns, np.uint32))


@pytest.mark.parametrize("target", FORMS)
def test_sparse_products(target: str) -> None:
    cases = [random_case(form, 30 + k) for k, form in enumerate(FORMS[target])]

    results = run(target, cases, [""] * len(cases))

    for case, result in zip(cases, results, strict=True):
        np.testing.assert_array_equal(result, wanted(case), case.form.name)


@pytest.mark.parametrize("target", FORMS)
def test_abid_chooses_the_set_of_indices(target: str) -> None:
    chosen = [
        form for form in FORMS[target] if form.name.endswith(("16x16x32_f16", "x64_f16", "i8"))
    ]
    cases = [
        random_case(form, 60 + n, index_set=n) for form in chosen for n in range(form.index_sets)
    ]

    results = run(target, cases, [f"abid:{case.index_set}" for case in cases])

    counts = {"gfx942": 4 + 2 + 2, "gfx950": 4 + 2 + 2 + 2 + 1 + 1}
    assert len(cases) == counts[target]
    for case, result in zip(cases, results, strict=True):
        np.testing.assert_array_equal(result, wanted(case), case.form.name)


def test_cbsz_means_the_first_set_of_indices() -> None:
    case = random_case(FORMS["gfx942"][0], 70)

    (result,) = run("gfx942", [case], ["cbsz:1 abid:3"])

    np.testing.assert_array_equal(result, wanted(case))
