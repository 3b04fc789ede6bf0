"""How long the phases of some launches took, for the limits of a test: exact, each occurrence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ktrace_cli.code_object.names import display_name
from ktrace_cli.code_object.patterns import matches, spellings
from ktrace_cli.model import Columns, Kernel, Timeline
from ktrace_cli.pytest_plugin.requirements import Limit, Requirement
from ktrace_cli.units import counted, format_time
from ktrace_cli.wording import nearest

_PERCENT_BY_STATISTIC = {"p99": 99, "p95": 95, "p90": 90, "p50": 50}


@dataclass(frozen=True)
class Occurrences:
    """All of a phase in all launches of one kernel."""

    kernel: str
    phase: str
    ns: Columns
    """Nanoseconds or cycles, in no order."""
    wave: Columns
    """Row of Timeline.waves of each."""
    marks: int
    """Moments of this name, which take no time."""

    @property
    def name(self) -> str:
        """Name the kernel and the phase."""
        return f"{self.kernel}: `{self.phase}`"

    @property
    def count(self) -> int:
        """How often it was there."""
        return len(self.ns) + self.marks

    def statistic(self, name: str) -> float:
        """Return one of requirements.STATISTICS; percentiles are as in `ktrace summary`."""
        if name == "max":
            return int(self.ns.max())
        if name == "mean":
            return float(self.ns.mean())
        rank = -(-len(self.ns) * _PERCENT_BY_STATISTIC[name] // 100) - 1
        return int(np.partition(self.ns, rank)[rank])


def measure(timeline: Timeline) -> list[Occurrences]:
    """Return every phase of every kernel of a timeline."""
    parts = [(p.slices["event"], p.slices["ns"], p.slices["wave"]) for p in timeline.parts()]
    events = np.concatenate([np.zeros(0, np.int64), *(part[0] for part in parts)])
    ns = np.concatenate([np.zeros(0, np.int64), *(part[1] for part in parts)])
    wave = np.concatenate([np.zeros(0, np.int64), *(part[2] for part in parts)])
    marks = np.zeros(len(timeline.events), np.int64)
    for part in timeline.parts():
        marks += np.bincount(part.instants["event"], minlength=len(marks))
    rows_by_phase: dict[tuple[str, str], list[int]] = {}
    for row, event in enumerate(timeline.events):
        kernel = display_name(timeline.kernels[event.kernel].mangled)
        rows_by_phase.setdefault((kernel, event.name), []).append(row)
    found = []
    for (kernel, phase), rows in rows_by_phase.items():
        is_it = np.isin(events, rows)
        found.append(Occurrences(kernel, phase, ns[is_it], wave[is_it], int(marks[rows].sum())))
    return [each for each in found if each.count]


def unmet(timeline: Timeline, found: list[Occurrences], wanted: Requirement) -> list[str]:
    """Return in words which limits of a requirement were measured and are not met."""
    return [
        line
        for limit in wanted.limits
        for each in _chosen(timeline, found, limit.key, wanted.kernel)
        for line in _unmet(timeline, each, limit)
    ]


def unmeasured(timeline: Timeline, found: list[Occurrences], wanted: Requirement) -> list[str]:
    """Return in words which limits name nothing that takes time."""
    lines = []
    for limit in wanted.limits:
        chosen = _chosen(timeline, found, limit.key, wanted.kernel)
        if not chosen:
            lines.append(_never(timeline, found, limit, wanted.kernel))
        lines += [
            f"{each.name} is a mark and takes no time: it can only have a min_count"
            for each in chosen
            if limit.statistic != "min_count" and not len(each.ns)
        ]
    return lines


def _chosen(
    timeline: Timeline, found: list[Occurrences], key: str, kernel: str
) -> list[Occurrences]:
    """Return the phases that `PHASE` or `KERNEL:PHASE` means; the whole may be a phase's name."""
    kernels = _kernels(timeline, kernel)
    chosen = [each for each in found if each.phase == key and each.kernel in kernels]
    pattern, separator, phase = key.rpartition(":")
    if chosen or not separator or pattern.endswith(":"):
        return chosen
    kernels = _kernels(timeline, pattern)
    return [each for each in found if each.phase == phase and each.kernel in kernels]


def _kernels(timeline: Timeline, pattern: str) -> set[str]:
    return {display_name(k.mangled) for k in timeline.kernels if _matches(k, pattern)}


def _matches(kernel: Kernel, pattern: str) -> bool:
    names = spellings(kernel.mangled)
    return not pattern or pattern in names or matches(pattern, names)


def _never(timeline: Timeline, found: list[Occurrences], limit: Limit, kernel: str) -> str:
    launched = sorted(_kernels(timeline, ""))
    if kernel and not _kernels(timeline, kernel):
        return f"no launch of a kernel {kernel!r}; launched: {', '.join(launched)}"
    phases = sorted({each.phase for each in found})
    meant = nearest(limit.key.rpartition(":")[2], phases)
    hint = f"did you mean `{meant}`? " if meant else ""
    return (
        f"`{limit.key}` never occurred in {', '.join(launched)}: {hint}"
        f"phases there: {', '.join(phases) or 'none'}"
    )


def _unmet(timeline: Timeline, found: Occurrences, limit: Limit) -> list[str]:
    if limit.statistic == "min_count":
        if found.count >= limit.value:
            return []
        times = counted(found.count, "time")
        return [f"{found.name} occurred {times}, wanted {limit.value:,} or more"]
    if not len(found.ns):
        return []
    measured = found.statistic(limit.statistic)
    if measured <= limit.value:
        return []
    shown = _writer(timeline.unit, measured, limit.value)
    rest = ", ".join(
        f"{other} {format_time(found.statistic(other), timeline.unit)}"
        for other in ("p50", "max")
        if other != limit.statistic
    )
    return [
        f"{found.name}: {limit.statistic} {shown(measured)}, limit {shown(limit.value)}"
        f" ({counted(len(found.ns), 'time')}: {rest}); the longest {_place(timeline, found)}"
    ]


def _writer(unit: str, measured: float, limit: float) -> Callable[[float], str]:
    """Round as all of ktrace does, unless two numbers that differ would look the same."""
    if format_time(measured, unit) != format_time(limit, unit):
        return lambda time: format_time(time, unit)
    return lambda time: f"{time:,.10g} {unit}"


def _place(timeline: Timeline, found: Occurrences) -> str:
    wave = timeline.waves[found.wave[int(found.ns.argmax())]]
    dispatch = timeline.dispatches[wave["dispatch"]]
    block = ",".join(map(str, wave["block"].tolist()))
    return (
        f"in dispatch {dispatch['number']} (launch {dispatch['launch']}), "
        f"workgroup {block}, wave {wave['wave']}"
    )
