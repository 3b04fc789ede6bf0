"""Operations on columns that are cut into runs: one run per wave, stream or lane."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def join_rows(dtype: np.dtype[Any], parts: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """Return the rows of all parts; none give an empty table.

    numpy copies structs field by field, but bytes whole, which is five times as fast.
    """
    plain = np.dtype(f"V{dtype.itemsize}")
    return np.concatenate([np.zeros(0, plain), *(part.view(plain) for part in parts)]).view(dtype)


def run_starts(labels: NDArray[Any]) -> Ints:
    """Return the index of each run's first row; equal labels next to each other are one run."""
    if not len(labels):
        return np.zeros(0, np.int64)
    return np.flatnonzero(np.concatenate(([True], labels[1:] != labels[:-1]))).astype(np.int64)


def run_stops(starts: Ints, size: int) -> Ints:
    """Return the index behind each run's last row, of `size` rows."""
    return np.append(starts[1:], size) if len(starts) else starts


def run_numbers(starts: Ints, size: int) -> Ints:
    """Return the number of its run for each of `size` rows."""
    marks = np.zeros(size, np.int64)
    marks[starts] = 1
    return np.cumsum(marks) - 1


def bisect(values: Ints, low: Ints, high: Ints, wanted: Ints) -> Ints:
    """Return for each row the first i of low <= i < high with values[i] >= wanted, else high.

    Args:
        values: ascending within each [low, high).
        low: first index, one per wanted value.
        high: index after the last.
        wanted: what to look for.
    """
    low, high = low.copy(), high.copy()
    while np.any(open_ := low < high):
        middle = (low + high) >> 1
        is_below = open_ & (values[np.minimum(middle, len(values) - 1)] < wanted)
        low = np.where(is_below, middle + 1, low)
        high = np.where(open_ & ~is_below, middle, high)
    return low
