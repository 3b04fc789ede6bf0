"""A recording to a profile: one pass over its parts, in bounded memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ktrace_cli.analysis.compare.profile import (
    LAUNCH_TIME,
    WAVE_TIME,
    DeviceProfile,
    Floats,
    KernelProfile,
    PhaseId,
    PhaseProfile,
    RunProfile,
    Shape,
)
from ktrace_cli.analysis.compare.tables import EventTable, list_tables
from ktrace_cli.analysis.compare.units import (
    Group,
    UnitTimes,
    make_units,
    rows_by_number,
    slices_of,
)
from ktrace_cli.analysis.grouping import By, Grouping
from ktrace_cli.analysis.phase_times import Phase, PhaseTimes
from ktrace_cli.analysis.phases import PhaseTable, list_phases
from ktrace_cli.analysis.results import NANOSECONDS
from ktrace_cli.analysis.rows import Rows
from ktrace_cli.code_object.names import display_name
from ktrace_cli.model import Timeline, WaveFlag
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.trace_file.layout import DispatchFlag
from ktrace_cli.trace_file.recording import Recording

_USUAL_HZ = 100_000_000
"""Of reference clocks, where a device does not tell."""


def measure(recording: Recording, timeline: Timeline) -> RunProfile:
    """Keep of a recording what comparisons need.

    Args:
        recording: where its kernels' code is.
        timeline: the same recording, or what is selected of it; its times may be cycles.
    """
    return RunProfile(
        name=recording.path.name,
        unit=timeline.unit,
        tick=_tick(timeline),
        devices=tuple(
            DeviceProfile(device.target, device.name, device.compute_units, device.is_software)
            for device in timeline.devices
            if device.device in timeline.dispatches["device"]
        ),
        losses={name: int(count) for name, count in timeline.losses.counted().items()},
        kernels=_kernels(recording, timeline),
    )


def _tick(timeline: Timeline) -> float:
    """Return how long a tick of the slowest reference clock is, in the timeline's unit."""
    used = set(timeline.dispatches["device"].tolist())
    rates = [d.realtime_hz or _USUAL_HZ for d in timeline.devices if d.device in used]
    tick_ns = 1e9 / min(rates, default=_USUAL_HZ)
    if timeline.unit == NANOSECONDS:
        return tick_ns
    return tick_ns * max((fit.core_hz for fit in timeline.clocks), default=0.0) / 1e9


def _kernels(recording: Recording, timeline: Timeline) -> tuple[KernelProfile, ...]:
    table = list_phases(timeline)
    groups = _groups(timeline, table)
    of_kernel, column_of_key = _columns(table, len(timeline.kernels))
    # The first column is the wave's own time.
    columns = [len(of_kernel[group.kernel]) + 1 for group in groups]
    units = make_units(timeline, groups, columns)
    phases = PhaseTimes(timeline, table, _grouping(timeline, groups))
    for part in timeline.parts():
        rows = Rows(timeline, table, part)
        phases.add(rows)
        wave, key, ns = slices_of(rows)
        for level in units.values():
            level.add(wave, column_of_key.take(key), ns)
    duration = timeline.waves["end_ns"] - timeline.waves["begin_ns"]
    every_wave = np.arange(len(duration))
    for level in units.values():
        level.add(every_wave, np.zeros_like(every_wave), duration)
    collected = _Collected(timeline, table, units, of_kernel, _phases(phases, timeline, groups))
    tables = list_tables(recording, timeline, table)
    waves = _waves(timeline, groups)
    return tuple(
        collected.kernel(number, group, tables[group.kernel], waves[number])
        for number, group in enumerate(groups)
    )


def _phases(times: PhaseTimes, timeline: Timeline, groups: list[Group]) -> list[list[Phase]]:
    """Return the phases of each group."""
    found: list[list[Phase]] = [[] for _ in groups]
    # Nobody asks for shares: all waves together take 1.
    no_shares = np.ones((len(timeline.kernels), len(groups)), np.int64)
    for rows in times.by_unit(no_shares).values():
        for row in rows:
            (number,) = row.unit
            assert isinstance(number, int)
            found[number].append(row.phase)
    return found


def _waves(timeline: Timeline, groups: list[Group]) -> list[Ints]:
    """Return the times of each group's waves."""
    waves = timeline.waves[(timeline.waves["flags"] & WaveFlag.TORN) == 0]
    ns = (waves["end_ns"] - waves["begin_ns"]).astype(np.int64)
    of_launch = _group_of_launch(timeline, groups)
    rows = rows_by_number(of_launch[waves["dispatch"]], len(groups))
    return [ns[own] for own in rows]


def _group_of_launch(timeline: Timeline, groups: list[Group]) -> Ints:
    of_launch = np.zeros(len(timeline.dispatches), np.int64)
    for number, group in enumerate(groups):
        of_launch[group.launches] = number
    return of_launch


def _groups(timeline: Timeline, table: PhaseTable) -> list[Group]:
    launches: dict[tuple[int, Shape], list[int]] = {}
    for row, kernel in enumerate(table.kernel_of_dispatch.tolist()):
        launches.setdefault((kernel, _shape(timeline, row)), []).append(row)
    return [Group(kernel, np.array(rows, np.int64)) for (kernel, _), rows in launches.items()]


def _shape(timeline: Timeline, row: int) -> Shape:
    dispatch = timeline.dispatches[row]
    grid, block = (tuple(dispatch[name].tolist()) for name in ("grid", "block"))
    return Shape(grid, block, bool(dispatch["flags"] & DispatchFlag.FILTERED))


def _columns(table: PhaseTable, kernels: int) -> tuple[list[list[int]], Ints]:
    """Return the rows of PhaseTable.keys of each kernel, and the column of each of these rows."""
    of_kernel: list[list[int]] = [[] for _ in range(kernels)]
    column = np.zeros(len(table.keys), np.int64)
    for row, key in enumerate(table.keys):
        of_kernel[key.kernel].append(row)
        column[row] = len(of_kernel[key.kernel])
    return of_kernel, column


def _grouping(timeline: Timeline, groups: list[Group]) -> Grouping:
    of_launch = _group_of_launch(timeline, groups)
    units = tuple((number,) for number in range(len(groups)))
    return Grouping(By.DISPATCH, ("group",), units, of_launch[timeline.waves["dispatch"]])


@dataclass(frozen=True)
class _Collected:
    """What all parts together say."""

    timeline: Timeline
    table: PhaseTable
    units: Mapping[str, UnitTimes]
    of_kernel: list[list[int]]
    """Rows of PhaseTable.keys."""
    phases: list[list[Phase]]
    """Of each group."""

    def kernel(self, number: int, group: Group, table: EventTable, waves: Ints) -> KernelProfile:
        kernel = self.timeline.kernels[group.kernel]
        found = {level: times.times(number) for level, times in self.units.items()}
        levels = [level for level, times in found.items() if len(times)]
        column = {
            PhaseId(key.name, key.kind, key.lane): place
            for place, row in enumerate(self.of_kernel[group.kernel], 1)
            for key in [self.table.keys[row]]
        }
        profiles = [_of_times(WAVE_TIME, waves, {level: found[level][:, 0] for level in levels})]
        if self.timeline.unit == NANOSECONDS:
            profiles.append(self._launch_profile(number, group))
        for phase in self.phases[number]:
            id_ = PhaseId(phase.name, phase.kind, phase.lane)
            values = {level: found[level][:, column[id_]] for level in levels}
            profiles.append(_profile(id_, phase, values))
        return KernelProfile(
            name=display_name(kernel.mangled),
            signature=kernel.name,
            target=kernel.target,
            shape=_shape(self.timeline, int(group.launches[0])),
            launches=len(group.launches),
            waves=len(waves),
            units={level: self.units[level].units(number).total for level in levels},
            sampled={level: len(found[level]) for level in levels},
            table=table,
            phases={profile.id: profile for profile in profiles},
        )

    def _launch_profile(self, number: int, group: Group) -> PhaseProfile:
        dispatches = self.timeline.dispatches
        ns = (dispatches["end_ns"] - dispatches["begin_ns"]).astype(np.int64)
        # Only launches that have waves have a time.
        timed = group.launches[dispatches["waves"][group.launches] > 0]
        sampled = ns[self.units["launch"].units(number).rows]
        return _of_times(LAUNCH_TIME, ns[timed], {"launch": sampled.astype(np.float64)})


def _of_times(id_: PhaseId, ns: Ints, values: dict[str, Floats]) -> PhaseProfile:
    total = int(ns.sum())
    median = float(np.median(ns)) if len(ns) else 0.0
    return PhaseProfile(id_, len(ns), total, total, median, values)


def _profile(id_: PhaseId, phase: Phase, values: dict[str, Floats]) -> PhaseProfile:
    times = phase.times
    median = times.percentile(50) if times.percentiles else times.mean_ns
    return PhaseProfile(id_, times.count, times.total_ns, times.self_ns, float(median), values)
