"""Perfetto traces, as rocprofv3 writes them, to a host trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.errors import KtraceError
from ktrace_cli.importers.builder import Builder, Source
from ktrace_cli.importers.host_trace import Clock, HostTrace, HostTrack, Kind
from ktrace_cli.importers.perfetto_packets import BEGIN, END, INSTANT, Event, PacketReader
from ktrace_cli.progress import Advance, part_of, unwatched

Ints = NDArray[np.int64]

_KIND_BY_CATEGORY = {"kernel_dispatch": Kind.KERNEL, "memory_copy": Kind.COPY}
_LARGEST = (1 << 63) - 1
_PACKETS = 0.7  # share of the time that reading takes


class _Slices:
    """Slices whose ends are looked for."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.ends: list[int] = []
        self.is_mark: list[bool] = []
        self._open: dict[int, list[int]] = {}

    def take(self, event: Event, repairs: Callable[[str], None]) -> None:
        """Add one event."""
        stack = self._open.setdefault(event.track, [])
        if event.kind in (BEGIN, INSTANT):
            if event.kind == BEGIN:
                stack.append(len(self.events))
            self.events.append(event)
            self.ends.append(event.ns)
            self.is_mark.append(event.kind == INSTANT)
        elif event.kind == END:
            if not stack:
                repairs("stray_ends")
                return
            row = stack.pop()
            self.ends[row] = event.ns
            self.events[row].arguments.update(event.arguments)
        else:
            repairs("not_shown")

    def finish(self, repairs: Callable[[str], None]) -> None:
        """Make marks of what never ended."""
        for stack in self._open.values():
            for row in stack:
                self.is_mark[row] = True
                repairs("unclosed")


def read_perfetto(data: bytes, path: Path, advance: Advance = unwatched) -> HostTrace:
    """Read a Perfetto trace.

    Args:
        data: the file's content, decompressed.
        path: where it is from.
        advance: is told how far it is.

    Raises:
        KtraceError: it is none.
    """
    builder = Builder()
    reader = PacketReader(builder.repairs)
    events = list(reader.events(data, part_of(advance, _PACKETS)))
    if not events and not reader.tracks:
        raise KtraceError(
            f"cannot read {path}", why="it holds no track and no event of a Perfetto trace"
        )
    slices = _Slices()

    def count(name: str) -> None:
        builder.repairs[name] += 1

    # Writers may put events out of order; at equal times the file's order counts.
    for event in sorted(events, key=lambda event: event.ns):
        slices.take(event, count)
    slices.finish(count)
    rows = _add(builder, reader, slices)
    _add_flows(builder, slices.events, rows)
    advance(1 - _PACKETS)
    builder.repairs["recorder_losses"] += reader.dropped
    return builder.build(Source(path, "Perfetto trace", Clock.BOOTTIME))


def _add(builder: Builder, reader: PacketReader, slices: _Slices) -> Ints:
    """Add all slices; returns the builder's rows."""
    events = slices.events
    kinds = np.array(
        [
            Kind.MARK if mark else _KIND_BY_CATEGORY.get(event.category, Kind.CALL)
            for event, mark in zip(events, slices.is_mark, strict=True)
        ],
        np.int64,
    )
    begin = np.array([min(event.ns, _LARGEST) for event in events], np.int64)
    end = np.array([min(ns, _LARGEST) for ns in slices.ends], np.int64)
    for row in np.flatnonzero(kinds == Kind.KERNEL).tolist():
        own = _own_times(events[row])
        if own is not None and own != (int(begin[row]), int(end[row])):
            begin[row], end[row] = own
            builder.repairs["uncut_kernels"] += 1
    tracks = np.array([_track(builder, reader, event.track) for event in events], np.int64)
    names = builder.texts([event.name or "(no name)" for event in events])
    builder.repairs["unknown_names"] += sum(not event.name for event in events)
    rows = np.zeros(len(events), np.int64)
    for kind in np.unique(kinds).tolist():
        here = np.flatnonzero(kinds == kind)
        rows[here] = builder.add(
            Kind(kind),
            {
                "track": tracks[here],
                "name": names[here],
                "begin_ns": begin[here],
                "end_ns": end[here],
            },
        )
    builder.text_argument("category", rows, [event.category for event in events])
    _tell(builder, events, rows)
    is_kernel = (kinds == Kind.KERNEL).tolist()
    builder.repairs["unknown_devices"] += sum(
        kernel and "VGPR_Count" in event.arguments
        for kernel, event in zip(is_kernel, events, strict=True)
    )
    return rows


def _own_times(event: Event) -> tuple[int, int] | None:
    """Return when a kernel really ran: rocprofv3 cuts slices that overlap in the middle."""
    begin, end = event.arguments.get("begin_ns"), event.arguments.get("end_ns")
    if isinstance(begin, int) and isinstance(end, int) and 0 < begin <= end <= _LARGEST:
        return begin, end
    return None


def _track(builder: Builder, reader: PacketReader, uuid: int) -> int:
    path: list[str] = []
    track = own = reader.tracks.get(uuid)
    seen = {uuid}
    while track is not None and not track.pid and track.parent not in seen:
        seen.add(track.parent)
        track = reader.tracks.get(track.parent)
        if track is not None and not track.pid:
            path.append(track.name)
    pid = track.pid if track is not None else 0
    process = builder.process(pid, _process_name(reader, pid))
    if own is None:
        return builder.track(HostTrack(process, f"track {uuid}"))
    if own.thread:
        return builder.track(HostTrack(process, f"thread {own.thread}", thread=own.thread))
    group = " / ".join(reversed(path))
    return builder.track(HostTrack(process, own.name or f"track {uuid}", device=group))


def _process_name(reader: PacketReader, pid: int) -> str:
    names = (t.process_name for t in reader.tracks.values() if t.pid == pid and t.process_name)
    return next(names, "")


def _tell(builder: Builder, events: Sequence[Event], rows: Ints) -> None:
    told: dict[tuple[str, type], tuple[list[int], list[Any]]] = {}
    for row, event in enumerate(events):
        for name, value in event.arguments.items():
            if isinstance(value, int) and abs(value) > _LARGEST:
                continue
            owners, values = told.setdefault((name, type(value)), ([], []))
            owners.append(row)
            values.append(value)
    for (name, kind), (owners, values) in told.items():
        own = rows[np.array(owners, np.int64)]
        if kind is str:
            builder.text_argument(name, own, values)
        else:
            builder.argument(name, own, np.array(values, np.float64 if kind is float else np.int64))


def _add_flows(builder: Builder, events: Sequence[Event], rows: Ints) -> None:
    """Add arrows: from each slice that has a flow's id to the next one that has it."""
    last: dict[int, int] = {}
    sources, destinations = [], []
    for row, event in enumerate(events):
        for flow in (*event.flows, *event.last_flows):
            if flow in last:
                sources.append(last[flow])
                destinations.append(row)
            elif flow in event.last_flows:
                builder.repairs["loose_flows"] += 1
            last[flow] = row
        for flow in event.last_flows:
            last.pop(flow, None)
    if sources:
        builder.flow(rows[np.array(sources)], rows[np.array(destinations)])
