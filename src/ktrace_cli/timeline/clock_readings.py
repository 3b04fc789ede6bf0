"""Which of the waves' readings of both clocks can be believed.

A reading contradicts its wave or its neighbours where a core clock would have gone on by less than
a twentieth, or more than twenty times, of what its device's clocks usually do in that time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.model import Columns, Flags
from ktrace_cli.timeline.segments import Ints, run_starts, run_stops

Floats = NDArray[np.float64]

# From idle to boost a core clock changes its rate by ten.
MOST_RATES = 20
FASTEST = 100.0
"""Cycles per nanosecond: no core clock is faster."""
# Both readings of a pair are cut to whole ticks of the reference clock.
PAIR_TICKS = 2
# Readings of one moment are no further apart: two instructions, one behind the other.
_MOMENT_TICKS = 100
# A core clock of unknown rate that is this far behind an earlier reading has begun anew.
_RESTART = 1 << 21
_CHAINS = 8
# Longer times come from damage only; so sums of times stay within 64 bits.
_MOST_NS = float(1 << 61)


def whole_ns(values: Floats) -> Ints:
    """Round nanoseconds."""
    return np.rint(np.clip(values, -_MOST_NS, _MOST_NS)).astype(np.int64)


@dataclass(frozen=True)
class Readings:
    """Both clocks, wherever waves read them; equally long columns."""

    wave: Ints
    is_begin: Flags
    ticks: Ints
    """Of the core clock."""
    ns: Ints
    """Of the host's clock, by the reference clock."""

    def __len__(self) -> int:
        return len(self.wave)

    def __getitem__(self, rows: Ints | Flags) -> Readings:
        return Readings(self.wave[rows], self.is_begin[rows], self.ticks[rows], self.ns[rows])

    def since_begin(self, waves: int) -> tuple[Floats, Floats]:
        """Return cycles and nanoseconds of each reading since its wave's begin."""
        begin = np.zeros((2, waves), np.int64)
        own = self.wave[self.is_begin]
        begin[0, own], begin[1, own] = self.ticks[self.is_begin], self.ns[self.is_begin]
        cycles, length = self.ticks - begin[0][self.wave], self.ns - begin[1][self.wave]
        return cycles.astype(np.float64), length.astype(np.float64)


def find_contradicting(readings: Readings, waves: int, rate: Floats, slack_ns: Ints) -> Flags:
    """Tell which waves contradict themselves.

    Args:
        readings: with a begin of each of their waves.
        waves: how many there are at most.
        rate: cycles per nanosecond, for each reading; 0: not known.
        slack_ns: how exactly a time between two readings is known.
    """
    cycles, length = readings.since_begin(waves)
    inverse = np.divide(1, rate, out=np.zeros(len(rate)), where=rate > 0)
    usual = cycles * inverse
    is_wrong = (length < usual / MOST_RATES - slack_ns) | (length > usual * MOST_RATES + slack_ns)
    # Where no rate is known, a wave may still be shorter than a tick of the reference clock.
    is_wrong |= (rate == 0) & (cycles > FASTEST * (np.maximum(length, 0) + slack_ns))
    result = np.zeros(waves, np.bool_)
    result[readings.wave[is_wrong & ~readings.is_begin]] = True
    return result


def find_clocks(readings: Readings, place: Ints, rate: Floats, tick_ns: Ints) -> tuple[Ints, Flags]:
    """Tell the clocks of each place apart: one begins where a core clock jumped.

    Args:
        readings: by place, then time.
        place: where clocks may differ, for each reading.
        rate: cycles per nanosecond, for each reading; 0: not known.
        tick_ns: length of a tick of the reference clock, for each reading.

    Returns:
        The number of each reading's clock, and which readings are on none: another clock of their
        place, with more readings, ran meanwhile.
    """
    ticks, ns = readings.ticks, readings.ns
    least = np.where(rate > 0, rate * _MOMENT_TICKS * tick_ns, _RESTART)
    most = np.where(rate > 0, rate * MOST_RATES, np.inf)
    is_start = np.zeros(len(ticks), np.bool_)
    if len(ticks):
        cycles, length = np.diff(ticks), np.diff(ns)
        with np.errstate(invalid="ignore"):  # no time at an unknown rate: not a number, no limit
            is_start[1:] = (cycles < -least[1:]) | (cycles > most[1:] * length + least[1:])
        is_start[run_starts(place)] = True
    starts = np.flatnonzero(is_start)
    stops = run_stops(starts, len(ticks))
    runs = np.column_stack([place[starts], starts, stops - 1])
    number = _chain(readings, runs, np.column_stack([rate, least, most])[starts])
    clock = np.repeat(number, stops - starts)
    is_wrong = _find_minor(readings, place, clock)
    return clock, is_wrong


@dataclass
class _Chain:
    """A clock that was read: where it was last."""

    number: int
    ticks: int
    ns: int

    def misses(self, ticks: int, ns: int, limits: list[float]) -> float:
        """Return how far from its usual course the clock would have gone; infinite: too far."""
        rate, least, most = limits
        cycles, length = ticks - self.ticks, ns - self.ns
        if cycles < -least or (rate > 0 and cycles > most * length + least):
            return float("inf")
        return abs(cycles - rate * length)


def _chain(readings: Readings, runs: Ints, limits: Floats) -> Ints:
    """Number the clocks of runs of readings: each goes on with the run that fits it best.

    Args:
        readings: by place, then time.
        runs: place, first and last reading of each, shape (n, 3).
        limits: rate, and what clocks may go back and on by, shape (n, 3).
    """
    number = np.zeros(len(runs), np.int64)
    ends = [readings[runs[:, column]] for column in (1, 2)]
    times = [column.tolist() for end in ends for column in (end.ticks, end.ns)]
    chains: list[_Chain] = []
    before, count = None, 0
    for row, (place, limit, ticks, ns, last_ticks, last_ns) in enumerate(
        zip(runs[:, 0].tolist(), limits.tolist(), *times, strict=True)
    ):
        if place != before:
            chains, before = [], place
        misses = [chain.misses(ticks, ns, limit) for chain in chains]
        best = min(misses, default=float("inf"))
        if best < float("inf"):
            chain = chains.pop(misses.index(best))
        else:
            chain, count = _Chain(count, 0, 0), count + 1
        chain.ticks, chain.ns = last_ticks, last_ns
        chains = [*chains[1 - _CHAINS :], chain]
        number[row] = chain.number
    return number


def _find_minor(readings: Readings, place: Ints, clock: Ints) -> Flags:
    """Tell which readings are on clocks that ran while one with more readings ran."""
    clocks = int(clock.max(initial=-1)) + 1
    limits = np.iinfo(np.int64)
    size = np.bincount(clock, minlength=clocks)
    first, last = np.full(clocks, limits.max), np.full(clocks, limits.min)
    np.minimum.at(first, clock, readings.ns)
    np.maximum.at(last, clock, readings.ns)
    place_of = np.zeros(clocks, np.int64)
    place_of[clock] = place
    is_minor = np.zeros(clocks, np.bool_)
    for here in np.unique(place_of[1:][place_of[1:] == place_of[:-1]]):
        own = np.flatnonzero(place_of == here)
        own = own[np.argsort(-size[own], kind="stable")]
        for rank, major in enumerate(own[:_CHAINS]):
            if not is_minor[major]:
                rest = own[rank + 1 :]
                is_minor[rest] |= (first[rest] < last[major]) & (last[rest] > first[major])
    return np.asarray(is_minor[clock], np.bool_)


def place_of_waves(waves: Columns, device: Ints) -> Ints:
    """Return one number for each device, XCC and shader engine."""
    place: Ints = (device << 32) | (waves["xcc"].astype(np.int64) << 16) | waves["se"]
    return place
