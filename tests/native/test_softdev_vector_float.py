"""Floating-point vector instructions against exact fractions, rounded once."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest

from support.exact_float import F16, F32, F64, INF, NAN, NEGATIVE_INF, Format, Real
from support.vector_kernel import Operation, Words, run_operations
from support.vector_values import EDGES_F16, EDGES_F32, EDGES_F64, float_records, records


def negative(number: Format, bits: int) -> bool:
    return bool(bits & number.sign_bit)


def negate(value: Real) -> Real:
    swapped = {INF: NEGATIVE_INF, NEGATIVE_INF: INF, NAN: NAN}
    return swapped[value] if isinstance(value, str) else -value


def infinity(sign: bool) -> Real:
    return NEGATIVE_INF if sign else INF


@dataclass(frozen=True)
class Number:
    """A value together with its sign, which zeroes have too."""

    value: Real
    sign: bool

    def __neg__(self) -> "Number":
        return Number(negate(self.value), not self.sign)

    def __abs__(self) -> "Number":
        return -self if self.sign else self

    def __add__(self, other: "Number") -> "Number":
        a, b = self.value, other.value
        if NAN in (a, b) or (isinstance(a, str) and isinstance(b, str) and a != b):
            return Number(NAN, False)
        for number in (self, other):
            if isinstance(number.value, str):
                return number
        assert isinstance(a, Fraction)
        assert isinstance(b, Fraction)
        total = a + b
        return Number(total, total < 0 if total else self.sign and other.sign)

    def __mul__(self, other: "Number") -> "Number":
        a, b, sign = self.value, other.value, self.sign != other.sign
        if NAN in (a, b) or (isinstance(a, str) and b == 0) or (isinstance(b, str) and a == 0):
            return Number(NAN, False)
        if isinstance(a, str) or isinstance(b, str):
            return Number(infinity(sign), sign)
        return Number(a * b, sign)

    def below(self, other: "Number") -> bool:
        """Less than, with -0 below +0; not for NaN."""
        if self.value == 0 and other.value == 0:
            return self.sign and not other.sign
        return self.order() < other.order()

    def order(self) -> float | Fraction:
        if isinstance(self.value, str):
            return -math.inf if self.value == NEGATIVE_INF else math.inf
        return self.value


def minimum(a: Number, b: Number) -> Number:
    if NAN in (a.value, b.value):
        return b if a.value == NAN else a
    return a if a.below(b) else b


def maximum(a: Number, b: Number) -> Number:
    if NAN in (a.value, b.value):
        return b if a.value == NAN else a
    return b if a.below(b) else a


def median(a: Number, b: Number, c: Number) -> Number:
    """The larger of what is left without the largest, whereby zeroes count as equal."""
    if NAN in (a.value, b.value, c.value):
        return minimum(minimum(a, b), c)
    largest = max(a.order(), b.order(), c.order())
    if a.order() == largest:
        return maximum(b, c)
    return maximum(a, c) if b.order() == largest else maximum(a, b)


def finite(function: Callable[[Fraction], Fraction | int]) -> Callable[[Number], Number]:
    """A function that leaves NaN, infinities, and the sign alone."""

    def apply(a: Number) -> Number:
        if isinstance(a.value, str):
            return a
        return Number(Fraction(function(a.value)), a.sign)

    return apply


def reciprocal(a: Number) -> Number:
    if a.value == 0:
        return Number(infinity(a.sign), a.sign)
    if isinstance(a.value, str):
        return a if a.value == NAN else Number(Fraction(0), a.sign)
    return Number(1 / a.value, a.sign)


def square_root(a: Number) -> Number:
    if a.value == 0 or a.value in (NAN, INF):
        return a
    if a.sign:
        return Number(NAN, False)
    assert isinstance(a.value, Fraction)
    scale = 1 << 400
    root = math.isqrt(a.value.numerator * scale * scale // a.value.denominator)
    return Number(Fraction(root, scale), False)


def fractional_part(largest: Fraction) -> Callable[[Number], Number]:
    def apply(a: Number) -> Number:
        if isinstance(a.value, str):
            return Number(NAN, False)
        return Number(min(a.value - math.floor(a.value), largest), False)

    return apply


def mantissa(a: Number) -> Number:
    if isinstance(a.value, str) or a.value == 0:
        return a
    return Number(a.value / Fraction(2) ** _exponent(a.value), a.sign)


def _exponent(value: Fraction) -> int:
    magnitude = abs(value)
    guess = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    return guess if magnitude < Fraction(2) ** guess else guess + 1


def clamped(a: Number) -> Number:
    if a.value == NAN:
        return Number(Fraction(0), False)
    if a.sign:
        return Number(Fraction(0), False)
    return minimum(a, Number(Fraction(1), False))


def propagating(choose: Callable[[Number, Number], Number], *numbers: Number) -> Number:
    for number in numbers:
        if number.value == NAN:
            return number
    return choose(choose(numbers[0], numbers[1]), numbers[2])


Formula = Callable[..., Number]


@dataclass(frozen=True)
class Suite:
    """Instructions of one format, by text, with formulas over a, b, c and d."""

    number: Format
    inputs: Words
    cases: dict[str, Formula] = field(repr=False)


F32_CASES: dict[str, Formula] = {
    "v_add_f32 {d}, {a}, {b}": lambda a, b, c, d: a + b,
    "v_sub_f32 {d}, {a}, {b}": lambda a, b, c, d: a + -b,
    "v_subrev_f32 {d}, {a}, {b}": lambda a, b, c, d: b + -a,
    "v_mul_f32 {d}, {a}, {b}": lambda a, b, c, d: a * b,
    "v_mul_legacy_f32 {d}, {a}, {b}": lambda a, b, c, d: (
        Number(Fraction(0), False) if 0 in (a.value, b.value) else a * b
    ),
    "v_fma_f32 {d}, {a}, {b}, {c}": lambda a, b, c, d: a * b + c,
    "v_fma_f32 {d}, -{a}, |{b}|, -|{c}|": lambda a, b, c, d: -a * abs(b) + -abs(c),
    "v_fma_f32 {d}, {a}, {b}, {c} clamp": lambda a, b, c, d: clamped(a * b + c),
    "v_fmac_f32 {d}, {a}, {b}": lambda a, b, c, d: a * b + d,
    "v_fmamk_f32 {d}, {a}, 0x40490fdb, {b}": lambda a, b, c, d: (
        a * Number(F32.value(0x40490FDB), False) + b
    ),
    "v_fmaak_f32 {d}, {a}, {b}, 0xc0490fdb": lambda a, b, c, d: (
        a * b + Number(F32.value(0xC0490FDB), True)
    ),
    "v_add_f32 {d}, 0.5, {b}": lambda a, b, c, d: Number(Fraction(1, 2), False) + b,
    "v_min3_f32 {d}, {a}, {b}, {c}": lambda a, b, c, d: minimum(minimum(a, b), c),
    "v_max3_f32 {d}, {a}, {b}, {c}": lambda a, b, c, d: maximum(maximum(a, b), c),
    "v_med3_f32 {d}, {a}, {b}, {c}": lambda a, b, c, d: median(a, b, c),
    "v_trunc_f32 {d}, {a}": lambda a, b, c, d: finite(math.trunc)(a),
    "v_ceil_f32 {d}, {a}": lambda a, b, c, d: finite(math.ceil)(a),
    "v_floor_f32 {d}, {a}": lambda a, b, c, d: finite(math.floor)(a),
    "v_rndne_f32 {d}, {a}": lambda a, b, c, d: finite(round)(a),
    "v_fract_f32 {d}, {a}": lambda a, b, c, d: fractional_part(1 - Fraction(1, 1 << 24))(a),
    "v_rcp_f32 {d}, {a}": lambda a, b, c, d: reciprocal(a),
    "v_sqrt_f32 {d}, {a}": lambda a, b, c, d: square_root(a),
    "v_frexp_mant_f32 {d}, {a}": lambda a, b, c, d: mantissa(a),
    "v_pk_fma_f32 {dd}, {aa}, {bb}, {cc} op_sel_hi:[1,1,1]": lambda a, b, c, d: a * b + c,
    "v_pk_mul_f32 {dd}, {aa}, {bb}": lambda a, b, c, d: a * b,
    "v_pk_add_f32 {dd}, {aa}, {bb} neg_lo:[0,1]": lambda a, b, c, d: a + -b,
    "v_fma_mix_f32 {d}, {a}, {b}, {c}": lambda a, b, c, d: a * b + c,
}
F16_CASES: dict[str, Formula] = {
    "v_add_f16 {d}, {a}, {b}": lambda a, b, c, d: a + b,
    "v_sub_f16 {d}, {a}, {b}": lambda a, b, c, d: a + -b,
    "v_subrev_f16 {d}, {a}, {b}": lambda a, b, c, d: b + -a,
    "v_mul_f16 {d}, {a}, {b}": lambda a, b, c, d: a * b,
    "v_fma_f16 {d}, {a}, {b}, {c}": lambda a, b, c, d: a * b + c,
    "v_fma_f16 {d}, {a}, -|{b}|, {c} clamp": lambda a, b, c, d: clamped(a * -abs(b) + c),
    "v_pk_fma_f16 {d}, {a}, {b}, {c}": lambda a, b, c, d: a * b + c,
    "v_pk_add_f16 {d}, {a}, {b} neg_lo:[1,0]": lambda a, b, c, d: -a + b,
    "v_pk_mul_f16 {d}, {a}, {b}": lambda a, b, c, d: a * b,
    "v_pk_min_f16 {d}, {a}, {b}": lambda a, b, c, d: minimum(a, b),
    "v_pk_max_f16 {d}, {a}, {b}": lambda a, b, c, d: maximum(a, b),
    "v_min_f16 {d}, {a}, {b}": lambda a, b, c, d: minimum(a, b),
    "v_max_f16 {d}, {a}, {b}": lambda a, b, c, d: maximum(a, b),
    "v_min3_f16 {d}, {a}, {b}, {c}": lambda a, b, c, d: minimum(minimum(a, b), c),
    "v_max3_f16 {d}, {a}, {b}, {c}": lambda a, b, c, d: maximum(maximum(a, b), c),
    "v_med3_f16 {d}, {a}, {b}, {c}": lambda a, b, c, d: median(a, b, c),
    "v_trunc_f16 {d}, {a}": lambda a, b, c, d: finite(math.trunc)(a),
    "v_ceil_f16 {d}, {a}": lambda a, b, c, d: finite(math.ceil)(a),
    "v_floor_f16 {d}, {a}": lambda a, b, c, d: finite(math.floor)(a),
    "v_rndne_f16 {d}, {a}": lambda a, b, c, d: finite(round)(a),
    "v_fract_f16 {d}, {a}": lambda a, b, c, d: fractional_part(1 - Fraction(1, 1 << 11))(a),
    "v_rcp_f16 {d}, {a}": lambda a, b, c, d: reciprocal(a),
    "v_sqrt_f16 {d}, {a}": lambda a, b, c, d: square_root(a),
    "v_frexp_mant_f16 {d}, {a}": lambda a, b, c, d: mantissa(a),
}
F64_CASES: dict[str, Formula] = {
    "v_add_f64 {dd}, {aa}, {bb}": lambda a, b, c, d: a + b,
    "v_add_f64 {dd}, {aa}, -{bb}": lambda a, b, c, d: a + -b,
    "v_mul_f64 {dd}, {aa}, {bb}": lambda a, b, c, d: a * b,
    "v_fma_f64 {dd}, {aa}, {bb}, {cc}": lambda a, b, c, d: a * b + c,
    "v_fma_f64 {dd}, -{aa}, |{bb}|, {cc}": lambda a, b, c, d: -a * abs(b) + c,
    "v_fmac_f64 {dd}, {aa}, {bb}": lambda a, b, c, d: a * b + d,
    "v_add_f64 {dd}, {aa}, 0.5": lambda a, b, c, d: a + Number(Fraction(1, 2), False),
    "v_trunc_f64 {dd}, {aa}": lambda a, b, c, d: finite(math.trunc)(a),
    "v_ceil_f64 {dd}, {aa}": lambda a, b, c, d: finite(math.ceil)(a),
    "v_floor_f64 {dd}, {aa}": lambda a, b, c, d: finite(math.floor)(a),
    "v_rndne_f64 {dd}, {aa}": lambda a, b, c, d: finite(round)(a),
    "v_fract_f64 {dd}, {aa}": lambda a, b, c, d: fractional_part(1 - Fraction(1, 1 << 53))(a),
    "v_rcp_f64 {dd}, {aa}": lambda a, b, c, d: reciprocal(a),
    "v_frexp_mant_f64 {dd}, {aa}": lambda a, b, c, d: mantissa(a),
}
# What gfx950 has on top: minimum and maximum in which NaN wins.
GFX950_F32_CASES: dict[str, Formula] = {
    "v_minimum3_f32 {d}, {a}, {b}, {c}": lambda a, b, c, d: propagating(minimum, a, b, c),
    "v_maximum3_f32 {d}, {a}, {b}, {c}": lambda a, b, c, d: propagating(maximum, a, b, c),
}
GFX950_F16_CASES: dict[str, Formula] = {
    "v_pk_minimum3_f16 {d}, {a}, {b}, {c}": lambda a, b, c, d: propagating(minimum, a, b, c),
    "v_pk_maximum3_f16 {d}, {a}, {b}, {c}": lambda a, b, c, d: propagating(maximum, a, b, c),
}
SUITES = {
    "f32": Suite(F32, float_records(EDGES_F32, (32, 23, 127)), F32_CASES),
    "f16": Suite(F16, float_records(EDGES_F16, (16, 10, 15)), F16_CASES),
    "f64": Suite(F64, records(EDGES_F64, width=64), F64_CASES),
    "gfx950 f32": Suite(F32, float_records(EDGES_F32, (32, 23, 127)), GFX950_F32_CASES),
    "gfx950 f16": Suite(F16, float_records(EDGES_F16, (16, 10, 15)), GFX950_F16_CASES),
}
TEXTS = [(name, text) for name, suite in SUITES.items() for text in suite.cases]


@pytest.fixture(scope="module")
def results() -> dict[str, Words]:
    found: dict[str, Words] = {}
    for target in ("gfx942", "gfx950"):
        chosen = [(n, text) for n, text in TEXTS if n.startswith("gfx950") == (target == "gfx950")]
        operations = [Operation(t, nan_bits=SUITES[name].number.width) for name, t in chosen]
        inputs = [SUITES[name].inputs for name, _ in chosen]
        outputs = run_operations(target, operations, inputs)
        found |= {text: output for (_, text), output in zip(chosen, outputs, strict=True)}
    return found


@pytest.mark.parametrize(("name", "text"), TEXTS)
def test_float_instruction_is_correctly_rounded(
    results: dict[str, Words], name: str, text: str
) -> None:
    suite = SUITES[name]
    formula = suite.cases[text]
    patterns = _operands(suite.number, suite.inputs)
    got = _results(suite.number, results[text])
    for operands, pattern in zip(patterns, got, strict=True):
        numbers = [
            Number(suite.number.value(bits), negative(suite.number, bits)) for bits in operands
        ]
        wanted = _pattern(suite.number, formula(*numbers))
        same = pattern == wanted or (suite.number.is_nan(wanted) and suite.number.is_nan(pattern))
        assert same, f"{text}: {[hex(bits) for bits in operands]}: {pattern:#x}, not {wanted:#x}"


def _pattern(number: Format, result: Number) -> int:
    if result.value == NAN:
        return number.nan()
    if isinstance(result.value, str):
        sign = number.sign_bit if result.value == NEGATIVE_INF else 0
        return sign | number.top_exponent << number.fraction_bits
    return number.round(result.value, negative_zero=result.sign)


def _operands(number: Format, inputs: Words) -> list[list[int]]:
    low, high = inputs[:, 0::2].astype(np.uint64), inputs[:, 1::2].astype(np.uint64)
    whole = low | high << np.uint64(32) if number.width == 64 else low
    operands: list[list[int]] = (whole & np.uint64((1 << number.width) - 1)).tolist()
    return operands


def _results(number: Format, output: Words) -> list[int]:
    whole = output[:, 0].astype(np.uint64)
    if number.width == 64:
        whole |= output[:, 1].astype(np.uint64) << np.uint64(32)
    patterns: list[int] = (whole & np.uint64((1 << number.width) - 1)).tolist()
    return patterns
