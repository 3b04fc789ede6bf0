"""Timelines of synthetic recordings, and their slices as plain tuples.

timeline = decode([Wave(main=[push(LOAD, 1100), pop(1500)])])
assert slices(timeline) == [("load", "", 0, 100, 400)]     # name, lane, depth, begin, ticks
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ktrace_cli.model import SliceFlag, Timeline
from ktrace_cli.timeline.build import build_timeline
from ktrace_cli.trace_file.layout import Kind
from ktrace_cli.trace_file.reader import read_recording
from support.code_object import EdgeSource, EventSource, KernelSource, make_code_object
from support.recording import RecordingBuilder, Wave

UNIT_KEY = 0x5555_0000_1111
OTHER_UNIT_KEY = 0x6666_0000_2222
MANGLED = "_Z4gemmPfiN6ktrace4sinkE"

OUTER, INNER, TILE, MARK, LOAD, STORE, MMA, DRAIN, PRODUCER, CONSUMER, WHOLE = range(1, 12)
FETCH, COPY, STAGE = range(12, 15)
EVENTS = (
    (OUTER, "outer", Kind.PUSH, ""),
    (INNER, "inner", Kind.PUSH, ""),
    (TILE, "tile", Kind.RANGE, ""),
    (MARK, "published", Kind.MARK, ""),
    (LOAD, "load", Kind.START, "vmem"),
    (STORE, "store", Kind.START, ""),
    (MMA, "mma", Kind.PHASE, ""),
    (DRAIN, "drain", Kind.PHASE, ""),
    (PRODUCER, "producer", Kind.GROUP, ""),
    (CONSUMER, "consumer", Kind.GROUP, ""),
    (WHOLE, "whole", Kind.RANGE, ""),
    (FETCH, "fetch", Kind.RANGE, "vmem"),
    (COPY, "copy", Kind.PUSH, "dma"),
    (STAGE, "stage", Kind.PHASE, "stages"),
)


def code_object(edges: Sequence[tuple[str, str]] = ()) -> bytes:
    """One annotated kernel with EVENTS; the other unit has an event 1 named `helper`."""
    events = [
        EventSource(id_, name, kind, lane=lane, unit_key=UNIT_KEY)
        for id_, name, kind, lane in EVENTS
    ]
    events.append(EventSource(1, "helper", Kind.RANGE, unit_key=OTHER_UNIT_KEY, kernel=""))
    return make_code_object(
        [KernelSource(MANGLED, unit_key=UNIT_KEY)],
        events,
        [EdgeSource(source, destination, UNIT_KEY) for source, destination in edges],
    )


def builder(edges: Sequence[tuple[str, str]] = ()) -> tuple[RecordingBuilder, int]:
    """A recording with one kernel, and that kernel's number."""
    recording = RecordingBuilder()
    image = recording.add_code_object(code_object(edges))
    return recording, recording.add_kernel(MANGLED, code_object=image, unit_key=UNIT_KEY)


def build(recording: RecordingBuilder, folder: Path) -> Timeline:
    return build_timeline(read_recording(recording.write(folder / "run.bin")))


def decode(
    waves: Sequence[Wave],
    folder: Path,
    *,
    edges: Sequence[tuple[str, str]] = (),
    **dispatch: Any,
) -> Timeline:
    """Decode one dispatch of one workgroup, whose host times allow for any wave."""
    recording, kernel = builder(edges)
    dispatch.setdefault("block", (64 * max((wave.wave + 1 for wave in waves), default=1), 1, 1))
    recording.add_dispatch(kernel, waves, **dispatch)
    return build(recording, folder)


def slices(timeline: Timeline, wave: int = 0) -> list[tuple[str, str, int, int, int]]:
    """Name, lane, depth, begin in ticks of the wave, and ticks of each slice of a wave."""
    begin = timeline.waves["begin_ticks"][wave]
    return [
        (
            timeline.events[row["event"]].name,
            timeline.lanes[row["lane"]],
            int(row["depth"]),
            int(row["begin_ticks"] - begin),
            int(row["ticks"]),
        )
        for row in timeline.slices[timeline.slices["wave"] == wave]
    ]


def flags(timeline: Timeline, wave: int = 0) -> list[SliceFlag]:
    rows = timeline.slices[timeline.slices["wave"] == wave]
    return [SliceFlag(int(row["flags"])) for row in rows]


def marks(timeline: Timeline, wave: int = 0) -> list[tuple[str, int]]:
    """Name and ticks of the wave of each instant of a wave."""
    begin = timeline.waves["begin_ticks"][wave]
    return [
        (timeline.events[row["event"]].name, int(row["ticks"] - begin))
        for row in timeline.instants[timeline.instants["wave"] == wave]
    ]


def losses(timeline: Timeline) -> dict[str, int]:
    return timeline.losses.counted()
