"""Conversions between formats, and the approximate functions within their promised error."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
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
    INF,
    NAN,
    NEGATIVE_INF,
    Format,
    Real,
)
from support.vector_kernel import Operation, Words, run_operations
from support.vector_values import EDGES_32, EDGES_F16, EDGES_F32, EDGES_F64, float_records, records

F32_INPUTS = np.concatenate(
    [float_records(EDGES_F32, (32, 23, 127), random=512), records(EDGES_F32, random=512, seed=3)]
)
F16_INPUTS = records(EDGES_F16, width=16, random=2000)
F64_INPUTS = records(EDGES_F64, width=64, random=512)
INTEGER_INPUTS = records(EDGES_32)


def wide(words: Words, column: int) -> list[int]:
    low, high = words[:, column].astype(np.uint64), words[:, column + 1].astype(np.uint64)
    values: list[int] = (low | high << np.uint64(32)).tolist()
    return values


def convert(source: Format, target: Format, bits: int) -> int:
    bits &= (source.sign_bit << 1) - 1
    value = source.value(bits)
    if value == NAN:
        return target.nan()
    if isinstance(value, str):
        infinite = target.top_exponent << target.fraction_bits
        plain = not target.fnuz and not target.no_infinity
        magnitude = infinite if plain else target.nan()
        negative = value == NEGATIVE_INF and not target.fnuz
        return magnitude | (target.sign_bit if negative else 0)
    return target.round(value, negative_zero=bool(bits & source.sign_bit))


def to_integer(value: Real, low: int, high: int, rounding: Callable[[Fraction], int]) -> int:
    if value == NAN:
        return 0
    if isinstance(value, str):
        return high if value == INF else low
    return max(low, min(rounding(value), high))


def pair(low: int, high: int, width: int = 16) -> int:
    return low & ((1 << width) - 1) | (high & ((1 << width) - 1)) << width


def f32(bits: int) -> Real:
    return F32.value(bits & 0xFFFFFFFF)


def half(bits: int) -> Real:
    return F16.value(bits & 0xFFFF)


def half_up(value: Fraction) -> int:
    return math.floor(F32.finite(F32.round(value + Fraction(1, 2))))


def toward_zero(value: int) -> int:
    """f32 pattern to f16 pattern, truncating."""
    real = f32(value)
    rounded = convert(F32, F16, value)
    if isinstance(real, str):
        return rounded
    sign = rounded & 0x8000
    magnitude = rounded & 0x7FFF
    exceeds = magnitude == 0x7C00 or F16.finite(magnitude) > abs(real)
    return sign | (magnitude - 1 if exceeds else magnitude)


I32, U32 = (-(1 << 31), (1 << 31) - 1), (0, (1 << 32) - 1)
INTS: dict[str, tuple[Words, Callable[[int, int], int]]] = {
    "v_cvt_f32_i32 {d}, {a}": (INTEGER_INPUTS, lambda a, b: F32.round(Fraction(_s32(a)))),
    "v_cvt_f32_u32 {d}, {a}": (INTEGER_INPUTS, lambda a, b: F32.round(Fraction(a & 0xFFFFFFFF))),
    "v_cvt_f32_ubyte0 {d}, {a}": (INTEGER_INPUTS, lambda a, b: F32.round(Fraction(a & 255))),
    "v_cvt_f32_ubyte1 {d}, {a}": (INTEGER_INPUTS, lambda a, b: F32.round(Fraction(a >> 8 & 255))),
    "v_cvt_f32_ubyte2 {d}, {a}": (INTEGER_INPUTS, lambda a, b: F32.round(Fraction(a >> 16 & 255))),
    "v_cvt_f32_ubyte3 {d}, {a}": (INTEGER_INPUTS, lambda a, b: F32.round(Fraction(a >> 24 & 255))),
    "v_cvt_off_f32_i4 {d}, {a}": (
        INTEGER_INPUTS, lambda a, b: F32.round(Fraction((a & 15 ^ 8) - 8, 16)),
    ),
    "v_cvt_f16_u16 {d}, {a}": (INTEGER_INPUTS, lambda a, b: F16.round(Fraction(a & 0xFFFF))),
    "v_cvt_f16_i16 {d}, {a}": (
        INTEGER_INPUTS, lambda a, b: F16.round(Fraction((a & 0xFFFF ^ 0x8000) - 0x8000)),
    ),
    "v_cvt_i32_f32 {d}, {a}": (F32_INPUTS, lambda a, b: to_integer(f32(a), *I32, math.trunc)),
    "v_cvt_u32_f32 {d}, {a}": (F32_INPUTS, lambda a, b: to_integer(f32(a), *U32, math.trunc)),
    "v_cvt_flr_i32_f32 {d}, {a}": (F32_INPUTS, lambda a, b: to_integer(f32(a), *I32, math.floor)),
    "v_cvt_rpi_i32_f32 {d}, {a}": (F32_INPUTS, lambda a, b: to_integer(f32(a), *I32, half_up)),
    "v_cvt_i32_f64 {d}, {aa}": (
        F64_INPUTS, lambda a, b: to_integer(F64.value(a), *I32, math.trunc),
    ),
    "v_cvt_u32_f64 {d}, {aa}": (
        F64_INPUTS, lambda a, b: to_integer(F64.value(a), *U32, math.trunc),
    ),
    "v_cvt_u16_f16 {d}, {a}": (F16_INPUTS, lambda a, b: to_integer(half(a), 0, 65535, math.trunc)),
    "v_cvt_i16_f16 {d}, {a}": (
        F16_INPUTS, lambda a, b: to_integer(half(a), -32768, 32767, math.trunc) & 0xFFFF,
    ),
    "v_cvt_pkrtz_f16_f32 {d}, {a}, {b}": (
        F32_INPUTS, lambda a, b: pair(toward_zero(a), toward_zero(b)),
    ),
    "v_frexp_exp_i32_f32 {d}, {a}": (F32_INPUTS, lambda a, b: _exponent(f32(a))),
    "v_frexp_exp_i32_f64 {d}, {aa}": (F64_INPUTS, lambda a, b: _exponent(F64.value(a))),
    "v_frexp_exp_i16_f16 {d}, {a}": (F16_INPUTS, lambda a, b: _exponent(half(a)) & 0xFFFF),
}  # fmt: skip
FLOATS: dict[str, tuple[Words, Format, Format]] = {
    "v_cvt_f16_f32 {d}, {a}": (F32_INPUTS, F32, F16),
    "v_cvt_f32_f16 {d}, {a}": (F16_INPUTS, F16, F32),
    "v_cvt_f64_f32 {dd}, {a}": (F32_INPUTS, F32, F64),
    "v_cvt_f32_f64 {d}, {aa}": (F64_INPUTS, F64, F32),
    "v_cvt_f32_fp8 {d}, {a}": (INTEGER_INPUTS, FP8_FNUZ, F32),
    "v_cvt_f32_bf8 {d}, {a}": (INTEGER_INPUTS, BF8_FNUZ, F32),
    "v_cvt_pk_fp8_f32 {d}, {a}, {a}": (F32_INPUTS, F32, FP8_FNUZ),
    "v_cvt_pk_bf8_f32 {d}, {a}, {a}": (F32_INPUTS, F32, BF8_FNUZ),
}
GFX950_FLOATS: dict[str, tuple[Words, Format, Format]] = {
    "v_cvt_f32_fp8 {d}, {a}": (INTEGER_INPUTS, FP8_OCP, F32),
    "v_cvt_f32_bf8 {d}, {a}": (INTEGER_INPUTS, BF8_OCP, F32),
    "v_cvt_pk_fp8_f32 {d}, {a}, {a}": (F32_INPUTS, F32, FP8_OCP),
    "v_cvt_pk_bf8_f32 {d}, {a}, {a}": (F32_INPUTS, F32, BF8_OCP),
    "v_cvt_pk_bf16_f32 {d}, {a}, {a}": (F32_INPUTS, F32, BF16),
    "v_cvt_f32_bf16 {d}, {a}": (INTEGER_INPUTS, BF16, F32),
    "v_cvt_pk_f16_f32 {d}, {a}, {a}": (F32_INPUTS, F32, F16),
}


def _s32(value: int) -> int:
    return (value & 0xFFFFFFFF ^ 0x80000000) - 0x80000000


def _exponent(value: Real) -> int:
    if isinstance(value, str) or value == 0:
        return 0
    guess = abs(value.numerator).bit_length() - value.denominator.bit_length()
    return guess if abs(value) < Fraction(2) ** guess else guess + 1


@pytest.fixture(scope="module")
def results() -> dict[str, Words]:
    inputs = {text: case[0] for text, case in INTS.items()}
    inputs |= {text: case[0] for text, case in FLOATS.items()}
    return _run("gfx942", inputs)


@pytest.fixture(scope="module")
def gfx950_results() -> dict[str, Words]:
    return _run("gfx950", {text: case[0] for text, case in GFX950_FLOATS.items()})


def _run(target: str, inputs: dict[str, Words]) -> dict[str, Words]:
    operations = [Operation(text) for text in inputs]
    outputs = run_operations(target, operations, list(inputs.values()))
    return dict(zip(inputs, outputs, strict=True))


@pytest.mark.parametrize("text", INTS)
def test_integer_conversion_is_exact(results: dict[str, Words], text: str) -> None:
    inputs, formula = INTS[text]
    got = results[text][:, 0].tolist()
    for a, b, result in zip(wide(inputs, 0), wide(inputs, 2), got, strict=True):
        wanted = formula(a, b) & 0xFFFFFFFF
        same = result == wanted or ("pkrtz" in text and _same_halves(result, wanted))
        assert same, f"{text}: {a:#x}, {b:#x}: {result:#x}, not {wanted:#x}"


def _same_halves(got: int, wanted: int) -> bool:
    halves = [(got >> shift & 0xFFFF, wanted >> shift & 0xFFFF) for shift in (0, 16)]
    return all(a == b or (F16.is_nan(a) and F16.is_nan(b)) for a, b in halves)


@pytest.mark.parametrize("text", FLOATS)
def test_float_conversion_is_correctly_rounded(results: dict[str, Words], text: str) -> None:
    _compare(text, *FLOATS[text], results[text])


@pytest.mark.parametrize("text", GFX950_FLOATS)
def test_gfx950_float_conversion_is_correctly_rounded(
    gfx950_results: dict[str, Words], text: str
) -> None:
    _compare(text, *GFX950_FLOATS[text], gfx950_results[text])


def _compare(text: str, inputs: Words, source: Format, target: Format, output: Words) -> None:
    results = wide(output, 0)
    for a, result in zip(wide(inputs, 0), results, strict=True):
        bits = result & ((target.sign_bit << 1) - 1)
        wanted = convert(source, target, a)
        same = bits == wanted or (target.is_nan(bits) and target.is_nan(wanted))
        assert same, f"{text}: {a:#x}: {bits:#x}, not {wanted:#x}"


TURN = 2 * math.pi
# Within this many units in the last place, for arguments where the result is an ordinary number.
APPROXIMATE: dict[str, tuple[Callable[[float], float], float]] = {
    "v_exp_f32": (lambda x: 2.0**x, 1.0),
    "v_log_f32": (math.log2, 1.0),
    "v_rsq_f32": (lambda x: 1 / math.sqrt(x), 1.0),
    "v_sqrt_f32": (math.sqrt, 1.0),
    "v_rcp_f32": (lambda x: 1 / x, 1.0),
}


@pytest.mark.parametrize("name", APPROXIMATE)
def test_approximate_function_is_within_a_unit_in_the_last_place(name: str) -> None:
    function, units = APPROXIMATE[name]
    generator = np.random.default_rng(5)
    arguments = np.exp2(generator.uniform(-20, 6, 4096)).astype(np.float32)
    inputs = records((0,), random=len(arguments) - 1)
    inputs[:, 0] = arguments.view(np.uint32)

    (output,) = run_operations("gfx942", [Operation(f"{name} {{d}}, {{a}}")], [inputs])

    got = np.ascontiguousarray(output[:, 0]).view(np.float32)
    wanted = np.array([function(float(x)) for x in arguments])
    error = np.abs(got.astype(np.float64) - wanted) / np.spacing(np.abs(wanted).astype(np.float32))
    assert error.max() <= units


@pytest.mark.parametrize(("name", "function"), [("v_sin_f32", math.sin), ("v_cos_f32", math.cos)])
def test_sine_and_cosine_take_turns(name: str, function: Callable[[float], float]) -> None:
    arguments = np.random.default_rng(6).uniform(-256, 256, 1024).astype(np.float32)
    inputs = records((0,), random=len(arguments) - 1)
    inputs[:, 0] = arguments.view(np.uint32)

    (output,) = run_operations("gfx942", [Operation(f"{name} {{d}}, {{a}}")], [inputs])

    got = np.ascontiguousarray(output[:, 0]).view(np.float32)
    wanted = [function(float(Fraction(float(x)) % 1) * TURN) for x in arguments]
    assert np.abs(got - np.array(wanted)).max() < 2**-22


def test_special_arguments_of_approximate_functions() -> None:
    inf, nan = math.inf, math.nan
    arguments = [0.0, -0.0, inf, -inf, nan, -1.0, 1.0]
    wanted = {
        "v_exp_f32": [1, 1, inf, 0, nan, 0.5, 2],
        "v_log_f32": [-inf, -inf, inf, nan, nan, nan, 0],
        "v_rcp_f32": [inf, -inf, 0, 0, nan, -1, 1],
        "v_rsq_f32": [inf, -inf, 0, nan, nan, nan, 1],
        "v_sin_f32": [0, 0, nan, nan, nan, 0, 0],
        "v_cos_f32": [1, 1, nan, nan, nan, 1, 1],
    }
    inputs = records((0,), random=len(arguments) - 1)
    inputs[:, 0] = np.array(arguments, np.float32).view(np.uint32)
    operations = [Operation(f"{name} {{d}}, {{a}}") for name in wanted]

    outputs = run_operations("gfx942", operations, [inputs] * len(wanted))

    for (name, values), output in zip(wanted.items(), outputs, strict=True):
        got = np.ascontiguousarray(output[:, 0]).view(np.float32)
        np.testing.assert_allclose(got, values, atol=1e-6, err_msg=name)


def test_segments_of_two_over_pi_are_its_bits() -> None:
    # 2/pi to 300 bits, from a series.
    unit = 1 << 400
    two_over_pi = Fraction(2 * unit, _pi_times(unit))
    segments = [0, 1, 2, 3]
    inputs = records((0,), random=0)
    inputs[:, 1] = 0x3FF00000
    operations = [Operation(f"v_trig_preop_f64 {{dd}}, {{aa}}, {k}") for k in segments]

    outputs = run_operations("gfx942", operations, [inputs] * len(segments))

    total = sum((F64.finite(wide(output, 0)[0]) for output in outputs), start=Fraction(0))
    assert 0 <= two_over_pi - total < Fraction(1, 1 << (53 * len(segments)))


def _pi_times(unit: int) -> int:
    def arctan_of_inverse(x: int) -> int:
        power, total, n, sign = unit // x, 0, 1, 1
        while power:
            total += sign * (power // n)
            power, n, sign = power // (x * x), n + 2, -sign
        return total

    return 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))
