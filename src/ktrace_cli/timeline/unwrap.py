"""32-bit clocks continued to 64 bits, so that every event has its cycle."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.model import Columns, WaveFlag
from ktrace_cli.timeline.events import NO_UNIT
from ktrace_cli.timeline.headers import Headers
from ktrace_cli.timeline.segments import Ints, match_nested, run_starts, run_stops, run_sums
from ktrace_cli.trace_file.layout import Kind

CLOCK_RANGE = np.int64(1) << 32
"""After so many cycles a word's clock reads the same again."""
_NEVER = np.iinfo(np.int64).max


def continue_clocks(
    events: Columns,
    clock: Ints,
    stream: Ints,
    headers: Headers,
) -> tuple[int, int]:
    """Set `ticks` of all but LONG_BEGIN; return the gaps that may be longer, and words in conflict.

    ANCHOR words in conflict with their wave become VALUE words.
    """
    # LONG_BEGIN is written when its range ends, so its clock is no step of its stream, but in an
    # eager wave, which writes it when the range begins.
    is_step = (events["kind"] != Kind.LONG_BEGIN) | headers.is_eager[events["wave"]]
    rows = np.flatnonzero(is_step)
    if not len(rows):
        return 0, 0
    now, of = clock[rows], stream[rows]
    starts = run_starts(of)
    begin = headers.waves["begin_ticks"][of >> 1]
    before = np.empty_like(now)
    before[1:] = now[:-1]
    before[starts] = begin[starts]
    step = (now - before) & (CLOCK_RANGE - 1)
    is_gap = step > CLOCK_RANGE // 2
    ticks = begin + run_sums(step, starts)
    _count_back_from_end(ticks, is_gap, starts, of, headers)
    clamped = _repair_backward_steps(ticks, step, is_gap, starts, of, headers)
    wrong = _apply_anchors(ticks, events[rows], of, is_gap, headers)
    # What is no anchor is no event: its payload belongs to nothing.
    events["kind"][rows[wrong]] = Kind.VALUE
    events["ticks"][rows] = ticks
    events["is_after_gap"][rows] = is_gap
    return int(np.count_nonzero(is_gap)), clamped + len(wrong)


def _count_back_from_end(
    ticks: Ints, is_gap: NDArray[np.bool_], starts: Ints, of: Ints, headers: Headers
) -> None:
    """Put what a ring has kept as late as its wave's end allows: its begin is long ago."""
    is_overwritten = (headers.waves["flags"][of[starts] >> 1] & WaveFlag.OVERWRITTEN) != 0
    is_kept = is_overwritten & headers.is_ended[of[starts] >> 1] & (of[starts] % 2 == 0)
    stops = run_stops(starts, len(ticks))
    for run in np.flatnonzero(is_kept).tolist():
        rows = slice(int(starts[run]), int(stops[run]))
        end = int(headers.waves["end_ticks"][of[rows.start] >> 1])
        late = (end - int(ticks[rows.stop - 1])) // int(CLOCK_RANGE) * int(CLOCK_RANGE)
        ticks[rows] += max(late, 0)
        is_gap[rows.start] = False


def _repair_backward_steps(
    ticks: Ints,
    step: Ints,
    is_gap: NDArray[np.bool_],
    starts: Ints,
    of: Ints,
    headers: Headers,
) -> int:
    """Take a step that would go past the wave's 64-bit end for one back, and hold the clock."""
    clamped = 0
    ends = run_stops(starts, len(ticks))
    for run in np.unique(np.searchsorted(starts, np.flatnonzero(is_gap), side="right") - 1):
        rows = slice(int(starts[run]), int(ends[run]))
        wave = int(of[rows.start]) >> 1
        begin, end = (int(headers.waves[name][wave]) for name in ("begin_ticks", "end_ticks"))
        if not headers.is_ended[wave] or int(ticks[rows.stop - 1]) <= max(end, begin):
            continue
        steps = np.where(is_gap[rows], step[rows] - CLOCK_RANGE, step[rows])
        ticks[rows] = np.maximum.accumulate(np.maximum(begin + np.cumsum(steps), begin))
        clamped += int(np.count_nonzero(is_gap[rows]))
        is_gap[rows] = False
    return clamped


def _apply_anchors(
    ticks: Ints, events: Columns, of: Ints, is_gap: NDArray[np.bool_], headers: Headers
) -> Ints:
    """Let ANCHOR words, which hold 58 bits of the clock, correct what lies behind them.

    Returns:
        The anchors that go back, or beyond the end of their wave: nothing is corrected by them.
    """
    anchors = np.flatnonzero(events["kind"] == Kind.ANCHOR)
    if not len(anchors):
        return anchors
    low = ticks[anchors] & (CLOCK_RANGE - 1)
    shift = ((events["id"][anchors].astype(np.int64) << 32) | low) - (
        ticks[anchors] & ((np.int64(1) << 58) - 1)
    )
    is_wrong = _contradict(ticks[anchors], shift, of[anchors], headers)
    wrong, anchors, shift = anchors[is_wrong], anchors[~is_wrong], shift[~is_wrong]
    if not len(anchors):
        return wrong
    last = np.searchsorted(anchors, np.arange(len(ticks)), side="right") - 1
    applies = (last >= 0) & (of[anchors[last]] == of)
    ticks[applies] += shift[last[applies]]
    is_gap[anchors] = False
    return wrong


def _contradict(ticks: Ints, shift: Ints, of: Ints, headers: Headers) -> NDArray[np.bool_]:
    """Tell which anchors contradict those before them in their stream, or their wave's end."""
    wave = of >> 1
    ends = np.where(headers.is_ended[wave], headers.waves["end_ticks"][wave], _NEVER)
    is_late = (shift > 0) & (ticks + shift > ends)
    least: dict[int, int] = {}
    is_wrong = np.zeros(len(ticks), np.bool_)
    for row, stream in enumerate(of.tolist()):
        is_wrong[row] = is_late[row] or shift[row] < least.get(stream, 0)
        if not is_wrong[row]:
            least[stream] = int(shift[row])
    return is_wrong


def join_long_ranges(
    events: Columns, clock: Ints, stream: Ints, headers: Headers, owners: Ints
) -> tuple[Ints, int]:
    """Make each LONG_END with its LONG_BEGIN a RANGE.

    Joined LONG_BEGINs get kind 0. One without an end stays, at its place in time.

    Returns:
        The values' owners after that, and how many ranges may be longer than they seem.
    """
    kind = events["kind"]
    begins = np.flatnonzero(kind == Kind.LONG_BEGIN)
    ends = np.flatnonzero(kind == Kind.LONG_END)
    if not len(begins) and not len(ends):
        return owners, 0
    is_eager = headers.is_eager[events["wave"]]
    begin_rows, end_rows = _match_long_ranges(
        events, stream, begins[~is_eager[begins]], ends[~is_eager[ends]]
    )
    eager_begins, eager_ends = _match_eager_ranges(events, is_eager)
    begin_rows = np.concatenate([begin_rows, eager_begins])
    end_rows = np.concatenate([end_rows, eager_ends])
    kind[end_rows] = Kind.RANGE
    kind[begin_rows] = 0
    duration = events["ticks"][end_rows] - np.where(
        is_eager[begin_rows], events["ticks"][begin_rows], clock[begin_rows]
    )
    is_whole = is_eager[begin_rows]
    events["duration"][end_rows] = np.where(is_whole, duration, duration & (CLOCK_RANGE - 1))
    begin = headers.waves["begin_ticks"][events["wave"]]
    # The begin has 32 bits. If the wave was running 2**32 cycles earlier, that may be the time.
    is_unclear = (
        events["ticks"][end_rows] - events["duration"][end_rows] - CLOCK_RANGE >= begin[end_rows]
    )
    is_unclear &= ~is_whole
    events["is_unclear"][end_rows] = is_unclear
    unit = events["unit"]
    unit[end_rows] = np.where(unit[begin_rows] != NO_UNIT, unit[begin_rows], unit[end_rows])
    moved = np.arange(len(events))
    moved[begin_rows] = end_rows

    lone = np.flatnonzero((kind == Kind.LONG_BEGIN) & ~is_eager)
    events["ticks"][lone] = begin[lone] + ((clock[lone] - begin[lone]) & (CLOCK_RANGE - 1))
    return moved[owners], int(np.count_nonzero(is_unclear))


def _match_eager_ranges(events: Columns, is_eager: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Match begins and ends of each id as they nest: both were written at their time."""
    kind = events["kind"]
    rows = np.flatnonzero(is_eager & ((kind == Kind.LONG_BEGIN) | (kind == Kind.LONG_END)))
    rows = rows[np.lexsort((rows, events["id"][rows], events["wave"][rows]))]
    key = (events["wave"][rows] << 32) | events["id"][rows].astype(np.int64)
    is_begin = kind[rows] == Kind.LONG_BEGIN
    partner, _ = match_nested(is_begin, ~is_begin, run_starts(key))
    matched = np.flatnonzero(is_begin & (partner >= 0))
    return rows[matched], rows[partner[matched]]


def _match_long_ranges(
    events: Columns, stream: Ints, begins: Ints, ends: Ints
) -> tuple[Ints, Ints]:
    """Match by neighbourhood, then, where the end went to the main stream, by order."""
    behind = np.minimum(begins + 1, len(events) - 1)
    is_near = (
        (events["kind"][behind] == Kind.LONG_END)
        & (events["id"][behind] == events["id"][begins])
        & (stream[behind] == stream[begins])
    )
    near_begins, near_ends = begins[is_near], behind[is_near]
    begins = begins[~is_near]
    ends = np.setdiff1d(ends, near_ends, assume_unique=True)
    begin_keys, begins = _occurrences(events, begins)
    end_keys, ends = _occurrences(events, ends)
    _, left, right = np.intersect1d(begin_keys, end_keys, True, True)
    return (
        np.concatenate([near_begins, begins[left]]),
        np.concatenate([near_ends, ends[right]]),
    )


def _occurrences(events: Columns, rows: Ints) -> tuple[NDArray[Any], Ints]:
    """Return a key (wave, id, how many before it) for each row, and the rows in that order.

    An end may come from either stream, but those from the side stream have nearly always been
    matched with their neighbour; so order of time serves.
    """
    rows = rows[np.lexsort((events["ticks"][rows], events["id"][rows], events["wave"][rows]))]
    keys = np.zeros(len(rows), [("wave", "<i8"), ("id", "<i8"), ("number", "<i8")])
    keys["wave"], keys["id"] = events["wave"][rows], events["id"][rows]
    starts = run_starts(keys[["wave", "id"]])
    counts = np.diff(np.append(starts, len(rows)))
    keys["number"] = np.arange(len(rows)) - np.repeat(starts, counts)
    return keys, rows
