"""Counts, sums, variances, percentiles and histograms of durations, in bounded memory.

Percentiles are exact as long as all durations are kept. Past a limit only how many are in each of
many fine buckets is kept: then a percentile is told within buckets.LARGEST_ERROR.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.analysis import buckets
from ktrace_cli.analysis.buckets import Bucket
from ktrace_cli.model import Columns
from ktrace_cli.timeline.segments import Ints, run_starts, run_stops

PERCENTS = (5, 10, 25, 50, 75, 90, 95, 99)
MOST_KEPT = 16_000_000
"""Durations."""
MOST_KEYS = 50_000
"""With percentiles: past that they would cost more memory than they are worth."""

_MOMENT = np.dtype(
    [
        ("key", "<i8"),
        ("count", "<i8"),
        ("total", "<i8"),
        ("own", "<i8"),
        ("least", "<i8"),
        ("most", "<i8"),
        ("zeros", "<i8"),
        ("squares", "<f8"),  # of distances from the mean, added up
    ]
)
_ROWS_BETWEEN_MERGES = 1_000_000


@dataclass(frozen=True)
class _Moment:
    """A row of _MOMENT."""

    key: int
    count: int
    total: int
    own: int
    least: int
    most: int
    zeros: int
    squares: float


@dataclass(frozen=True)
class Times:
    """What is known of some durations, in whole units of the timeline."""

    count: int
    total_ns: int
    self_ns: int
    """Of `total_ns`: without what nests directly inside on the same lane."""
    mean_ns: float
    cv: float | None
    """Standard deviation of the population as a part of the mean; None if that is 0."""
    variance_population: float
    variance_sample: float | None
    """None for fewer than two."""
    min_ns: int
    percentiles: tuple[int, ...] | None
    """At PERCENTS: the least that so many percent do not exceed; None if there are too many keys.
    """
    max_ns: int
    zero_length: int
    """Of `count`: shorter than the clock can tell."""
    histogram: tuple[Bucket, ...] | None

    def percentile(self, percent: int) -> int:
        """Return one of PERCENTS."""
        return self.percentiles[PERCENTS.index(percent)] if self.percentiles else 0


NO_TIMES = Times(0, 0, 0, 0.0, None, 0.0, None, 0, (0,) * len(PERCENTS), 0, 0, ())


@dataclass(frozen=True)
class _Counts:
    """How many durations are in each fine bucket that has any."""

    bucket: Ints
    count: Ints


class Durations:
    """Takes durations under keys from 0, some at a time."""

    def __init__(self, keys: int, most_kept: int = MOST_KEPT) -> None:
        self._key_type = np.uint16 if keys <= 1 << 16 else np.int64
        self._has_percentiles = keys <= MOST_KEYS
        self._most_kept = most_kept
        self._moments = [np.zeros(0, _MOMENT)]
        self._kept: dict[int, list[NDArray[np.integer]]] = {}
        self._kept_rows = 0
        self._fine: dict[int, _Counts] = {}

    @property
    def largest_error(self) -> float:
        """Of percentiles, as a part of them; 0 while they are exact."""
        return buckets.LARGEST_ERROR if self._fine else 0.0

    @property
    def keys(self) -> int:
        """Return how many different ones there were when they were last counted."""
        return len(self._moments[0])

    def add(self, key: Ints, ns: Ints, own: Ints) -> None:
        """Add durations under their keys.

        Args:
            key: of each duration.
            ns: the durations.
            own: how much of each does not nest inside.
        """
        if not len(ns):
            return
        order = np.argsort(key.astype(self._key_type), kind="stable")
        key, ns = key.take(order), ns.take(order)
        starts = run_starts(key)
        moments = _moments(key[starts], starts, ns)
        moments["own"] = np.add.reduceat(own.take(order), starts)
        self._moments.append(moments)
        if sum(map(len, self._moments[1:])) > max(_ROWS_BETWEEN_MERGES, self.keys):
            self._moments = [self.merged()]
        if self._has_percentiles:
            self._keep(key[starts].tolist(), starts, ns)

    def merged(self) -> Columns:
        """Return one row of counts and sums per key that has any, in order of keys."""
        rows = np.concatenate(self._moments)
        rows = rows[np.argsort(rows["key"], kind="stable")]
        starts = run_starts(rows["key"])
        merged = np.zeros(len(starts), _MOMENT)
        if not len(rows):
            return merged
        merged["key"] = rows["key"][starts]
        for name in ("count", "total", "own", "zeros"):
            merged[name] = np.add.reduceat(rows[name], starts)
        merged["least"] = np.minimum.reduceat(rows["least"], starts)
        merged["most"] = np.maximum.reduceat(rows["most"], starts)
        mean = merged["total"] / merged["count"]
        sizes = np.diff(np.append(starts, len(rows)))
        distance = rows["total"] / rows["count"] - np.repeat(mean, sizes)
        squares = rows["squares"] + rows["count"] * distance * distance
        merged["squares"] = np.add.reduceat(squares, starts)
        return merged

    def times(self) -> Iterator[tuple[int, Times]]:
        """Yield each key that has durations, and what is known of them."""
        if self._fine:
            self._to_buckets()
        for numbers in self.merged().tolist():
            moment = _Moment(*numbers)
            yield moment.key, _times(moment, *self._distribution(moment.key, moment.count))

    def _keep(self, keys: list[int], starts: Ints, ns: Ints) -> None:
        if int(ns.max()) < 1 << 32:
            ns = ns.astype(np.uint32)
        for key, start, stop in zip(keys, starts, run_stops(starts, len(ns)), strict=True):
            self._kept.setdefault(key, []).append(ns[start:stop])
        self._kept_rows += len(ns)
        if self._kept_rows > self._most_kept:
            self._to_buckets()

    def _to_buckets(self) -> None:
        """Count what was kept in fine buckets, and let go of it."""
        for key, parts in self._kept.items():
            found = _count(buckets.fine(np.concatenate(parts)))
            self._fine[key] = _add(self._fine[key], found) if key in self._fine else found
        self._kept, self._kept_rows = {}, 0

    def _distribution(
        self, key: int, count: int
    ) -> tuple[tuple[int, ...] | None, tuple[Bucket, ...] | None]:
        """Return percentiles and histogram."""
        if not self._has_percentiles:
            return None, None
        ranks = [-(-count * percent // 100) - 1 for percent in PERCENTS]
        if self._fine:
            bucket, counts = self._fine[key].bucket, self._fine[key].count
            at = np.searchsorted(np.cumsum(counts), np.array(ranks), "right")
            coarse = np.bincount(buckets.fine_to_coarse(bucket), counts).astype(np.int64)
            percentiles = tuple(buckets.middle(int(bucket[place])) for place in at)
            return percentiles, buckets.to_histogram(coarse)
        ns = np.concatenate(self._kept[key])
        ns.partition(sorted(set(ranks)))
        percentiles = tuple(int(ns[rank]) for rank in ranks)
        return percentiles, buckets.to_histogram(np.bincount(buckets.coarse(ns)))


def _moments(keys: Ints, starts: Ints, ns: Ints) -> Columns:
    """Count and add up runs of durations."""
    rows = np.zeros(len(starts), _MOMENT)
    rows["key"], rows["count"] = keys, np.diff(np.append(starts, len(ns)))
    rows["total"] = np.add.reduceat(ns, starts)
    rows["least"] = np.minimum.reduceat(ns, starts)
    rows["most"] = np.maximum.reduceat(ns, starts)
    rows["zeros"] = np.add.reduceat(ns == 0, starts, dtype=np.int64)
    distance = ns - np.repeat(rows["total"] / rows["count"], rows["count"])
    rows["squares"] = np.add.reduceat(np.multiply(distance, distance, out=distance), starts)
    return rows


def _count(bucket: Ints) -> _Counts:
    found, count = np.unique(bucket, return_counts=True)
    return _Counts(found, count)


def _add(one: _Counts, other: _Counts) -> _Counts:
    bucket, place = np.unique(np.concatenate([one.bucket, other.bucket]), return_inverse=True)
    counts = np.bincount(place.reshape(-1), np.concatenate([one.count, other.count]))
    return _Counts(bucket, counts.astype(np.int64))


def _times(
    of: _Moment,
    percentiles: tuple[int, ...] | None,
    histogram: tuple[Bucket, ...] | None,
) -> Times:
    count, total, squares, mean = of.count, of.total, of.squares, of.total / of.count
    if percentiles is not None:
        percentiles = tuple(min(max(ns, of.least), of.most) for ns in percentiles)
    return Times(
        count=count,
        total_ns=total,
        self_ns=of.own,
        mean_ns=round(mean, 3),
        cv=round(sqrt(squares / count) / mean, 6) if total else None,
        variance_population=round(squares / count, 3),
        variance_sample=round(squares / (count - 1), 3) if count > 1 else None,
        min_ns=of.least,
        percentiles=percentiles,
        max_ns=of.most,
        zero_length=of.zeros,
        histogram=histogram,
    )
