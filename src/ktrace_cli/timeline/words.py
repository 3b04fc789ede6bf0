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

from ktrace_cli.model import Columns, WaveFlag
from ktrace_cli.timeline.events import EVENT, NO_UNIT
from ktrace_cli.timeline.headers import HEADER_WORDS, Headers
from ktrace_cli.timeline.payloads import read_values
from ktrace_cli.timeline.rings import find_remnants, number_rings, oldest_first
from ktrace_cli.timeline.segments import Ints, join_rows, run_starts, run_stops
from ktrace_cli.timeline.unwrap import CLOCK_RANGE, continue_clocks, join_long_ranges
from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import Kind
from ktrace_cli.trace_file.recording import DispatchRecord


@dataclass(frozen=True)
class Events:
    """The events of some waves and their payloads."""

    events: Columns
    """events.EVENT, by wave, then time."""
    owners: Ints
    """The event of each row of `values`, ascending."""
    values: Columns
    """model.VALUE"""
    anchors: Ints
    """Rows of `events` whose first U64 value is the reference clock's."""
    torn_words: int
    stray_values: int
    long_gaps: int
    overwritten: int
    """Words without the ones before them that they need: payload at the begin of a ring."""
    clamped: int
    """Words whose clock contradicts those around them."""


def read_events(dispatches: Sequence[DispatchRecord], headers: Headers) -> Events:
    """Read the words of all waves of `headers`; `waves` gets its end, where later, and counts."""
    raw = join_rows(layout.WORD, (d.words for d in dispatches))
    order, stream = _streams(raw, headers)
    events, is_value, is_torn = _classify(raw, order, stream, headers)
    is_remnant = find_remnants(is_value, stream, headers)
    overwritten = int(np.count_nonzero(is_remnant))
    if overwritten:
        kept = ~is_remnant
        order, stream, events = order[kept], stream[kept], events[kept]
        is_value, is_torn = is_value[kept], is_torn[kept]
    _count_words(stream, headers)
    owners, values, units, stray = read_values(raw.take(order), stream, is_value)
    events["unit"][units[0]] = units[1]

    keep = np.flatnonzero(~is_value & ~is_torn)
    place = np.full(len(events), -1, np.int64)
    place[keep] = np.arange(len(keep))
    owners = place[owners]
    stray += int(np.count_nonzero(owners < 0))
    values, owners = values[owners >= 0], owners[owners >= 0]
    events, stream = events.take(keep), stream[keep]

    clock = raw["clock"][order[keep]].astype(np.int64)
    long_gaps, clamped = continue_clocks(events, clock, stream, headers)
    owners, unclear = join_long_ranges(events, clock, stream, headers, owners)
    long_gaps += unclear
    events, owners, values = _merge(events, owners, values)
    long_gaps += _finish_waves(events, headers)
    anchors = np.flatnonzero(events["kind"] == Kind.ANCHOR)
    torn = int(np.count_nonzero(is_torn))
    return Events(
        events=events,
        owners=owners,
        values=values,
        anchors=anchors,
        torn_words=torn,
        stray_values=stray,
        long_gaps=long_gaps,
        overwritten=overwritten,
        clamped=clamped,
    )


def _streams(raw: NDArray[Any], headers: Headers) -> tuple[Ints, Ints]:
    """Return the words' indexes in the order in which they were written, and their streams.

    Main words come first, then side words; both by wave. Stream 2n is the main stream of wave n,
    2n + 1 its side stream. Words that were never written and words of torn waves are left out.
    """
    wave = np.repeat(np.arange(len(headers.waves)), _kept_words(headers))
    tag = raw["tag"]
    is_usable = ~headers.is_torn[wave] & ((tag != 0) | headers.is_ended[wave])
    is_side = (tag & (layout.TAG_SPAN | layout.TAG_SIDE)) == layout.TAG_SIDE
    main = oldest_first(raw, np.flatnonzero(is_usable & ~is_side), wave, headers)
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
    from_end = headers.side_end[wave] - kept[wave]
    events["number"] = place + np.where(place < main_words, HEADER_WORDS, from_end)
    number_rings(events, stream, headers)
    return events, is_value, is_torn


def _merge(events: Columns, owners: Ints, values: Columns) -> tuple[Columns, Ints, Columns]:
    """Put both streams together by time; at equal times main words first, then by record order."""
    is_dropped = events["kind"] == 0
    # A LONG_BEGIN has the time of its begin wherever it stands, were it in the main stream.
    is_moved = is_dropped | events["is_side"] | (events["kind"] == Kind.LONG_BEGIN)
    if not np.any(is_moved):
        return events, owners, values
    order = np.lexsort((events["ticks"], events["wave"]))
    order = order[~is_dropped[order]]
    place = np.full(len(events), -1, np.int64)
    place[order] = np.arange(len(order))
    owners = place[owners]
    by_owner = np.argsort(owners, kind="stable")
    return events.take(order), owners[by_owner], values.take(by_owner)


def _count_words(stream: Ints, headers: Headers) -> None:
    count = len(headers.waves)
    headers.waves["words"] = np.bincount(stream >> 1, minlength=count)
    side_words = np.bincount(stream[stream % 2 == 1] >> 1, minlength=count)
    # Those of an eager wave do not tell that some of its lanes were elsewhere.
    headers.waves["side_words"] = np.where(headers.is_eager, 0, side_words)


def _finish_waves(events: Columns, headers: Headers) -> int:
    """Set the end of waves that wrote none, or one that is too early; return gaps before ends."""
    waves, is_ended = headers.waves, headers.is_ended
    last = waves["begin_ticks"].copy()
    if len(events):
        ends = run_stops(run_starts(events["wave"]), len(events)) - 1
        last[events["wave"][ends]] = events["ticks"][ends]
    end = waves["end_ticks"]
    long_gaps = int(np.count_nonzero(is_ended & (end - last >= CLOCK_RANGE)))
    waves["flags"][is_ended & (end < last)] |= np.uint16(WaveFlag.CLAMPED)
    waves["end_ticks"] = np.maximum(end, last)
    return long_gaps
