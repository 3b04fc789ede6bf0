"""What FlyDSL's kernels left in a recording of ours: copies of its buffer, launches and names."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ktrace_cli.code_object.names import demangle
from ktrace_cli.errors import KtraceError, TraceFileError
from ktrace_cli.foreign.build import build_foreign
from ktrace_cli.foreign.events import EventBatch, rows_of
from ktrace_cli.foreign.flydsl.find import NO_CYCLES
from ktrace_cli.foreign.flydsl.joining import NONE, describe, join
from ktrace_cli.foreign.flydsl.layout import (
    REGION_SLOTS,
    SLOT,
    TICK_NS,
    Layout,
    read_counters,
    whole_layout,
)
from ktrace_cli.foreign.flydsl.reader import FlydslReader, list_waves
from ktrace_cli.foreign.flydsl.regions import Regions, survey
from ktrace_cli.foreign.found import Found, Launches, TimeBase
from ktrace_cli.foreign.naming import Naming
from ktrace_cli.foreign.side_car import names_of
from ktrace_cli.model import Columns, Timeline
from ktrace_cli.progress import Advance, unwatched
from ktrace_cli.timeline.build import devices_of, process_of
from ktrace_cli.timeline.host_clock import HostClock, fit_host_clock
from ktrace_cli.timeline.losses import count_recording
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import ClockMethod, ForeignTool
from ktrace_cli.trace_file.recording import ForeignBufferRecord, Recording
from ktrace_cli.units import counted

_NAMELESS = "flydsl_kernel"
_NO_STREAM = 1 << 62
"""Streams are numbered from 0: so large a number is damage, and says nothing of the next one."""


@dataclass(frozen=True)
class _Copy:
    """One copy of a buffer, with the launches of its dispatches."""

    waves: Columns
    of_wave: Ints
    queue: Ints
    """Of each dispatch."""
    launch: tuple[np.void | None, ...]
    """layout.DISPATCH of each dispatch; None: which it is cannot be told."""
    read: FlydslReader
    losses: Counter[str]
    launched: int
    is_certain: bool


@dataclass(frozen=True)
class _Reader:
    """Reads the events of several copies, whose regions are numbered one after the other."""

    readers: tuple[FlydslReader, ...]
    first: Ints
    """Number of each one's first region."""

    def __call__(self, slots: Ints) -> EventBatch:
        which = np.searchsorted(self.first, slots, "right") - 1
        order = np.argsort(which, kind="stable")
        batches: list[EventBatch] = [
            self.readers[copy](slots[which == copy] - self.first[copy])
            for copy in np.unique(which).tolist()
        ]
        if len(batches) == 1:
            return batches[0]
        counts = np.concatenate([batch.counts for batch in batches])
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        rows = rows_of((np.cumsum(counts) - counts)[place], counts[place])
        events = np.concatenate([batch.events for batch in batches])[rows]
        flags = np.concatenate([batch.flags for batch in batches])[place]
        losses: Counter[str] = Counter()
        for batch in batches:
            losses.update(batch.losses)
        return EventBatch(counts[place], events, flags, losses)


def holds_flydsl(recording: Recording) -> bool:
    """Tell whether there is a copy of FlyDSL's buffer in a recording."""
    return any(_is_flydsl(buffer) for buffer in recording.foreign.buffers)


def build_recorded(
    recording: Recording, advance: Advance = unwatched
) -> tuple[Timeline, tuple[str, ...]]:
    """Decode all copies of FlyDSL's buffer, and return what is assumed of them.

    Raises:
        KtraceError: none can be read.
    """
    buffers = [buffer for buffer in recording.foreign.buffers if _is_flydsl(buffer)]
    losses = count_recording(recording)
    readable = [b for b in buffers if _layout_of(b).slots > 0 and _device(recording, b)]
    losses["damaged_chunks"] += len(buffers) - len(readable)
    if not readable:
        raise TraceFileError(
            f"cannot read {recording.path}", why="its copies of FlyDSL's buffer are damaged"
        )
    copies = [_read_copy(recording, buffer) for buffer in readable]
    names, version = _names(recording)
    found = _join_copies(recording, copies, _naming(recording, copies, names))
    for copy in copies:
        losses.update(copy.losses)
    found.losses.update(losses)
    return build_foreign(found, advance), _notes(found, copies, names, version)


def _is_flydsl(buffer: ForeignBufferRecord) -> bool:
    return bool(buffer.record["tool"] == ForeignTool.FLYDSL)


def _device(recording: Recording, buffer: ForeignBufferRecord) -> bool:
    return int(buffer.record["device"]) in recording.devices


def _layout_of(buffer: ForeignBufferRecord) -> Layout:
    """Return the layout of what was copied: all regions that a wave was given, and no others."""
    whole = whole_layout(int(buffer.record["size"]))
    slots = min(len(buffer.data) // SLOT - whole.header_slots, whole.slots)
    return Layout(whole.partitions, whole.header_slots, slots, is_whole=slots == whole.slots)


def _read_copy(recording: Recording, buffer: ForeignBufferRecord) -> _Copy:
    place = _layout_of(buffer)
    regions = Regions(buffer.data, place)
    seen = survey(regions)
    waves, headers = list_waves(regions, seen)
    numbers = waves["slot"].astype(np.int64)
    events = regions.records["ts"][numbers * REGION_SLOTS + seen.first[numbers]]
    first_tick = np.where(seen.first[numbers] > 0, events, 0).astype(np.int64)
    of_wave, dispatches = describe(waves, headers, first_tick)
    launches = [
        launch["launch"]
        for launch in recording.foreign.launches
        if int(launch["number"]) == buffer.number
        and int(launch["launch"]["kernel"]) in recording.kernels
    ]
    joined, is_certain = join(dispatches, launches)
    launched, cursors = read_counters(buffer.data[: place.header_slots * SLOT], place)
    capacities = whole_layout(int(buffer.record["size"])).capacities
    regions_of = np.arange(place.regions)
    is_claimed = regions_of // place.partitions < cursors[regions_of % place.partitions]
    losses = Counter(
        missing_waves=int(np.maximum(cursors - capacities, 0).sum())
        + int(np.count_nonzero(is_claimed & ~seen.is_wave)),
        unclaimed_waves=int(np.count_nonzero(seen.is_wave & ~is_claimed)),
    )
    return _Copy(
        waves=waves,
        of_wave=of_wave,
        queue=dispatches.queue,
        launch=tuple(None if row == NONE else launches[row] for row in joined),
        read=FlydslReader(regions, seen, place.header_slots),
        losses=losses,
        launched=max(launched, len(launches)),
        is_certain=is_certain,
    )


def _join_copies(recording: Recording, copies: list[_Copy], naming: Naming) -> Found:
    """Return all copies as one."""
    regions = [copy.read.regions.layout.regions for copy in copies]
    sizes = [len(copy.queue) for copy in copies]
    waves = np.concatenate([copy.waves for copy in copies])
    first_region = np.cumsum([0, *regions])[:-1]
    first_launch = np.cumsum([0, *sizes])[:-1]
    waves["slot"] += np.repeat(first_region, [len(c.waves) for c in copies]).astype(np.uint32)
    of_wave = [copy.of_wave + base for copy, base in zip(copies, first_launch, strict=True)]
    told = [launch for copy in copies for launch in copy.launch]
    records = np.zeros(len(told), layout.DISPATCH)
    for row, launch in enumerate(told):
        if launch is not None:
            records[row] = launch
    kernels = tuple(_kernel(recording, launch) for launch in told)
    numbers = [int(each["launch"]["stream"]) for each in recording.foreign.launches]
    known = max((number for number in numbers if number < _NO_STREAM), default=-1)
    queues = np.concatenate([copy.queue for copy in copies])
    is_told = np.array([launch is not None for launch in told], np.bool_)
    streams = np.where(is_told, records["stream"].astype(np.int64), known + 1 + queues)
    number = int(recording.foreign.buffers[0].record["device"])
    device = next(d for d in devices_of(recording) if d.device == number)
    host = _host(recording, number)
    return Found(
        waves=waves,
        launches=Launches(
            np.concatenate(of_wave), streams, sum(c.launched for c in copies), kernels, records
        ),
        read=_Reader(tuple(copy.read for copy in copies), first_region),
        device=device,
        naming=naming,
        lines=None,
        tick_ns=TICK_NS,
        base=TimeBase("" if host else "the 100 MHz clock of the GPU", no_cycles=NO_CYCLES),
        data=recording.data,
        host=host,
        process=process_of(recording),
    )


def _host(recording: Recording, device: int) -> HostClock | None:
    samples = recording.clocks[recording.clocks["device"] == device]
    samples = samples[samples["method"] != ClockMethod.BOUNDS]
    if not len(samples):
        return None
    return fit_host_clock(samples, recording.devices[device], np.zeros((0, 4), np.int64))


def _kernel(recording: Recording, launch: np.void | None) -> str:
    return "" if launch is None else demangle(recording.kernels[int(launch["kernel"])].name)


def _names(recording: Recording) -> tuple[dict[int, str], str]:
    """Return all names that were written down, and FlyDSL's version."""
    names: dict[int, str] = {}
    version = ""
    for text in recording.foreign.names:
        found, version = _read_names(recording.path, text)
        names.update(found)
    return names, version


def _read_names(path: Path, text: str) -> tuple[dict[int, str], str]:
    try:
        document = json.loads(text)
        return names_of(path, dict(document["names"])), str(document.get("version", ""))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, KtraceError):
        return {}, ""  # events are then called after their ids, which is said


def _naming(recording: Recording, copies: list[_Copy], names: dict[int, str]) -> Naming:
    kernels = {_kernel(recording, launch) for copy in copies for launch in copy.launch} - {""}
    only = kernels.pop() if len(kernels) == 1 else _NAMELESS
    number = int(recording.foreign.buffers[0].record["device"])
    return Naming(only, recording.devices[number].target.split(":")[0], names)


def _notes(
    found: Found, copies: list[_Copy], names: dict[int, str], version: str
) -> tuple[str, ...]:
    notes = []
    if not names:
        notes.append(
            "no names of FlyDSL were written down (its Python ran with -I, -E or -S, or FlyDSL is"
            " of another version), so events are called after their ids"
        )
    elif version != "0.4.2" and not version.startswith("0.5."):
        notes.append(f"FlyDSL {version} is read as if it was 0.5: ktrace knows 0.4.2 and 0.5.x")
    unjoined = sum(not kernel for kernel in found.launches.kernels)
    if unjoined:
        of = counted(len(found.launches.kernels), "dispatch", "dispatches")
        notes.append(
            f"which launches {unjoined:,} of {of} are cannot be told: their grids are as large as"
            " their waves tell; KTRACE_FLYDSL=launch gives each launch a buffer of its own"
        )
    if not all(copy.is_certain for copy in copies):
        notes.append(
            "which stream is which queue is told by the order of their first events only;"
            " KTRACE_FLYDSL=launch gives each launch a buffer of its own"
        )
    recorded = len(found.launches.kernels)
    if found.launches.launched > recorded:
        launches = counted(found.launches.launched, "launch", "launches")
        notes.append(f"{launches} of instrumented kernels counted, {recorded:,} of them with waves")
    return tuple(notes)
