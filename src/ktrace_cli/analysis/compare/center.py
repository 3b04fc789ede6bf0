"""Where the middle of a sample is, and how far those of runs are apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, sqrt
from statistics import NormalDist

import numpy as np

from ktrace_cli.analysis.compare.profile import Floats
from ktrace_cli.analysis.compare.rank_test import SIGNIFICANCE

_CUT = {"launch": 0.25, "workgroup": 0.1, "wave": 0.1}
"""What is left out at either end. Launches are few, and now and then one is cold or disturbed;
workgroups are many, and a change in a part of them counts."""
_OTHERS_WEIGHT = 4
"""Of the deviations of other phases, in degrees of freedom: those of few runs tell little."""
_MOST_NOISE = 1e6


def center(values: Floats, level: str) -> float:
    """Return the mean of launches' middle half, or of others without a tenth at either end."""
    if len(values) < 3:
        return float(values.mean()) if len(values) else 0.0
    cut = max(1, int(len(values) * _CUT[level]))
    return float(np.sort(values)[cut:-cut].mean())


def centers(base: Floats, new: Floats, level: str) -> tuple[float, float]:
    """Return both middles; the plain means where too few units have the phase for that."""
    found = center(base, level), center(new, level)
    if min(found) > 0 or not (len(base) and len(new)):
        return found
    return float(base.mean()), float(new.mean())


@dataclass(frozen=True)
class Spread:
    """How much runs of one side differ in a phase."""

    variance: float
    """Of the logarithm of a run's middle."""
    freedom: int
    """Degrees of it: how many runs there are more than sides."""
    scale: float
    """1 / runs of both sides, added up: what the difference of their means varies by more."""


def find_spread(base: Sequence[float], new: Sequence[float]) -> Spread | None:
    """Return how much runs differ in a phase.

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
    return Spread(squares / freedom, freedom, sum(1 / len(side) for side in sides))


def noise_of(spread: Spread, others: Sequence[Spread], tests: int) -> float:
    """Return how much sides may differ in a phase because runs do, as a part of its time.

    Student's t decides, at SIGNIFICANCE for all tests together. Few runs tell little, so that the
    variance is taken together with the mean one of all phases.

    Args:
        spread: of the phase.
        others: of all phases of its kernel.
        tests: how many phases are compared.
    """
    freedom = spread.freedom + _OTHERS_WEIGHT
    usual = sum(other.variance for other in others) / len(others)
    variance = (spread.freedom * spread.variance + _OTHERS_WEIGHT * usual) / freedom
    deviations = _student(SIGNIFICANCE / max(tests, 1) / 2, freedom)
    return exp(min(deviations * sqrt(variance * spread.scale), np.log(_MOST_NOISE))) - 1


def _student(probability: float, freedom: int) -> float:
    """Return what Student's t exceeds with a probability (expansion of Cornish and Fisher)."""
    z = -NormalDist().inv_cdf(probability)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3
