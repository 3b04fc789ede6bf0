"""Dispatches that were recorded while they ran: what is open lasts until the last known time."""

from __future__ import annotations

import numpy as np

from ktrace_cli.model import Columns, Flags, SliceFlag, WaveFlag
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.trace_file.layout import DispatchFlag


def keep_waves_open(dispatches: Columns, waves: Columns) -> None:
    """Let unfinished waves of unfinished dispatches last until then.

    Ticks stay those of the last record: no wave has read a clock since.
    """
    running = np.flatnonzero(_is_running(dispatches, waves))
    if not len(running):
        return
    of = waves["dispatch"][running]
    waves["end_ns"][running] = np.maximum(waves["end_ns"][running], _last_known(dispatches)[of])
    np.maximum.at(dispatches["end_ns"], of, waves["end_ns"][running])


def keep_slices_open(dispatches: Columns, waves: Columns, slices: Columns) -> None:
    """Let what is open in such waves last as long as they do."""
    is_unclosed = (slices["flags"] & SliceFlag.UNCLOSED) != 0
    if not np.any(is_unclosed):
        return
    rows = np.flatnonzero(is_unclosed & _is_running(dispatches, waves)[slices["wave"]])
    slices["ns"][rows] = waves["end_ns"][slices["wave"][rows]] - slices["begin_ns"][rows]
    slices["flags"][rows] |= np.uint16(SliceFlag.RUNNING)


def _is_running(dispatches: Columns, waves: Columns) -> Flags:
    is_unfinished = (dispatches["flags"] & DispatchFlag.UNFINISHED) != 0
    is_running = is_unfinished[waves["dispatch"]] & ((waves["flags"] & WaveFlag.UNFINISHED) != 0)
    return np.asarray(is_running, np.bool_)


def _last_known(dispatches: Columns) -> Ints:
    """Return when each dispatch was written or, where that is not known, its last record."""
    last: Ints = np.maximum(dispatches["completed_ns"], dispatches["end_ns"])
    return last
