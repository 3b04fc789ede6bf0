"""What waves do at the same time: gaps between top-level phases, and lanes beside phases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ktrace_cli.analysis.axis import Axis, Intervals, join, shared, union_by
from ktrace_cli.analysis.durations import NO_TIMES, Durations, Times
from ktrace_cli.analysis.phases import PhaseTable
from ktrace_cli.analysis.rows import Rows
from ktrace_cli.timeline.segments import Ints, run_starts

_NOTHING = Intervals(np.zeros(0, np.int64), np.zeros(0, np.int64))


@dataclass(frozen=True)
class Gaps:
    """Time of a kernel's waves in which none of their own phases ran."""

    times: Times
    """Of the gaps between top-level phases that are longer than 0."""
    before_first_ns: int
    after_last_ns: int
    """A wave without any phase is all before its first."""


@dataclass(frozen=True)
class LaneUse:
    """What else went on in a wave while anything was in flight on one of its lanes.

    `in_flight_ns` is the sum of the four below it. Ranges that had not ended do not count.
    """

    lane: str
    ranges: int
    in_flight_ns: int
    """Several at the same time count once."""
    overlapped_ns: int
    """A phase of the wave's own ran, and no wait."""
    waiting_ns: int
    """A wait ran."""
    beside_ns: int
    """Only other lanes had something in flight."""
    exposed_ns: int
    """Nothing else ran."""


class Coverage:
    """Collects what the waves of each kernel do at the same time."""

    def __init__(self, axis: Axis, table: PhaseTable, kernels: int) -> None:
        self._axis = axis
        self._table = table
        self._gaps = Durations(kernels)
        self._edges = np.zeros((kernels, 2), np.int64)
        self._lanes = np.zeros((len(table.lanes), 5), np.int64)
        self._kernels = kernels
        self._rows_by_kernel: dict[int, list[int]] = {}
        for row in sorted(range(len(table.lanes)), key=table.lanes.__getitem__):
            self._rows_by_kernel.setdefault(table.lanes[row][0], []).append(row)

    @property
    def largest_error(self) -> float:
        """Of the percentiles of gaps."""
        return self._gaps.largest_error

    def add(self, rows: Rows) -> None:
        """Add a part."""
        own = self._intervals(rows, np.flatnonzero(rows.is_own & (rows.parent < 0)))
        self._add_gaps(rows, own)
        lane, in_flight = self._in_flight(rows)
        if len(lane):
            self._add_lanes(lane, in_flight, own, self._waits(rows))

    def gaps(self) -> dict[int, Gaps]:
        """Return the gaps of each kernel that has waves."""
        times = dict(self._gaps.times())
        return {
            kernel: Gaps(times.get(kernel, NO_TIMES), int(before), int(after))
            for kernel, (before, after) in enumerate(self._edges.tolist())
        }

    def lanes(self, kernel: int) -> Iterator[LaneUse]:
        """Yield the lanes of a kernel that had anything in flight, in order of their names."""
        for row in self._rows_by_kernel.get(kernel, ()):
            ranges, in_flight, overlapped, waiting, beside = self._lanes[row].tolist()
            if ranges:
                exposed = in_flight - overlapped - waiting - beside
                name = self._table.lanes[row][1]
                yield LaneUse(name, ranges, in_flight, overlapped, waiting, beside, exposed)

    def _intervals(self, rows: Rows, at: Ints) -> Intervals:
        begin = rows.part.slices["begin_ns"].take(at)
        return self._axis.intervals(rows.wave.take(at), begin, rows.ns.take(at))

    def _in_flight(self, rows: Rows) -> tuple[Ints, Intervals]:
        """Return what is in flight, lane by lane, and count the ranges."""
        at = np.flatnonzero(~rows.is_own & ~rows.is_endless)
        lane = self._table.lane.take(rows.phase.take(at))
        self._lanes[:, 0] += np.bincount(lane, minlength=len(self._lanes))
        begin = rows.part.slices["begin_ns"].take(at)
        return union_by(lane, *self._axis.ends(rows.wave.take(at), begin, rows.ns.take(at)))

    def _waits(self, rows: Rows) -> Intervals:
        if not self._table.is_wait.any():
            return _NOTHING
        is_wait = self._table.is_wait.take(rows.phase) & rows.is_own
        return self._intervals(rows, np.flatnonzero(is_wait))

    def _add_gaps(self, rows: Rows, own: Intervals) -> None:
        wave = self._axis.wave(own.begin)
        is_same = wave[1:] == wave[:-1]
        gap = (own.begin[1:] - own.end[:-1])[is_same]
        self._gaps.add(self._table.kernel_of_wave[wave[1:][is_same]], gap, gap)
        waves = rows.part.wave_rows
        first = np.searchsorted(wave, waves, "left")
        stop = np.searchsorted(wave, waves, "right")
        duration, base = self._axis.duration[waves], self._axis.base[waves]
        before, after = duration.copy(), np.zeros(len(waves), np.int64)
        has = np.flatnonzero(stop > first)
        before[has] = own.begin[first[has]] - base[has]
        after[has] = base[has] + duration[has] - own.end[stop[has] - 1]
        kernel = self._table.kernel_of_wave[waves]
        self._edges[:, 0] += self._by_kernel(kernel, before)
        self._edges[:, 1] += self._by_kernel(kernel, after)

    def _add_lanes(
        self, lane: Ints, in_flight: Intervals, own: Intervals, waits: Intervals
    ) -> None:
        # While something is in flight on one lane, two lanes are busy where another one is.
        busy = join(own, shared(in_flight))
        covered, waiting = in_flight.within(own), in_flight.within(waits)
        beside = in_flight.within(busy) - covered
        starts = run_starts(lane)
        times = (in_flight.length, covered - waiting, waiting, beside)
        self._lanes[lane[starts], 1:] += np.column_stack(
            [np.add.reduceat(ns, starts) for ns in times]
        )

    def _by_kernel(self, kernel: Ints, ns: Ints) -> Ints:
        return np.bincount(kernel, ns, self._kernels).astype(np.int64)
