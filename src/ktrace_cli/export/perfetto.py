"""The model as a Perfetto trace: one sequence of packets, written in pieces."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ktrace_cli.errors import KtraceError
from ktrace_cli.export.arguments import add_arrows, annotate
from ktrace_cli.export.interning import Interned, name_everything
from ktrace_cli.export.output import Sink
from ktrace_cli.export.protobuf import (
    Bytes,
    Ints,
    Rows,
    interleave,
    message,
    number,
    text,
    varint,
    varint_sizes,
)
from ktrace_cli.export.track_events import END, order_events
from ktrace_cli.export.tracks import PROCESS_TRACK, Track, TrackTree, plan_tracks
from ktrace_cli.model import Columns, Timeline

_PIECE = 250_000  # events; bounds the memory of one piece to about 30 MB
_SEQUENCE = 75
_CLEARED, _NEEDS_STATE = 1, 2  # sequence_flags
_REALTIME, _MONOTONIC, _BOOTTIME = 1, 3, 6
_DELTA_CLOCK = 64  # counts from the event before; its meaning is this sequence's own
_EXPLICIT_ORDER, _NEVER_MERGE = 3, 2

# Fields of TracePacket, then of TrackEvent, as they stand in front of each value.
_PACKET = varint(1 << 3 | 2)
_TIMESTAMP, _TRACK_EVENT = varint(8 << 3), varint(11 << 3 | 2)
_SEQUENCE_FIELDS = number(10, _SEQUENCE) + number(13, _NEEDS_STATE)
_TYPE, _TRACK, _NAME = varint(9 << 3), varint(11 << 3), varint(10 << 3)


@dataclass(frozen=True)
class Written:
    """What a trace holds."""

    slices: int
    instants: int
    arrows: int
    uses_slots: bool
    """Tracks are hardware slots, because there are too many waves for a track each."""


def write_perfetto(timeline: Timeline, out: Sink) -> Written:
    """Write `timeline` to `out`, uncompressed.

    Raises:
        KtraceError: times before the host clock's zero.
    """
    tree = plan_tracks(timeline)
    interned = Interned()
    names = name_everything(timeline, interned, by_kernel=tree.uses_slots)
    shown = order_events(timeline, tree, names)
    annotations = annotate(timeline, shown, interned)
    add_arrows(timeline, shown, annotations)
    tails, tail_sizes = annotations.per_event(len(shown.events))

    zero = int(shown.events["ns"][0]) if len(shown.events) else 0
    if zero < 0:
        raise KtraceError(
            "cannot write a Perfetto trace",
            why=f"its first event is at {zero} ns of the host's clock, before that clock began",
            fix="write text with `-f text`, and report the recording's clock samples",
        )
    out.write(_descriptors(timeline, tree))
    out.write(_state(timeline, interned, zero))
    for piece in _pieces(shown.events, tails, tail_sizes, zero):
        out.write(piece)
    return Written(
        slices=len(timeline.slices),
        instants=len(timeline.instants),
        arrows=len(timeline.flows),
        uses_slots=tree.uses_slots,
    )


def _descriptors(timeline: Timeline, tree: TrackTree) -> bytes:
    parents = {track.parent for track in tree.tracks}
    packets = [_process(timeline)]
    packets += [_track(track, is_parent=track.uuid in parents) for track in tree.tracks]
    return b"".join(packets)


def _process(timeline: Timeline) -> bytes:
    process = timeline.process
    arguments = process.arguments if process else ()
    if process is None or process.pid == 0:  # Perfetto's process 0 is the idle task
        name = shlex.join(arguments) if arguments else "unknown process"
        return message(1, message(60, number(1, PROCESS_TRACK), text(2, name)))
    fields = [number(1, process.pid)]
    fields += [text(2, argument) for argument in arguments]
    fields.append(text(6, arguments[0] if arguments else "unknown process"))
    if any(device.is_software for device in timeline.devices):
        fields.append(text(8, "modelled time: software device"))
    return message(1, message(60, number(1, PROCESS_TRACK), message(3, *fields)))


def _track(track: Track, *, is_parent: bool) -> bytes:
    fields = [
        number(1, track.uuid),
        text(2, track.name),
        number(5, track.parent),
        number(12, track.rank),
        number(15, _NEVER_MERGE),
    ]
    if is_parent:
        fields.append(number(11, _EXPLICIT_ORDER))
    return message(1, message(60, *fields))


def _state(timeline: Timeline, interned: Interned, zero: int) -> bytes:
    """Return what events refer to: that the sequence begins, clocks, defaults, names."""
    sequence = number(10, _SEQUENCE)
    clear = message(1, sequence, number(13, _CLEARED), number(87, 1))
    clocks = [_clock(_BOOTTIME, zero), _clock(_DELTA_CLOCK, 0, number(3, 1))]
    process = timeline.process
    if process is not None:
        since = zero - process.boottime_ns
        for clock, at in ((_MONOTONIC, process.monotonic_ns), (_REALTIME, process.realtime_ns)):
            if at and at + since >= 0:
                clocks.append(_clock(clock, at + since))
    snapshot = message(1, _SEQUENCE_FIELDS, message(6, *clocks))
    defaults = message(59, number(58, _DELTA_CLOCK))
    return clear + snapshot + message(1, _SEQUENCE_FIELDS, defaults, message(12, interned.encode()))


def _clock(clock: int, at: int, *fields: bytes) -> bytes:
    return message(1, number(1, clock), number(2, at), *fields)


def _pieces(events: Columns, tails: Bytes, tail_sizes: Ints, zero: int) -> Iterator[bytes]:
    deltas = np.diff(events["ns"], prepend=zero)
    tail_ends = np.append(0, np.cumsum(tail_sizes))
    for first in range(0, len(events), _PIECE):
        rows = slice(first, min(first + _PIECE, len(events)))
        tail = tails[tail_ends[rows.start] : tail_ends[rows.stop]]
        yield _encode(events[rows], deltas[rows], tail, tail_sizes[rows]).tobytes()


def _encode(events: Columns, delta: Ints, tails: Bytes, tail_sizes: Ints) -> Bytes:
    """Return the packets of some events, each with its tail of arguments."""
    track, name = events["track"], events["name"]
    has_name = events["type"] != END
    event_sizes = 3 + varint_sizes(track) + tail_sizes
    event_sizes += np.where(has_name, 1 + varint_sizes(name), 0)
    packet_sizes = 1 + varint_sizes(delta) + len(_SEQUENCE_FIELDS)
    packet_sizes += 1 + varint_sizes(event_sizes) + event_sizes

    rows = Rows(len(events))
    rows.constant(_PACKET)
    rows.varint(packet_sizes)
    rows.constant(_TIMESTAMP)
    rows.varint(delta)
    rows.constant(_SEQUENCE_FIELDS + _TRACK_EVENT)
    rows.varint(event_sizes)
    rows.constant(_TYPE)
    rows.varint(events["type"])
    rows.constant(_TRACK)
    rows.varint(track)
    rows.constant(_NAME, has_name)
    rows.varint(name, has_name)
    heads, head_sizes = rows.flatten()
    return interleave(heads, head_sizes, tails, tail_sizes)
