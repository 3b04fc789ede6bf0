"""How different colours look: distances in OKLab."""

from collections.abc import Sequence
from math import dist

import numpy as np

_TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def distance(one: Sequence[int], other: Sequence[int]) -> float:
    """Return how far two colours, in red, green and blue to 255, are apart; black to white is 1."""
    return dist(_lab(one), _lab(other))


def tint_distance(one: Sequence[int], other: Sequence[int]) -> float:
    """Return how far two colours are apart but for how light they are."""
    return dist(_lab(one)[1:], _lab(other)[1:])


def _lab(rgb: Sequence[int]) -> list[float]:
    share = np.array(rgb, np.float64) / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    lab: list[float] = (_TO_LAB @ np.cbrt(_TO_CONES @ linear)).tolist()
    return lab
