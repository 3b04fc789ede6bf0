"""Packets that say what a trace is made of: its process, its tracks, and how a sequence begins."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from ktrace_cli.export.interning import Interned
from ktrace_cli.export.protobuf import message, number, text, varint
from ktrace_cli.export.space import Space
from ktrace_cli.export.tracks import Track
from ktrace_cli.model import Timeline

_CLEARED, _NEEDS_STATE = 1, 2  # sequence_flags
_REALTIME, _MONOTONIC, _BOOTTIME = 1, 3, 6
_DELTA_CLOCK = 64  # counts from the event before; its meaning is its sequence's own
_EXPLICIT_ORDER, _NEVER_MERGE = 3, 2
_TRACKS_PER_PIECE = 4096

# There may be millions of tracks: what stands in each of them is encoded once.
_UUID, _NAME, _PARENT, _RANK = (varint(tag) for tag in (1 << 3, 2 << 3 | 2, 5 << 3, 12 << 3))
_ORDERED = number(11, _EXPLICIT_ORDER) + number(15, _NEVER_MERGE)


def process_packet(timeline: Timeline, space: Space) -> bytes:
    """Describe the process whose tracks these are."""
    process = timeline.process
    arguments = process.arguments if process else ()
    pid = space.pid if space.pid is not None else process.pid if process else 0
    uuid = number(1, space.first_uuid)
    if pid == 0:  # Perfetto's process 0 is the idle task
        name = space.title or shlex.join(arguments) or "unknown process"
        return message(1, message(60, uuid, text(2, name)))
    fields = [number(1, pid)]
    fields += [text(2, argument) for argument in arguments]
    fields.append(text(6, space.title or (arguments[0] if arguments else "unknown process")))
    if any(device.is_software for device in timeline.devices):
        fields.append(text(8, "modelled time: software device"))
    return message(1, message(60, uuid, message(3, *fields)))


def track_packets(tracks: Iterable[Track]) -> Iterator[bytes]:
    """Describe tracks, some thousand at a time."""
    packets = []
    for track in tracks:
        packets.append(_track(track))
        if len(packets) == _TRACKS_PER_PIECE:
            yield b"".join(packets)
            packets.clear()
    yield b"".join(packets)


def _track(track: Track) -> bytes:
    name = track.name.encode(errors="replace")
    body = b"".join(
        (
            _UUID + varint(track.uuid),
            _NAME + varint(len(name)) + name,
            _PARENT + varint(track.parent),
            _RANK + varint(track.rank),
            _ORDERED,
        )
    )
    return message(1, message(60, body))


def sequence_packets(timeline: Timeline, space: Space, zero_ns: int) -> bytes:
    """Begin a sequence whose clock stands at `zero_ns` of the timeline, and tell host clocks."""
    cleared = number(10, space.first_sequence) + number(13, _CLEARED)
    defaults = message(59, number(58, _DELTA_CLOCK))
    return (
        message(1, cleared, number(87, 1), defaults)
        + _host_clocks(timeline, space, zero_ns)
        + clock_packet(space, zero_ns)
    )


def clock_packet(space: Space, zero_ns: int) -> bytes:
    """Set the sequence's clock to `zero_ns` of the timeline."""
    clocks = [_clock(_BOOTTIME, zero_ns + space.shift_ns), _clock(_DELTA_CLOCK, 0, number(3, 1))]
    return message(1, _in_sequence(space), message(6, *clocks))


def _host_clocks(timeline: Timeline, space: Space, zero_ns: int) -> bytes:
    process = timeline.process
    if process is None or not space.shows_clocks or timeline.unit != "ns":
        return b""
    since = zero_ns - process.boottime_ns
    clocks = [
        _clock(clock, at + since)
        for clock, at in ((_MONOTONIC, process.monotonic_ns), (_REALTIME, process.realtime_ns))
        if at and at + since >= 0
    ]
    if not clocks:
        return b""
    own = _clock(_BOOTTIME, zero_ns + space.shift_ns)
    return message(1, _in_sequence(space), message(6, own, *clocks))


def interned_packets(space: Space, interned: Interned) -> bytes:
    """Tell the strings that were not told yet."""
    packets = (message(1, _in_sequence(space), message(12, new)) for new in interned.take_new())
    return b"".join(packets)


def _in_sequence(space: Space) -> bytes:
    return number(10, space.first_sequence) + number(13, _NEEDS_STATE)


def _clock(clock: int, at: int, *fields: bytes) -> bytes:
    return message(1, number(1, clock), number(2, at), *fields)
