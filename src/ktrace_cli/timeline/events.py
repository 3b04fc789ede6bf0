"""One event: what a word says, where it stood and when it was."""

from __future__ import annotations

import numpy as np

NO_UNIT = -1
LOW_HALF = 0xFFFFFFFF
"""Of a unit key: what words and the model tell of it."""

EVENT = np.dtype(
    [
        ("wave", "<i8"),  # row of Headers.waves
        ("number", "<i8"),  # of its word, from the start of the region
        ("kind", "u1"),  # layout.Kind; RANGE for spans and long ranges
        ("is_side", "?"),
        ("is_after_gap", "?"),  # the time since the word before it is known modulo 2**32 only
        ("is_unclear", "?"),  # a RANGE that may be longer by a multiple of 2**32
        ("id", "<u4"),
        ("unit", "<i8"),  # low half of its unit's key, or NO_UNIT: the kernel's
        ("ticks", "<i8"),  # s_memtime; a RANGE's end
        ("duration", "<i8"),  # of a RANGE
    ]
)
