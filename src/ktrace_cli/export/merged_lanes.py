"""Slices of other tools to lanes of their tracks: what overlaps gets a lane of its own, uncut."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.importers.host_trace import HostTrace, Kind
from ktrace_cli.timeline.lanes import first_fit
from ktrace_cli.timeline.segments import run_starts, run_stops

Ints = NDArray[np.int64]


def assign_lanes(trace: HostTrace) -> Ints:
    """Return for each slice the number of its lane on its track, from 0.

    Kernels and copies of a queue never nest. Calls of a thread do; one that outlasts the call that
    it began in goes to the next lane. Marks stay on lane 0.
    """
    slices = trace.slices
    lane = np.zeros(len(slices), np.int64)
    order = np.argsort(slices["track"], kind="stable")
    starts = run_starts(slices["track"][order])
    for start, stop in zip(starts, run_stops(starts, len(order)), strict=True):
        rows = order[start:stop]
        rows = rows[slices["kind"][rows] != Kind.MARK]
        begin, end = slices["begin_ns"][rows], slices["end_ns"][rows]
        kinds = slices["kind"][rows]
        if np.any((kinds == Kind.KERNEL) | (kinds == Kind.COPY)):
            lane[rows] = first_fit(np.zeros(len(rows), np.int64), begin, end)
        else:
            lane[rows] = _nested(begin, end)
    return lane


def _nested(begin: Ints, end: Ints) -> Ints:
    """Put each range on the first lane on which it nests; they are by begin, outer ones first."""
    lanes: list[int] = []
    stacks: list[list[int]] = []
    for first, last in zip(begin.tolist(), end.tolist(), strict=True):
        number = 0
        while True:
            if number == len(stacks):
                stacks.append([])
            stack = stacks[number]
            while stack and stack[-1] <= first:
                stack.pop()
            if not stack or last <= stack[-1]:
                break
            number += 1
        stack.append(last)
        lanes.append(number)
    return np.array(lanes, np.int64)
