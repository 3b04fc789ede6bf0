"""Where the middle of a sample is, and how far that of one run is from another's."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, lgamma, sqrt

import numpy as np

from ktrace_cli.analysis.compare.profile import Floats

_TRIMMED = 0.1
_DEVIATIONS = 3
"""What a run differs from others by without being different: three standard deviations."""


def center(values: Floats) -> float:
    """Return the mean without the fastest and the slowest tenth, at least one of each.

    A cold launch does not move it; a change in a part of the units does, unlike the median.
    """
    if len(values) < 3:
        return float(values.mean()) if len(values) else 0.0
    cut = max(1, int(len(values) * _TRIMMED))
    return float(np.sort(values)[cut:-cut].mean())


def centers(base: Floats, new: Floats) -> tuple[float, float]:
    """Return both middles; the plain means where too few units have the phase for that."""
    found = center(base), center(new)
    if min(found) > 0 or not (len(base) and len(new)):
        return found
    return float(base.mean()), float(new.mean())


def noise_between(base: Sequence[float], new: Sequence[float]) -> float | None:
    """Return how much two sides may differ because runs do, as a part of the time.

    Three standard deviations of the difference of the sides' means. The deviation is that between
    runs of one side, on both sides together, enlarged for what few runs do not show.

    Args:
        base: the middle of each run.
        new: the same of the other side.

    Returns:
        None if neither side has two runs: nobody knows.
    """
    sides = [np.log([one for one in side if one > 0]) for side in (base, new)]
    freedom = sum(max(len(side) - 1, 0) for side in sides)
    if not freedom or not min(len(side) for side in sides):
        return None
    squares = sum(float(((side - side.mean()) ** 2).sum()) for side in sides)
    deviation = sqrt(squares / freedom) / _share_seen(freedom)
    return exp(_DEVIATIONS * deviation * sqrt(sum(1 / len(side) for side in sides))) - 1


def noise_of(runs: Sequence[float]) -> float | None:
    """Return how much one more run may differ from these, as a part of the time."""
    if len(runs) < 2:
        return None
    return noise_between(runs, [float(np.exp(np.log(runs).mean()))] if min(runs) > 0 else [])


def _share_seen(freedom: int) -> float:
    """Return the mean of a sample's standard deviation as a part of the true one."""
    return sqrt(2 / freedom) * exp(lgamma((freedom + 1) / 2) - lgamma(freedom / 2))
