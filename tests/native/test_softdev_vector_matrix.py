"""Matrix instructions against numpy: where elements sit in registers, and what comes out.

The inputs are small integers, so that every sum is exact and its order does not matter.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from support.exact_float import (
    BF8_FNUZ,
    BF8_OCP,
    BF16,
    F16,
    F32,
    F64,
    FP8_FNUZ,
    FP8_OCP,
    Format,
)
from support.vector_kernel import FIRST_INPUT, LANES, Operation, Words, run_operations

Matrix = npt.NDArray[np.int64]
INT8 = None  # stands for the element type that is no float


@dataclass(frozen=True)
class Form:
    """One matrix instruction: `blocks` products of size x depth by depth x size."""

    name: str
    size: int
    depth: int
    blocks: int
    a: Format | None
    b: Format | None
    wide: bool = False  # f64 results

    @property
    def groups(self) -> int:
        return LANES // (self.size * self.blocks)

    @property
    def per_lane(self) -> int:
        return self.depth // self.groups

    @property
    def results(self) -> int:
        return self.size * self.size * self.blocks // LANES

    def element_bits(self) -> int:
        return self.a.width if self.a else 8

    def operand_dwords(self) -> int:
        return max(1, self.per_lane * self.element_bits() // 32)

    def result_dwords(self) -> int:
        return self.results * (2 if self.wide else 1)


def forms(fp8: Format, bf8: Format) -> list[Form]:
    eight = {"fp8": fp8, "bf8": bf8}
    return [
        Form("v_mfma_f32_32x32x1_2b_f32", 32, 1, 2, F32, F32),
        Form("v_mfma_f32_16x16x1_4b_f32", 16, 1, 4, F32, F32),
        Form("v_mfma_f32_4x4x1_16b_f32", 4, 1, 16, F32, F32),
        Form("v_mfma_f32_32x32x2_f32", 32, 2, 1, F32, F32),
        Form("v_mfma_f32_16x16x4_f32", 16, 4, 1, F32, F32),
        Form("v_mfma_f32_32x32x4_2b_f16", 32, 4, 2, F16, F16),
        Form("v_mfma_f32_16x16x4_4b_f16", 16, 4, 4, F16, F16),
        Form("v_mfma_f32_4x4x4_16b_f16", 4, 4, 16, F16, F16),
        Form("v_mfma_f32_32x32x8_f16", 32, 8, 1, F16, F16),
        Form("v_mfma_f32_16x16x16_f16", 16, 16, 1, F16, F16),
        Form("v_mfma_f32_32x32x4_2b_bf16", 32, 4, 2, BF16, BF16),
        Form("v_mfma_f32_16x16x4_4b_bf16", 16, 4, 4, BF16, BF16),
        Form("v_mfma_f32_4x4x4_16b_bf16", 4, 4, 16, BF16, BF16),
        Form("v_mfma_f32_32x32x8_bf16", 32, 8, 1, BF16, BF16),
        Form("v_mfma_f32_16x16x16_bf16", 16, 16, 1, BF16, BF16),
        Form("v_mfma_i32_32x32x4_2b_i8", 32, 4, 2, INT8, INT8),
        Form("v_mfma_i32_16x16x4_4b_i8", 16, 4, 4, INT8, INT8),
        Form("v_mfma_i32_4x4x4_16b_i8", 4, 4, 16, INT8, INT8),
        Form("v_mfma_i32_32x32x16_i8", 32, 16, 1, INT8, INT8),
        Form("v_mfma_i32_16x16x32_i8", 16, 32, 1, INT8, INT8),
        Form("v_mfma_f64_16x16x4_f64", 16, 4, 1, F64, F64, wide=True),
        Form("v_mfma_f64_4x4x4_4b_f64", 4, 4, 4, F64, F64, wide=True),
        *(
            Form(f"v_mfma_f32_{size}x{size}x{depth}_{a}_{b}", size, depth, 1, eight[a], eight[b])
            for size, depth in ((16, 32), (32, 16))
            for a in eight
            for b in eight
        ),
    ]


GFX90A_FORMS = [
    Form("v_mfma_f32_32x32x1f32", 32, 1, 2, F32, F32),
    Form("v_mfma_f32_16x16x16f16", 16, 16, 1, F16, F16),
    Form("v_mfma_f32_32x32x4bf16_1k", 32, 4, 2, BF16, BF16),
    Form("v_mfma_f32_16x16x4bf16_1k", 16, 4, 4, BF16, BF16),
    Form("v_mfma_f32_4x4x4bf16_1k", 4, 4, 16, BF16, BF16),
    Form("v_mfma_f32_32x32x8bf16_1k", 32, 8, 1, BF16, BF16),
    Form("v_mfma_f32_16x16x16bf16_1k", 16, 16, 1, BF16, BF16),
    Form("v_mfma_f32_32x32x2bf16", 32, 2, 2, BF16, BF16),
    Form("v_mfma_f32_16x16x2bf16", 16, 2, 4, BF16, BF16),
    Form("v_mfma_f32_4x4x2bf16", 4, 2, 16, BF16, BF16),
    Form("v_mfma_f32_32x32x4bf16", 32, 4, 1, BF16, BF16),
    Form("v_mfma_f32_16x16x8bf16", 16, 8, 1, BF16, BF16),
    Form("v_mfma_i32_32x32x8i8", 32, 8, 1, INT8, INT8),
    Form("v_mfma_i32_16x16x16i8", 16, 16, 1, INT8, INT8),
    Form("v_mfma_f64_16x16x4f64", 16, 4, 1, F64, F64, wide=True),
]
CASES = [("gfx90a", form) for form in GFX90A_FORMS]
CASES += [("gfx942", form) for form in forms(FP8_FNUZ, BF8_FNUZ)]
CASES += [
    ("gfx950", form)
    for form in (
        *forms(FP8_OCP, BF8_OCP),
        Form("v_mfma_f32_16x16x32_f16", 16, 32, 1, F16, F16),
        Form("v_mfma_f32_32x32x16_f16", 32, 16, 1, F16, F16),
        Form("v_mfma_f32_16x16x32_bf16", 16, 32, 1, BF16, BF16),
        Form("v_mfma_f32_32x32x16_bf16", 32, 16, 1, BF16, BF16),
        Form("v_mfma_i32_16x16x64_i8", 16, 64, 1, INT8, INT8),
        Form("v_mfma_i32_32x32x32_i8", 32, 32, 1, INT8, INT8),
        Form("v_mfma_f32_16x16x128_f8f6f4", 16, 128, 1, FP8_OCP, FP8_OCP),
        Form("v_mfma_f32_32x32x64_f8f6f4", 32, 64, 1, FP8_OCP, FP8_OCP),
    )
]


def pattern(number: Format | None, value: int) -> int:
    return number.round(Fraction(value)) if number else value & 0xFF


def pack(elements: list[list[int]], bits: int) -> Words:
    """Patterns per lane, in order, to dwords per lane."""
    rows = []
    for lane in elements:
        whole = sum(element << (bits * k) for k, element in enumerate(lane))
        rows.append([whole >> (32 * k) & 0xFFFFFFFF for k in range(max(1, len(lane) * bits // 32))])
    return np.array(rows, np.uint32)


def operand_words(form: Form, number: Format | None, matrices: Matrix) -> Words:
    """Lay out matrices[block][row or column][k]."""
    lanes: list[list[int]] = [[] for _ in range(LANES)]
    for lane in range(LANES):
        row = lane % form.size
        block = lane // form.size % form.blocks
        group = lane // (form.size * form.blocks)
        for element in range(form.per_lane):
            value = int(matrices[block][row][group * form.per_lane + element])
            lanes[lane].append(pattern(number, value))
    return pack(lanes, form.element_bits())


def places(form: Form) -> Iterator[tuple[int, int, int, int, int]]:
    """block, row, column, result register and lane of every element of C and D."""
    for block in range(form.blocks):
        for row in range(form.size):
            for column in range(form.size):
                yield block, row, column, *place(form, block, row, column)


def place(form: Form, block: int, row: int, column: int) -> tuple[int, int]:
    if form.wide and form.size == 16:
        return row // 4, column + 16 * (row % 4)
    if form.wide:
        return 0, column + 4 * block + 16 * row
    if form.size == 32:
        return row % 4 + 4 * (row // 8) + 16 * block, column + 32 * (row // 4 % 2)
    if form.size == 16:
        return row % 4 + 4 * block, column + 16 * (row // 4)
    return row, column + 4 * block


def result_words(form: Form, matrices: Matrix) -> Words:
    number = F64 if form.wide else F32
    bits = number.width
    lanes = [[0] * form.results for _ in range(LANES)]
    for block, row, column, item, lane in places(form):
        value = int(matrices[block][row][column])
        lanes[lane][item] = number.round(Fraction(value)) if form.a else value & 0xFFFFFFFF
    return pack(lanes, bits)


def operation(form: Form, *, accumulation: bool, options: str = "") -> Operation:
    """A and B in v, C and D in v or in accumulation registers."""
    width, results = form.operand_dwords(), form.result_dwords()
    a, b = FIRST_INPUT, FIRST_INPUT + width
    c = b + width + width % 2
    text = []
    for k in range(results):
        source = f"v{b + width + k}"
        text.append(f"v_accvgpr_write_b32 a{k}, {source}" if accumulation else "")
    if accumulation:
        destination, name = registers("a", 0, results), [f"a{k}" for k in range(results)]
    else:
        # Registers of operands are aligned to pairs.
        text += [f"v_mov_b32 v{128 + k}, v{b + width + k}" for k in range(results)]
        destination, name = registers("v", 128, results), [f"v{128 + k}" for k in range(results)]
    assert c >= b
    operands = [registers("v", 96, width), registers("v", 112, width)]
    text += [
        f"v_mov_b32 v{96 + k}, v{a + k}\n  v_mov_b32 v{112 + k}, v{b + k}" for k in range(width)
    ]
    text.append("s_nop 7")
    text.append(f"{form.name} {destination}, {operands[0]}, {operands[1]}, {destination} {options}")
    lines = "\n  ".join(line for line in text if line)
    return Operation(lines, 2 * width + results, tuple(name))


def registers(bank: str, first: int, count: int) -> str:
    return f"{bank}{first}" if count == 1 else f"{bank}[{first}:{first + count - 1}]"


def random_matrices(form: Form, seed: int) -> tuple[Matrix, Matrix, Matrix]:
    """A[block][row][k], B[block][column][k] and C[block][row][column]."""
    generator = np.random.default_rng(seed)
    shape = (form.blocks, form.size, form.depth)
    a, b = (generator.integers(-4, 5, shape) for _ in range(2))
    return a, b, generator.integers(-100, 101, (form.blocks, form.size, form.size))


def input_words(form: Form, a: Matrix, b: Matrix, c: Matrix) -> Words:
    parts = [operand_words(form, form.a, a), operand_words(form, form.b, b), result_words(form, c)]
    return np.concatenate(parts, axis=1)


def product(a: Matrix, b: Matrix, c: Matrix) -> Matrix:
    total: Matrix = np.einsum("bik,bjk->bij", a, b) + c
    return total


@pytest.fixture(scope="module")
def results() -> dict[tuple[str, str], tuple[Words, Words]]:
    """Outputs by target and name, with C and D in AccVGPRs and in VGPRs."""
    found = {}
    for target in ("gfx90a", "gfx942", "gfx950"):
        chosen = [form for name, form in CASES if name == target]
        operations = [operation(f, accumulation=kind) for f in chosen for kind in (True, False)]
        inputs = [input_words(f, *random_matrices(f, 7)) for f in chosen for _ in range(2)]
        outputs = run_operations(target, operations, inputs)
        for k, form in enumerate(chosen):
            found[target, form.name] = (outputs[2 * k], outputs[2 * k + 1])
    return found


@pytest.mark.parametrize(
    ("target", "form"), CASES, ids=lambda x: x if isinstance(x, str) else x.name
)
def test_matrix_product(
    results: dict[tuple[str, str], tuple[Words, Words]], target: str, form: Form
) -> None:
    wanted = result_words(form, product(*random_matrices(form, 7)))

    in_accumulators, in_vgprs = results[target, form.name]

    np.testing.assert_array_equal(in_accumulators, wanted)
    np.testing.assert_array_equal(in_vgprs, wanted)


def test_constant_accumulator_and_full_precision() -> None:
    form = Form("v_mfma_f32_16x16x16_f16", 16, 16, 1, F16, F16)
    generator = np.random.default_rng(8)
    a, b = (generator.standard_normal((16, 16)).astype(np.float16) for _ in range(2))
    dwords = [np.ascontiguousarray(m).view(np.uint32).reshape(16, 8) for m in (a, b)]
    # Lane l holds elements 4 * (l / 16) .. + 3 of row l % 16: two dwords.
    words = [np.concatenate([m[:, 2 * g : 2 * g + 2] for g in range(4)]) for m in dwords]
    text = "v_mfma_f32_16x16x16_f16 v[16:19], v[8:9], v[10:11], 1.0"
    single = Operation(text, 4, ("v16", "v17", "v18", "v19"))

    (output,) = run_operations("gfx942", [single], [np.concatenate(words, axis=1)])

    got = np.zeros((16, 16))
    for _, row, column, item, lane in places(form):
        got[row, column] = output[lane, item : item + 1].view(np.float32)[0]
    wanted = 1.0 + a.astype(np.float64) @ b.astype(np.float64).T
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-5)


def test_cbsz_shares_a_block_of_a() -> None:
    form = Form("v_mfma_f32_16x16x4_4b_f16", 16, 4, 4, F16, F16)
    a, b, c = random_matrices(form, 9)
    shared = operation(form, accumulation=True, options="cbsz:1 abid:1")

    (output,) = run_operations("gfx942", [shared], [input_words(form, a, b, c)])

    np.testing.assert_array_equal(output, result_words(form, product(a[[1, 1, 3, 3]], b, c)))


@pytest.mark.parametrize(
    ("blgp", "source"),
    [
        (1, lambda lane: lane % 32),
        (2, lambda lane: lane % 32 + 32),
        (3, lambda lane: (lane + 16) % 64),
        (4, lambda lane: lane % 16),
        (7, lambda lane: lane % 16 + 48),
    ],
    ids=lambda x: str(x) if isinstance(x, int) else "lanes",
)
def test_blgp_moves_lanes_of_b(blgp: int, source) -> None:  # type: ignore[no-untyped-def]
    form = Form("v_mfma_f32_16x16x4_4b_f16", 16, 4, 4, F16, F16)
    a, b, c = random_matrices(form, 10)
    moved = operation(form, accumulation=True, options=f"blgp:{blgp}")

    (output,) = run_operations("gfx942", [moved], [input_words(form, a, b, c)])

    # One block of B per 16 lanes here.
    b_moved = np.array([[b[source(16 * n + j) // 16][source(16 * n + j) % 16] for j in range(16)]
                        for n in range(4)])  # fmt: skip
    np.testing.assert_array_equal(output, result_words(form, product(a, b_moved, c)))


def test_f64_operands_are_negated() -> None:
    form = Form("v_mfma_f64_16x16x4_f64", 16, 4, 1, F64, F64, wide=True)
    a, b, c = random_matrices(form, 12)
    negated = operation(form, accumulation=True, options="neg:[1,0,1]")

    (output,) = run_operations("gfx942", [negated], [input_words(form, a, b, c)])

    np.testing.assert_array_equal(output, result_words(form, product(-a, b, -c)))


def test_inactive_lanes_take_part() -> None:
    form = Form("v_mfma_f32_16x16x4_f32", 16, 4, 1, F32, F32)
    a, b, c = random_matrices(form, 11)
    whole = operation(form, accumulation=False)
    before, instruction = whole.text.rsplit("\n", 1)
    partial = Operation(
        f"{before}\n  s_mov_b64 exec, 1\n{instruction}", whole.input_dwords, whole.outputs
    )

    (output,) = run_operations("gfx942", [partial], [input_words(form, a, b, c)])

    np.testing.assert_array_equal(output, result_words(form, product(a, b, c)))


@pytest.mark.parametrize(
    ("target", "text", "cause"),
    [
        # v_mfma_f32_16x16x8_xf32
        ("gfx950", ".long 0xd3be0010, 0x02021508", "gfx950 has no v_mfma_f32_16x16x8_xf32"),
        # v_smfmac_f32_16x16x64_f16
        ("gfx942", ".long 0xd3da0010, 0x043a1508", "gfx942 has no v_smfmac_f32_16x16x64_f16"),
        (
            "gfx942",
            "v_screen_partition_4se_b32 v16, v8",
            "not implement v_screen_partition_4se_b32",
        ),
        ("gfx950", ".long 0xd3ad0510, 0x02022108", "5 is no format of a matrix operand"),
    ],
)
def test_what_a_target_lacks_is_named(target: str, text: str, cause: str) -> None:
    inputs = np.zeros((1, 8), np.uint32)

    with pytest.raises(AssertionError, match=cause):
        run_operations(target, [Operation(text)], [inputs])
