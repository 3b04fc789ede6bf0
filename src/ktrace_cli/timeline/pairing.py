"""Events to ranges: which word ends what another began. Knows no name and no nanosecond."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.model import Columns, SliceFlag, WaveFlag
from ktrace_cli.timeline.segments import (
    Ints,
    bisect,
    join_rows,
    match_nested,
    run_starts,
    run_stops,
    run_sums,
)
from ktrace_cli.trace_file.layout import Kind

RANGE = np.dtype(
    [
        ("event", "<i8"),  # row of Events.events that names it
        ("end_event", "<i8"),  # row whose payload is its as well, or -1
        ("wave", "<i8"),
        ("is_token", "?"),  # may overlap others: START to STOP
        ("flags", "<u2"),  # model.SliceFlag
        # Order of begins and ends in the wave; an end sorts before the begin at the same place.
        ("begin_key", "<i8"),
        ("end_key", "<i8"),
        ("begin_ticks", "<i8"),
        ("end_ticks", "<i8"),
    ]
)


@dataclass(frozen=True)
class Ranges:
    """The ranges of some waves."""

    ranges: Columns
    """RANGE, in no order."""
    stray_ends: int
    overwritten_begins: int
    """Ends without a begin in waves that have lost their first words."""


@dataclass(frozen=True)
class Places:
    """All begins and ends of nested ranges, and all other events, in one order.

    Spans are recorded when they end; here their begins have places between the events.
    """

    event: Ints
    """The event at each place; at a span's begin, the span."""
    of_event: Ints
    """The place of each event: a span's is where it ends."""
    span_begin: Ints
    """The place where a span begins; -1 for other events."""
    is_begin: NDArray[np.bool_]
    is_end: NDArray[np.bool_]
    starts: Ints
    """First place of each wave."""


@dataclass(frozen=True)
class _Batch:
    events: Columns
    waves: Columns
    places: Places
    last: Ints
    """The last event of each wave that has any."""


def pair_events(events: Columns, waves: Columns) -> Ranges:
    """Find all ranges of `events`.

    Args:
        events: events.EVENT, by wave, then time.
        waves: model.WAVE.
    """
    starts = run_starts(events["wave"])
    kind = events["kind"]
    is_open = (kind == Kind.PUSH) | (kind == Kind.LONG_BEGIN)
    partner, is_stray = match_nested(kind == Kind.PUSH, kind == Kind.POP, starts)
    places = _find_places(events, partner, is_open, is_stray, starts)
    batch = _Batch(events, waves, places, run_stops(starts, len(events)) - 1)

    nested = _nested(np.flatnonzero(is_open), partner, batch)
    phases, stray_phases = _find_phases(nested, batch)
    tokens, stray_stops = _find_tokens(batch)
    ranges = join_rows(RANGE, (nested, phases, tokens))
    ranges["wave"] = events["wave"][ranges["event"]]
    _set_flags(ranges, batch)
    lone_ends = np.flatnonzero((kind == Kind.LONG_END) | is_stray)
    strays = events["wave"][np.concatenate([lone_ends, stray_phases, stray_stops])]
    is_overwritten = (waves["flags"][strays] & WaveFlag.OVERWRITTEN) != 0
    overwritten = int(np.count_nonzero(is_overwritten))
    return Ranges(ranges, len(strays) - overwritten, overwritten)


def _nested(opens: Ints, partner: Ints, batch: _Batch) -> Columns:
    """Return spans, and what PUSH or a lone LONG_BEGIN opens."""
    events, places = batch.events, batch.places
    spans = np.flatnonzero(events["kind"] == Kind.RANGE)
    nested = np.zeros(len(spans) + len(opens), RANGE)
    nested["event"] = np.concatenate([spans, opens])
    nested["end_event"] = np.concatenate([np.full(len(spans), -1), partner[opens]])
    begin_place = np.concatenate([places.span_begin[spans], places.of_event[opens]])
    nested["begin_key"] = begin_place * 4 + 1
    nested["begin_ticks"] = events["ticks"][nested["event"]]
    nested["begin_ticks"][: len(spans)] -= events["duration"][spans]
    _end_at(nested, np.concatenate([spans, partner[opens]]), batch)
    return nested


def _find_places(
    events: Columns,
    partner: Ints,
    is_open: NDArray[np.bool_],
    is_stray: NDArray[np.bool_],
    starts: Ints,
) -> Places:
    size = len(events)
    kind = events["kind"]
    spans = np.flatnonzero(kind == Kind.RANGE)
    # `before[k]` is the event before which span k begins.
    before = _begins_of_spans(events, spans, partner, starts)
    begin_ticks = events["ticks"][spans] - events["duration"][spans]
    order = np.lexsort((-spans, begin_ticks, before))
    spans, before = spans[order], before[order]

    of_event = np.arange(size) + np.searchsorted(before, np.arange(size), side="right")
    of_begin = before + np.arange(len(spans))
    total = size + len(spans)
    event = np.empty(total, np.int64)
    event[of_event] = np.arange(size)
    event[of_begin] = spans
    span_begin = np.full(size, -1, np.int64)
    span_begin[spans] = of_begin
    is_begin = np.zeros(total, np.bool_)
    is_begin[of_begin] = True
    is_begin[of_event[is_open]] = True
    is_end = np.zeros(total, np.bool_)
    is_end[of_event[spans]] = True
    is_end[of_event[(kind == Kind.POP) & ~is_stray]] = True
    return Places(event, of_event, span_begin, is_begin, is_end, run_starts(events["wave"][event]))


def _begins_of_spans(events: Columns, spans: Ints, partner: Ints, starts: Ints) -> Ints:
    """Return for each span the event before which it begins.

    Events at the very cycle of its begin were before it, except a PUSH that opens something which
    is closed before the span ends.
    """
    ticks = np.ascontiguousarray(events["ticks"])
    begin = ticks[spans] - events["duration"][spans]
    result: Ints = spans.copy()
    first = starts[np.searchsorted(starts, spans, side="right") - 1]
    # Most spans contain no event, so that looking at the event before them suffices.
    far = np.flatnonzero((spans > first) & (ticks[spans - 1] >= begin))
    low = bisect(ticks, first[far], spans[far], begin[far])
    high = bisect(ticks, low, spans[far], begin[far] + 1)
    result[far] = high
    is_pending = low < high
    while np.any(is_pending):
        rows = np.flatnonzero(is_pending)
        at = low[rows]
        closed = partner[at]
        is_inside = (closed > at) & (closed < spans[far[rows]]) & (ticks[closed] > begin[far[rows]])
        result[far[rows[is_inside]]] = at[is_inside]
        low[rows] += 1
        is_pending[rows] = ~is_inside & (low[rows] < high[rows])
    return result


def _end_at(ranges: Columns, end: Ints, batch: _Batch) -> None:
    """Let each range end at the event `end`; where that is -1, at its wave's last word."""
    events = batch.events
    wave_last = batch.last[np.searchsorted(batch.last, ranges["event"])]
    is_unclosed = end < 0
    at = np.where(is_unclosed, wave_last, end)
    ranges["end_key"] = batch.places.of_event[at] * 4 + np.where(is_unclosed, 2, 0)
    ranges["end_ticks"] = events["ticks"][at]
    wave = events["wave"][ranges["event"]]
    ranges["flags"] = np.where(is_unclosed, _unclosed_flags(batch.waves, wave), 0)


def _unclosed_flags(waves: Columns, wave: Ints) -> NDArray[Any]:
    is_dropped = (waves["flags"][wave] & WaveFlag.DROPPED) != 0
    return np.where(is_dropped, SliceFlag.UNCLOSED | SliceFlag.TRUNCATED, SliceFlag.UNCLOSED)


def _find_phases(nested: Columns, batch: _Batch) -> tuple[Columns, Ints]:
    """Return the phases, and the PHASE_ENDs that end none.

    A phase lasts until the next PHASE or PHASE_END of the range that it began in, else to the end
    of that range, or of its wave.
    """
    events, places = batch.events, batch.places
    kind = events["kind"]
    rows = np.flatnonzero((kind == Kind.PHASE) | (kind == Kind.PHASE_END))
    if not len(rows):
        return np.zeros(0, RANGE), rows
    parent = _enclosing(rows, places)
    # Outside of any range, the wave's number, made negative, stands for the range.
    parent = np.where(parent >= 0, parent, -1 - events["wave"][rows])
    order = np.lexsort((rows, parent))
    rows, parent = rows[order], parent[order]
    is_phase = kind[rows] == Kind.PHASE
    has_next = np.append(parent[1:] == parent[:-1], False)
    follows_phase = np.append(False, has_next[:-1] & is_phase[:-1])
    stray = rows[~is_phase & ~follows_phase]

    phases = np.zeros(int(np.count_nonzero(is_phase)), RANGE)
    phases["event"] = rows[is_phase]
    phases["end_event"] = -1
    phases["begin_key"] = places.of_event[rows[is_phase]] * 4 + 1
    phases["begin_ticks"] = events["ticks"][rows[is_phase]]
    after = np.append(rows[1:], -1)[is_phase]
    _end_at(phases, after, batch)
    _end_with_parent(phases, np.flatnonzero(~has_next[is_phase]), parent[is_phase], nested, batch)
    return phases, stray


def _end_with_parent(
    phases: Columns, rows: Ints, parent: Ints, nested: Columns, batch: _Batch
) -> None:
    """End the phases `rows`, which nothing ends explicitly, together with what encloses them."""
    events, waves, places = batch.events, batch.waves, batch.places
    in_range = rows[parent[rows] >= 0]
    by_begin = np.argsort(nested["begin_key"])
    at = np.searchsorted(nested["begin_key"], parent[in_range] * 4 + 1, sorter=by_begin)
    enclosing = nested[by_begin[np.minimum(at, len(by_begin) - 1)]] if len(in_range) else nested[:0]
    for name in ("end_key", "end_ticks", "flags"):
        phases[name][in_range] = enclosing[name]

    in_wave = rows[parent[rows] < 0]
    wave = events["wave"][phases["event"][in_wave]]
    last_place = run_stops(places.starts, len(places.event)) - 1
    of_wave = np.searchsorted(places.starts, places.of_event[phases["event"][in_wave]], "right") - 1
    phases["end_key"][in_wave] = last_place[of_wave] * 4 + 3
    # What a wave lost may have been this phase's end.
    is_whole = (waves["flags"][wave] & (WaveFlag.UNFINISHED | WaveFlag.DROPPED)) == 0
    phases["end_ticks"][in_wave] = waves["end_ticks"][wave]
    phases["flags"][in_wave] = np.where(is_whole, 0, _unclosed_flags(waves, wave))


def _enclosing(rows: Ints, places: Places) -> Ints:
    """Return the place where the innermost range around each event begins, or -1."""
    step = places.is_begin.astype(np.int64) - places.is_end
    level = run_sums(step, places.starts)
    at = places.of_event[rows]
    result = np.full(len(rows), -1, np.int64)
    begins = np.flatnonzero(places.is_begin)
    begin_level = level[begins]
    for wanted in range(1, int(level[at].max(initial=0)) + 1):
        here = np.flatnonzero(level[at] == wanted)
        candidates = begins[begin_level == wanted]
        if len(here) and len(candidates):
            found = np.searchsorted(candidates, at[here]) - 1
            result[here] = np.where(found >= 0, candidates[found], -1)
    return result


def _find_tokens(batch: _Batch) -> tuple[Columns, Ints]:
    """Return the ranges from START to STOP, and the STOPs that stop nothing."""
    events = batch.events
    kind = events["kind"]
    begins = np.flatnonzero(kind == Kind.START)
    stops = np.flatnonzero(kind == Kind.STOP)
    end = np.full(len(begins), -1, np.int64)
    is_stray = np.ones(len(stops), np.bool_)
    if len(begins) and len(stops):
        key = (events["wave"][begins] << 32) | events["number"][begins]
        order = np.argsort(key, kind="stable")
        wanted = (events["wave"][stops] << 32) | events["id"][stops].astype(np.int64)
        at = np.minimum(np.searchsorted(key, wanted, sorter=order), len(order) - 1)
        found = order[at]
        is_known = key[found] == wanted
        # The first STOP of a START counts; another one has nothing left to stop.
        started, first = np.unique(found[is_known], return_index=True)
        end[started] = stops[is_known][first]
        is_stray[np.flatnonzero(is_known)[first]] = False
    tokens = np.zeros(len(begins), RANGE)
    tokens["event"] = begins
    tokens["end_event"] = end
    tokens["is_token"] = True
    tokens["begin_key"] = batch.places.of_event[begins] * 4 + 1
    tokens["begin_ticks"] = events["ticks"][begins]
    _end_at(tokens, end, batch)
    return tokens, stops[is_stray]


def _set_flags(ranges: Columns, batch: _Batch) -> None:
    """Hold ranges within their wave and above 0 cycles, and flag those across a long gap."""
    events = batch.events
    begin = np.maximum(ranges["begin_ticks"], batch.waves["begin_ticks"][ranges["wave"]])
    is_clamped = (begin != ranges["begin_ticks"]) | (ranges["end_ticks"] < begin)
    ranges["begin_ticks"] = begin
    ranges["end_ticks"] = np.maximum(ranges["end_ticks"], begin)
    ranges["flags"][is_clamped] |= np.uint16(SliceFlag.CLAMPED)
    ranges["flags"][events["is_unclear"][ranges["event"]]] |= np.uint16(SliceFlag.LONG_GAP)
    gaps = np.zeros(len(batch.places.event), np.int64)
    gaps[batch.places.of_event[events["is_after_gap"]]] = 1
    so_far = np.cumsum(gaps)
    is_across = so_far[ranges["end_key"] // 4] > so_far[ranges["begin_key"] // 4]
    ranges["flags"][is_across] |= np.uint16(SliceFlag.LONG_GAP)
