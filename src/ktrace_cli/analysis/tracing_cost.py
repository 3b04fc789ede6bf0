"""What tracing itself costs the kernels of a summary: an estimate from a selftest of the target.

Events times what one costs, divided by how long it all took. A marker costs what else is going on
when it is executed, so there is a least and a largest cost, and a share from the one to the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ktrace_cli.analysis.phase_times import Phase
from ktrace_cli.analysis.results import NANOSECONDS, KernelSummary, Summary
from ktrace_cli.selftest_file.reading import check_target, read_selftest
from ktrace_cli.selftest_file.result import SelftestResult

_MARKER_OF_KIND = {"range": "range", "push": "push_pop", "start": "push_pop", "phase": "mark"}
"""What one slice was written by: a token's two events cost what a push and its pop do."""
_WORDS = {"range": 1, "push_pop": 2, "mark": 1}
_MARKERS = ("mark", "mark_payload", "push_pop", "range")


@dataclass(frozen=True)
class Between:
    """A least and a largest value."""

    low: float
    high: float

    def __mul__(self, factor: float) -> Between:
        return Between(self.low * factor, self.high * factor)

    def __add__(self, other: Between) -> Between:
        return Between(self.low + other.low, self.high + other.high)


@dataclass(frozen=True)
class PhaseCost:
    """What the markers of one phase cost, without those of phases that nest in it."""

    name: str
    kind: str
    lane: str
    count: int
    share: Between | None
    """Of the time of the phase; None if that is 0."""


@dataclass(frozen=True)
class KernelCost:
    """What all markers of a kernel cost."""

    mangled: str
    share: Between | None
    """Of the time of its waves; None if that is 0, or of a window only."""
    phases: tuple[PhaseCost, ...]


@dataclass(frozen=True)
class TracingCost:
    """What tracing costs, by a selftest."""

    selftest: SelftestResult
    cycles: dict[str, Between]
    """Of the core clock, by marker."""
    kernels: tuple[KernelCost, ...]

    def of(self, kernel: KernelSummary) -> KernelCost | None:
        """Return the cost of one kernel."""
        return next((cost for cost in self.kernels if cost.mangled == kernel.mangled), None)


def cite_selftest(summary: Summary, selftest: Path, recording: Path) -> Summary:
    """Put the estimate by the selftest in a file into a summary's quality.

    Raises:
        KtraceError: the file is no selftest's, or one of another target than the recording's.
    """
    result = read_selftest(selftest)
    devices = [(device.target, device.is_software) for device in summary.devices]
    check_target(result, selftest, devices, recording)
    cost = estimate(summary, result)
    return replace(summary, quality=replace(summary.quality, tracing_cost=cost))


def estimate(summary: Summary, result: SelftestResult) -> TracingCost:
    """Estimate the cost of all kernels. Markers that the selftest did not measure cost nothing."""
    cycles = {
        marker: Between(*found)
        for marker in _MARKERS
        if (found := result.cost_range(marker)) is not None
    }
    time_per_cycle = _time_per_cycle(summary, result)
    times = {marker: cost * time_per_cycle for marker, cost in cycles.items()}
    kernels = tuple(_kernel(kernel, times, summary) for kernel in summary.kernels)
    return TracingCost(result, cycles, kernels)


def _time_per_cycle(summary: Summary, result: SelftestResult) -> float:
    """Return a cycle's length in the summary's unit, at the recording's rate if it is known."""
    if summary.unit != NANOSECONDS:
        return 1.0
    rates = [fit.core_hz for fit in summary.clocks if fit.core_hz > 0]
    if rates:
        return 1e9 / (sum(rates) / len(rates))
    known = [cost.ns / cost.cycles for cost in result.costs if cost.cycles > 0]
    return known[0] if known else 0.0


def _kernel(kernel: KernelSummary, times: dict[str, Between], summary: Summary) -> KernelCost:
    nothing = Between(0.0, 0.0)
    total, words = nothing, 0
    phases = []
    for phase in kernel.phases:
        marker = _MARKER_OF_KIND.get(phase.kind, "mark")
        cost = times.get(marker, nothing) * phase.times.count
        total += cost
        words += _WORDS[marker] * phase.times.count
        phases.append(_phase(phase, cost))
    marks = sum(mark.count for mark in kernel.marks)
    payload = _payload(times) * max(kernel.words - words - marks, 0)
    total = total + times.get("mark", nothing) * marks + payload
    is_known = kernel.wave_ns > 0 and not summary.is_window
    share = total * (1 / kernel.wave_ns) if is_known else None
    return KernelCost(kernel.mangled, share, tuple(phases))


def _phase(phase: Phase, cost: Between) -> PhaseCost:
    time = phase.times.total_ns
    share = cost * (1 / time) if time > 0 else None
    return PhaseCost(phase.name, phase.kind, phase.lane, phase.times.count, share)


def _payload(times: dict[str, Between]) -> Between:
    """Return what a payload word adds: a mark that has one costs more than one without."""
    if "mark" not in times or "mark_payload" not in times:
        return Between(0.0, 0.0)
    plain, laden = times["mark"], times["mark_payload"]
    ends = (max(laden.low - plain.low, 0.0), max(laden.high - plain.high, 0.0))
    return Between(min(ends), max(ends))


def cost_document(cost: TracingCost | None) -> dict[str, Any] | None:
    """Return the estimate as a part of `ktrace summary --json`; None: not measured."""
    if cost is None:
        return None
    return {
        "is_estimate": True,
        "selftest": {
            "ktrace": cost.selftest.version,
            "date": cost.selftest.date,
            "target": cost.selftest.target,
            "modelled_time": cost.selftest.is_modelled,
        },
        "cycles": {marker: _document(between) for marker, between in cost.cycles.items()},
        "kernels": [
            {
                "mangled": kernel.mangled,
                "share": _document(kernel.share),
                "phases": [
                    {
                        "name": phase.name,
                        "kind": phase.kind,
                        "lane": phase.lane,
                        "count": phase.count,
                        "share": _document(phase.share),
                    }
                    for phase in kernel.phases
                ],
            }
            for kernel in cost.kernels
        ],
    }


def _document(between: Between | None) -> dict[str, float] | None:
    if between is None:
        return None
    return {"low": round(between.low, 6), "high": round(between.high, 6)}


def cost_sentences(cost: KernelCost, most: int = 3) -> Iterator[tuple[str, str, str]]:
    """Yield what to say of a kernel: text, the name of a phase or "", text.

    The phases are those of which tracing is the largest share.
    """
    if cost.share is not None:
        yield (
            f"tracing itself: an estimated {_percent(cost.share)} of the time of its waves",
            "",
            "",
        )
    known = [phase for phase in cost.phases if phase.share is not None]
    known.sort(key=lambda phase: -(phase.share.high if phase.share else 0.0))
    for phase in known[:most]:
        if phase.share is not None:
            yield f"{_percent(phase.share)} of ", phase.name, ", by its own markers"


def _percent(share: Between) -> str:
    low, high = (f"{100 * value:.2g}" for value in (share.low, share.high))
    return f"{low} %" if low == high else f"{low} to {high} %"
