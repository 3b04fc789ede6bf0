"""Slices of another tool as packets of a Perfetto trace, in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.export.merged_rows import Bytes, Rows, interleave, varint_sizes
from ktrace_cli.export.protobuf import message, number, text, varint
from ktrace_cli.importers.host_trace import Argument, HostTrace, Kind

Ints = NDArray[np.int64]

BEGIN, END, INSTANT = 1, 2, 3
_PIECE = 100_000  # events
_INTERNED_PIECE = 1 << 18  # bytes
_CLEARED, _NEEDS_STATE = 1, 2
_EVENT_NAMES, _ARGUMENT_NAMES, _ARGUMENT_TEXTS = 2, 3, 29

_PACKET, _TIMESTAMP, _TRACK_EVENT = varint(1 << 3 | 2), varint(8 << 3), varint(11 << 3 | 2)
_TYPE, _TRACK, _NAME = varint(9 << 3), varint(11 << 3), varint(10 << 3)
_ANNOTATION, _NAME_IID = varint(4 << 3 | 2), varint(1 << 3)
_INT, _DOUBLE, _TEXT = varint(4 << 3), varint(5 << 3 | 1), varint(17 << 3)
_FLOW, _LAST_FLOW = varint(47 << 3 | 1), varint(48 << 3 | 1)


@dataclass(frozen=True)
class Shown:
    """What a trace shows, in order of time."""

    ns: Ints
    type: NDArray[np.uint8]
    track: Ints
    name: Ints
    begin_of: Ints
    """The event at which each slice begins."""


@dataclass(frozen=True)
class _Tail:
    """Something that is appended to some events."""

    owners: Ints
    """Ascending."""
    values: NDArray[np.generic]
    head: bytes
    """Of an argument: its name and kind; of an arrow its tag."""
    tag: bytes = field(default=b"")
    """What the head and the value are wrapped in; "" for arrows."""


def order_events(trace: HostTrace, tracks: Ints, shift_ns: int) -> Shown:
    """Lay out begins and ends: on a track an end comes before a begin at the same time."""
    slices = trace.slices
    is_mark = slices["kind"] == Kind.MARK
    rows = np.flatnonzero(~is_mark)
    rows = rows[np.argsort(tracks[rows], kind="stable")]
    begins, ends = _places(tracks[rows], slices["begin_ns"][rows], slices["end_ns"][rows])
    marks = np.flatnonzero(is_mark)
    count = 2 * len(rows) + len(marks)
    ns, kind = np.zeros(count, np.int64), np.zeros(count, np.uint8)
    row_of = np.zeros(count, np.int64)
    ns[begins], kind[begins], row_of[begins] = slices["begin_ns"][rows], BEGIN, rows
    ns[ends], kind[ends], row_of[ends] = slices["end_ns"][rows], END, rows
    ns[2 * len(rows) :], kind[2 * len(rows) :] = slices["begin_ns"][marks], INSTANT
    row_of[2 * len(rows) :] = marks
    by_time = np.argsort(ns, kind="stable")
    ns, kind, row_of = ns[by_time] + shift_ns, kind[by_time], row_of[by_time]
    begin_of = np.zeros(len(slices), np.int64)
    is_first = kind != END
    begin_of[row_of[is_first]] = np.flatnonzero(is_first)
    return Shown(ns, kind, tracks[row_of], slices["name"][row_of] + 1, begin_of)


def _places(track: Ints, begin: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Return the place of each BEGIN and END, track by track; rows are by track, then begin."""
    begins, ends = np.zeros(len(track), np.int64), np.zeros(len(track), np.int64)
    open_: list[tuple[int, int]] = []
    place, own = 0, -1
    columns = zip(track.tolist(), begin.tolist(), end.tolist(), strict=True)
    for row, (uuid, first, last) in enumerate(columns):
        while open_ and (uuid != own or open_[-1][0] <= first):
            ends[open_.pop()[1]] = place
            place += 1
        own = uuid
        begins[row] = place
        place += 1
        open_.append((last, row))
    while open_:
        ends[open_.pop()[1]] = place
        place += 1
    return begins, ends


def write_state(trace: HostTrace, sequence: int) -> Iterator[bytes]:
    """Yield what a sequence begins with: that it is new, and its strings."""
    head = number(10, sequence)
    yield message(1, head, number(13, _CLEARED), number(87, 1))
    yield from _strings(trace, _argument_names(trace), head + number(13, _NEEDS_STATE))


def count_pieces(shown: Shown) -> int:
    """Return how many pieces `write_events` yields."""
    return -(-len(shown.ns) // _PIECE)


def write_events(trace: HostTrace, shown: Shown, sequence: int, first_flow: int) -> Iterator[bytes]:
    """Yield the events of a sequence, in pieces."""
    number_by_name = {name: row + 1 for row, name in enumerate(_argument_names(trace))}
    head = number(10, sequence) + number(13, _NEEDS_STATE)
    tails = [_argument(a, number_by_name[a.name], shown) for a in trace.arguments]
    tails += _arrows(trace, shown, first_flow)
    for first in range(0, len(shown.ns), _PIECE):
        yield _piece(shown, tails, (first, min(first + _PIECE, len(shown.ns))), head).tobytes()


def _argument_names(trace: HostTrace) -> list[str]:
    return list(dict.fromkeys(argument.name for argument in trace.arguments))


def _strings(trace: HostTrace, names: list[str], head: bytes) -> Iterator[bytes]:
    used = np.zeros(len(trace.strings), np.bool_)
    used[trace.slices["name"]] = True
    told = np.zeros(len(trace.strings), np.bool_)
    for argument in trace.arguments:
        if argument.is_text:
            told[argument.values] = True
    rows = [(_ARGUMENT_NAMES, row, name) for row, name in enumerate(names)]
    rows += [(_EVENT_NAMES, row, trace.strings[row]) for row in np.flatnonzero(used).tolist()]
    rows += [(_ARGUMENT_TEXTS, row, trace.strings[row]) for row in np.flatnonzero(told).tolist()]
    piece, size = list[bytes](), 0
    for table, row, string in rows:
        piece.append(message(table, number(1, row + 1), text(2, string)))
        size += len(piece[-1])
        if size > _INTERNED_PIECE:
            yield message(1, head, message(12, *piece))
            piece, size = [], 0
    yield message(1, head, message(12, *piece))


def _argument(argument: Argument, name: int, shown: Shown) -> _Tail:
    owners = shown.begin_of[argument.rows]
    order = np.argsort(owners, kind="stable")
    values = argument.values[order]
    kind = _INT
    if argument.is_text:
        kind, values = _TEXT, values + 1
    elif values.dtype.kind == "f":
        kind = _DOUBLE
    return _Tail(owners[order], values, _NAME_IID + varint(name) + kind, _ANNOTATION)


def _arrows(trace: HostTrace, shown: Shown, first_flow: int) -> list[_Tail]:
    ids = np.arange(first_flow, first_flow + len(trace.flows))
    tails = []
    for end, tag in (("source", _FLOW), ("destination", _LAST_FLOW)):
        owners = shown.begin_of[trace.flows[end]]
        order = np.argsort(owners, kind="stable")
        tails.append(_Tail(owners[order], ids[order], tag))
    return tails


def _piece(shown: Shown, tails: list[_Tail], rows: tuple[int, int], head: bytes) -> Bytes:
    first, stop = rows
    content, sizes = _tails(tails, first, stop)
    track, name = shown.track[first:stop], shown.name[first:stop]
    kind, ns = shown.type[first:stop], shown.ns[first:stop]
    has_name = kind != END
    event_sizes = 3 + varint_sizes(track) + sizes + np.where(has_name, 1 + varint_sizes(name), 0)
    packet_sizes = 1 + varint_sizes(ns) + len(head) + 1 + varint_sizes(event_sizes) + event_sizes
    cells = Rows(stop - first)
    cells.constant(_PACKET)
    cells.varint(packet_sizes)
    cells.constant(_TIMESTAMP)
    cells.varint(ns)
    cells.constant(head + _TRACK_EVENT)
    cells.varint(event_sizes)
    cells.constant(_TYPE)
    cells.varint(kind)
    cells.constant(_TRACK)
    cells.varint(track)
    cells.constant(_NAME, has_name)
    cells.varint(name, has_name)
    heads, head_sizes = cells.flatten()
    return interleave(heads, head_sizes, content, sizes)


def _tails(tails: list[_Tail], first: int, stop: int) -> tuple[Bytes, Ints]:
    """Return what is appended to the events of a piece, and how many bytes each has."""
    owners, sizes, contents = [], [], []
    for tail in tails:
        a, b = np.searchsorted(tail.owners, [first, stop])
        if a == b:
            continue
        encoded, size = _encoded(tail, tail.values[a:b])
        owners.append(tail.owners[a:b] - first)
        sizes.append(size)
        contents.append(encoded)
    if not owners:
        return np.zeros(0, np.uint8), np.zeros(stop - first, np.int64)
    owner, size = np.concatenate(owners), np.concatenate(sizes)
    begins = np.cumsum(size) - size
    order = np.argsort(owner, kind="stable")
    size, begins = size[order], begins[order]
    before = np.cumsum(size) - size
    index = np.repeat(begins - before, size) + np.arange(int(size.sum()))
    per_event = np.bincount(owner[order], weights=size, minlength=stop - first)
    content: Bytes = np.concatenate(contents)[index]
    return content, per_event.astype(np.int64)


def _encoded(tail: _Tail, values: NDArray[np.generic]) -> tuple[Bytes, Ints]:
    rows = Rows(len(values))
    is_fixed = not tail.tag or values.dtype.kind == "f"
    raw = values.astype(np.float64 if values.dtype.kind == "f" else np.int64).view(np.uint64)
    if tail.tag:
        rows.constant(tail.tag)
        rows.varint(len(tail.head) + (np.full(len(raw), 8) if is_fixed else varint_sizes(raw)))
    rows.constant(tail.head)
    if is_fixed:
        rows.fixed64(raw)
    else:
        rows.varint(raw)
    return rows.flatten()
