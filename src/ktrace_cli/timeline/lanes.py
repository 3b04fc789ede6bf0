"""Lanes: what they are called, and which ones ranges take that must not overlap."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.model import Columns, Flags
from ktrace_cli.timeline.native import OVERLAP
from ktrace_cli.timeline.segments import Ints, bisect, run_starts, run_stops

_OVERLAP = "overlap"


def name_lanes(lanes: Columns, base_names: Sequence[str]) -> tuple[tuple[str, ...], Ints]:
    """Return the names of all lanes, those of one base next to each other, and each one's row.

    "" is a wave's own; then comes what crosses there; then the lanes that markers name. The second
    lane of `vmem` is `vmem 2`. A lane that the source names `overlap` is not the one where we put
    what crosses.

    Args:
        lanes: native.LANE, the first of them a wave's own.
        base_names: what the lanes of each base are called.
    """
    # The base of what crosses is the largest number: one more is 0, so that it comes first.
    order = np.lexsort((lanes["number"], lanes["base"] + np.uint32(1)))
    order = np.concatenate(([0], order[order != 0]))
    names = _Names()
    for base, number in lanes[order[1:]].tolist():
        names.add(_OVERLAP if base == OVERLAP else base_names[base], number)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return tuple(names.names), place


class _Names:
    """Names of which none is there twice."""

    def __init__(self) -> None:
        self.names = {"": None}
        self._next: dict[str, int] = {}

    def add(self, base: str, number: int) -> None:
        """Add lane `number` of those named `base`, under a later number if that is taken."""
        number = max(number, self._next.get(base, 0))
        while (name := f"{base} {number + 1}" if number else base) in self.names:
            number += 1
        self.names[name] = None
        self._next[base] = number + 1


def first_fit(group: Ints, begin: Ints, end: Ints) -> Ints:
    """Return for each range the first of its group's lanes that is free when it begins.

    Lane 0 takes a group's first range, the first one that begins after that has ended, and so on;
    lane 1 does the same with what is left. Rows are by group, then begin.
    """
    lane = np.zeros(len(group), np.int64)
    rows = np.arange(len(group))
    number = 0
    while len(rows):
        is_taken = _chain(group[rows], begin[rows], end[rows])
        lane[rows[is_taken]] = number
        rows = rows[~is_taken]
        number += 1
    return lane


def _chain(group: Ints, begin: Ints, end: Ints) -> Flags:
    """Mark each group's first range and, from each marked one, the next that begins after it."""
    size = len(group)
    starts = run_starts(group)
    stops = run_stops(starts, size)
    if np.all((begin[1:] >= end[:-1]) | (group[1:] != group[:-1])):
        return np.ones(size, np.bool_)
    stop = np.repeat(stops, stops - starts)
    after = bisect(begin, np.arange(1, size + 1), stop, end)
    after[after == stop] = size
    # Marks spread over 1, 2, 4, … steps of the chain; row `size` is where chains end.
    jump: NDArray[np.int64] = np.append(after, size)
    marks = np.zeros(size + 1, np.bool_)
    marks[starts] = True
    for _ in range(size.bit_length() + 1):
        marks[jump[marks]] = True
        if np.all(jump == size):
            break
        jump = jump[jump]
    return marks[:size]
