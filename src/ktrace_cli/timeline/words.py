"""Words to events: what each wave recorded, in order of time. Knows no name and no range.

Both streams of a region become one sequence per wave: 32-bit clocks are continued to 64 bits, value
words join the event behind them, and LONG_BEGIN joins its LONG_END, so that a RANGE is one event
however it was written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.model import VALUE, Columns, WaveFlag
from ktrace_cli.timeline.headers import HEADER_WORDS, Headers
from ktrace_cli.timeline.segments import Ints, run_starts, run_stops, run_sums
from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import Kind, ValueType
from ktrace_cli.trace_file.recording import DispatchRecord

NO_UNIT = -1
_WRAP = np.int64(1) << 32
_HALF = np.int64(1) << 31

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


@dataclass(frozen=True)
class Events:
    """The events of some waves and their payloads."""

    events: Columns
    """EVENT, by wave, then time."""
    owners: Ints
    """The event of each row of `values`, ascending."""
    values: Columns
    """model.VALUE"""
    anchors: Ints
    """Rows of `events` whose first U64 value is the reference clock's."""
    torn_words: int
    stray_values: int
    long_gaps: int
    clamped: int
    """Words whose clock ran backwards."""


def read_events(dispatches: Sequence[DispatchRecord], headers: Headers) -> Events:
    """Read the words of all waves of `headers`; `waves` gets its end, where later, and counts."""
    raw = np.concatenate([d.words for d in dispatches])
    order, stream = _streams(raw, headers)
    events, is_value, is_torn = _classify(raw, order, stream, headers)
    _count_words(stream, headers)
    owners, values, units, stray = _read_values(raw[order], stream, is_value)
    events["unit"][units[0]] = units[1]

    keep = np.flatnonzero(~is_value & ~is_torn)
    place = np.full(len(events), -1, np.int64)
    place[keep] = np.arange(len(keep))
    owners = place[owners]
    stray += int(np.count_nonzero(owners < 0))
    values, owners = values[owners >= 0], owners[owners >= 0]
    events, stream = events[keep], stream[keep]

    clock = raw["clock"][order[keep]].astype(np.int64)
    long_gaps, clamped = _continue_clocks(events, clock, stream, headers)
    owners, unclear = _join_long_ranges(events, clock, stream, headers, owners)
    long_gaps += unclear
    events, owners, values = _merge(events, owners, values)
    long_gaps += _finish_waves(events, headers)
    anchors = np.flatnonzero(events["kind"] == Kind.ANCHOR)
    torn = int(np.count_nonzero(is_torn))
    return Events(events, owners, values, anchors, torn, stray, long_gaps, clamped)


def _streams(raw: NDArray[Any], headers: Headers) -> tuple[Ints, Ints]:
    """Return the words' indexes in the order in which they were written, and their streams.

    Main words come first, then side words; both by wave. Stream 2n is the main stream of wave n,
    2n + 1 its side stream. Words that were never written and words of torn waves are left out.
    """
    wave = np.repeat(np.arange(len(headers.waves)), _kept_words(headers))
    tag = raw["tag"]
    is_usable = ~headers.is_torn[wave] & ((tag != 0) | headers.is_ended[wave])
    is_side = (tag & (layout.TAG_SPAN | layout.TAG_SIDE)) == layout.TAG_SIDE
    main = np.flatnonzero(is_usable & ~is_side)
    side = np.flatnonzero(is_usable & is_side)
    # Side words grow downward, so the one at the highest address was the first.
    side = side[np.lexsort((-side, wave[side]))]
    order = np.concatenate([main, side])
    stream = np.concatenate([wave[main] * 2, wave[side] * 2 + 1])
    return order, stream


def _kept_words(headers: Headers) -> Ints:
    extents = headers.extents
    return np.asarray(extents["main_words"].astype(np.int64) + extents["side_words"])


def _classify(
    raw: NDArray[Any], order: Ints, stream: Ints, headers: Headers
) -> tuple[Columns, NDArray[np.bool_], NDArray[np.bool_]]:
    tag = raw["tag"][order]
    is_span = (tag & layout.TAG_SPAN) != 0
    kind = np.where(is_span, np.uint32(Kind.RANGE), (tag >> layout.TAG_KIND_SHIFT) & 15)
    is_torn = ~is_span & ((kind <= Kind.RANGE) | (kind > Kind.ANCHOR))
    is_value = kind == Kind.VALUE

    events = np.zeros(len(order), EVENT)
    wave = stream >> 1
    events["wave"] = wave
    events["kind"] = kind
    events["is_side"] = stream & 1
    span_id = (tag >> layout.SPAN_ID_SHIFT) & (layout.SPAN_IDS - 1)
    events["id"] = np.where(is_span, span_id, tag & layout.TAG_ID_MASK)
    events["duration"] = np.where(is_span, tag & (layout.SPAN_LIMIT - 1), 0)
    events["unit"] = NO_UNIT

    kept = _kept_words(headers)
    place = order - (np.cumsum(kept) - kept)[wave]
    main_words = headers.extents["main_words"].astype(np.int64)[wave]
    from_end = headers.region_words[wave] - kept[wave]
    events["number"] = place + np.where(place < main_words, HEADER_WORDS, from_end)
    return events, is_value, is_torn


def _read_values(
    words: NDArray[Any], stream: Ints, is_value: NDArray[np.bool_]
) -> tuple[Ints, Columns, tuple[Ints, Ints], int]:
    """Read the value words.

    Returns:
        The row that each value belongs to, the values, the rows that have a unit and its key's low
        half, and how many value words belong to nothing.
    """
    rows = np.flatnonzero(is_value)
    type_ = (words["tag"][rows] & layout.TAG_ID_MASK).astype(np.int64)
    bits = words["clock"][rows].astype(np.uint64)
    others = np.flatnonzero(~is_value)
    # An extra row in no stream stands behind the last word.
    behind = np.append(others, len(words))[np.searchsorted(others, rows)]
    is_owned = np.append(stream, -1)[behind] == stream[rows]
    wide = (type_ >= ValueType.I64) & (type_ <= ValueType.F64)

    # The high half is the next word, of the same type.
    has_high = np.zeros(len(rows), np.bool_)
    has_high[:-1] = wide[:-1] & (rows[1:] == rows[:-1] + 1) & is_owned[:-1] & is_owned[1:]
    has_high[:-1] &= type_[1:] == (type_[:-1] | ValueType.HIGH)
    is_high = np.zeros(len(rows), np.bool_)
    is_high[1:] = has_high[:-1]
    bits[has_high] |= bits[is_high] << np.uint64(32)

    is_unit = is_owned & (type_ == ValueType.UNIT)
    is_good = is_owned & ((type_ <= ValueType.F32) | has_high)
    values = np.zeros(int(np.count_nonzero(is_good)), VALUE)
    values["type"] = type_[is_good]
    values["bits"] = bits[is_good]
    units = (behind[is_unit], bits[is_unit].astype(np.int64))
    stray = int(np.count_nonzero(~(is_good | is_unit | is_high)))
    return behind[is_good], values, units, stray


def _continue_clocks(
    events: Columns,
    clock: Ints,
    stream: Ints,
    headers: Headers,
) -> tuple[int, int]:
    """Set `ticks` of all but LONG_BEGIN; return the gaps that may be longer, and clamped words."""
    # LONG_BEGIN is written when its range ends, so its clock is no step of its stream.
    rows = np.flatnonzero(events["kind"] != Kind.LONG_BEGIN)
    if not len(rows):
        return 0, 0
    now, of = clock[rows], stream[rows]
    starts = run_starts(of)
    begin = headers.waves["begin_ticks"][of >> 1]
    before = np.empty_like(now)
    before[1:] = now[:-1]
    before[starts] = begin[starts]
    step = (now - before) & (_WRAP - 1)
    is_gap = step > _HALF
    ticks = begin + run_sums(step, starts)
    clamped = _repair_backward_steps(ticks, step, is_gap, starts, of, headers)
    _apply_anchors(ticks, events[rows], of, is_gap)
    events["ticks"][rows] = ticks
    events["is_after_gap"][rows] = is_gap
    return int(np.count_nonzero(is_gap)), clamped


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
        steps = np.where(is_gap[rows], step[rows] - _WRAP, step[rows])
        ticks[rows] = np.maximum.accumulate(np.maximum(begin + np.cumsum(steps), begin))
        clamped += int(np.count_nonzero(is_gap[rows]))
        is_gap[rows] = False
    return clamped


def _apply_anchors(ticks: Ints, events: Columns, of: Ints, is_gap: NDArray[np.bool_]) -> None:
    """Let ANCHOR words, which hold 58 bits of the clock, correct what lies behind them."""
    anchors = np.flatnonzero(events["kind"] == Kind.ANCHOR)
    if not len(anchors):
        return
    low = ticks[anchors] & (_WRAP - 1)
    shift = ((events["id"][anchors].astype(np.int64) << 32) | low) - (
        ticks[anchors] & ((np.int64(1) << 58) - 1)
    )
    last = np.searchsorted(anchors, np.arange(len(ticks)), side="right") - 1
    applies = (last >= 0) & (of[anchors[last]] == of)
    ticks[applies] += shift[last[applies]]
    is_gap[anchors] = False


def _join_long_ranges(
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
    begin_rows, end_rows = _match_long_ranges(events, stream, begins, ends)
    kind[end_rows] = Kind.RANGE
    kind[begin_rows] = 0
    events["duration"][end_rows] = (events["ticks"][end_rows] - clock[begin_rows]) & (_WRAP - 1)
    begin = headers.waves["begin_ticks"][events["wave"]]
    # The begin has 32 bits. If the wave was running 2**32 cycles earlier, that may be the time.
    is_unclear = events["ticks"][end_rows] - events["duration"][end_rows] - _WRAP >= begin[end_rows]
    events["is_unclear"][end_rows] = is_unclear
    unit = events["unit"]
    unit[end_rows] = np.where(unit[begin_rows] != NO_UNIT, unit[begin_rows], unit[end_rows])
    moved = np.arange(len(events))
    moved[begin_rows] = end_rows

    lone = np.flatnonzero(kind == Kind.LONG_BEGIN)
    events["ticks"][lone] = begin[lone] + ((clock[lone] - begin[lone]) & (_WRAP - 1))
    return moved[owners], int(np.count_nonzero(is_unclear))


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


def _merge(events: Columns, owners: Ints, values: Columns) -> tuple[Columns, Ints, Columns]:
    """Put both streams together by time; at equal times main words first, then by record order."""
    is_dropped = events["kind"] == 0
    if not np.any(is_dropped | events["is_side"]):
        return events, owners, values
    order = np.lexsort((events["ticks"], events["wave"]))
    order = order[~is_dropped[order]]
    place = np.full(len(events), -1, np.int64)
    place[order] = np.arange(len(order))
    owners = place[owners]
    by_owner = np.argsort(owners, kind="stable")
    return events[order], owners[by_owner], values[by_owner]


def _count_words(stream: Ints, headers: Headers) -> None:
    count = len(headers.waves)
    headers.waves["words"] = np.bincount(stream >> 1, minlength=count)
    headers.waves["side_words"] = np.bincount(stream[stream % 2 == 1] >> 1, minlength=count)


def _finish_waves(events: Columns, headers: Headers) -> int:
    """Set the end of waves that wrote none, or one that is too early; return gaps before ends."""
    waves, is_ended = headers.waves, headers.is_ended
    last = waves["begin_ticks"].copy()
    if len(events):
        ends = run_stops(run_starts(events["wave"]), len(events)) - 1
        last[events["wave"][ends]] = events["ticks"][ends]
    end = waves["end_ticks"]
    long_gaps = int(np.count_nonzero(is_ended & (end - last >= _WRAP)))
    waves["flags"][is_ended & (end < last)] |= np.uint16(WaveFlag.CLAMPED)
    waves["end_ticks"] = np.maximum(end, last)
    return long_gaps
