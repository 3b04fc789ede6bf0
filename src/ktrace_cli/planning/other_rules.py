"""Rules on recordings, counters and resources: each a function from evidence to matches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ktrace_cli.kernel_code.occupancy import Need
from ktrace_cli.kernel_code.occupancy_words import need_words
from ktrace_cli.planning.findings import KernelEvidence, Match, Priority, priority_of
from ktrace_cli.units import counted, format_duration

_IN_REACH: Final = 0.25  # of what is used: more is another kernel
_WAITING: Final = 0.3  # of the cycles: below that more waves have little to hide
_TAIL: Final = 0.05  # of the time of all launches
_UNEVEN: Final = 1.1  # times the mean
_UNEVEN_WORKGROUP: Final = 1.5


def occupancy_step(evidence: KernelEvidence) -> Iterator[Match]:
    """A step of occupancy for which little must be freed."""
    stalls = evidence.stalls
    code = evidence.code or evidence.traced  # markers need registers of their own
    step = stalls.next_step if stalls else code.step if code else None
    if step is None or not step.needs:
        return
    if any(used - most > _IN_REACH * used for _, used, most in step.needs):
        return
    needs = " and ".join(need_words(Need(*need)) for need in step.needs)
    waiting, words = 0.0, f"{step.origin}; how much its waves wait is not known"
    if stalls is not None:
        waiting = stalls.stall / stalls.latency if stalls.latency else 0.0
        words = f"waves stall for {100 * waiting:.1f} % of the traced cycles"
    unknown = f"; not known: {', '.join(step.unknown)}" if step.unknown else ""
    yield Match(
        where="",
        evidence=f"{step.waves} instead of {step.now} waves per SIMD need {needs};"
        f" {words}{unknown}",
        priority=Priority.MED if waiting >= _WAITING else Priority.LOW,
        gain=f"up to {step.waves / step.now:.2f} times as many waves to hide stalls behind: none"
        " if they all wait for the same unit",
        weight=0.0,
    )


def tail(evidence: KernelEvidence) -> Iterator[Match]:
    """Launches whose last waves end long after most of them."""
    summary = evidence.summary
    if summary is None or summary.tail is None or summary.tail.share < _TAIL:
        return
    found = summary.tail
    yield Match(
        where="",
        evidence=f"from the median wave's end to the last one's {format_duration(found.mean_ns)} on"
        f" the average, {100 * found.share:.1f} % of the time of"
        f" {counted(summary.dispatches, 'launch', 'launches')}",
        priority=priority_of(found.share),
        gain=f"at most {100 * found.share:.1f} % of the launches' time, if all waves ended at once",
        weight=found.share,
    )


def slow_xcd(evidence: KernelEvidence) -> Iterator[Match]:
    """An XCD whose waves take longer than those of others."""
    yield from _uneven(evidence, "xcd", "XCDs", _UNEVEN)


def uneven_workgroups(evidence: KernelEvidence) -> Iterator[Match]:
    """Workgroups that take longer than others."""
    yield from _uneven(evidence, "workgroup", "workgroups", _UNEVEN_WORKGROUP)


def _uneven(evidence: KernelEvidence, level: str, units: str, least: float) -> Iterator[Match]:
    summary = evidence.summary
    found = (
        next((one for one in summary.imbalance if one.level == level), None) if summary else None
    )
    if summary is None or found is None or found.units < 2 or found.ratio < least:
        return
    share = 1 - 1 / found.ratio
    yield Match(
        where="",
        evidence=f"the slowest of {found.units} {units} takes {found.ratio:.2f} times the mean:"
        f" {format_duration(found.max_ns)} to {format_duration(found.mean_ns)}",
        priority=priority_of(share),
        gain=f"at most {100 * share:.1f} % of what the slowest takes, if all took the mean",
        weight=share,
    )


def memory(evidence: KernelEvidence) -> Iterator[Match]:
    """Verdicts on counters that something is wrong."""
    counters = evidence.counters
    for verdict in counters["verdicts"] if counters else ():
        if not verdict["is_good"]:
            yield Match(
                where="",
                evidence=f"{verdict['reason']}: {verdict['text']} ({verdict['source']})",
                priority=Priority.MED,
                gain="",
                weight=0.0,
            )
