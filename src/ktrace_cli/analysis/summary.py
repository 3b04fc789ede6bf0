"""What a recording says about each kernel: one pass over its parts, in bounded memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ktrace_cli.analysis.axis import lay_out
from ktrace_cli.analysis.coverage import Coverage, Gaps
from ktrace_cli.analysis.grouping import Grouping, group_by
from ktrace_cli.analysis.imbalance import find_imbalance, find_launch_times, find_spreads
from ktrace_cli.analysis.longest import LongestWaves
from ktrace_cli.analysis.phase_times import Phase, PhaseTimes, UnitPhase
from ktrace_cli.analysis.phases import PhaseTable, list_phases
from ktrace_cli.analysis.quality import judge
from ktrace_cli.analysis.results import NANOSECONDS, KernelSummary, Mark, Request, Summary
from ktrace_cli.analysis.rows import Rows
from ktrace_cli.analysis.unfinished import Unfinished
from ktrace_cli.code_object.names import display_name
from ktrace_cli.model import Timeline, WaveFlag
from ktrace_cli.timeline.losses import count_filtered
from ktrace_cli.timeline.segments import Ints


class _Collector(Protocol):
    """Takes a timeline one part at a time."""

    def add(self, rows: Rows) -> None: ...


def summarize(timeline: Timeline, request: Request | None = None) -> Summary:
    """Find out all about every kernel that was dispatched.

    Raises:
        UsageError: there are too many units to tell about each.
    """
    request = request or Request()
    table = list_phases(timeline, request.waits)
    grouping = group_by(timeline, request.by) if request.by else None
    found = _collect(timeline, table, grouping)
    kernels = _kernels(timeline, table, grouping, found)
    is_closed = timeline.losses.not_closed == 0
    return Summary(
        kernels=tuple(sorted(kernels, key=lambda kernel: (-kernel.wave_ns, kernel.name))),
        launches=timeline.launches if is_closed else None,
        process=timeline.process,
        losses={name: int(count) for name, count in timeline.losses.counted().items()},
        devices=timeline.devices,
        clocks=timeline.clocks,
        unfinished=found.unfinished.dispatches(),
        unit=timeline.unit,
        request=request,
        is_window=timeline.is_window,
        unit_columns=grouping.columns if grouping else (),
        quality=judge(timeline, found.largest_error),
    )


@dataclass(frozen=True)
class _Collected:
    """What all parts together say."""

    phases: PhaseTimes
    by_unit: PhaseTimes | None
    coverage: Coverage
    longest: LongestWaves
    unfinished: Unfinished
    marks: Ints
    """How often each of Timeline.events is a mark."""

    @property
    def largest_error(self) -> float:
        """Of any percentile."""
        by_unit = self.by_unit.largest_error if self.by_unit else 0.0
        return max(self.phases.largest_error, self.coverage.largest_error, by_unit)


def _collect(timeline: Timeline, table: PhaseTable, grouping: Grouping | None) -> _Collected:
    found = _Collected(
        phases=PhaseTimes(timeline, table),
        by_unit=PhaseTimes(timeline, table, grouping) if grouping else None,
        coverage=Coverage(lay_out(timeline), table, len(timeline.kernels)),
        longest=LongestWaves(timeline, table),
        unfinished=Unfinished(timeline),
        marks=np.zeros(len(timeline.events), np.int64),
    )
    collectors: list[_Collector] = [found.phases, found.coverage, found.longest, found.unfinished]
    if found.by_unit:
        collectors.append(found.by_unit)
    for part in timeline.parts():
        rows = Rows(timeline, table, part)
        for collector in collectors:
            collector.add(rows)
        found.marks[:] += np.bincount(part.instants["event"], minlength=len(found.marks))
    return found


def _kernels(
    timeline: Timeline,
    table: PhaseTable,
    grouping: Grouping | None,
    found: _Collected,
) -> list[KernelSummary]:
    waves = timeline.waves
    duration = waves["end_ns"] - waves["begin_ns"]
    duration[(waves["flags"] & WaveFlag.TORN) != 0] = 0
    count = len(timeline.kernels)
    wave_ns = np.zeros(count, np.int64)
    np.add.at(wave_ns, table.kernel_of_wave, duration)
    phases = found.phases.phases(wave_ns)
    units = {}
    if found.by_unit and grouping:
        units = found.by_unit.by_unit(_unit_times(grouping, table, duration, count))
    gaps = found.coverage.gaps()
    marks = _marks(table, found.marks)
    rows = _rows_by_key(table.kernel_of_wave, count)
    dispatches = _rows_by_key(table.kernel_of_dispatch, count)
    return [
        _Kernel(timeline, key, rows[key], dispatches[key], found).summary(
            phases.get(key, ()), marks.get(key, ()), units.get(key, ()), gaps[key]
        )
        for key in np.unique(table.kernel_of_dispatch).tolist()
    ]


@dataclass(frozen=True)
class _Kernel:
    """One kernel, and all that was collected."""

    timeline: Timeline
    key: int
    rows: Ints
    """Timeline.waves."""
    dispatch_rows: Ints
    """Timeline.dispatches."""
    found: _Collected

    def summary(
        self,
        phases: tuple[Phase, ...],
        marks: tuple[Mark, ...],
        units: tuple[UnitPhase, ...],
        gaps: Gaps,
    ) -> KernelSummary:
        timeline, kernel = self.timeline, self.timeline.kernels[self.key]
        dispatches = timeline.dispatches[self.dispatch_rows]
        flags = timeline.waves["flags"][self.rows]
        timed = self.rows[(flags & WaveFlag.TORN) == 0]
        waves = timeline.waves[timed]
        is_ended = (waves["flags"] & WaveFlag.UNFINISHED) == 0
        ended = timed[is_ended]
        is_ns, is_window, found = timeline.unit == NANOSECONDS, timeline.is_window, self.found
        # Cycles of different clocks are not aligned: nothing can be said across a whole launch.
        spreads = find_spreads(timeline, ended) if is_ns else None
        return KernelSummary(
            name=display_name(kernel.mangled),
            signature=kernel.name,
            mangled=kernel.mangled,
            target=kernel.target,
            dispatches=len(dispatches),
            waves=len(waves),
            wave_ns=int((waves["end_ns"] - waves["begin_ns"]).sum()),
            unfinished_waves=len(waves) - len(ended),
            filtered_dispatches=count_filtered(dispatches),
            words=int(waves["words"].sum(dtype=np.int64)),
            side_words=int(waves["side_words"].sum(dtype=np.int64)),
            phases=phases,
            marks=marks,
            launch_times=find_launch_times(dispatches) if is_ns else None,
            imbalance=find_imbalance(timeline, ended) if len(ended) else (),
            wave_starts=spreads[0] if spreads else None,
            tail=spreads[1] if spreads else None,
            longest_wave=None if is_window else found.longest.wave(self.key),
            gaps=None if is_window else gaps,
            lanes=() if is_window else tuple(found.coverage.lanes(self.key)),
            units=units,
        )


def _marks(table: PhaseTable, counts: Ints) -> dict[int, tuple[Mark, ...]]:
    """Return the marks of each kernel, most frequent first.

    Args:
        table: all phases.
        counts: how often each of Timeline.events is a mark.
    """
    by_kernel: dict[int, Counter[str]] = {}
    for event in np.flatnonzero(counts).tolist():
        key = table.keys[table.of_event[event]]
        by_kernel.setdefault(key.kernel, Counter())[key.name] += int(counts[event])
    return {
        kernel: tuple(Mark(*each) for each in sorted(own.items(), key=lambda m: (-m[1], m[0])))
        for kernel, own in by_kernel.items()
    }


def _unit_times(grouping: Grouping, table: PhaseTable, duration: Ints, kernels: int) -> Ints:
    """Return the time of the waves of each kernel in each unit, shape (kernels, units)."""
    units = len(grouping.units)
    if grouping.of_wave is None:
        # A lane has no waves of its own: all of its kernel's have it.
        total = np.zeros((kernels, 1), np.int64)
        np.add.at(total[:, 0], table.kernel_of_wave, duration)
        return np.broadcast_to(total, (kernels, units))
    total = np.zeros((kernels, units), np.int64)
    np.add.at(total, (table.kernel_of_wave, grouping.of_wave), duration)
    return total


def _rows_by_key(keys: Ints, count: int) -> list[Ints]:
    """Return the rows that have each key below `count`."""
    order = np.argsort(keys, kind="stable")
    return np.split(order, np.searchsorted(keys[order], np.arange(1, count)))
