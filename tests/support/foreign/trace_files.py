"""Trace files as in-kernel tracers write them, event by event, from what their devices counted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

BOOTTIME = 6


@dataclass
class ProtonBlock:
    """What one block of one launch recorded: cycles of its SM's clock."""

    core: int
    cta: int
    init_ns: int
    """globaltimer."""
    warps: dict[int, list[tuple[str, int, int]]] = field(default_factory=dict)
    """Name, begin and end in cycles."""

    def events(self, kernel: str, zero_ns: int, *, has_init: bool) -> Iterable[dict[str, Any]]:
        """Yield its events, in the order of its records."""
        first = min(begin for own in self.warps.values() for _, begin, _ in own)
        for warp, ranges in self.warps.items():
            for line, (name, begin, end) in _lines(ranges):
                told = {"Finalization Time (ns)": 96, "Frequency (MHz)": 1000.0, "call_stack": []}
                if has_init:
                    told |= {"Init Time (ns)": self.init_ns, "Post Final Time (ns)": 0}
                yield {
                    "args": told, "cat": kernel, "cname": "good", "name": name, "ph": "X",
                    "pid": f"{kernel} Core{self.core} CTA{self.cta}",
                    "tid": f"warp {warp} (line {line})",
                    "ts": (begin - first + self.init_ns - zero_ns) / 1000.0,
                    "dur": (end - begin) / 1000.0,
                }  # fmt: skip


def _lines(
    ranges: list[tuple[str, int, int]],
) -> Iterable[tuple[int, tuple[str, int, int]]]:
    """Give each range the first line where it overlaps with nothing."""
    lines: list[list[tuple[int, int]]] = []
    line_of = {}
    for row in sorted(range(len(ranges)), key=lambda row: ranges[row][1]):
        _, begin, end = ranges[row]
        free = (n for n, own in enumerate(lines) if all(begin >= e or end <= b for b, e in own))
        line = next(free, len(lines))
        lines[line:] = lines[line:] or [[]]
        lines[line].append((begin, end))
        line_of[row] = line
    return [(line_of[row], ranges[row]) for row in range(len(ranges))]


def proton_json(
    launches: Sequence[tuple[str, Sequence[ProtonBlock]]], *, has_init: bool = True
) -> dict[str, Any]:
    """A file of launches; blocks of each come by their core."""
    zero = min(block.init_ns for _, blocks in launches for block in blocks)
    events = [
        event
        for kernel, blocks in launches
        for block in sorted(blocks, key=lambda block: block.core)
        for event in block.events(kernel, zero, has_init=has_init)
    ]
    return {"displayTimeUnit": "ns", "traceEvents": events}


def mori_json(warps: dict[int, list[tuple[int, str, str]]]) -> dict[str, Any]:
    """A file of MORI-VIZ.

    Args:
        warps: of each, ticks of 10 ns, name and phase (B, E or i).
    """
    rows = sorted((ticks, warp, name, ph) for warp, own in warps.items() for ticks, name, ph in own)
    events = []
    for ticks, warp, name, ph in rows:
        event = {"name": name, "cat": "gpu_kernel", "ph": ph,
                 "ts": (ticks - rows[0][0]) / (0.1 * 1000.0), "pid": 0, "tid": warp}  # fmt: skip
        events.append(event | ({"s": "t"} if ph == "i" else {}))
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def write_json(path: Path, document: Any) -> Path:
    """Write a file; returns its path."""
    path.write_text(json.dumps(document))
    return path


@dataclass
class PerfettoFile:
    """A Perfetto trace, packet by packet."""

    trace: Trace = field(default_factory=Trace)
    _tracks: int = 0

    def process(self, name: str) -> int:
        """Add a track that is a process; returns its id."""
        packet, uuid = self._track(name, 0)
        packet.track_descriptor.process.pid = uuid
        packet.track_descriptor.process.process_name = name
        return uuid

    def track(self, name: str, parent: int = 0) -> int:
        """Add a track; returns its id."""
        return self._track(name, parent)[1]

    def _track(self, name: str, parent: int) -> tuple[Any, int]:
        self._tracks += 1
        packet = self.trace.packet.add()
        packet.track_descriptor.uuid = self._tracks
        packet.track_descriptor.name = name
        if parent:
            packet.track_descriptor.parent_uuid = parent
        return packet, self._tracks

    def begin(self, track: int, ns: int, name: str, **told: int) -> None:
        """Begin a range."""
        self._event(track, ns, TrackEvent.TYPE_SLICE_BEGIN, name, told)

    def end(self, track: int, ns: int) -> None:
        """End the last range of a track."""
        self._event(track, ns, TrackEvent.TYPE_SLICE_END, "", {})

    def mark(self, track: int, ns: int, name: str, **told: int) -> None:
        """Add a mark."""
        self._event(track, ns, TrackEvent.TYPE_INSTANT, name, told)

    def range(self, track: int, begin: int, end: int, name: str, **told: int) -> None:
        """Add a whole range."""
        self.begin(track, begin, name, **told)
        self.end(track, end)

    def _event(self, track: int, ns: int, kind: Any, name: str, told: dict[str, int]) -> None:
        packet = self.trace.packet.add()
        packet.timestamp = ns
        packet.timestamp_clock_id = BOOTTIME
        packet.trusted_packet_sequence_id = 1
        packet.track_event.type = kind
        packet.track_event.track_uuid = track
        if name:
            packet.track_event.name = name
        for key, value in told.items():
            note = packet.track_event.debug_annotations.add()
            note.name, note.uint_value = key.replace("_ns", " (ns)").replace("_", " "), value

    def write(self, path: Path) -> Path:
        """Write the file; returns its path."""
        path.write_bytes(self.trace.SerializeToString())
        return path
