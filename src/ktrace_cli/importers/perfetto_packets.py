"""Packets of a Perfetto trace: tracks, names and events with their times; no slices yet."""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from ktrace_cli.importers.protobuf_fields import (
    MalformedError,
    Value,
    as_bytes,
    as_number,
    fields,
    signed,
)
from ktrace_cli.progress import Advance, unwatched

BEGIN, END, INSTANT = 1, 2, 3
_BOOTTIME = 6
_BYTES_PER_STEP = 1 << 19
_FIRST_OWN_CLOCK = 64
_CLEARED = 1
_COMPRESSED = 50
_CATEGORIES, _NAMES, _ARGUMENT_NAMES, _ARGUMENT_TEXTS = 1, 2, 3, 29
_DROPPED = (3, 18, 19)  # of BufferStats: chunks overwritten, chunks discarded, packets lost


@dataclass
class Track:
    """A track's descriptor."""

    name: str = ""
    parent: int = 0
    pid: int = 0
    process_name: str = ""
    thread: int = 0
    is_counter: bool = False


@dataclass
class Event:
    """A track event."""

    ns: int
    kind: int = 0
    track: int = 0
    name: str = ""
    category: str = ""
    arguments: dict[str, int | float | str] = field(default_factory=dict)
    flows: list[int] = field(default_factory=list)
    last_flows: list[int] = field(default_factory=list)


@dataclass
class _Clock:
    offset: int
    """To CLOCK_BOOTTIME."""
    last: int
    """Of a clock that counts from the event before."""
    is_incremental: bool
    unit: int


@dataclass
class _Sequence:
    """What packets of one sequence refer to."""

    strings: dict[tuple[int, int], str] = field(default_factory=dict)
    clocks: dict[int, _Clock] = field(default_factory=dict)
    default_clock: int = _BOOTTIME
    default_track: int = 0


@dataclass
class PacketReader:
    """Reads the packets of one trace in order."""

    repairs: Counter[str]
    tracks: dict[int, Track] = field(default_factory=dict)
    dropped: int = 0
    """Chunks and packets that the recorder says it lost."""
    _sequences: dict[int, _Sequence] = field(default_factory=dict)
    _clocks: dict[int, _Clock] = field(default_factory=dict)

    def events(self, trace: bytes, advance: Advance = unwatched) -> Iterator[Event]:
        """Yield the track events of a trace; a torn end is counted."""
        read = told = 0
        for number, packet in _whole_fields(trace, self.repairs):
            if number != 1:
                continue
            try:
                yield from self._packet(as_bytes(packet))
                read += len(as_bytes(packet))
            except (MalformedError, zlib.error):
                self.repairs["malformed_rows"] += 1
            if read - told > _BYTES_PER_STEP:
                advance((read - told) / len(trace))
                told = read
        advance(1 - told / max(len(trace), 1))

    def _packet(self, data: bytes, depth: int = 0) -> Iterator[Event]:
        packet = dict(fields(data))
        if _COMPRESSED in packet:
            if depth:
                raise MalformedError("compressed packets are in compressed packets")
            for _, inner in fields(zlib.decompress(as_bytes(packet[_COMPRESSED]))):
                yield from self._packet(as_bytes(inner), depth + 1)
            return
        sequence = self._sequences.setdefault(as_number(packet.get(10, 0)), _Sequence())
        if as_number(packet.get(13, 0)) & _CLEARED or as_number(packet.get(41, 0)):
            sequence.strings.clear()
            sequence.default_clock, sequence.default_track = _BOOTTIME, 0
        for number, value in packet.items():
            self._take_state(sequence, number, value)
        if 11 in packet:
            clock = as_number(packet.get(58, sequence.default_clock))
            ns = self._boottime(sequence, clock, as_number(packet.get(8, 0)))
            if ns is None:
                self.repairs["no_times"] += 1
            else:
                yield _event(as_bytes(packet[11]), ns, sequence)

    def _take_state(self, sequence: _Sequence, number: int, value: Value) -> None:
        if number == 12:
            _intern(sequence, as_bytes(value))
        elif number == 59:
            for key, default in fields(as_bytes(value)):
                if key == 58:
                    sequence.default_clock = as_number(default)
                elif key == 11:
                    track = dict(fields(as_bytes(default))).get(11, 0)
                    sequence.default_track = as_number(track)
        elif number == 60:
            self._describe(as_bytes(value))
        elif number == 6:
            self._snapshot(sequence, as_bytes(value))
        elif number == 35:
            self._count_dropped(as_bytes(value))

    def _describe(self, data: bytes) -> None:
        track = Track()
        uuid = 0
        for number, value in fields(data):
            if number == 1:
                uuid = as_number(value)
            elif number in (2, 10):
                track.name = _text(value)
            elif number == 5:
                track.parent = as_number(value)
            elif number == 8:
                track.is_counter = True
            elif number == 3:
                process = dict(fields(as_bytes(value)))
                track.pid = as_number(process.get(1, 0))
                track.process_name = _text(process.get(6, b""))
            elif number == 4:
                thread = dict(fields(as_bytes(value)))
                track.pid = as_number(thread.get(1, 0))
                track.thread = as_number(thread.get(2, 0))
                track.name = track.name or _text(thread.get(5, b""))
        self.tracks[uuid] = track

    def _snapshot(self, sequence: _Sequence, data: bytes) -> None:
        clocks = [dict(fields(as_bytes(value))) for number, value in fields(data) if number == 1]
        at = {as_number(c.get(1, 0)): c for c in clocks}
        if _BOOTTIME not in at:
            return
        boottime = as_number(at[_BOOTTIME].get(2, 0))
        for number, clock in at.items():
            unit = as_number(clock.get(4, 1)) or 1
            ns = as_number(clock.get(2, 0)) * unit
            known = _Clock(boottime - ns, ns, bool(clock.get(3, 0)), unit)
            own = _FIRST_OWN_CLOCK <= number < 2 * _FIRST_OWN_CLOCK
            (sequence.clocks if own else self._clocks)[number] = known

    def _boottime(self, sequence: _Sequence, clock: int, value: int) -> int | None:
        if clock in (0, _BOOTTIME):
            return value
        known = sequence.clocks.get(clock) or self._clocks.get(clock)
        if known is None:
            return None
        ns = value * known.unit
        if known.is_incremental:
            known.last += ns
            ns = known.last
        return ns + known.offset

    def _count_dropped(self, data: bytes) -> None:
        """Each trace_stats packet tells the sums so far."""
        lost = 0
        for number, value in fields(data):
            if number == 1:
                buffer = dict(fields(as_bytes(value)))
                lost += sum(as_number(buffer.get(key, 0)) for key in _DROPPED)
        self.dropped = max(self.dropped, lost)


def _whole_fields(data: bytes, repairs: Counter[str]) -> Iterator[tuple[int, Value]]:
    try:
        yield from fields(data)
    except MalformedError:
        repairs["cut_off"] += 1


def _text(value: Value) -> str:
    return as_bytes(value).decode(errors="replace")


def _intern(sequence: _Sequence, data: bytes) -> None:
    for table, value in fields(data):
        if table in (_CATEGORIES, _NAMES, _ARGUMENT_NAMES, _ARGUMENT_TEXTS):
            entry = dict(fields(as_bytes(value)))
            iid = as_number(entry.get(1, 0))
            sequence.strings[table, iid] = _text(entry.get(2, b""))


def _event(data: bytes, ns: int, sequence: _Sequence) -> Event:
    event = Event(ns, track=sequence.default_track)
    for number, value in fields(data):
        if number == 9:
            event.kind = as_number(value)
        elif number == 11:
            event.track = as_number(value)
        elif number in (23, 10):
            event.name = _named(sequence, _NAMES, value)
        elif number in (22, 3):
            event.category = event.category or _named(sequence, _CATEGORIES, value)
        elif number == 4:
            _take_argument(event, as_bytes(value), sequence)
        elif number in (47, 36):
            event.flows.append(as_number(value))
        elif number in (48, 42):
            event.last_flows.append(as_number(value))
    return event


def _named(sequence: _Sequence, table: int, value: Value) -> str:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return sequence.strings.get((table, value), "")


def _take_argument(event: Event, data: bytes, sequence: _Sequence) -> None:
    name = ""
    told: int | float | str | None = None
    for number, value in fields(data):
        if number in (1, 10):
            name = _named(sequence, _ARGUMENT_NAMES, value)
        elif number in (2, 3, 7):
            told = as_number(value)
        elif number == 4:
            told = signed(as_number(value))
        elif number == 5:
            told = struct.unpack("<d", as_number(value).to_bytes(8, "little"))[0]
        elif number in (6, 9, 17):
            told = _named(sequence, _ARGUMENT_TEXTS, value)
    if name and told is not None:
        event.arguments[name] = told
