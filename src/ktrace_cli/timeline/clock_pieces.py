"""Lines through the readings of core clocks. Believes them all.

A core clock is slow while nothing runs. So each busy interval of a clock has lines of its own, and
the idle time between two of them is a line from one to the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ktrace_cli.model import Flags
from ktrace_cli.timeline.clock_readings import (
    MOST_RATES,
    PAIR_TICKS,
    Floats,
    Readings,
    whole_ns,
)
from ktrace_cli.timeline.segments import Ints, run_numbers, run_starts, run_stops

# Readings are known to one tick of the reference clock, so pieces last a thousand of them.
_PIECE_TICKS = 1_000
# Shorter idle times are none.
_IDLE_TICKS = 100
# The place of a piece in its interval has 40 bits: at 10 us each, 127 days.
_PLACE_BITS = 40


@dataclass(frozen=True)
class Pieces:
    """Lines of clocks; those of one clock are neighbours, in order of time."""

    clock: Ints
    """Of each reading."""
    first_piece: Ints
    """Of each clock, and one more entry behind the last."""
    ticks: Ints
    ns: Ints
    slope: Floats
    """Nanoseconds per cycle."""


@dataclass(frozen=True)
class _Intervals:
    """Busy intervals, by clock, then time."""

    first: Ints
    """Row of the reading with the lowest ticks; the last one's is before the next interval's."""
    last: Ints
    cycle_ns: Floats
    """What a cycle usually takes; 0: not known."""
    has_usual_rate: Flags
    """Too short to tell another rate than the usual one."""


def fit_pieces(readings: Readings, clock: Ints, rate: Floats, tick_ns: Ints) -> Pieces:
    """Lay lines through readings.

    Args:
        readings: by clock, then time.
        clock: number of each reading's clock, ascending.
        rate: usual cycles per nanosecond, for each reading; 0: not known.
        tick_ns: length of a tick of the reference clock, for each reading.
    """
    starts = _busy_starts(readings, clock, tick_ns)
    of_reading = run_numbers(starts, len(readings))
    order = np.lexsort((readings.ns, readings.ticks, of_reading))
    ticks, ns = readings.ticks[order], readings.ns[order]
    first, last = starts, run_stops(starts, len(readings)) - 1
    intervals = _judge(ticks, ns, (first, last), rate[first], tick_ns[first])
    value = _with_usual_rates(ticks, ns, intervals)
    # Where the next interval does not come behind the one before, the clock has begun anew.
    goes_back = ticks[first[1:]] <= ticks[last[:-1]]
    goes_back |= value[first[1:]] < value[last[:-1]]
    is_new = np.append(True, goes_back | (clock[first[1:]] != clock[first[:-1]]))[: len(first)]
    number = np.cumsum(is_new) - 1
    knots = _knots(ticks, ns, intervals, tick_ns)
    of_knot = number[of_reading[knots]]
    return Pieces(
        clock=number[of_reading],
        first_piece=np.searchsorted(of_knot, np.arange(int(is_new.sum()) + 1)),
        ticks=ticks[knots],
        ns=value[knots],
        slope=_slopes(ticks[knots], value[knots], of_knot, of_reading[knots], intervals),
    )


def _busy_starts(readings: Readings, clock: Ints, tick_ns: Ints) -> Ints:
    """Return the rows where busy intervals begin: none of the waves before it runs any more."""
    count = len(readings)
    if not count:
        return np.zeros(0, np.int64)
    rows = np.arange(count)
    ends = np.zeros((2, int(readings.wave.max()) + 1), np.int64)
    ends[0, readings.wave[::-1]] = rows[::-1]
    ends[1, readings.wave] = rows
    running = np.zeros(count, np.int64)
    is_first = rows == ends[0, readings.wave]
    is_last = rows == ends[1, readings.wave]
    running = np.cumsum(is_first.astype(np.int64) - is_last)
    is_idle = (running[:-1] == 0) & (np.diff(readings.ns) > _IDLE_TICKS * tick_ns[1:])
    is_start = np.append(True, is_idle)
    is_start[run_starts(clock)] = True
    return np.flatnonzero(is_start).astype(np.int64)


def _judge(
    ticks: Ints, ns: Ints, ends: tuple[Ints, Ints], rate: Floats, tick_ns: Ints
) -> _Intervals:
    """Decide which intervals tell their rate."""
    first, last = ends
    cycle_ns = np.divide(1, rate, out=np.zeros(len(rate)), where=rate > 0)
    usual = (ticks[last] - ticks[first]) * cycle_ns
    length = ns[last] - ns[first]
    is_short = length < _PIECE_TICKS * tick_ns
    agrees = np.abs(usual - length) <= PAIR_TICKS * tick_ns
    is_possible = (length * MOST_RATES >= usual) & (length <= usual * MOST_RATES) & (usual > 0)
    return _Intervals(first, last, cycle_ns, (is_short & agrees) | ~is_possible)


def _with_usual_rates(ticks: Ints, ns: Ints, intervals: _Intervals) -> Ints:
    """Return `ns`; both ends of intervals at the usual rate are moved to a line through all."""
    value: Ints = ns.copy()
    rows = intervals.has_usual_rate
    first, last, cycle_ns = intervals.first[rows], intervals.last[rows], intervals.cycle_ns[rows]
    if not len(first):
        return value
    size = intervals.last - intervals.first + 1
    since = np.repeat(intervals.first, size)
    off = (ns - ns[since]) - (ticks - ticks[since]) * np.repeat(intervals.cycle_ns, size)
    mean = np.add.reduceat(off, intervals.first)[rows] / size[rows]
    begin = ns[first] + whole_ns(mean)
    value[last] = begin + whole_ns((ticks[last] - ticks[first]) * cycle_ns)
    value[first] = begin
    return value


def _knots(ticks: Ints, ns: Ints, intervals: _Intervals, tick_ns: Ints) -> Ints:
    """Return the rows through which lines go: the ends of each interval, and some between."""
    size = intervals.last - intervals.first + 1
    number = np.repeat(np.arange(len(size)), size)
    first, last = intervals.first[number], intervals.last[number]
    distance = _PIECE_TICKS * tick_ns
    place = np.clip((ns - ns[first]) // distance, 0, (1 << _PLACE_BITS) - 1)
    furthest = np.maximum.accumulate(number << _PLACE_BITS | place)
    is_knot = np.zeros(len(ticks), np.bool_)
    # Every second place has one: so they are as far apart as a place is wide.
    is_knot[1:] = (furthest[1:] > furthest[:-1]) & (furthest[1:] & 1 == 0)
    is_knot &= ~intervals.has_usual_rate[number] & (ns <= ns[last] - distance)
    is_knot[intervals.first] = True
    is_knot &= (ticks < ticks[last]) | (first == np.arange(len(ticks)))
    is_knot[intervals.last] |= ticks[intervals.last] > ticks[intervals.first]
    knots = np.flatnonzero(is_knot).astype(np.int64)
    goes_on = (ticks[knots][1:] > ticks[knots][:-1]) | (number[knots][1:] > number[knots][:-1])
    return np.asarray(knots[np.append(True, goes_on)[: len(knots)]])


def _slopes(ticks: Ints, value: Ints, clock: Ints, interval: Ints, intervals: _Intervals) -> Floats:
    """Return the slope from each knot on; behind a clock's last one it stays as it was."""
    slope: Floats = intervals.cycle_ns[interval]
    has_next = np.append(clock[1:] == clock[:-1], False)[: len(clock)]
    is_inside = np.append(interval[1:] == interval[:-1], False)[: len(clock)]
    is_told = has_next & ~(is_inside & intervals.has_usual_rate[interval])
    rows = np.flatnonzero(is_told)
    slope[rows] = (value[rows + 1] - value[rows]) / (ticks[rows + 1] - ticks[rows])
    ends = np.flatnonzero(~has_next)
    ends = ends[ends > 0]
    ends = ends[is_inside[ends - 1]]
    slope[ends] = slope[ends - 1]
    return slope
