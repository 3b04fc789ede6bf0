"""Operations on columns that are cut into runs: one run per wave, stream or lane."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.model import Flags

Ints = NDArray[np.int64]

_FEW_LEVELS = 16


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


def run_sums(values: NDArray[Any], starts: Ints) -> Ints:
    """Return the running sum of `values`, which begins anew with each run."""
    if not len(values):
        return np.zeros(0, np.int64)
    total: Ints = np.cumsum(values, dtype=np.int64)
    before = total[starts] - values[starts]
    return np.asarray(total - np.repeat(before, np.diff(np.append(starts, len(values)))), np.int64)


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


def match_nested(is_open: Flags, is_close: Flags, starts: Ints) -> tuple[Ints, Flags]:
    """Match opening rows with the closing rows of the same run, innermost first.

    Args:
        is_open: rows that open a range.
        is_close: rows that close the innermost open range.
        starts: first row of each run.

    Returns:
        The closing row of each opening row, -1 where there is none; and which closing rows
        close nothing.
    """
    size = len(is_open)
    partner = np.full(size, -1, np.int64)
    if not size:
        return partner, np.zeros(0, np.bool_)
    step = is_open.astype(np.int64) - is_close
    balance = run_sums(step, starts)
    # The lowest balance so far, at most 0: every new low is a close without an open. Runs are
    # kept apart by shifting each below all values of the run before it.
    shift = run_numbers(starts, size) * np.int64(size + 1)
    lowest = np.minimum.accumulate(np.minimum(balance, 0) - shift) + shift
    is_stray = is_close & (balance == lowest) & (balance < _before(lowest, starts))
    level = balance - lowest + is_close
    is_row = (is_open | is_close) & ~is_stray
    for rows in _rows_by_level(level, is_row, starts):
        first, second = rows[:-1], rows[1:]
        is_pair = is_open[first] & is_close[second] & (shift[first] == shift[second])
        partner[first[is_pair]] = second[is_pair]
    return partner, is_stray


def _before(lowest: Ints, starts: Ints) -> Ints:
    previous = np.empty_like(lowest)
    previous[1:] = lowest[:-1]
    previous[starts] = 0
    return previous


def _rows_by_level(level: Ints, is_row: Flags, starts: Ints) -> list[Ints]:
    """Return lists of rows in which an open and its close are neighbours."""
    rows = np.flatnonzero(is_row).astype(np.int64)
    if not len(rows):
        return []
    deepest = int(level[rows].max())
    if deepest <= _FEW_LEVELS:
        return [rows[level[rows] == wanted] for wanted in range(1, deepest + 1)]
    number = run_numbers(starts, len(level))[rows]
    return [rows[np.argsort(number * np.int64(deepest + 1) + level[rows], kind="stable")]]


def parents(depth: NDArray[Any]) -> Ints:
    """Return the row of each row's parent, -1 at depth 0.

    Args:
        depth: of ranges in order of their begin, so that the parent of a range of depth d is the
            last range of depth d - 1 before it.
    """
    result = np.full(len(depth), -1, np.int64)
    if not len(depth):
        return result
    rows = np.arange(len(depth), dtype=np.int64)
    for level in range(1, int(depth.max()) + 1):
        here = np.flatnonzero(depth == level)
        above = np.flatnonzero(depth == level - 1)
        result[here] = above[np.searchsorted(above, rows[here]) - 1]
    return result
