"""Perfetto traces of in-kernel tracers to waves, ranges and marks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ktrace_cli.errors import UsageError
from ktrace_cli.foreign.traces.pairing import named, pair
from ktrace_cli.foreign.traces.places import place_of
from ktrace_cli.foreign.traces.spans import NO_END, Line, Place, Spans
from ktrace_cli.foreign.traces.wrapping import unwrapped
from ktrace_cli.foreign.traces.writers import Writer
from ktrace_cli.importers.json_file import read_bytes
from ktrace_cli.importers.perfetto_packets import INSTANT, Event, PacketReader
from ktrace_cli.progress import Advance, unwatched

_LIFETIME = re.compile(r"(?i)wave span|warp ?life ?time")
_UNCLOSED = " (unclosed)"
_LOSSES = {
    "malformed_rows": "unread_records",
    "no_times": "undated_records",
    "cut_off": "cut_files",
}
_SHORT = (Writer.FLASHINFER, Writer.WARPSCOPE_PFTRACE)
"""Those that keep 32 bits of a time."""


@dataclass
class PerfettoTrace:
    """The events of a file in order of time, and the waves of its tracks."""

    reader: PacketReader
    events: list[Event]
    writer: Writer | None
    spans: Spans
    wave_by_track: dict[int, int | None] = field(default_factory=dict)
    _parents: dict[int, int] = field(default_factory=dict)
    _names: dict[tuple[str, ...], dict[str, int]] = field(default_factory=dict)

    def wave_of(self, uuid: int) -> int | None:
        """Return the wave of a track; None: it is that of a host or a counter."""
        if uuid not in self.wave_by_track:
            place, line = self._place(uuid)
            wave = None if place is None else self.spans.wave_at(place, line)
            self.wave_by_track[uuid] = wave
        return self.wave_by_track[uuid]

    def path_of(self, uuid: int) -> list[str]:
        """Return the names of a track and all above it, outermost first."""
        names: list[str] = []
        seen: set[int] = set()
        while (track := self.reader.tracks.get(uuid)) is not None and uuid not in seen:
            seen.add(uuid)
            name = track.process_name or track.name
            names.insert(0, name or f"track {uuid}")
            uuid = track.parent
        return names

    def _place(self, uuid: int) -> tuple[Place | None, Line]:
        track = self.reader.tracks.get(uuid)
        if track is None or track.is_counter:
            return None, Line()
        path = self.path_of(uuid)
        known = place_of(path)
        if self.writer is Writer.FLYDSL and known is not None:
            known = replace(known, kernel=path[0], launch=self._number(path[:2]))
        if known is not None or self.writer is not None:
            if self.writer is Writer.WARPSCOPE_PFTRACE and known is not None and len(path) > 1:
                known = replace(known, wave=self._number((*path[:1], path[1])), role=path[1])
            return known, Line()
        block = self._parents.setdefault(track.parent, len(self._parents))
        return Place(block=(block, 0, 0), wave=len(self.spans.places), role=path[-1]), Line()

    def _number(self, path: Sequence[str]) -> int:
        """Return the place of a name among those beside it, in order of their first events."""
        own = self._names.setdefault(tuple(path[:-1]), {})
        return own.setdefault(path[-1], len(own))


def read_pftrace(path: Path, writer: Writer | None, advance: Advance = unwatched) -> Spans:
    """Read a trace.

    Raises:
        KtraceError: it is none, or no track of it is that of a wave.
    """
    spans = Spans()
    reader, events = read_packets(path, spans, advance)
    trace = PerfettoTrace(reader, events, writer, spans)
    _put(trace)
    if not spans.places:
        raise UsageError(
            f"{path} tells of no wave",
            why=f"none of its {len(reader.tracks):,} tracks is called like a block or a warp, and"
            " has events",
            fix="`ktrace merge` shows what a host or its kernels did",
        )
    _tell(trace)
    return spans


def read_packets(
    path: Path, spans: Spans, advance: Advance = unwatched
) -> tuple[PacketReader, list[Event]]:
    """Return the events of a file, and what tells their tracks."""
    repairs: Counter[str] = Counter()
    reader = PacketReader(repairs)
    events = list(reader.events(read_bytes(path), advance))
    for name, count in repairs.items():
        spans.losses[_LOSSES.get(name, "unread_records")] += count
    spans.losses["unread_records"] += reader.dropped
    return reader, events


def _put(trace: PerfettoTrace) -> None:
    spans, times = trace.spans, [event.ns for event in trace.events]
    if trace.writer in _SHORT:
        origin = unwrapped(times, spans.notes)
        times = [ns - origin(row) for row, ns in enumerate(times)]
    zero = min(times, default=0)
    for row, end in pair(trace.events, times, spans.losses):
        event, ns = trace.events[row], times[row] - zero
        wave = trace.wave_of(event.track)
        if wave is None:
            spans.losses["unshown_records"] += 1
        elif event.kind == INSTANT:
            name, payload = named(event)
            spans.add_mark(wave, name, ns, payload)
        else:
            _put_range(trace, event, (ns, end if end == NO_END else end - zero))
    spans.lines[:] = [Line(zero + line.ns, line.slope) for line in spans.lines]


def _put_range(trace: PerfettoTrace, event: Event, times: tuple[int, int]) -> None:
    wave = trace.wave_of(event.track)
    assert wave is not None
    track = trace.reader.tracks[event.track]
    if _LIFETIME.search(event.name) or _LIFETIME.search(track.name):
        if times[1] != NO_END:
            trace.spans.lifetimes[wave] = times
        return
    name, payload = named(event)
    is_closed = not name.endswith(_UNCLOSED) or trace.writer is not Writer.FLYDSL
    end = times[1] if is_closed else NO_END
    trace.spans.add_range(wave, name.removesuffix(_UNCLOSED), times[0], end, payload)


def _tell(trace: PerfettoTrace) -> None:
    notes = trace.spans.notes
    if trace.writer is None:
        notes.append(
            "no tool is known that writes such a file: tracks are taken as waves, and what they"
            " are in as workgroups, where their names do not tell"
        )
    elif trace.writer is Writer.IKET:
        notes.append(
            "tracks are read by what they are called in IKET 4.8; times have steps of 32 ns"
        )
    if flows := sum(len(event.flows) + len(event.last_flows) for event in trace.events):
        trace.spans.losses["unshown_records"] += flows
