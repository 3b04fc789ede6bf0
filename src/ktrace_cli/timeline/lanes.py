"""Lanes: what they are called, and which ones ranges take that must not overlap."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

import numpy as np

from ktrace_cli.model import Columns
from ktrace_cli.timeline.native import OVERLAP
from ktrace_cli.timeline.segments import Ints, run_numbers, run_starts, run_stops

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

    A lane is free from the end of its last range on. Rows are by group, then begin.
    """
    lane = np.zeros(len(group), np.int64)
    starts = run_starts(group)
    stops = run_stops(starts, len(group))
    overlapping = np.flatnonzero((begin[1:] < end[:-1]) & (group[1:] == group[:-1]))
    # Most groups need one lane.
    for number in np.unique(run_numbers(starts, len(group))[overlapping]):
        rows = slice(starts[number], stops[number])
        lane[rows] = _fit(begin[rows].tolist(), end[rows].tolist())
    return lane


def _fit(begins: list[int], ends: list[int]) -> list[int]:
    lanes: list[int] = []
    free: list[int] = []
    busy: list[tuple[int, int]] = []  # until when, and which lane
    for begin, end in zip(begins, ends, strict=True):
        while busy and busy[0][0] <= begin:
            heappush(free, heappop(busy)[1])
        lane = heappop(free) if free else len(busy)
        heappush(busy, (end, lane))
        lanes.append(lane)
    return lanes
