"""Dispatches that were recorded while they ran: what is open lasts until the last known time."""

from __future__ import annotations

import numpy as np

from ktrace_cli.model import Columns, SliceFlag, WaveFlag
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.trace_file.layout import DispatchFlag


def keep_open(dispatches: Columns, waves: Columns, slices: Columns) -> None:
    """Let unfinished waves of unfinished dispatches, and what is open in them, last until then.

    Ticks stay those of the last record: no wave has read a clock since.
    """
    is_unfinished = (dispatches["flags"] & DispatchFlag.UNFINISHED) != 0
    if not np.any(is_unfinished):
        return
    last = _last_known(dispatches)
    of = waves["dispatch"]
    is_running = is_unfinished[of] & ((waves["flags"] & WaveFlag.UNFINISHED) != 0)
    running = np.flatnonzero(is_running)
    waves["end_ns"][running] = np.maximum(waves["end_ns"][running], last[of[running]])
    np.maximum.at(dispatches["end_ns"], of[running], waves["end_ns"][running])

    is_open = is_running[slices["wave"]] & ((slices["flags"] & SliceFlag.UNCLOSED) != 0)
    rows = np.flatnonzero(is_open)
    slices["ns"][rows] = waves["end_ns"][slices["wave"][rows]] - slices["begin_ns"][rows]
    slices["flags"][rows] |= np.uint16(SliceFlag.RUNNING)


def _last_known(dispatches: Columns) -> Ints:
    """Return when each dispatch was written or, where that is not known, its last record."""
    last: Ints = np.maximum(dispatches["completed_ns"], dispatches["end_ns"])
    return last
