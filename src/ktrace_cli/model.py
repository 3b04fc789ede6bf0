"""The timeline as columns: plain data that every stage from the decoder to the exporters shares.

Times are integers. `*_ticks` columns are core clock cycles counted from the start of the wave's own
clock (s_memtime, 64 bits); `*_ns` columns are nanoseconds of the recording's host clock.
Indexes point into the tables named in their comments; NONE (-1) means "no such row".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from enum import IntFlag
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Columns = NDArray[Any]

NONE = -1

DISPATCH = np.dtype(
    [
        ("number", "<u8"),  # of the traced launch in its process, from 1
        ("launch", "<u8"),  # among all launches of its process, from 1
        ("kernel", "<i4"),  # Timeline.kernels
        ("device", "<i4"),  # HIP device index
        ("stream", "<u8"),  # in order of first use; 0 is the null stream
        ("thread", "<u4"),  # in order of first launch
        ("grid", "<u4", 3),  # workgroups
        ("block", "<u4", 3),  # work-items
        ("shared_bytes", "<u4"),
        ("launched_ns", "<i8"),  # host: HIP was called
        ("completed_ns", "<i8"),  # host: known to be done
        ("begin_ns", "<i8"),  # of its first wave; launched_ns if it has none
        ("end_ns", "<i8"),  # of its last wave
        ("first_wave", "<i8"),  # Timeline.waves; a dispatch's waves are neighbours
        ("waves", "<i8"),
        ("expected", "<u4"),  # waves that should have been recorded; 0: not known
        ("flags", "<u4"),  # layout.DispatchFlag
        ("status", "<u4"),  # HIP's error code; 0
    ]
)


class WaveFlag(IntFlag):
    """What is special about a wave."""

    UNFINISHED = 1  # it never wrote its end
    TORN = 2  # its header contradicts itself; its words were not read
    DROPPED = 4  # its region was full
    PARTIAL = 8  # it began with inactive lanes
    CLAMPED = 16  # its end was before its begin or its last word
    MOVED = 32  # it ended on other hardware than it began on, maybe with another clock
    LEFT_EARLY = 64  # lanes that were active at its begin were not at its end
    OVERWRITTEN = 128  # its region kept its last words: those before them are gone


WAVE = np.dtype(
    [
        ("dispatch", "<i4"),  # Timeline.dispatches
        ("slot", "<u4"),
        ("block", "<u4", 3),
        ("wave", "<u4"),  # in its workgroup
        ("xcc", "<u2"),
        ("se", "<u2"),
        ("cu", "<u2"),
        ("simd", "<u2"),
        ("hardware_slot", "<u2"),  # wave slot of the SIMD
        ("flags", "<u2"),  # WaveFlag
        ("group", "<i4"),  # Timeline.events: its role, or NONE
        ("begin_ticks", "<i8"),
        ("end_ticks", "<i8"),
        ("begin_ns", "<i8"),
        ("end_ns", "<i8"),
        ("words", "<u4"),  # kept
        ("side_words", "<u4"),  # of these, from partly active waves
        ("dropped", "<u4"),  # words that did not fit
        ("overwritten", "<u4"),  # words in whose place later ones are
        ("slices", "<u4"),  # of Part.slices
        ("instants", "<u4"),  # of Part.instants
    ]
)


class SliceFlag(IntFlag):
    """What is special about a slice or an instant."""

    UNCLOSED = 1  # no end was recorded: it is shown up to the wave's last record
    TRUNCATED = 2  # unclosed in a wave that dropped words
    CLAMPED = 4  # its end was before its begin
    LONG_GAP = 8  # its length is known up to a multiple of 2**32 cycles only
    RUNNING = 16  # unclosed, because its dispatch was still running: its end is the last known time


SLICE = np.dtype(
    [
        ("wave", "<i4"),  # Timeline.waves
        ("event", "<i4"),  # Timeline.events
        ("lane", "<i4"),  # Timeline.lanes; 0 is the wave's own, where slices nest
        ("depth", "<u2"),  # on its lane, from 0
        ("flags", "<u2"),  # SliceFlag
        ("begin_ticks", "<i8"),
        ("ticks", "<i8"),
        ("begin_ns", "<i8"),
        ("ns", "<i8"),
        ("first_value", "<i8"),  # Part.values
        ("values", "<u4"),
        ("parent", "<i4"),  # Part.slices: the slice around it on its lane, or NONE
    ]
)

INSTANT = np.dtype(
    [
        ("wave", "<i4"),  # Timeline.waves
        ("event", "<i4"),  # Timeline.events
        ("ticks", "<i8"),
        ("ns", "<i8"),
        ("first_value", "<i8"),  # Part.values
        ("values", "<u4"),
        ("reserved", "<u4"),
    ]
)

VALUE = np.dtype([("type", "<u4"), ("reserved", "<u4"), ("bits", "<u8")])  # layout.ValueType
FLOW = np.dtype([("source", "<i8"), ("destination", "<i8"), ("edge", "<i4"), ("reserved", "<u4")])

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Kernel:
    """A kernel that was launched."""

    name: str
    """Demangled, without the trailing ktrace::sink parameter."""
    mangled: str
    """`.name` of the metadata, as HIP knows it."""
    target: str
    """Target id of its code object: gfx942:sramecc+:xnack-."""
    code_object: str
    """SHA-256 of its code object, in hexadecimal; "" if the recording has lost it."""


@dataclass(frozen=True)
class Event:
    """A named marker in the source."""

    name: str
    kind: int  # layout.Kind
    lane: str
    file: str
    line: int
    kernel: int  # Timeline.kernels
    unit: int  # low half of the key of the translation unit that numbered it


@dataclass(frozen=True)
class Edge:
    """An arrow from each occurrence of one event to the same occurrence of another."""

    source: str
    destination: str
    unit: int
    """Both ends are events of this unit: the low half of its key."""
    kernels: frozenset[int]
    """Rows of Timeline.kernels in which it holds."""


@dataclass(frozen=True)
class Device:
    """A device that ran a traced kernel."""

    device: int
    target: str
    name: str
    is_software: bool
    compute_units: int
    xcc_count: int
    realtime_hz: int


@dataclass(frozen=True)
class Process:
    """The process that was recorded. On the software device ids and calendar clocks are 0."""

    pid: int
    parent_pid: int
    host: str
    directory: str
    arguments: tuple[str, ...]
    boottime_ns: int
    monotonic_ns: int
    realtime_ns: int


def _count(one: str, many: str) -> Any:
    return field(default=0, metadata={"one": one, "many": many})


@dataclass(frozen=True)
class Losses:
    """What is missing, repaired or assumed. All counts; every command reports those above 0."""

    torn_bytes: int = _count(
        "byte at the file's end is no whole chunk", "bytes at the file's end are no whole chunk"
    )
    skipped_bytes: int = _count("damaged byte was skipped", "damaged bytes were skipped")
    damaged_chunks: int = _count("chunk failed its checksum", "chunks failed their checksum")
    missing_chunks: int = _count("chunk is missing", "chunks are missing")
    unknown_chunks: int = _count(
        "chunk of an unknown type was skipped", "chunks of an unknown type were skipped"
    )
    not_closed: int = _count(
        "recording was not closed, as its process ended by exec or a signal (as workers of a pool"
        " do), or the file was cut: what it holds is whole; whether there was more is not known",
        "recordings were not closed, as their processes ended by exec or a signal (as workers of a"
        " pool do), or the files were cut: what they hold is whole; whether there was more is not"
        " known",
    )
    untraced_launches: int = _count(
        "launch of an annotated kernel was not traced",
        "launches of annotated kernels were not traced",
    )
    unread_code_objects: int = _count(
        "code object could not be read", "code objects could not be read"
    )
    unreadable_dispatches: int = _count(
        "dispatch could not be decoded", "dispatches could not be decoded"
    )
    failed_dispatches: int = _count(
        "dispatch ended with a HIP error", "dispatches ended with a HIP error"
    )
    missing_waves: int = _count(
        "wave has no record: it never began, or all slots were taken",
        "waves have no record: they never began, or all slots were taken",
    )
    unfinished_dispatches: int = _count(
        "dispatch was recorded without its end",
        "dispatches were recorded without their ends",
    )
    unfinished_waves: int = _count("wave never reached its end", "waves never reached their end")
    torn_waves: int = _count("wave has a damaged header", "waves have a damaged header")
    clamped_waves: int = _count(
        "wave ended before its begin or its last word",
        "waves ended before their begin or their last word",
    )
    moved_waves: int = _count(
        "wave ended on other hardware than it began on: its clock may have changed",
        "waves ended on other hardware than they began on: their clocks may have changed",
    )
    dropped_words: int = _count(
        "word did not fit its wave's region", "words did not fit their wave's region"
    )
    truncated_waves: int = _count("wave filled its region", "waves filled their region")
    overwritten_words: int = _count(
        "word was overwritten by a later one (`--full ring`)",
        "words were overwritten by later ones (`--full ring`)",
    )
    overwritten_begins: int = _count(
        "end has lost its begin, which was overwritten",
        "ends have lost their begin, which was overwritten",
    )
    torn_words: int = _count("word is not readable", "words are not readable")
    clamped_words: int = _count(
        "word has a time that contradicts those around it",
        "words have a time that contradicts those around them",
    )
    unnamed_events: int = _count(
        "event has an id without a name", "events have an id without a name"
    )
    unclosed_slices: int = _count("range has no end", "ranges have no end")
    stray_ends: int = _count("end has no begin", "ends have no begin")
    stray_values: int = _count("payload belongs to no event", "payloads belong to no event")
    clamped_slices: int = _count(
        "range began before its wave or ended before its begin",
        "ranges began before their wave or ended before their begin",
    )
    long_gaps: int = _count(
        "gap is longer than the 32-bit clock can tell",
        "gaps are longer than the 32-bit clock can tell",
    )
    out_of_window: int = _count(
        "wave lies outside its dispatch's host times",
        "waves lie outside their dispatch's host times",
    )
    unknown_core_clocks: int = _count(
        "device has a core clock of unknown rate: all that its waves recorded is at their begin",
        "devices have core clocks of unknown rate: all that their waves recorded is at their begin",
    )
    unmatched_edges: int = _count(
        "end of an arrow has no other end", "ends of arrows have no other end"
    )
    unknown_edges: int = _count(
        "edge joins nothing: no range has either of its names; `ktrace inspect` shows which",
        "edges join nothing: no range has their names; `ktrace inspect` shows which",
    )
    backward_arrows: int = _count(
        "arrow would go back in time and is left out",
        "arrows would go back in time and are left out",
    )

    def counted(self) -> dict[str, int]:
        """Return the counts above 0, in order of the file, the launch, the wave, the word."""
        return {f.name: v for f in fields(self) if (v := getattr(self, f.name))}

    def sentences(self) -> list[str]:
        """Return one line of words for each count above 0."""
        words = {f.name: f.metadata for f in fields(self)}
        return [
            f"{count:,} {words[name]['one' if count == 1 else 'many']}"
            for name, count in self.counted().items()
        ]


@dataclass(frozen=True)
class ClockFit:
    """How well one device's clock was tied to the host's."""

    device: int
    method: str
    """layout.ClockMethod in lower case: software, hsa, kfd or bounds."""
    core_hz: float
    """Mean rate of the core clock over all waves; 0 if no wave tells."""
    residual_ns: float
    """Largest distance of a wave's anchors from the fitted line."""
    residual_by_xcc: tuple[tuple[int, float], ...] = ()
    """The same for each XCC, in order of their numbers: each has lines of its own."""
    skew_by_xcc: tuple[tuple[int, float], ...] = ()
    """How far the core clock of each XCC is ahead of that of the lowest one, in nanoseconds, in the
    middle of the recording: what the lines take out."""


@dataclass(frozen=True)
class Part:
    """All that some waves recorded: those of whole workgroups."""

    wave_rows: Columns
    """Rows of Timeline.waves, ascending."""
    slices: Columns
    """SLICE, by wave, lane, begin; a parent before its children."""
    instants: Columns
    """INSTANT, by wave, then time."""
    values: Columns
    """VALUE"""
    flows: Columns
    """FLOW: rows of `slices`."""


PartSource = Callable[[Flags | None], Iterator[Part]]
"""Decodes the parts anew. Given which rows of Timeline.waves are wanted, it may leave out parts
that have none of them."""


@dataclass(frozen=True)
class Timeline:
    """Everything one recording says, decoded. What grows with each event comes in parts."""

    process: Process | None
    devices: tuple[Device, ...]
    kernels: tuple[Kernel, ...]
    events: tuple[Event, ...]
    lanes: tuple[str, ...]
    edges: tuple[Edge, ...]
    dispatches: Columns  # DISPATCH, in launch order
    waves: Columns  # WAVE, by dispatch, then workgroup in order of launch, then wave
    source: PartSource
    clocks: tuple[ClockFit, ...]
    losses: Losses
    launches: int
    """Launches of any kernel that the interposer saw; 0 if the recording was not closed."""
    unit: str = "ns"
    """What `*_ns` columns count: `ns`, or `cycles` of the core clock (timeline/cycles.py)."""

    def parts(self) -> Iterator[Part]:
        """Decode all waves, some at a time: memory is bounded whatever the recording's size.

        The same rows come in the same order each time.
        """
        return self.source(None)

    @cached_property
    def whole(self) -> Part:
        """All parts as one: for recordings that are known to be small."""
        return join_parts(list(self.parts()))

    @property
    def slices(self) -> Columns:
        """SLICE of the whole."""
        return self.whole.slices

    @property
    def instants(self) -> Columns:
        """INSTANT of the whole."""
        return self.whole.instants

    @property
    def values(self) -> Columns:
        """VALUE of the whole."""
        return self.whole.values

    @property
    def flows(self) -> Columns:
        """FLOW of the whole."""
        return self.whole.flows


def join_parts(parts: list[Part]) -> Part:
    """Put parts one behind the other; rows that name rows of their part name those of the whole."""
    slices = _joined(SLICE, [part.slices for part in parts])
    instants = _joined(INSTANT, [part.instants for part in parts])
    flows = _joined(FLOW, [part.flows for part in parts])
    slice_at = instant_at = flow_at = value_at = 0
    for part in parts:
        own = slices[slice_at : slice_at + len(part.slices)]
        own["parent"][own["parent"] != NONE] += slice_at
        own["first_value"] += value_at
        instants["first_value"][instant_at : instant_at + len(part.instants)] += value_at
        for end in ("source", "destination"):
            flows[end][flow_at : flow_at + len(part.flows)] += slice_at
        slice_at += len(part.slices)
        instant_at += len(part.instants)
        flow_at += len(part.flows)
        value_at += len(part.values)
    return Part(
        wave_rows=_joined(np.dtype("<i8"), [part.wave_rows for part in parts]),
        slices=slices,
        instants=instants,
        values=_joined(VALUE, [part.values for part in parts]),
        flows=flows,
    )


def _joined(dtype: np.dtype[Any], columns: list[Columns]) -> Columns:
    return np.concatenate([np.zeros(0, dtype), *columns])
