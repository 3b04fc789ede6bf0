"""Ranges to lanes: no two slices of a lane overlap without nesting, and none is cut or dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.model import Columns, Event, Flags
from ktrace_cli.timeline.segments import (
    Ints,
    bisect,
    parents,
    run_numbers,
    run_starts,
    run_stops,
)

OWN = 0
_OVERLAP = "overlap"


@dataclass
class LaneTable:
    """The names of lanes: "" is a wave's own; the second lane of `vmem` is `vmem 2`."""

    names: list[str] = field(default_factory=lambda: [""])
    _row_by_key: dict[tuple[str, bool, int], int] = field(default_factory=dict)

    def row(self, base: str, number: int, *, is_named: bool) -> int:
        """Return the lane `number`, from 0, of those named `base`; make it if there is none.

        A lane that the source names `overlap` is not the one where we put what crosses.
        """
        key = (base, is_named, number)
        if key not in self._row_by_key:
            self._row_by_key[key] = len(self.names)
            self.names.append(self._free_name(base, number))
        return self._row_by_key[key]

    def _free_name(self, base: str, number: int) -> str:
        name = f"{base} {number + 1}" if number else base
        while name in self.names:
            number += 1
            name = f"{base} {number + 1}"
        return name

    def sorted(self) -> tuple[tuple[str, ...], Ints]:
        """Return all names, those with one base next to each other, and the new row of each."""
        keys = {row: key for key, row in self._row_by_key.items()}
        first: dict[tuple[str, bool], int] = {}
        for row in range(1, len(self.names)):
            first.setdefault(keys[row][:2], row)
        order = sorted(range(1, len(self.names)), key=lambda r: (first[keys[r][:2]], keys[r][2]))
        order = [OWN, *order]
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        return tuple(self.names[row] for row in order), place


def assign_lanes(
    ranges: Columns, event: Ints, events: Sequence[Event], table: LaneTable
) -> tuple[Ints, Ints]:
    """Give each range a lane of `table`, and a depth on it.

    Args:
        ranges: pairing.RANGE, in any order.
        event: row of `events` for each range.
        events: Timeline.events.
        table: gets the lanes that it lacks.
    """
    lane = np.zeros(len(ranges), np.int64)
    depth = np.zeros(len(ranges), np.int64)
    is_own = ~ranges["is_token"] & ~np.array([bool(e.lane) for e in events], np.bool_)[event]
    nested = np.flatnonzero(is_own)
    nested = nested[np.argsort(ranges["begin_key"][nested], kind="stable")]
    begin, end = ranges["begin_key"][nested], ranges["end_key"][nested]
    depth[nested] = _depths(begin, end)
    for rows in _crossing_waves(nested, ranges["wave"][nested], end, depth[nested]):
        lane[rows], depth[rows] = _spread(ranges, rows, table)
    _assign_named_lanes(ranges, np.flatnonzero(~is_own), event, events, table, lane)
    return lane, depth


def _depths(begin: Ints, end: Ints) -> Ints:
    """Return how many ranges are open at each begin; they are in order of their begins."""
    return np.arange(len(begin)) - np.searchsorted(np.sort(end, kind="stable"), begin, "right")


def _crossing_waves(nested: Ints, wave: Ints, end: Ints, depth: Ints) -> list[Ints]:
    """Return the ranges of each wave in which a range outlasts the one that it began in."""
    parent = parents(depth)
    is_crossing = (parent >= 0) & (end > end[parent])
    starts = run_starts(wave)
    stops = run_stops(starts, len(wave))
    runs = np.unique(run_numbers(starts, len(wave))[is_crossing])
    return [nested[starts[run] : stops[run]] for run in runs]


def _spread(ranges: Columns, rows: Ints, table: LaneTable) -> tuple[Ints, Ints]:
    """Put each range on the first lane on which it nests."""
    stacks: list[list[int]] = []
    lane, depth = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
    for i, row in enumerate(rows):
        begin, end = int(ranges["begin_key"][row]), int(ranges["end_key"][row])
        number = 0
        while True:
            if number == len(stacks):
                stacks.append([])
            stack = stacks[number]
            while stack and stack[-1] <= begin:
                stack.pop()
            if not stack or end <= stack[-1]:
                break
            number += 1
        lane[i] = table.row(_OVERLAP, number - 1, is_named=False) if number else OWN
        depth[i] = len(stack)
        stack.append(end)
    return lane, depth


def _assign_named_lanes(
    ranges: Columns,
    rows: Ints,
    event: Ints,
    events: Sequence[Event],
    table: LaneTable,
    lane: Ints,
) -> None:
    """Give the ranges `rows` lanes named after their marker's lane, else after the marker itself.

    None of them nest: what begins while a lane is busy goes to the next one of that name.
    """
    if not len(rows):
        return
    base_names = list(dict.fromkeys(e.lane or e.name for e in events))
    row_by_name = {name: row for row, name in enumerate(base_names)}
    base_of_event = np.array([row_by_name[e.lane or e.name] for e in events], np.int64)
    base = base_of_event[event[rows]]
    order = np.lexsort((ranges["begin_key"][rows], base, ranges["wave"][rows]))
    rows, base = rows[order], base[order]
    wave = ranges["wave"][rows]
    # Equal cycles are no overlap: lanes are about time, not about the order of words.
    number = first_fit(
        wave * len(base_names) + base, ranges["begin_ticks"][rows], ranges["end_ticks"][rows]
    )
    pairs = base * (int(number.max()) + 1) + number
    for pair in np.unique(pairs):
        name, at = divmod(int(pair), int(number.max()) + 1)
        lane[rows[pairs == pair]] = table.row(base_names[name], at, is_named=True)


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
