"""Comparisons: every predicate of every type, NaN included, in both encodings and to EXEC."""

import itertools
import math
import operator
from collections.abc import Callable

import numpy as np
import pytest

from support.exact_float import F16, F32, F64, Format
from support.vector_kernel import LANES, Operation, Words, run_operations
from support.vector_values import EDGES_32, EDGES_F16, EDGES_F32, EDGES_F64, records

Value = float | int
INTEGER: dict[str, Callable[[Value, Value], bool]] = {
    "lt": operator.lt, "eq": operator.eq, "le": operator.le, "gt": operator.gt,
    "ne": operator.ne, "ge": operator.ge,
}  # fmt: skip
REAL: dict[str, Callable[[Value, Value], bool]] = {
    "f": lambda a, b: False,
    "lt": operator.lt,
    "eq": operator.eq,
    "le": operator.le,
    "gt": operator.gt,
    "lg": lambda a, b: a < b or a > b,
    "ge": operator.ge,
    "o": lambda a, b: not (math.isnan(a) or math.isnan(b)),
    "u": lambda a, b: math.isnan(a) or math.isnan(b),
    "nge": lambda a, b: not a >= b,
    "nlg": lambda a, b: not (a < b or a > b),
    "ngt": lambda a, b: not a > b,
    "nle": lambda a, b: not a <= b,
    "neq": operator.ne,
    "nlt": lambda a, b: not a < b,
    "tru": lambda a, b: True,
}
INTEGER_TYPES = ("i16", "u16", "i32", "u32", "i64", "u64")
FORMATS: dict[str, Format] = {"f16": F16, "f32": F32, "f64": F64}
EDGES = {
    "f16": EDGES_F16,
    "f32": EDGES_F32,
    "f64": EDGES_F64,
    "i64": (0, 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 1 << 32, 0xFFFFFFFF),
}
PREDICATES = [(p, t) for t in INTEGER_TYPES for p in INTEGER] + [
    (p, t) for t in FORMATS for p in REAL
]


def edges_of(kind: str) -> tuple[int, ...]:
    return EDGES["i64"] if kind.endswith("64") and kind[0] != "f" else EDGES.get(kind, EDGES_32)


def inputs_of(kind: str) -> Words:
    width = int(kind[1:])
    return records(edges_of(kind), width=width, random=64)


def text_of(predicate: str, kind: str) -> str:
    a, b = ("{aa}", "{bb}") if kind.endswith("64") else ("{a}", "{b}")
    return f"v_cmp_{predicate}_{kind} s[20:21], {a}, {b}"


def value_of(kind: str, bits: int) -> Value:
    width = int(kind[1:])
    bits &= (1 << width) - 1
    if kind in FORMATS:
        real = FORMATS[kind].value(bits)
        return float(real)
    return bits - (1 << width) if kind[0] == "i" and bits >> (width - 1) else bits


def operands(kind: str, inputs: Words) -> list[tuple[Value, Value]]:
    wide = inputs[:, 0::2].astype(np.uint64) | inputs[:, 1::2].astype(np.uint64) << np.uint64(32)
    return [(value_of(kind, a), value_of(kind, b)) for a, b, *_ in wide.tolist()]


def masks(output: Words) -> list[int]:
    """The mask in s[20:21], one per wave; it is the same in all lanes of one."""
    return [int(row[2]) | int(row[3]) << 32 for row in output[::LANES]]


def wanted_masks(truths: list[bool]) -> list[int]:
    full = truths + [truths[-1]] * (-len(truths) % LANES)
    waves = [full[start : start + LANES] for start in range(0, len(full), LANES)]
    return [sum(int(bit) << lane for lane, bit in enumerate(wave)) for wave in waves]


@pytest.fixture(scope="module")
def results() -> dict[tuple[str, str], Words]:
    operations = [Operation(text_of(*case)) for case in PREDICATES]
    inputs = [inputs_of(kind) for _, kind in PREDICATES]
    outputs = run_operations("gfx942", operations, inputs)
    return dict(zip(PREDICATES, outputs, strict=True))


@pytest.mark.parametrize(("predicate", "kind"), PREDICATES)
def test_comparison(results: dict[tuple[str, str], Words], predicate: str, kind: str) -> None:
    holds = (REAL if kind in FORMATS else INTEGER)[predicate]
    truths = [holds(a, b) for a, b in operands(kind, inputs_of(kind))]

    assert masks(results[predicate, kind]) == wanted_masks(truths)


CLASSES = 10


def class_of(number: Format, bits: int) -> int:
    bits &= (number.sign_bit << 1) - 1
    sign = bool(bits & number.sign_bit)
    magnitude = bits & (number.sign_bit - 1)
    exponent = magnitude >> number.fraction_bits
    if number.is_nan(bits):
        return 1 if magnitude >> (number.fraction_bits - 1) & 1 else 0
    if exponent == number.top_exponent:
        return 2 if sign else 9
    if exponent:
        return 3 if sign else 8
    return (4 if sign else 7) if magnitude else (5 if sign else 6)


@pytest.mark.parametrize("kind", FORMATS)
def test_class_comparison_knows_every_class(kind: str) -> None:
    number = FORMATS[kind]
    a = "{aa}" if kind == "f64" else "{a}"
    inputs = records(edges_of(kind), width=number.width, random=256)
    asked = [1 << n for n in range(CLASSES)] + [0x3FF, 0]
    operations = [
        Operation(f"v_mov_b32 v20, {wanted}\n  v_cmp_class_{kind} s[20:21], {a}, v20")
        for wanted in asked
    ]

    outputs = run_operations("gfx942", operations, [inputs] * len(asked))

    wide = inputs[:, 0].astype(np.uint64) | inputs[:, 1].astype(np.uint64) << np.uint64(32)
    classes = [class_of(number, bits) for bits in wide.tolist()]
    for wanted, output in zip(asked, outputs, strict=True):
        assert masks(output) == wanted_masks([bool(wanted >> c & 1) for c in classes]), wanted


def test_short_form_and_cmpx_and_inactive_lanes() -> None:
    inputs = records(EDGES_32, random=0)
    switched_off = "s_mov_b32 exec_lo, 0xffff0f0f\n  s_mov_b32 exec_hi, 0x12345678\n  "
    operations = [
        Operation("v_cmp_lt_u32 vcc, {a}, {b}\n  s_mov_b64 {m}, vcc"),
        Operation("v_cmpx_lt_u32 vcc, {a}, {b}\n  s_mov_b64 {m}, exec"),
        Operation(switched_off + "v_cmp_lt_u32 {m}, {a}, {b}"),
        Operation(switched_off + "v_cmp_eq_u32 vcc, 1, {a}\n  s_mov_b64 {m}, vcc"),
    ]

    short, cmpx, partial, inline = run_operations("gfx942", operations, [inputs] * 4)

    less = wanted_masks([a < b for a, b in inputs[:, 0:3:2].tolist()])
    one = wanted_masks([a == 1 for a in inputs[:, 0].tolist()])
    active = 0x12345678_FFFF0F0F
    assert masks(short) == less
    assert masks(cmpx) == less
    assert masks(partial) == [mask & active for mask in less]
    assert masks(inline) == [mask & active for mask in one]


def test_carry_chains_and_conditional_moves() -> None:
    values = tuple(itertools.chain(EDGES_32[:6], EDGES_32[-6:]))
    inputs = records(values, random=64)
    vcc = 0xF0F0A5A5_5A5A0FF0
    set_vcc = f"s_mov_b32 vcc_lo, {vcc & 0xFFFFFFFF:#x}\n  s_mov_b32 vcc_hi, {vcc >> 32:#x}\n  "
    cases: dict[str, Callable[[int, int, int], int]] = {
        "v_add_co_u32 {d}, vcc, {a}, {b}": lambda a, b, bit: a + b,
        "v_sub_co_u32 {d}, vcc, {a}, {b}": lambda a, b, bit: a - b,
        "v_subrev_co_u32 {d}, vcc, {a}, {b}": lambda a, b, bit: b - a,
        "v_addc_co_u32 {d}, vcc, {a}, {b}, vcc": lambda a, b, bit: a + b + bit,
        "v_subb_co_u32 {d}, vcc, {a}, {b}, vcc": lambda a, b, bit: a - b - bit,
        "v_subbrev_co_u32 {d}, vcc, {a}, {b}, vcc": lambda a, b, bit: b - a - bit,
        "v_cndmask_b32 {d}, {a}, {b}, vcc": lambda a, b, bit: b if bit else a,
    }
    operations = [Operation(f"{set_vcc}{text}\n  s_mov_b64 {{m}}, vcc") for text in cases]

    outputs = run_operations("gfx942", operations, [inputs] * len(cases))

    for (text, formula), output in zip(cases.items(), outputs, strict=True):
        bits = [vcc >> (k % LANES) & 1 for k in range(len(inputs))]
        exact = [
            formula(a, b, bit) for (a, b), bit in zip(inputs[:, 0:3:2].tolist(), bits, strict=True)
        ]
        assert output[:, 0].tolist() == [value & 0xFFFFFFFF for value in exact], text
        if "cndmask" not in text:
            carries = [not 0 <= value <= 0xFFFFFFFF for value in exact]
            whole = len(inputs) // LANES
            assert masks(output)[:whole] == wanted_masks(carries)[:whole], text
