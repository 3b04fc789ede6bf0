"""The kernels of corpus.hip with their arguments, and formats and layouts that numpy lacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from support.compile_kernel import Compiler, compilers_for
from support.hip import Launch, launch_kernels, library_path

Array = npt.NDArray[Any]

SOURCE = Path(__file__).with_name("corpus.hip").read_text()
RANDOM = np.random.default_rng(20)
EDGES = np.array([0, 1, 2, 31, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFE], np.uint32)
U32A = np.concatenate([EDGES, RANDOM.integers(0, 2**32, 56, dtype=np.uint32)])
U32B = np.concatenate([EDGES[::-1], RANDOM.integers(0, 2**32, 56, dtype=np.uint32)])
U32B[8:24] >>= RANDOM.integers(0, 31, 16, dtype=np.uint32)
U32C = RANDOM.integers(0, 2**20, 64, dtype=np.uint32)
F32A = np.concatenate([[0, -0.0, 1, -1.5, 2.5, np.inf, 1e-40, 3e38], RANDOM.normal(0, 50, 56)])
F32A = F32A.astype(np.float32)
F32B = np.concatenate([[2, 3, -0.5, 2.5, 1e-3, 7, 1e3, 10], RANDOM.normal(0, 9, 56)])
F32B = F32B.astype(np.float32)
F32C = RANDOM.normal(0, 5, 64).astype(np.float32)
F16A, F16B, F16C = (np.clip(x, -90, 90).astype(np.float16) for x in (F32A, F32B, F32C))
FINITE = np.where(np.isfinite(F32A) & (np.abs(F32A) < 1e9), F32A, np.float32(77.5))
FP8 = RANDOM.integers(0, 256, (2, 64, 8), dtype=np.uint8)
FP8_FINITE = FP8 & 0xBF | ((FP8 & 0xBF) == 0x80)  # below 2; 0x80 is no number on gfx942
BF16 = (RANDOM.normal(0, 1, (2, 64, 4)).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
F32M = RANDOM.normal(0, 1, (2, 64)).astype(np.float32)
F64M = RANDOM.normal(0, 1, (2, 64))


def rows(count: int, dtype: type = np.uint32) -> Array:
    return np.zeros((count, 64), dtype)


ARGUMENTS: dict[str, list[Any]] = {
    "integers": [U32A, U32B, rows(28)],
    "floats": [F32A, F32B, F32C, rows(24)],
    "halves": [F16A, F16B, F16C, rows(14)],
    "conversions": [FINITE, U32A, rows(21)],
    "float8": [FINITE / 4, FP8[0, :, :4].copy().view(np.uint32)[:, 0].copy(), rows(5)],
    "matrices_bf16": [*BF16, rows(20, np.float32)],
    "matrices_fp8": [*FP8_FINITE, rows(20, np.float32)],
    "matrices_f32": [*F32M, rows(20, np.float32)],
    "matrices_f64": [*F64M, rows(5, np.float64)],
    "places": [rows(2 * 40)],
    "votes": [U32A, rows(14)],
    "dots": [U32A, U32B, U32C, rows(6)],
    "dots_of_halves": [
        np.stack([F16A, F16B], 1),
        np.stack([F16B, F16C], 1),
        F32C,
        rows(1, np.float32),
    ],
    "buffers": [U32B.copy(), rows(8), np.int32(200)],
    "shared_vectors": [U32A, rows(8)],
    "generic": [U32A.copy(), rows(3)],
}
KERNELS = tuple(ARGUMENTS)
ALL = [compiler for target in ("gfx942", "gfx950") for compiler in compilers_for(target)]

_RAN: dict[tuple[str, str], dict[str, list[Array]]] = {}


def run(compiler: Compiler) -> dict[str, list[Array]]:
    library_path()
    key = (compiler.name, compiler.target)
    if key not in _RAN:
        code_object = compiler.hip(SOURCE)
        launches = [
            Launch(code_object, name, arguments, (40 if name == "places" else 1, 1, 1))
            for name, arguments in ARGUMENTS.items()
        ]
        outcome = launch_kernels(launches, compiler.target)
        assert outcome.statuses == [0] * len(launches), outcome.errors
        _RAN[key] = dict(zip(KERNELS, outcome.arrays, strict=True))
    return _RAN[key]


def same(found: Array, wanted: list[Array]) -> list[int]:
    """The rows that differ, bit by bit; NaNs are equal."""
    return [row for row, each in enumerate(wanted) if not equal(found[row], each)]


def equal(found: Array, wanted: Array) -> bool:
    if wanted.dtype.kind == "f":
        got = found.astype(np.uint16).view(np.float16) if wanted.itemsize == 2 else found.view("f4")
        both_nan = np.isnan(got) & np.isnan(wanted)
        bits = f"u{wanted.itemsize}"
        return bool((both_nan | (got.view(bits) == wanted.view(bits))).all())
    return bool((found == wanted.astype(np.uint32)).all())


def reversed_bits(x: Array, count: int) -> Array:
    return np.array([int(f"{int(v):0{count}b}"[::-1], 2) for v in x], np.uint64)


def packed(low: Array, high: Array) -> Array:
    return low.view(np.uint16).astype(np.uint32) | high.view(np.uint16).astype(np.uint32) << 16


def toward_zero(x: Array) -> Array:
    """Round float32 to float16 without leaving the side of zero."""
    with np.errstate(over="ignore"):
        half = x.astype(np.float16)
    too_far = np.abs(half.astype(np.float32)) > np.abs(x)
    return np.where(too_far, (half.view(np.uint16) - 1).view(np.float16), half)


def float8_table(exponent_bits: int, *, fnuz: bool) -> Array:
    """The value of every byte: OCP's formats, or the ones without negative zero and infinity."""
    mantissa_bits = 7 - exponent_bits
    bias = (1 << exponent_bits >> 1) - (0 if fnuz else 1)
    codes = np.arange(256)
    exponent = codes >> mantissa_bits & ((1 << exponent_bits) - 1)
    mantissa = codes & ((1 << mantissa_bits) - 1)
    scale = np.where(exponent == 0, 1, exponent) - bias - mantissa_bits
    value = np.ldexp(np.where(exponent == 0, mantissa, mantissa + (1 << mantissa_bits)), scale)
    value = np.where(codes & 128, -value, value)
    if fnuz:
        value[128] = np.nan
    elif exponent_bits == 4:
        value[[127, 255]] = np.nan
    else:
        value[[124, 252]] = [np.inf, -np.inf]
        value[[125, 126, 127, 253, 254, 255]] = np.nan
    return value.astype(np.float32)


def operands(values: Array, side: int) -> Array:
    """Lane l holds row l % side, and of it the columns from l // side times what a lane holds."""
    each = values.reshape(64, -1)
    return (
        each.reshape(64 // side, side, -1).transpose(1, 0, 2).reshape(side, -1).astype(np.float64)
    )


def results(out: Array, side: int) -> Array:
    """Put registers of lanes into the places of the result; rows in groups of four."""
    lane, register = np.meshgrid(np.arange(64), np.arange(len(out)))
    group = 8 if side == 32 else 16
    row = group * (register // 4) + 4 * (lane // side) + register % 4
    matrix = np.full((side, side), np.nan)
    matrix[row, lane % side] = out
    return matrix
