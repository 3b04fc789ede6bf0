"""Durations to buckets whose width grows with them: two to the n, or 128 of these to each.

A float's exponent and the first bits of its fraction are its bucket: no logarithm is needed, and
the bounds are exact for durations below 2**53.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.timeline.segments import Ints

FINE_BITS = 7
LARGEST_ERROR = 1 / (2 << FINE_BITS)
"""Of a duration that is told by the middle of its fine bucket, as a part of it."""

_FRACTION_BITS = 52
_EXPONENT_OF_ONE = 1023


@dataclass(frozen=True)
class Bucket:
    """How many durations are at least `from_ns` and below `below_ns`."""

    from_ns: int
    below_ns: int
    count: int


def coarse(ns: NDArray[np.integer]) -> Ints:
    """Return the bucket of each duration: 0 for 0, n + 1 for 2**n and what follows it."""
    return _buckets(ns, 0)


def fine(ns: NDArray[np.integer]) -> Ints:
    """Return the fine bucket of each duration; up to 255 each has its own."""
    return _buckets(ns, FINE_BITS)


def fine_to_coarse(bucket: Ints) -> Ints:
    """Return in which coarse buckets fine ones lie."""
    return np.where(bucket > 0, ((bucket - 1) >> FINE_BITS) + 1, 0)


def middle(bucket: int) -> int:
    """Return the duration in the middle of a fine bucket."""
    if bucket == 0:
        return 0
    first = _first(bucket)
    return (first + _first(bucket + 1) - 1) // 2


def to_histogram(counts: Ints) -> tuple[Bucket, ...]:
    """Name coarse buckets from the first one that holds anything to the last."""
    filled = np.flatnonzero(counts)
    if not len(filled):
        return ()
    return tuple(
        Bucket((1 << n) >> 1, 1 << n, int(counts[n]))
        for n in range(int(filled[0]), int(filled[-1]) + 1)
    )


def _buckets(ns: NDArray[np.integer], bits: int) -> Ints:
    number = ns.astype(np.float64).view(np.int64) >> (_FRACTION_BITS - bits)
    number -= (_EXPONENT_OF_ONE << bits) - 1
    return np.asarray(np.maximum(number, 0, out=number), np.int64)


def _first(bucket: int) -> int:
    """Return the least whole number in a fine bucket."""
    exponent, fraction = divmod(bucket - 1, 1 << FINE_BITS)
    scaled = ((1 << FINE_BITS) + fraction) << exponent
    return -(-scaled >> FINE_BITS)
