"""Counts what is missing from a timeline, from the file to the word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ktrace_cli.model import Columns, WaveFlag
from ktrace_cli.timeline.clock import ClockMap
from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import DispatchFlag, LossReason
from ktrace_cli.trace_file.recording import DispatchRecord, Recording

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


def count_missing_waves(dispatches: Sequence[DispatchRecord]) -> Counter[str]:
    """Count waves that were expected, or that asked for a slot and got none."""
    rows = np.array([dispatch.record for dispatch in dispatches], layout.DISPATCH)
    names = ("expected", "waves", "claimed", "wave_slots")
    expected, waves, claimed, slots = (rows[name].astype(np.int64) for name in names)
    # An expectation of 0 is none; then only waves without a slot are known to be missing.
    without_slot = np.where(rows["mode"] == layout.Mode.CLAIM, claimed - slots, 0)
    missing = np.maximum(np.maximum(expected - waves, without_slot), 0)
    return Counter(missing_waves=int(missing.sum()))


def count_waves(waves: Columns) -> Counter[str]:
    """Count waves that are torn, unfinished, full or repaired."""
    flags = waves["flags"]
    return Counter(
        unfinished_waves=_count(flags, WaveFlag.UNFINISHED),
        torn_waves=_count(flags, WaveFlag.TORN),
        truncated_waves=_count(flags, WaveFlag.DROPPED),
        dropped_words=int(waves["dropped"].sum(dtype=np.int64)),
        overwritten_words=int(waves["overwritten"].sum(dtype=np.int64)),
        clamped_waves=_count(flags, WaveFlag.CLAMPED),
        moved_waves=_count(flags, WaveFlag.MOVED),
    )


def count_unfinished(dispatches: Columns) -> Counter[str]:
    """Count dispatches that were still running."""
    return Counter(unfinished_dispatches=_count(dispatches["flags"], DispatchFlag.UNFINISHED))


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


def count_clocks(clock: ClockMap, dispatches: Columns, waves: Columns) -> Counter[str]:
    """Count waves whose clocks are doubtful, and devices that do not tell how long a cycle is."""
    timed = waves["dispatch"][clock.clock_of_wave >= 0]
    devices = set(dispatches["device"][timed].tolist())
    unknown = sum(fit.core_hz == 0 and fit.device in devices for fit in clock.fits)
    return Counter(
        unknown_core_clocks=unknown,
        unfitted_waves=clock.unfitted_waves,
        misfit_waves=clock.misfit_waves,
    )


def count_filtered(dispatches: Columns) -> int:
    """Count dispatches of which not all waves were wanted; what these lack is no loss."""
    return _count(dispatches["flags"], DispatchFlag.FILTERED)


def _count(flags: Columns, flag: int) -> int:
    return int(np.count_nonzero(flags & flag))
