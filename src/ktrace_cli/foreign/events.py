"""What every format module hands over: the events of some waves, in the order they were written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ktrace_cli.model import Columns
from ktrace_cli.timeline.segments import Ints

EVENT = np.dtype(
    [
        ("ticks", "<i8"),
        ("bits", "<u8"),  # of its payload
        ("id", "<u4"),
        ("start", "<i4"),  # of a STOP: its START's number among the wave's events; NO_START
        ("kind", "u1"),  # layout.Kind: MARK, PUSH, POP, START or STOP
        ("type", "u1"),  # layout.ValueType of the payload, or NO_VALUE
    ],
    align=True,  # numpy reads unaligned fields one by one
)
NO_VALUE = 255
NO_START = -1
CLOCK_LIMIT = 1 << 58
"""A clock beyond it is no clock."""


@dataclass(frozen=True)
class EventBatch:
    """The events of some waves."""

    counts: Ints
    """How many each wave has, in the order asked for."""
    events: Columns
    """EVENT, by wave, then in order of writing; times never go back within a wave."""
    flags: Ints
    """model.WaveFlag of each wave, as far as its events tell."""
    losses: Counter[str] = field(default_factory=Counter)
    """What was repaired or left out; names are those of model.Losses."""

    @property
    def starts(self) -> Ints:
        """Row of each wave's first event."""
        return np.cumsum(self.counts) - self.counts


EventReader = Callable[[Ints], EventBatch]
"""Reads the events of the waves in these slots."""


def hold_clocks(ticks: Ints, counts: Ints) -> int:
    """Let no time go back within a wave, in place; return how many times contradicted others.

    What is too late becomes as late as what follows, or what is too early as early as what was
    before: whichever leaves the wave shorter, as a wrong time is likely to be far away.
    """
    is_no_clock = (ticks < 0) | (ticks >= CLOCK_LIMIT)
    changed = 0
    if np.any(is_no_clock):
        ticks[is_no_clock] = CLOCK_LIMIT - 1
        changed = int(np.count_nonzero(is_no_clock))
    ends = np.cumsum(counts)
    is_back = np.zeros(len(ticks) + 1, np.bool_)
    is_back[1:-1] = ticks[1:] < ticks[:-1]
    is_back[ends] = False  # there another wave begins
    for wave in np.unique(np.searchsorted(ends, np.flatnonzero(is_back), "right")).tolist():
        own = ticks[ends[wave] - counts[wave] : ends[wave]]
        held = np.maximum.accumulate(own)
        early = np.minimum.accumulate(own[::-1])[::-1]
        held = min(held, early, key=lambda times: _doubt(times, own))
        already = is_no_clock[ends[wave] - counts[wave] : ends[wave]]
        changed += int(np.count_nonzero((held != own) & ~already))
        own[:] = held
    return changed


def _doubt(times: Ints, before: Ints) -> tuple[int, int]:
    return int(times[-1]) - int(times[0]), int(np.count_nonzero(times != before))


def rows_of(first: Ints, counts: Ints) -> Ints:
    """Return `first[i], first[i] + 1, ...`, so many as `counts[i]`, for each i in turn."""
    total = int(counts.sum())
    begins = np.cumsum(counts) - counts
    return np.arange(total) - np.repeat(begins - first, counts)
