"""Do two samples differ? The test of Mann and Whitney, with ties, and Holm's correction."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import comb, erfc, lgamma, log, sqrt

import numpy as np

from ktrace_cli.analysis.compare.profile import Floats
from ktrace_cli.timeline.segments import Ints

SIGNIFICANCE = 0.05
"""Of all phases together: the probability of any false alarm where nothing differs."""
LEAST_UNITS = 8
_MOST_EXACT = 50
"""Values of both samples: below that the distribution is counted out, above it is normal."""


def p_value(one: Floats, other: Floats) -> float:
    """Return how probable ranks so uneven are if both samples are of one distribution; two-sided.

    Args:
        one: any values; with none of them, nothing is known: 1.
        other: the same.
    """
    sizes = len(one), len(other)
    if not min(sizes):
        return 1.0
    doubled, ties = _double_ranks(np.concatenate([one, other]))
    if len(ties) == 1:
        return 1.0
    rank_sum = int(doubled[: len(one)].sum())
    if sum(sizes) <= _MOST_EXACT:
        return _exact(doubled, len(one), rank_sum)
    return _normal(sizes, ties, rank_sum)


def can_show(sizes: tuple[int, int], tests: int) -> bool:
    """Tell whether samples of these sizes can be found to differ at all, in so many tests."""
    return min(sizes) >= LEAST_UNITS and are_enough(sizes, tests)


def are_enough(sizes: tuple[int, int], tests: int) -> bool:
    """Tell whether any ranks are too uneven for chance, in so many tests."""
    one, other = sizes
    arrangements = lgamma(one + other + 1) - lgamma(one + 1) - lgamma(other + 1)
    return arrangements >= log(2 * max(tests, 1) / SIGNIFICANCE)


def adjust(p_values: Sequence[float]) -> list[float]:
    """Return Holm's adjusted values: one below SIGNIFICANCE is significant among all of them."""
    adjusted = [1.0] * len(p_values)
    largest = 0.0
    for place, number in enumerate(sorted(range(len(p_values)), key=lambda n: p_values[n])):
        largest = max(largest, min(1.0, p_values[number] * (len(p_values) - place)))
        adjusted[number] = largest
    return adjusted


def _double_ranks(values: Floats) -> tuple[Ints, Ints]:
    """Return twice the mean rank of each value, which is whole, and how many share each value."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    doubled = 2 * last - count + 1
    return doubled[place.reshape(-1)].astype(np.int64), count.astype(np.int64)


def _exact(doubled: Ints, size: int, rank_sum: int) -> float:
    """Count the choices of `size` ranks whose sum is at least as far from the middle."""
    ways = _ways(tuple(np.sort(doubled).tolist()), size)
    middle = size * (len(doubled) + 1)
    is_as_far = np.abs(np.arange(len(ways)) - middle) >= abs(rank_sum - middle)
    return float(min(1.0, ways[is_as_far].sum() / comb(len(doubled), size)))


@lru_cache(maxsize=64)  # without ties, all phases of a kernel have the same ranks
def _ways(doubled: tuple[int, ...], size: int) -> Floats:
    """Return how many choices of `size` ranks add up to each sum."""
    most = sum(doubled[-size:])
    # ways[n, s]: how many choices of n ranks add up to s. Below 2**53, so floats are exact.
    ways = np.zeros((size + 1, most + 1))
    ways[0, 0] = 1
    for rank in doubled:
        ways[1:, rank:] += ways[:-1, : most + 1 - rank].copy()
    return np.asarray(ways[size], np.float64)


def _normal(sizes: tuple[int, int], ties: Ints, rank_sum: int) -> float:
    one, other = sizes
    total = one + other
    tied = float(((ties.astype(np.float64) ** 3) - ties).sum()) / (total * (total - 1))
    deviation = sqrt(one * other / 12 * (total + 1 - tied))
    distance = abs(rank_sum / 2 - one * (total + 1) / 2)
    return erfc(max(distance - 0.5, 0.0) / deviation / sqrt(2))
