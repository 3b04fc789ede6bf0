"""The wave of each kernel that took longest, and what it did: not a critical path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ktrace_cli.analysis.axis import union
from ktrace_cli.analysis.phases import PhaseTable
from ktrace_cli.analysis.places import WaveRef, describe_wave
from ktrace_cli.analysis.rows import Rows
from ktrace_cli.model import Timeline, WaveFlag
from ktrace_cli.timeline.segments import run_starts, run_stops


@dataclass(frozen=True)
class PhasePart:
    """What one phase takes of a wave."""

    name: str
    kind: str
    lane: str
    count: int
    total_ns: int
    self_ns: int
    """Without what nests directly inside."""
    share: float
    """`total_ns` of the wave's time."""


@dataclass(frozen=True)
class LongestWave:
    """The wave of a kernel that took longest, of those that ended."""

    place: WaveRef
    duration_ns: int
    outside_ns: int
    """Of `duration_ns`: in none of its own phases."""
    phases: tuple[PhasePart, ...]
    """Longest self time first."""


class LongestWaves:
    """Collects the slices of the longest wave of each kernel."""

    def __init__(self, timeline: Timeline, table: PhaseTable) -> None:
        self._timeline = timeline
        self._table = table
        self._found: dict[int, LongestWave] = {}
        self._row_by_kernel = _longest(timeline, table)
        self._kernel_by_row = {row: kernel for kernel, row in self._row_by_kernel.items()}
        self._rows = np.array(sorted(self._kernel_by_row), np.int64)

    def add(self, rows: Rows) -> None:
        """Add a part."""
        waves = rows.part.wave_rows
        if not len(waves):
            return
        first = np.searchsorted(self._rows, waves[0])
        stop = np.searchsorted(self._rows, waves[-1], "right")
        for row in self._rows[first:stop].tolist():
            a, b = np.searchsorted(rows.wave, [row, row + 1])
            self._found[self._kernel_by_row[row]] = self._describe(rows, row, slice(a, b))

    def wave(self, kernel: int) -> LongestWave | None:
        """Return the longest wave of a kernel; None if none ended."""
        return self._found.get(kernel)

    def _describe(self, rows: Rows, row: int, own: slice) -> LongestWave:
        wave = self._timeline.waves[row]
        duration = int(wave["end_ns"] - wave["begin_ns"])
        is_top = rows.is_own[own] & (rows.parent[own] < 0)
        # Ranges that are not properly nested may overlap.
        begin = rows.part.slices["begin_ns"][own][is_top]
        top = union(
            np.maximum(begin, wave["begin_ns"]),
            np.minimum(begin + rows.ns[own][is_top], wave["end_ns"]),
        )
        parts = self._parts(rows, own, duration)
        return LongestWave(
            place=describe_wave(self._timeline, row),
            duration_ns=duration,
            outside_ns=duration - int(top.length.sum()),
            phases=tuple(sorted(parts, key=lambda part: (-part.self_ns, part.name, part.kind))),
        )

    def _parts(self, rows: Rows, own: slice, duration: int) -> Iterator[PhasePart]:
        order = np.argsort(rows.phase[own], kind="stable")
        phase = rows.phase[own][order]
        starts = run_starts(phase)
        if not len(starts):
            return
        totals = np.add.reduceat(rows.ns[own][order], starts)
        selves = np.add.reduceat(rows.self_ns[own][order], starts)
        counts = run_stops(starts, len(phase)) - starts
        for at, count, total, self_ns in zip(
            phase[starts].tolist(), counts.tolist(), totals.tolist(), selves.tolist(), strict=True
        ):
            key = self._table.keys[at]
            yield PhasePart(
                name=key.name,
                kind=key.kind,
                lane=key.lane,
                count=count,
                total_ns=total,
                self_ns=self_ns,
                share=round(total / duration, 6) if duration else 0.0,
            )


def _longest(timeline: Timeline, table: PhaseTable) -> dict[int, int]:
    """Return the row of the longest wave of each kernel; the first one of equals."""
    waves = timeline.waves
    has_end = (waves["flags"] & (WaveFlag.TORN | WaveFlag.UNFINISHED)) == 0
    rows = np.flatnonzero(has_end)
    kernel = table.kernel_of_wave[rows]
    duration = waves["end_ns"][rows] - waves["begin_ns"][rows]
    order = np.lexsort((-duration, kernel))
    _, first = np.unique(kernel[order], return_index=True)
    return {int(kernel[order[at]]): int(rows[order[at]]) for at in first}
