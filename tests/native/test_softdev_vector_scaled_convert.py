"""gfx950's scaled conversions: both directions, nearest and stochastic, in exact arithmetic."""

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest

from support.exact_float import (
    BF6,
    BF8_OCP,
    BF16,
    F16,
    F32,
    FP4,
    FP6,
    FP8_OCP,
    INF,
    NAN,
    NEGATIVE_INF,
    Format,
    Real,
)
from support.vector_kernel import FIRST_INPUT, Operation, Words, run_operations

WIDE = {"f32": F32, "f16": F16, "bf16": BF16}
SMALL = {"fp8": FP8_OCP, "bf8": BF8_OCP, "fp6": FP6, "bf6": BF6, "fp4": FP4}
RECORDS = 128
OLD = 0xA1B2C3D4  # what the destination held


def scales(generator: np.random.Generator) -> np.ndarray:
    """f32 patterns whose exponents count, near 1, at the ends, and one that is no scale."""
    exponents = generator.integers(120, 135, RECORDS)
    exponents[:4] = (0, 254, 255, 127)
    return np.array(exponents << 23 | generator.integers(0, 1 << 23, RECORDS))


def wide_patterns(number: Format, count: int, generator: np.random.Generator) -> np.ndarray:
    """Numbers around 1, with infinities, NaN, zeroes and denormals among them."""
    patterns = generator.integers(0, 1 << number.width, (RECORDS, count), dtype=np.int64)
    exponents = generator.integers(number.bias - 9, number.bias + 9, (RECORDS, count))
    mask = number.top_exponent << number.fraction_bits
    patterns = patterns & ~mask | exponents << number.fraction_bits
    edges = [
        0,
        number.sign_bit,
        mask,
        mask | number.sign_bit,
        mask | 1 << number.fraction_bits - 1,
        1,
    ]
    patterns[8 : 8 + len(edges), 0] = edges
    return np.array(patterns)


def scaled(value: Real, scale: int, direction: int) -> Real:
    exponent = scale >> 23 & 255
    if exponent == 255:
        return NAN
    return (
        value if isinstance(value, str) else value * Fraction(2) ** (direction * (exponent - 127))
    )


def rounded(value: Real, number: Format, *, negative: bool) -> int:
    """The nearest pattern; what is no number, or too large, as hardware writes it."""
    sign = number.sign_bit if negative else 0
    if value == NAN:
        return (sign if number.only_numbers else 0) | (0x7F if number.width == 8 else number.nan())
    if value in (INF, NEGATIVE_INF):
        if number.only_numbers:
            return sign | number.largest()
        return sign | (0x7F if number.no_infinity else number.top_exponent << number.fraction_bits)
    assert isinstance(value, Fraction)
    return number.round(value, negative_zero=negative)


def by_chance(value: Real, number: Format, source: Format, how: tuple[int, int]) -> int:
    """Random bits are added below the last kept place; then the rest is cut off."""
    random, sign = how
    if not isinstance(value, Fraction):
        return rounded(value, number, negative=bool(sign))
    magnitude = abs(value)
    if magnitude == 0:
        return number.sign_bit if sign else 0
    exponent = 0
    while Fraction(2) ** (exponent + 1) <= magnitude:
        exponent += 1
    while Fraction(2) ** exponent > magnitude:
        exponent -= 1
    lowest = 1 - number.bias
    # In units of the source's last place, at the exponent that the result is written with.
    unit = Fraction(2) ** (max(exponent, lowest) - source.fraction_bits)
    steps = int(magnitude / unit)
    dropped = source.fraction_bits - number.fraction_bits
    kept = steps + (random >> (32 - dropped)) >> dropped
    kept += max(exponent - lowest, 0) << number.fraction_bits
    limit = number.largest()
    infinite = 0x7F if number.no_infinity else number.top_exponent << number.fraction_bits
    overflowed = limit if number.only_numbers else infinite
    return (number.sign_bit if sign else 0) | (kept if kept <= limit else overflowed)


def following(random: int) -> int:
    return (random << 1 & 0xFFFFFFFF) ^ (197 if random >> 31 else 0)


def packed(rows: Sequence[Sequence[int]], width: int) -> np.ndarray:
    count = max(1, len(rows[0]) * width // 32)
    return np.array(
        [
            [sum(bits << (width * k) for k, bits in enumerate(row)) >> (32 * n) & 0xFFFFFFFF
             for n in range(count)]
            for row in rows
        ],
        np.uint32,
    )  # fmt: skip


class Case:
    """One instruction with its inputs and what it shall write."""

    def __init__(
        self, name: str, sources: Sequence[np.ndarray], wanted: np.ndarray, op_sel: str = ""
    ):
        self.name, self.op_sel = name, op_sel
        self.sources, self.wanted = sources, wanted

    def operation(self) -> Operation:
        text, operands, register, place = [], [], FIRST_INPUT, 96
        for source in self.sources:
            count = source.shape[1]
            text += [f"v_mov_b32 v{place + k}, v{register + k}" for k in range(count)]
            operands.append(f"v{place}" if count == 1 else f"v[{place}:{place + count - 1}]")
            register, place = register + count, place + 32
        results = self.wanted.shape[1]
        text += [f"v_mov_b32 v{200 + k}, {OLD:#x}" for k in range(results)]
        result = "v200" if results == 1 else f"v[200:{199 + results}]"
        text.append(f"{self.name} {result}, {', '.join(operands)} {self.op_sel}")
        inputs = sum(source.shape[1] for source in self.sources)
        return Operation("\n  ".join(text), inputs, tuple(f"v{200 + k}" for k in range(results)))

    def inputs(self) -> Words:
        return np.concatenate(self.sources, axis=1).astype(np.uint32)


def into_old(bits: np.ndarray, width: int, place: int) -> np.ndarray:
    """A result narrower than a register, at a place that op_sel named."""
    mask = ((1 << width) - 1) << (place * width)
    return np.array(OLD & ~mask | bits.astype(np.int64) << (place * width), np.int64)


def widening(wide: str, small: str, count: int, generator: np.random.Generator) -> Case:
    number, target = SMALL[small], WIDE[wide]
    scale = scales(generator)
    patterns = generator.integers(0, 1 << number.width, (RECORDS, count))
    rows = [
        [exactly(scaled(number.value(int(bits)), int(s), 1), target, int(bits) & number.sign_bit)
         for bits in row]
        for row, s in zip(patterns, scale, strict=True)
    ]  # fmt: skip
    wanted = packed(rows, target.width).astype(np.int64)
    source = packed(patterns.tolist(), number.width).astype(np.int64)
    width = number.width * count
    op_sel = ""
    if width < 32:
        places = 32 // width
        place = int(generator.integers(1, places))
        source = source << (place * width) | 0x5A5A5A5A & ~(((1 << width) - 1) << (place * width))
        op_sel = f"op_sel:[{place & 1},{place >> 1},0]" if width == 8 else f"op_sel:[{place},0,0]"
        if count == 1 and wide == "f16":
            wanted = into_old(wanted, 16, 1)
            op_sel = f"op_sel:[{place & 1},{place >> 1},1]"
    name = f"v_cvt_scalef32_{prefix(count)}{wide}_{small}"
    return Case(name, [source, scale.reshape(-1, 1)], wanted, op_sel)


def exactly(value: Real, target: Format, negative: int) -> int:
    if value == NAN:
        return -1  # any NaN
    if value in (INF, NEGATIVE_INF):
        infinite = target.top_exponent << target.fraction_bits
        return infinite | (target.sign_bit if value == NEGATIVE_INF else 0)
    assert isinstance(value, Fraction)
    return target.round(value, negative_zero=bool(negative))


def prefix(count: int) -> str:
    return {1: "", 2: "pk_", 32: "pk32_"}[count]


def narrowing(wide: str, small: str, count: int, generator: np.random.Generator) -> Case:
    number, source = SMALL[small], WIDE[wide]
    scale = scales(generator)
    patterns = wide_patterns(source, count, generator)
    rows = [
        [rounded(scaled(source.value(int(bits)), int(s), -1), number,
                 negative=bool(int(bits) & source.sign_bit)) for bits in row]
        for row, s in zip(patterns, scale, strict=True)
    ]  # fmt: skip
    if wide == "f32":  # elements alternate between two operands
        sources = [patterns[:, 0::2], patterns[:, 1::2]]
    else:
        sources = [packed(patterns.tolist(), source.width)]
    packing = "2xpk16_" if wide == "f32" and count == 32 else prefix(count)
    name = f"v_cvt_scalef32_{packing}{small}_{wide}"
    return placed(Case(name, [*sources, scale.reshape(-1, 1)], packed(rows, number.width)),
                  number.width * count, generator)  # fmt: skip


def placed(case: Case, width: int, generator: np.random.Generator) -> Case:
    if width >= 32:
        return case
    place = int(generator.integers(1, 32 // width))
    # op_sel's last two bits name a byte of the result, its last one a half.
    byte, half = f"{place & 1},{place >> 1}", f"{place}"
    before = "0,0" if width == 8 or len(case.sources) == 2 else "0,0,0"
    op_sel = f"op_sel:[{before},{byte if width == 8 else half}]"
    return Case(case.name, case.sources, into_old(case.wanted, width, place), op_sel)


def chance(wide: str, small: str, count: int, generator: np.random.Generator) -> Case:
    number, source = SMALL[small], WIDE[wide]
    scale = scales(generator)
    random = generator.integers(0, 1 << 32, RECORDS)
    patterns = wide_patterns(source, count, generator)
    rows = []
    for row, s, first in zip(patterns, scale, random, strict=True):
        chosen, results = int(first), []
        for bits in row:
            sign = int(bits) & source.sign_bit
            value = scaled(source.value(int(bits)), int(s), -1)
            results.append(by_chance(value, number, source, (chosen, sign)))
            chosen = following(chosen)
        rows.append(results)
    values = packed(patterns.tolist(), source.width)
    name = f"v_cvt_scalef32_sr_{prefix(count)}{small}_{wide}"
    case = Case(
        name, [values, random.reshape(-1, 1), scale.reshape(-1, 1)], packed(rows, number.width)
    )
    return placed(case, number.width * count, generator)


def check(make: Callable[[np.random.Generator], list[Case]]) -> None:
    cases = make(np.random.default_rng(5))
    results = run_operations(
        "gfx950", [case.operation() for case in cases], [case.inputs() for case in cases]
    )
    for case, result in zip(cases, results, strict=True):
        np.testing.assert_array_equal(result, case.wanted.astype(np.uint32), case.name)


def test_values_are_divided_by_the_scale_and_rounded_to_nearest() -> None:
    def make(generator: np.random.Generator) -> list[Case]:
        pairs = [(wide, small) for wide in WIDE for small in ("fp8", "bf8", "fp4")]
        blocks = [(wide, small) for wide in WIDE for small in ("fp6", "bf6")]
        return [
            *(narrowing(wide, small, 2, generator) for wide, small in pairs),
            *(narrowing(wide, small, 32, generator) for wide, small in blocks),
        ]

    check(make)


def test_values_are_divided_by_the_scale_and_rounded_by_chance() -> None:
    def make(generator: np.random.Generator) -> list[Case]:
        return [
            *(chance(wide, small, 1, generator) for wide in WIDE for small in ("fp8", "bf8")),
            *(chance(wide, "fp4", 2, generator) for wide in WIDE),
            *(chance(wide, small, 32, generator) for wide in WIDE for small in ("fp6", "bf6")),
        ]

    check(make)


def test_small_values_are_multiplied_by_the_scale() -> None:
    generator = np.random.default_rng(6)
    cases = [
        *(
            widening(wide, small, 1, generator)
            for wide in ("f32", "f16")
            for small in ("fp8", "bf8")
        ),
        *(widening(wide, small, 2, generator) for wide in WIDE for small in ("fp8", "bf8", "fp4")),
        *(widening(wide, small, 32, generator) for wide in WIDE for small in ("fp6", "bf6")),
    ]

    results = run_operations(
        "gfx950", [case.operation() for case in cases], [case.inputs() for case in cases]
    )

    for case, result in zip(cases, results, strict=True):
        # Records with a NaN are compared in the test below.
        numbers = ~np.any(nan_records(case), axis=1)
        assert numbers.sum() > RECORDS / 2, case.name
        np.testing.assert_array_equal(
            result[numbers], case.wanted.astype(np.uint32)[numbers], case.name
        )


def nan_records(case: Case) -> np.ndarray:
    scale = case.sources[-1] >> 23 & 255
    small = case.name.rsplit("_", 1)[1]
    found = scale == 255
    if small in ("fp8", "bf8"):
        widths = case.sources[0].astype(np.uint32)
        for shift in range(0, 32, 8):
            byte = widths >> shift & 0x7F
            found = found | (byte == 0x7F) | ((small == "bf8") & (byte > 0x7C))
    return np.array(found)


@pytest.mark.parametrize(("name", "number"), [("f16", F16), ("bf16", BF16)])
def test_halves_are_rounded_by_chance_into_one_half_of_a_register(
    name: str, number: Format
) -> None:
    generator = np.random.default_rng(8)
    values = wide_patterns(F32, 1, generator)
    values[20:23, 0] = (0x7F7FFFFF, 0x33000000, 0x387FFFFF)
    random = generator.integers(0, 1 << 32, (RECORDS, 1))
    random[20:23] = 0xFFFFFFFF
    wanted = []
    for (bits,), (chosen,) in zip(values.tolist(), random.tolist(), strict=True):
        value, sign = F32.value(bits), bits & F32.sign_bit
        if isinstance(value, str):
            wanted.append(exactly(value, number, sign))
        else:
            wanted.append(by_chance(value, number, F32, (chosen, sign)))
    case = Case(f"v_cvt_sr_{name}_f32", [values, random], np.array(wanted).reshape(-1, 1))
    high = into_old(case.wanted, 16, 1)
    selected = Case(case.name, case.sources, high, "op_sel:[0,0,1]")

    (result,) = run_operations("gfx950", [selected.operation()], [selected.inputs()])

    numbers = np.array(wanted) >= 0
    np.testing.assert_array_equal(result[numbers], high.astype(np.uint32)[numbers])
    assert wanted[20] == {"f16": 0x7C00, "bf16": 0x7F80}[name]


def test_modifiers_and_literal_values() -> None:
    one_and_a_half, two = 0x3FC00000, 0x40000000
    record = np.full((1, 3), 0, np.uint32)
    record[0] = (one_and_a_half, 0xC0400000, two)  # 1.5, -3 and the scale 2
    texts = (
        "v_cvt_scalef32_pk_fp4_f32 v11, v8, v9, v10",
        "v_cvt_scalef32_pk_fp8_f32 v11, -v8, |v9|, v10",
        "v_cvt_scalef32_pk_fp8_f32 v11, v8, v9, 1.0",
    )
    outputs = ("v11",)
    operations = [Operation(f"v_mov_b32 v11, 0\n  {text}", 3, outputs) for text in texts]

    results = run_operations("gfx950", operations, [record] * len(texts))

    # 0.75 is half way between 0.5 and 1 and becomes 1 (even); -1.5 is 0b1011
    assert [int(result[0, 0]) for result in results] == [0xB2, 0x3CB4, 0xC43C]
