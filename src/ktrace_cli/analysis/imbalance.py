"""How evenly the time of a kernel is spread over hardware, workgroups and waves, and launches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ktrace_cli.analysis.places import WaveRef, describe_wave, number_rows
from ktrace_cli.model import Columns, Timeline
from ktrace_cli.timeline.segments import Ints, run_starts, run_stops
from ktrace_cli.trace_file.layout import DispatchFlag


@dataclass(frozen=True)
class Imbalance:
    """The slowest unit of one level, compared to the mean of all that have waves."""

    level: str
    """xcd, se, cu: the time of all of its waves, added up; workgroup: from its first wave's begin
    to its last wave's end; wave."""
    units: int
    mean_ns: float
    max_ns: int
    ratio: float
    """`max_ns / mean_ns`; 0 if the mean is."""
    slowest: WaveRef
    """The wave that took longest in the slowest unit."""


@dataclass(frozen=True)
class Spread:
    """A time of each launch: its mean, and the longest."""

    mean_ns: float
    max_ns: int
    dispatch: int
    """Number of the launch in which it was longest."""
    share: float
    """Of the time of all launches."""


@dataclass(frozen=True)
class LaunchTimes:
    """How long the launches of a kernel took, from the first wave's begin to the last one's end."""

    count: int
    """Those that ended and have waves."""
    mean_ns: float
    cv: float | None
    """Standard deviation of the population as a part of the mean; None if that is 0."""
    min_ns: int
    max_ns: int
    slowest_dispatch: int
    first_dispatch: int
    first_ns: int
    first_ratio: float | None
    """`first_ns` to the median of the others; None without others."""


def find_imbalance(timeline: Timeline, rows: Ints) -> tuple[Imbalance, ...]:
    """Compare units of a kernel, from XCDs to waves.

    Args:
        timeline: what to look at.
        rows: Timeline.waves: those of the kernel that ended; at least one.
    """
    waves = timeline.waves[rows]
    device = timeline.dispatches["device"][waves["dispatch"]]
    hardware = [device, waves["xcc"], waves["se"], waves["cu"]]
    block = tuple(waves["block"][:, axis] for axis in range(3))
    duration = waves["end_ns"] - waves["begin_ns"]
    found = []
    for level, columns in (("xcd", 2), ("se", 3), ("cu", 4)):
        _, number = number_rows(tuple(hardware[:columns]))
        total = np.bincount(number, duration).astype(np.int64)
        found.append(_compare(timeline, rows, level, number, total))
    _, number = number_rows((waves["dispatch"], *block))
    begin = np.full(int(number.max()) + 1, np.iinfo(np.int64).max)
    end = np.full(len(begin), np.iinfo(np.int64).min)
    np.minimum.at(begin, number, waves["begin_ns"])
    np.maximum.at(end, number, waves["end_ns"])
    found.append(_compare(timeline, rows, "workgroup", number, end - begin))
    found.append(_compare(timeline, rows, "wave", np.arange(len(rows)), duration))
    return tuple(found)


def find_spreads(timeline: Timeline, rows: Ints) -> tuple[Spread, Spread] | None:
    """Return how far apart the waves of a launch begin, and its tail: last end - median end.

    None where no launch has two waves.

    Args:
        timeline: what to look at.
        rows: Timeline.waves: those of a kernel that ended.
    """
    waves = timeline.waves[rows]
    waves = waves[np.lexsort((waves["end_ns"], waves["dispatch"]))]
    starts = run_starts(waves["dispatch"])
    stops = run_stops(starts, len(waves))
    several = stops - starts > 1
    if not several.any():
        return None
    begins, ends = np.ascontiguousarray(waves["begin_ns"]), waves["end_ns"]
    first = np.minimum.reduceat(begins, starts)
    skew = np.maximum.reduceat(begins, starts) - first
    tail = ends[stops - 1] - ends[(starts + stops - 1) // 2]
    number = timeline.dispatches["number"][waves["dispatch"][starts]][several]
    total = int((ends[stops - 1] - first)[several].sum())
    return _spread(skew[several], number, total), _spread(tail[several], number, total)


def find_launch_times(dispatches: Columns) -> LaunchTimes | None:
    """Compare the launches of a kernel; None if none ended."""
    is_whole = (dispatches["flags"] & DispatchFlag.UNFINISHED) == 0
    chosen = dispatches[is_whole & (dispatches["waves"] > 0)]
    if not len(chosen):
        return None
    times = chosen["end_ns"] - chosen["begin_ns"]
    mean, slowest = float(times.mean()), int(times.argmax())
    others = float(np.median(times[1:])) if len(times) > 1 else 0.0
    return LaunchTimes(
        count=len(times),
        mean_ns=round(mean, 3),
        cv=round(float(times.std()) / mean, 6) if mean else None,
        min_ns=int(times.min()),
        max_ns=int(times[slowest]),
        slowest_dispatch=int(chosen["number"][slowest]),
        first_dispatch=int(chosen["number"][0]),
        first_ns=int(times[0]),
        first_ratio=round(float(times[0]) / others, 6) if others else None,
    )


def _compare(timeline: Timeline, rows: Ints, level: str, number: Ints, time: Ints) -> Imbalance:
    mean, slowest = float(time.mean()), int(time.argmax())
    own = rows[number == slowest]
    waves = timeline.waves[own]
    longest = int(own[np.argmax(waves["end_ns"] - waves["begin_ns"])])
    return Imbalance(
        level=level,
        units=len(time),
        mean_ns=round(mean, 3),
        max_ns=int(time[slowest]),
        ratio=round(float(time[slowest]) / mean, 6) if mean else 0.0,
        slowest=describe_wave(timeline, longest),
    )


def _spread(ns: Ints, number: Columns, total: int) -> Spread:
    longest = int(ns.argmax())
    return Spread(
        mean_ns=round(float(ns.mean()), 3),
        max_ns=int(ns[longest]),
        dispatch=int(number[longest]),
        share=round(int(ns.sum()) / total, 6) if total else 0.0,
    )
