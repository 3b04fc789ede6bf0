"""What can be believed of the clocks of QuACK's warps, and where they place events."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ktrace_cli.foreign.events import CLOCK_LIMIT
from ktrace_cli.foreign.found import Lines
from ktrace_cli.model import Columns, Flags
from ktrace_cli.timeline.segments import Ints

_RANGE = 1 << 32
_MOST_NS = 1 << 61
_UNUSUAL = 8.0


@dataclass(frozen=True)
class State:
    """What can be believed of each warp's clocks."""

    is_torn: Flags
    """Not even its begin."""
    has_end: Flags
    ns: Columns
    """How long it ran, where it has an end."""
    clocks: Columns

    def of(self, rows: Ints) -> State:
        """Return that of some warps."""
        return State(self.is_torn[rows], self.has_end[rows], self.ns[rows], self.clocks[rows])


def judge(metas: Columns) -> State:
    """A warp whose cycle is eight times as long or short as usual has a wrong reading."""
    limits = (np.uint64(CLOCK_LIMIT), np.uint64(_MOST_NS))
    is_torn = (metas["init_clock"] >= limits[0]) | (metas["init_ns"] >= limits[1])
    has_end = ~is_torn & (metas["final_ns"] != 0)
    has_end &= (metas["final_clock"] < limits[0]) & (metas["final_ns"] < limits[1])
    has_end &= (metas["final_clock"] >= metas["init_clock"]) & (
        metas["final_ns"] >= metas["init_ns"]
    )
    ns = np.where(has_end, metas["final_ns"] - metas["init_ns"], 0).astype(np.float64)
    clocks = np.where(has_end, metas["final_clock"] - metas["init_clock"], 0).astype(np.float64)
    is_known = has_end & (ns > 0) & (clocks > 0)
    if is_known.any():
        rate = np.divide(ns, clocks, out=np.ones(len(metas)), where=is_known)
        usual = float(np.median(rate[is_known]))
        has_end &= ~is_known | ((rate < _UNUSUAL * usual) & (rate * _UNUSUAL > usual))
    return State(np.asarray(is_torn, np.bool_), np.asarray(has_end, np.bool_), ns, clocks)


def to_ticks(clock: Columns, counts: Ints, metas: Columns, state: State) -> tuple[Ints, int]:
    """Return 64-bit clocks, and how many warps ran so long that 32 bits do not tell them.

    Clocks count from the warp's begin. Of a long warp a step back is taken as one more turn; of
    one whose begin is lost, the last turn that its end allows.
    """
    wave = np.repeat(np.arange(len(counts)), counts)
    low = (metas["init_clock"] & np.uint64(_RANGE - 1)).astype(np.int64)
    since = (clock.astype(np.int64) - low[wave]) % _RANGE
    span = metas["final_clock"].astype(np.int64) - metas["init_clock"].astype(np.int64)
    is_long = (span >= _RANGE) & state.has_end & (counts > 0)
    ends = np.cumsum(counts)
    for row in np.flatnonzero(is_long).tolist():
        own = since[ends[row] - counts[row] : ends[row]]
        own[1:] += np.cumsum(np.diff(own) < 0) * _RANGE
        if int(metas["count"][row]) > counts[row]:
            own += max(int(span[row]) - int(own[-1]), 0) // _RANGE * _RANGE
    begin = np.where(state.is_torn, 0, metas["init_clock"].astype(np.int64))
    return begin[wave] + since, int(np.count_nonzero(is_long))


def fit_lines(metas: Columns, state: State) -> tuple[Lines, int, float]:
    """Return the line of each warp, how many have only one point, and the mean rate in hertz."""
    ns, clocks = state.ns, state.clocks
    is_known = state.has_end & (clocks > 0) & (ns > 0)
    total = float(clocks[is_known].sum())
    usual = float(ns[is_known].sum()) / total if total else 1.0
    slope = np.divide(ns, clocks, out=np.full(len(metas), usual), where=is_known)
    clock, begin = (
        np.where(state.is_torn, 0, metas[name].astype(np.int64))
        for name in ("init_clock", "init_ns")
    )
    lines = Lines(clock, begin, slope)
    uncalibrated = int(np.count_nonzero(~is_known & ~state.is_torn))
    return lines, uncalibrated, 1e9 / usual if total else 0.0
