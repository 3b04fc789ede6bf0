"""Counts what is missing from a timeline, from the file to the word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from ktrace_cli.model import Columns, SliceFlag, WaveFlag
from ktrace_cli.trace_file.layout import LossReason
from ktrace_cli.trace_file.recording import Recording

# Every other reason means launches that were not traced.
_COUNT_BY_REASON: dict[int, str] = {
    LossReason.CODE_OBJECT: "unread_code_objects",
    LossReason.LAUNCH_FAILED: "failed_dispatches",
}


def count_recording(recording: Recording) -> Counter[str]:
    """Count what the file lacks and what the interposer said that it lost."""
    losses = Counter(recording.damage.counted())
    for loss in recording.losses:
        losses[_COUNT_BY_REASON.get(loss.reason, "untraced_launches")] += loss.count
    losses["failed_dispatches"] += sum(d.record["status"] != 0 for d in recording.dispatches)
    return losses


def count_waves(dispatches: Columns, waves: Columns) -> Counter[str]:
    """Count waves that are missing, torn, unfinished or full."""
    flags = waves["flags"]
    missing = np.maximum(dispatches["expected"].astype(np.int64) - dispatches["waves"], 0)
    return Counter(
        missing_waves=int(missing.sum()),
        unfinished_waves=_count(flags, WaveFlag.UNFINISHED),
        torn_waves=_count(flags, WaveFlag.TORN),
        truncated_waves=_count(flags, WaveFlag.DROPPED),
        dropped_words=int(waves["dropped"].sum(dtype=np.int64)),
        clamped_slices=_count(flags, WaveFlag.CLAMPED),
    )


def count_slices(slices: Columns) -> Counter[str]:
    """Count slices that were closed or clamped by us."""
    return Counter(
        unclosed_slices=_count(slices["flags"], SliceFlag.UNCLOSED),
        clamped_slices=_count(slices["flags"], SliceFlag.CLAMPED),
    )


def count_unnamed(named: int, columns: Iterable[Columns]) -> Counter[str]:
    """Count rows whose event has no name: those behind the first `named` events."""
    return Counter(unnamed_events=sum(int(np.count_nonzero(c >= named)) for c in columns))


def count_out_of_window(dispatches: Columns, waves: Columns, slack_ns: Columns) -> Counter[str]:
    """Count waves outside of the host's times of their dispatch.

    Args:
        dispatches: model.DISPATCH.
        waves: model.WAVE; torn ones have no time and do not count.
        slack_ns: how exactly the clock of each dispatch's device is known.
    """
    of = waves["dispatch"]
    is_known = (waves["flags"] & WaveFlag.TORN) == 0
    slack = slack_ns[of]
    is_early = waves["begin_ns"] < dispatches["launched_ns"][of] - slack
    completed = dispatches["completed_ns"][of]
    is_late = (completed > 0) & (waves["end_ns"] > completed + slack)
    return Counter(out_of_window=int(np.count_nonzero(is_known & (is_early | is_late))))


def _count(flags: Columns, flag: int) -> int:
    return int(np.count_nonzero(flags & flag))
