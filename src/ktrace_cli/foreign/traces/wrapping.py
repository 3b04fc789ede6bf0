"""Times of which only the low 32 bits of a nanosecond counter were kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

RANGE = 1 << 32


def unwrapped(times: Sequence[int], notes: list[str]) -> Callable[[int], int]:
    """Return what to take from the time of each row, so that the first one is as it is written.

    A counter of 32 bits begins anew every 4.29 s. A kernel is shorter: where the longest pause is
    not the one from the last time to the first, the first time is that behind the pause.
    """
    known = np.unique(np.asarray(times, np.int64))
    if not len(known) or known[0] < 0 or known[-1] >= RANGE:
        return lambda _: 0
    pauses = np.diff(known, append=known[0] + RANGE)
    last = int(np.argmax(pauses))
    if last == len(known) - 1:
        return lambda _: 0
    first = int(known[last + 1])
    early = int(np.count_nonzero(np.asarray(times) < first))
    notes.append(
        f"its 32-bit times begin anew every 4.29 s, and did so within it: {early:,} of them count"
        " as later"
    )
    return lambda row: -RANGE if times[row] < first else 0
