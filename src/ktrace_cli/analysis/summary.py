"""How long the phases of each kernel take: one pass over all slices."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ktrace_cli.analysis.unfinished import UnfinishedDispatch, find_unfinished
from ktrace_cli.code_object.names import display_name
from ktrace_cli.model import (
    ClockFit,
    Columns,
    Device,
    Kernel,
    Process,
    SliceFlag,
    Timeline,
    WaveFlag,
)
from ktrace_cli.timeline.losses import count_filtered
from ktrace_cli.timeline.segments import Ints, parents, run_starts, run_stops
from ktrace_cli.trace_file.layout import Kind

_NO_ROWS = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Phase:
    """All slices of a kernel that have one name, kind and lane. Times are whole nanoseconds.

    Those that were open in a dispatch that was still running are in `open` and nothing else.
    """

    name: str
    kind: str
    """range, push, start or phase: how it is marked in the source."""
    lane: str
    """As in the source, else a token's name; "" is the waves' own, where slices nest."""
    count: int
    total_ns: int
    share: float
    """Of the time of all waves of the kernel; above 1 where a wave's ranges overlap."""
    self_ns: int
    """Total without what nests directly inside on the same lane."""
    mean_ns: float
    min_ns: int
    p50_ns: int
    """Percentiles are times that occurred: the smallest that so many are not longer than."""
    p90_ns: int
    p99_ns: int
    max_ns: int
    zero_length: int
    """Of `count`: shorter than the clock can tell."""
    unclosed: int
    """Of `count`: without an end, shown up to the wave's last record."""
    open: int
    """Had not ended when their dispatch was recorded: nobody knows how long they last."""


@dataclass(frozen=True)
class Mark:
    """All moments of a kernel that have one name."""

    name: str
    count: int


@dataclass(frozen=True)
class KernelSummary:
    """What is known of all launches of one kernel."""

    name: str
    """Without return type and parameters."""
    signature: str
    mangled: str
    target: str
    dispatches: int
    waves: int
    """That were recorded and have a time."""
    wave_ns: int
    """Time of all waves, added up."""
    unfinished_waves: int
    """Of `waves`: had not ended; their time counts up to the last known one."""
    filtered_dispatches: int
    """Of `dispatches`: of which only some waves were wanted (--blocks, --waves, --xcc)."""
    words: int
    """That its waves recorded."""
    side_words: int
    """Of `words`: from partly active waves, in which an event costs more."""
    phases: tuple[Phase, ...]
    """Longest total first."""
    marks: tuple[Mark, ...]
    """Most frequent first."""


@dataclass(frozen=True)
class Summary:
    """Kernels in order of their wave time, longest first."""

    kernels: tuple[KernelSummary, ...]
    launches: int
    """Of any kernel, annotated or not; 0 if the recording was not closed."""
    process: Process | None
    losses: dict[str, int]
    devices: tuple[Device, ...]
    clocks: tuple[ClockFit, ...]
    unfinished: tuple[UnfinishedDispatch, ...]

    def to_json(self) -> dict[str, Any]:
        """Return what `summary --json` prints; docs/reference/cli-summary.md promises its keys."""
        devices = [_device_json(device, self.clocks) for device in self.devices]
        return {
            "kernels": [asdict(kernel) for kernel in self.kernels],
            "launches": self.launches,
            "process": asdict(self.process) if self.process else {},
            "losses": self.losses,
            "device": devices[0] if devices else {},
            "devices": devices,
            "unfinished": [asdict(dispatch) for dispatch in self.unfinished],
        }


def summarize(timeline: Timeline) -> Summary:
    """Add up every phase of every kernel that was dispatched."""
    keys = _kernel_keys(timeline)
    of_dispatch = keys[timeline.dispatches["kernel"]]
    of_wave = of_dispatch[timeline.waves["dispatch"]]
    has_time = (timeline.waves["flags"] & WaveFlag.TORN) == 0
    self_ns = _self_times(timeline.slices)
    slices_by_key = _rows_by_key(of_wave[timeline.slices["wave"]])
    instants_by_key = _rows_by_key(of_wave[timeline.instants["wave"]])
    kernels = []
    for key in np.unique(of_dispatch).tolist():
        slices = slices_by_key.get(key, _NO_ROWS)
        own = _Own(
            dispatches=timeline.dispatches[of_dispatch == key],
            waves=timeline.waves[(of_wave == key) & has_time],
            slices=timeline.slices.take(slices),
            self_ns=self_ns[slices],
            instants=timeline.instants[instants_by_key.get(key, _NO_ROWS)],
        )
        kernels.append(_summarize_kernel(timeline, timeline.kernels[key], own))
    kernels.sort(key=lambda kernel: (-kernel.wave_ns, kernel.name))
    return Summary(
        kernels=tuple(kernels),
        launches=timeline.launches,
        process=timeline.process,
        losses=timeline.losses.counted(),
        devices=timeline.devices,
        clocks=timeline.clocks,
        unfinished=find_unfinished(timeline),
    )


@dataclass(frozen=True)
class _Own:
    """The rows of a timeline that belong to one kernel."""

    dispatches: Columns
    waves: Columns
    slices: Columns
    self_ns: Ints
    instants: Columns


def _summarize_kernel(timeline: Timeline, kernel: Kernel, own: _Own) -> KernelSummary:
    total = int((own.waves["end_ns"] - own.waves["begin_ns"]).sum())
    return KernelSummary(
        name=display_name(kernel.mangled),
        signature=kernel.name,
        mangled=kernel.mangled,
        target=kernel.target,
        dispatches=len(own.dispatches),
        waves=len(own.waves),
        wave_ns=total,
        unfinished_waves=int(np.count_nonzero(own.waves["flags"] & WaveFlag.UNFINISHED)),
        filtered_dispatches=count_filtered(own.dispatches),
        words=int(own.waves["words"].sum(dtype=np.int64)),
        side_words=int(own.waves["side_words"].sum(dtype=np.int64)),
        phases=_phases(timeline, own.slices, own.self_ns, total),
        marks=_marks(timeline, own.instants),
    )


def _kernel_keys(timeline: Timeline) -> Ints:
    """Return for each kernel the first one of its name: one may come from many code objects."""
    first: dict[str, int] = {}
    keys = [first.setdefault(k.mangled, row) for row, k in enumerate(timeline.kernels)]
    return np.array(keys, np.int64)


def _rows_by_key(keys: Ints) -> dict[int, Ints]:
    order = np.argsort(keys, kind="stable")
    starts = run_starts(keys[order])
    stops = run_stops(starts, len(keys))
    return {int(keys[order[a]]): order[a:b] for a, b in zip(starts, stops, strict=True)}


def _self_times(slices: Columns) -> Ints:
    parent = parents(slices["depth"])
    has_parent = parent >= 0
    inside = np.zeros(len(slices), np.int64)
    np.add.at(inside, parent[has_parent], slices["ns"][has_parent])
    return np.asarray(slices["ns"] - inside, np.int64)


def _phases(timeline: Timeline, slices: Columns, self_ns: Ints, wave_ns: int) -> tuple[Phase, ...]:
    keys = {}
    for row, event in enumerate(timeline.events):
        lane = event.lane or (event.name if event.kind == Kind.START else "")
        keys[row] = (event.name, Kind(event.kind).name.lower(), lane)
    names = list(dict.fromkeys(keys.values()))
    number = {key: row for row, key in enumerate(names)}
    group = np.array([number[keys[row]] for row in keys], np.int64)[slices["event"]]
    order = np.lexsort((slices["ns"], group))
    slices, self_ns, group = slices.take(order), self_ns[order], group[order]
    starts = run_starts(group)
    phases = [
        _phase(names[group[a]], slices[a:b], self_ns[a:b], wave_ns)
        for a, b in zip(starts, run_stops(starts, len(group)), strict=True)
    ]
    return tuple(sorted(phases, key=lambda phase: (-phase.total_ns, phase.name, phase.kind)))


def _phase(key: tuple[str, str, str], slices: Columns, self_ns: Ints, wave_ns: int) -> Phase:
    """Sum up slices of one key, shortest first."""
    is_open = (slices["flags"] & SliceFlag.RUNNING) != 0
    slices, self_ns = slices[~is_open], self_ns[~is_open]
    ns = slices["ns"] if len(slices) else np.zeros(1, np.int64)
    count, total = len(slices), int(ns.sum())
    name, kind, lane = key
    return Phase(
        name=name,
        kind=kind,
        lane=lane,
        count=count,
        total_ns=total,
        share=round(total / wave_ns, 6) if wave_ns else 0.0,
        self_ns=int(self_ns.sum()),
        mean_ns=round(total / max(count, 1), 3),
        min_ns=int(ns[0]),
        p50_ns=_percentile(ns, 50),
        p90_ns=_percentile(ns, 90),
        p99_ns=_percentile(ns, 99),
        max_ns=int(ns[-1]),
        zero_length=int(np.count_nonzero(slices["ns"] == 0)),
        unclosed=int(np.count_nonzero(slices["flags"] & SliceFlag.UNCLOSED)),
        open=int(np.count_nonzero(is_open)),
    )


def _percentile(ascending: Ints, percent: int) -> int:
    return int(ascending[-(-len(ascending) * percent // 100) - 1])


def _marks(timeline: Timeline, instants: Columns) -> tuple[Mark, ...]:
    counts: dict[str, int] = {}
    rows, numbers = np.unique(instants["event"], return_counts=True)
    for row, number in zip(rows, numbers, strict=True):
        name = timeline.events[row].name
        counts[name] = counts.get(name, 0) + int(number)
    marks = [Mark(name, count) for name, count in counts.items()]
    return tuple(sorted(marks, key=lambda mark: (-mark.count, mark.name)))


def _device_json(device: Device, clocks: tuple[ClockFit, ...]) -> dict[str, Any]:
    fit = next((fit for fit in clocks if fit.device == device.device), None)
    return {
        "device": device.device,
        "target": device.target,
        "name": device.name,
        "modelled_time": device.is_software,
        "compute_units": device.compute_units,
        "xcc_count": device.xcc_count,
        "realtime_hz": device.realtime_hz,
        "core_hz": round(fit.core_hz) if fit else 0,
        "clock_method": fit.method if fit else "",
        "clock_residual_ns": round(fit.residual_ns, 3) if fit else 0.0,
        "clock_residual_ns_by_xcc": {
            str(xcc): round(ns, 3) for xcc, ns in (fit.residual_by_xcc if fit else ())
        },
    }
