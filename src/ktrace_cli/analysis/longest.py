"""The wave of each kernel that took longest, and what it did: not a critical path."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ktrace_cli.analysis.phases import PhaseTable
from ktrace_cli.analysis.places import WaveRef, describe_wave
from ktrace_cli.analysis.rows import Rows
from ktrace_cli.model import Timeline, WaveFlag


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
        phase, ns = rows.phase[own], rows.ns[own]
        is_top = rows.is_own[own] & (rows.parent[own] < 0)
        parts = [
            self._part(key, phase == key, ns, rows.self_ns[own], duration)
            for key in np.unique(phase).tolist()
        ]
        return LongestWave(
            place=describe_wave(self._timeline, row),
            duration_ns=duration,
            outside_ns=max(duration - int(ns[is_top].sum()), 0),
            phases=tuple(sorted(parts, key=lambda part: (-part.self_ns, part.name, part.kind))),
        )

    def _part(
        self, key: int, chosen: np.ndarray, ns: np.ndarray, own: np.ndarray, duration: int
    ) -> PhasePart:
        of, total = self._table.keys[key], int(ns[chosen].sum())
        return PhasePart(
            name=of.name,
            kind=of.kind,
            lane=of.lane,
            count=int(np.count_nonzero(chosen)),
            total_ns=total,
            self_ns=int(own[chosen].sum()),
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
