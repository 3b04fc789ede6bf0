"""Ranges and marks of a trace file as events in the order in which waves wrote them."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from ktrace_cli.foreign.events import EVENT, NO_START, NO_VALUE, EventBatch, rows_of
from ktrace_cli.foreign.traces.spans import NO_END, Spans
from ktrace_cli.model import Columns
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.trace_file.layout import Kind, ValueType

# At equal times: ends of what began before, then begins, then ends of what has no length.
_END, _BEGIN, _EMPTY_END = range(3)
FIRST_TICK = 1
"""The tick of a time of 0: a wave that began at 0 ticks is one of which no begin is told."""


@dataclass(frozen=True)
class SpanReader:
    """An EventReader, whose slots are the waves of Spans."""

    events: Columns
    """EVENT, by wave, then time."""
    starts: Ints
    """Row of each wave's first event, and behind them all how many there are."""

    def __call__(self, slots: Ints) -> EventBatch:
        """Read the events of some waves."""
        counts = np.diff(self.starts)[slots]
        events = self.events[rows_of(self.starts[slots], counts)]
        return EventBatch(counts, events, np.zeros(len(slots), np.int64))


def make_reader(spans: Spans) -> tuple[SpanReader, dict[int, tuple[int, str]]]:
    """Return a reader, and what each of its ids stands for: kernel's number and name.

    An end finds its begin by the id. Ranges of one name that cross need several ids therefore.
    """
    wave, begin, end = (np.array(c, np.int64) for c in (spans.wave, spans.begin, spans.end))
    is_mark = np.array(spans.is_mark, np.bool_)
    kernels = kernel_numbers(spans)
    named = [(kernels[w], n) for w, n in zip(spans.wave, spans.name, strict=True)]
    number = {key: at for at, key in enumerate(dict.fromkeys(named))}
    name = np.array([number[key] for key in named], np.int64)
    copy = _copies(wave * (len(number) + 1) + name, begin, end, is_mark)
    keys, ids = np.unique(copy * max(len(number), 1) + name, return_inverse=True)
    meaning = list(number)
    by_id = {row: meaning[key % len(meaning)] for row, key in enumerate(keys.tolist())}
    roles = [(w, (kernels[w], place.role)) for w, place in enumerate(spans.places) if place.role]
    role_ids = {key: len(keys) + at for at, key in enumerate(dict.fromkeys(k for _, k in roles))}
    by_id.update({row: key for key, row in role_ids.items()})
    events, owner = _events(spans, (wave, begin, end, is_mark), ids.reshape(-1))
    events, owner = _with_roles(events, owner, [(w, role_ids[key]) for w, key in roles])
    starts = np.searchsorted(owner, np.arange(len(spans.places) + 1))
    return SpanReader(events, starts), by_id


def kernel_numbers(spans: Spans) -> list[int]:
    """Return the number of each wave's kernel, in order of their first waves."""
    names = {name: n for n, name in enumerate(dict.fromkeys(p.kernel for p in spans.places))}
    return [names[place.kernel] for place in spans.places]


def _copies(key: Ints, begin: Ints, end: Ints, is_mark: Columns) -> Ints:
    """Return for each range the first number that no range of its key has which it crosses."""
    copy = np.zeros(len(key), np.int64)
    until = np.where(end == NO_END, np.iinfo(np.int64).max, end)
    order = np.lexsort((-until, begin, key))
    order = order[~is_mark[order]]
    own, first, last = key[order], begin[order], until[order]
    is_overlapping = np.zeros(len(order), np.bool_)
    is_overlapping[1:] = (own[1:] == own[:-1]) & (first[1:] < last[:-1])
    for crossing in np.unique(own[is_overlapping]).tolist():
        stacks: list[list[int]] = []
        at, stop = np.searchsorted(own, (crossing, crossing + 1))
        for row in range(int(at), int(stop)):
            copy[order[row]] = _place(stacks, int(first[row]), int(last[row]))
    return copy


def _place(stacks: list[list[int]], begin: int, end: int) -> int:
    """Put a range into the first stack in which it nests; returns its number."""
    for number, ends in enumerate(stacks):
        while ends and ends[-1] <= begin:
            ends.pop()
        if not ends or end <= ends[-1]:
            ends.append(end)
            return number
    stacks.append([end])
    return len(stacks) - 1


def _events(
    spans: Spans, columns: tuple[Ints, Ints, Ints, Columns], ids: Ints
) -> tuple[Columns, Ints]:
    """Return EVENT by wave and time, and the wave of each."""
    wave, begin, end, is_mark = columns
    is_closed = ~is_mark & (end != NO_END)
    rows = np.concatenate([np.arange(len(wave)), np.flatnonzero(is_closed)])
    is_end = np.arange(len(rows)) >= len(wave)
    times = np.where(is_end, end[rows], begin[rows])
    is_empty = end[rows] == begin[rows]
    rank = np.where(is_end, np.where(is_empty, _EMPTY_END, _END), _BEGIN)
    # Of what begins at one time the longest is the first; of what ends, the last begun.
    inner = np.where(is_end, -begin[rows], -np.where(end[rows] == NO_END, 1 << 62, end[rows]))
    order = np.lexsort((rows, inner, rank, times, wave[rows]))
    rows, is_end = rows[order], is_end[order]
    events = np.zeros(len(rows), EVENT)
    events["ticks"], events["id"] = FIRST_TICK + times[order], ids[rows]
    events["start"], events["type"] = NO_START, NO_VALUE
    kinds = np.where(is_mark[rows], Kind.MARK, Kind.LONG_BEGIN)
    events["kind"] = np.where(is_end, Kind.LONG_END, kinds)
    _put_payloads(spans, events, np.where(is_end, -1, rows))
    return events, wave[rows]


def _put_payloads(spans: Spans, events: Columns, rows: Ints) -> None:
    told = {row: value for row, value in enumerate(spans.payload) if value is not None}
    if not told:
        return
    for at, row in enumerate(rows.tolist()):
        value = told.get(row)
        if isinstance(value, float):
            events["type"][at] = ValueType.F64
            events["bits"][at] = struct.unpack("<Q", struct.pack("<d", value))[0]
        elif value is not None:
            events["type"][at] = ValueType.I64 if value < 0 else ValueType.U64
            events["bits"][at] = value & ((1 << 64) - 1)


def _with_roles(events: Columns, owner: Ints, roles: list[tuple[int, int]]) -> tuple[Columns, Ints]:
    """Put what a wave is in front of its first event."""
    place = np.searchsorted(owner, np.array([wave for wave, _ in roles], np.int64))
    has_any = [at < len(owner) and owner[at] == w for at, (w, _) in zip(place, roles, strict=True)]
    place = place[has_any]
    first = events[place]
    first["kind"], first["type"] = Kind.GROUP, NO_VALUE
    first["id"] = np.array([number for _, number in roles], np.uint32)[has_any]
    return np.insert(events, place, first), np.insert(owner, place, owner[place])
