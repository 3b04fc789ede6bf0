"""Quantization by formulas: tables, codes and blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

NF4 = np.array(
    [
        *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453),
        *(-0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0),
        *(0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224),
        *(0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
    ],
    np.float32,
)
_FP4 = np.array([0, 0.0625, 8, 12, 4, 6, 2, 3]) / 12
TABLES = {"nf4": NF4, "fp4": np.concatenate([_FP4, -_FP4]).astype(np.float32)}


def rounded(values: Array, kind: str) -> Array:
    """Round float32 values to the nearest of a type, ties to even."""
    if kind == "fp16":
        return values.astype(np.float16).astype(np.float32)
    if kind == "bf16":
        bits = values.astype(np.float32).view(np.uint32)
        bits = bits + 0x7FFF + ((bits >> 16) & 1)
        return (bits & 0xFFFF0000).astype(np.uint32).view(np.float32)
    return values


def nibbles(codes: Array, count: int) -> Array:
    flat = codes.reshape(-1)
    return np.stack([flat >> 4, flat & 15], 1).reshape(-1)[:count]


def per_block(absmax: Array, blocksize: int, count: int) -> Array:
    return np.repeat(absmax, blocksize)[:count]


def largest(x: Array, blocksize: int) -> Array:
    return np.array([np.abs(x[i : i + blocksize]).max() for i in range(0, len(x), blocksize)])


def is_nearest(x: Array, chosen: Array, table: Array) -> bool:
    """Is each chosen value as near as any of the table, but for the rounding of a quotient?"""
    best = np.abs(x[:, None] - table[None, :]).min(1)
    return bool((np.abs(x - chosen) <= best + 2e-7).all())
