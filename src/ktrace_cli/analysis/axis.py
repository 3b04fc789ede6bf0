"""All waves' times one behind the other on one axis, and intervals on it.

On that axis what all waves of a part do is measured in one go: nothing of one wave touches another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ktrace_cli.model import Columns, Timeline
from ktrace_cli.timeline.segments import Ints


@dataclass(frozen=True)
class Intervals:
    """Intervals that do not touch, ascending."""

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
        base, longest = self.base.take(wave), self.duration.take(wave)
        offset = begin_ns - self.begin_ns.take(wave)
        begin = base + np.clip(offset, 0, longest)
        return union(begin, base + np.clip(offset + ns, 0, longest))

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


def shared(several: Sequence[Intervals]) -> Intervals:
    """Return what at least two of several cover."""
    begins = np.concatenate([intervals.begin for intervals in several])
    ends = np.concatenate([intervals.end for intervals in several])
    at = np.concatenate([begins, ends])
    step = np.repeat([1, -1], len(begins))
    order = np.argsort(at, kind="stable")
    at, step = at.take(order), step.take(order)
    count = np.cumsum(step)
    return union(at[(step > 0) & (count == 2)], at[(step < 0) & (count == 1)])
