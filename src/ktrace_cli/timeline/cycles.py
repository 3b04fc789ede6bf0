"""A timeline in cycles of the core clock: what `--unit cycles` shows. Knows no nanosecond.

Cycles of one clock (a device's XCC and SE, until it begins anew) count from its first wave's begin.
Different clocks are not aligned with each other, and the host's times are not known in cycles.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ktrace_cli.errors import UsageError
from ktrace_cli.model import Columns, Flags, Part, PartSource, Timeline, WaveFlag
from ktrace_cli.timeline.segments import Ints


def in_cycles(timeline: Timeline) -> Timeline:
    """Return the timeline with all `*_ns` columns in cycles.

    Raises:
        UsageError: it has no core clock.
    """
    if timeline.no_cycles:
        raise UsageError(
            "`--unit cycles` is not possible here",
            why=timeline.no_cycles,
            fix="leave it out: times are nanoseconds then",
        )
    if timeline.unit == "cycles":
        return timeline
    waves, dispatches = timeline.waves.copy(), timeline.dispatches.copy()
    zero = _zeros(timeline)
    for name in ("begin", "end"):
        waves[f"{name}_ns"] = waves[f"{name}_ticks"] - zero
    is_torn = (waves["flags"] & WaveFlag.TORN) != 0
    for name in ("begin_ns", "end_ns"):
        waves[name][is_torn] = 0
        dispatches[name] = 0
    for name in ("launched_ns", "completed_ns"):
        dispatches[name] = 0
    _set_dispatch_times(dispatches, waves[~is_torn])
    source = _InCycles(timeline.source, zero)
    return replace(
        timeline, dispatches=dispatches, waves=waves, source=source, zero_ns=0, unit="cycles"
    )


@dataclass(frozen=True)
class _InCycles:
    """A model.PartSource."""

    source: PartSource
    zero: Ints
    """Of each wave's clock, in ticks."""

    def __call__(self, wanted: Flags | None) -> Iterator[Part]:
        for part in self.source(wanted):
            slices, instants = part.slices.copy(), part.instants.copy()
            slices["begin_ns"] = slices["begin_ticks"] - self.zero[slices["wave"]]
            slices["ns"] = slices["ticks"]
            instants["ns"] = instants["ticks"] - self.zero[instants["wave"]]
            yield replace(part, slices=slices, instants=instants)


def _zeros(timeline: Timeline) -> Ints:
    """Return the first begin, in ticks, on the clock of each wave."""
    waves = timeline.waves
    device = timeline.dispatches["device"][waves["dispatch"]].astype(np.int64)
    clock = (device << 32) | (waves["xcc"].astype(np.int64) << 16) | waves["se"]
    _, inverse = np.unique(clock, return_inverse=True)
    first = np.full(int(inverse.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    is_timed = (waves["flags"] & WaveFlag.TORN) == 0
    np.minimum.at(first, inverse[is_timed], waves["begin_ticks"][is_timed])
    return np.asarray(first[inverse], np.int64)


def _set_dispatch_times(dispatches: Columns, waves: Columns) -> None:
    of = waves["dispatch"]
    seen = np.unique(of)
    begin = np.full(len(dispatches), np.iinfo(np.int64).max)
    end = np.zeros(len(dispatches), np.int64)
    np.minimum.at(begin, of, waves["begin_ns"])
    np.maximum.at(end, of, waves["end_ns"])
    dispatches["begin_ns"][seen], dispatches["end_ns"][seen] = begin[seen], end[seen]
