"""VGPR counts as the hardware allocates them: rocprofiler-sdk told half of them for gfx950.

Its releases before rocm-systems PR 5862 count 4 registers for each granule that gfx950 allocates,
which has 8, and no accumulation registers at all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

_HALVED_TARGET = "gfx950"


def halved(targets: Sequence[str], accumulation: Ints) -> NDArray[np.bool_]:
    """Tell for each kernel whether its VGPR count is half of the truth.

    Args:
        targets: of each kernel; "" if it is not known.
        accumulation: what the file says of its accumulation registers. A file that knows of some
            on gfx950 comes from a release that counts right.
    """
    is_gfx950 = np.array([target == _HALVED_TARGET for target in targets], np.bool_)
    if np.any(is_gfx950 & (accumulation != 0)):
        return np.zeros(len(targets), np.bool_)
    return is_gfx950


def target_of_version(version: int) -> str:
    """Return what a gfx_target_version means: 90500 is gfx950, 90010 is gfx90a."""
    major, minor, stepping = version // 10000, version // 100 % 100, version % 100
    return f"gfx{major}{minor:x}{stepping:x}" if version > 0 else ""
