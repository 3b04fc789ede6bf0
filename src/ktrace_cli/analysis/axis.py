"""All waves' times one behind the other on one axis, and intervals on it.

On that axis what all waves of a part do is measured in one go: nothing of one wave touches another.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ktrace_cli.model import Columns, Timeline
from ktrace_cli.timeline.segments import Ints


@dataclass(frozen=True)
class Intervals:
    """Intervals that do not touch, ascending, unless it is said otherwise."""

    begin: Ints
    end: Ints

    @property
    def length(self) -> Ints:
        """Of each."""
        return self.end - self.begin

    def before(self, at: Ints) -> Ints:
        """Return how much of the axis before each place the intervals cover."""
        if not len(self.begin):
            return np.zeros(len(at), np.int64)
        covered = np.concatenate([[0], np.cumsum(self.length)])
        number = np.searchsorted(self.begin, at, "right")
        left = np.where(number > 0, np.maximum(self.end[number - 1] - at, 0), 0)
        return np.asarray(covered[number] - left, np.int64)

    def within(self, others: Intervals) -> Ints:
        """Return how much of each interval lies in others."""
        return others.before(self.end) - others.before(self.begin)


@dataclass(frozen=True)
class Axis:
    """Where each wave begins on the axis, and how long it is."""

    base: Ints
    begin_ns: Ints
    duration: Ints

    def intervals(self, wave: Columns, begin_ns: Ints, ns: Ints) -> Intervals:
        """Return what slices of waves cover together."""
        return union(*self.ends(wave, begin_ns, ns))

    def ends(self, wave: Columns, begin_ns: Ints, ns: Ints) -> tuple[Ints, Ints]:
        """Return where slices of waves begin and end."""
        base, longest = self.base.take(wave), self.duration.take(wave)
        offset = begin_ns - self.begin_ns.take(wave)
        return base + np.clip(offset, 0, longest), base + np.clip(offset + ns, 0, longest)

    def wave(self, at: Ints) -> Ints:
        """Return in which wave each place is."""
        return np.searchsorted(self.base, at, "right") - 1


def lay_out(timeline: Timeline) -> Axis:
    """Put all waves on the axis, one unit of time apart."""
    begin = np.ascontiguousarray(timeline.waves["begin_ns"])
    duration = np.maximum(timeline.waves["end_ns"] - begin, 0)
    return Axis(np.cumsum(duration + 1) - duration - 1, begin, duration)


def union(begin: Ints, end: Ints) -> Intervals:
    """Join intervals that touch or overlap."""
    if not len(begin):
        return Intervals(begin, end)
    if np.any(begin[1:] < begin[:-1]):
        order = np.argsort(begin, kind="stable")
        begin, end = begin.take(order), end.take(order)
    reach = np.maximum.accumulate(end)
    starts = np.flatnonzero(np.concatenate(([True], begin[1:] > reach[:-1])))
    return Intervals(begin[starts], reach[np.append(starts[1:], len(begin)) - 1])


def join(one: Intervals, other: Intervals) -> Intervals:
    """Return what either covers."""
    return union(np.concatenate([one.begin, other.begin]), np.concatenate([one.end, other.end]))


def union_by(key: Ints, begin: Ints, end: Ints) -> tuple[Ints, Intervals]:
    """Join intervals of the same key that touch or overlap.

    Args:
        key: of each interval, from 0.
        begin: where each begins, not below 0.
        end: where each ends.

    Returns:
        Keys, ascending, and the intervals: in order within a key only.
    """
    width = int(end.max(initial=0)) + 1
    keys = int(key.max(initial=0)) + 1
    if keys * width > np.iinfo(np.int64).max:
        # Too long to lay all keys out one behind the other: places take the place of times.
        times, place = np.unique(np.concatenate([begin, end]), return_inverse=True)
        begin, end = np.split(place.reshape(-1), 2)
        found, joined = union_by(key, begin, end)
        return found, Intervals(times[joined.begin], times[joined.end])
    joined = union(key * width + begin, key * width + end)
    found = joined.begin // width
    return found, Intervals(joined.begin - found * width, joined.end - found * width)


def shared(several: Intervals) -> Intervals:
    """Return what at least two of several intervals cover, which may overlap, in any order."""
    at = np.concatenate([several.begin, several.end])
    step = np.repeat([1, -1], len(several.begin))
    order = np.argsort(at, kind="stable")
    at, step = at.take(order), step.take(order)
    count = np.cumsum(step)
    return union(at[(step > 0) & (count == 2)], at[(step < 0) & (count == 1)])
