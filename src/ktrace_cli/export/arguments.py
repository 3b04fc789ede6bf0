"""What is told about slices, waves and dispatches when one clicks on them."""

from __future__ import annotations

import numpy as np

from ktrace_cli.export.annotations import Annotations
from ktrace_cli.export.interning import Interned
from ktrace_cli.export.protobuf import Ints
from ktrace_cli.export.track_events import TrackEvents
from ktrace_cli.model import Columns, SliceFlag, Timeline, WaveFlag
from ktrace_cli.trace_file.layout import DispatchFlag

_SLICE_FLAGS = {
    SliceFlag.UNCLOSED: "unclosed",
    SliceFlag.TRUNCATED: "truncated",
    SliceFlag.CLAMPED: "clamped",
    SliceFlag.LONG_GAP: "length_uncertain",
    SliceFlag.RUNNING: "unfinished",
}
_WAVE_FLAGS = {
    WaveFlag.UNFINISHED: "unfinished",
    WaveFlag.PARTIAL: "inactive_lanes_at_begin",
    WaveFlag.CLAMPED: "clamped",
    WaveFlag.MOVED: "moved",
    WaveFlag.LEFT_EARLY: "lanes_left_early",
    WaveFlag.OVERWRITTEN: "first_words_overwritten",
}
_DISPATCH_FLAGS = {DispatchFlag.FILTERED: "filtered", DispatchFlag.UNFINISHED: "unfinished"}
_WAVE_NUMBERS = ("wave", "xcc", "se", "cu", "simd", "hardware_slot", "words")
_DISPATCH_NUMBERS = ("number", "launch", "device", "stream", "thread", "shared_bytes", "waves")


def annotate(timeline: Timeline, shown: TrackEvents, interned: Interned) -> Annotations:
    """Collect the arguments of all events; returns them with the arrows still missing."""
    annotations = Annotations()
    _add_payloads(timeline, shown, interned, annotations)
    for flag, name in _SLICE_FLAGS.items():
        rows = np.flatnonzero(timeline.slices["flags"] & int(flag))
        annotations.add_flags(shown.of_slice[rows], interned.argument(name))
    _add_waves(timeline, shown, interned, annotations)
    for name in _DISPATCH_NUMBERS:
        values = timeline.dispatches[name].astype(np.int64)
        annotations.add_numbers(shown.of_dispatch, interned.argument(name), values)
    for of_dispatch, name in _DISPATCH_FLAGS.items():
        is_flagged = (timeline.dispatches["flags"] & int(of_dispatch)) != 0
        annotations.add_flags(shown.of_dispatch[is_flagged], interned.argument(name))
    for name in ("grid", "block"):
        sizes = timeline.dispatches[name]
        _add_axes(annotations, interned, shown.of_dispatch, name, sizes)
    return annotations


def add_arrows(timeline: Timeline, shown: TrackEvents, annotations: Annotations) -> None:
    """Add the flows: to where a slice begins or, if that is before the arrow, to where it ends."""
    source = shown.of_slice[timeline.flows["source"]]
    begin = shown.of_slice[timeline.flows["destination"]]
    end = shown.end_of_slice[timeline.flows["destination"]]
    # A viewer draws an arrow from the earlier event to the later one.
    annotations.add_flows(source, np.where(begin > source, begin, end))


def _add_payloads(
    timeline: Timeline, shown: TrackEvents, interned: Interned, annotations: Annotations
) -> None:
    for rows, events in (
        (timeline.slices, shown.of_slice),
        (timeline.instants, shown.of_instant),
    ):
        counts = rows["values"].astype(np.int64)
        owner = np.repeat(np.arange(len(rows)), counts)
        number = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        names = [f"value_{n + 1}" if n else "value" for n in range(int(counts.max(initial=0)))]
        iids = np.array([interned.argument(name) for name in names], np.int64)
        values = timeline.values[rows["first_value"][owner] + number]
        if len(owner):
            annotations.add_payload(events[owner], iids[number], values)


def _add_waves(
    timeline: Timeline, shown: TrackEvents, interned: Interned, annotations: Annotations
) -> None:
    rows = np.flatnonzero(shown.of_wave >= 0)
    waves, events = timeline.waves[rows], shown.of_wave[rows]
    numbers = timeline.dispatches["number"][waves["dispatch"]].astype(np.int64)
    annotations.add_numbers(events, interned.argument("dispatch"), numbers)
    _add_axes(annotations, interned, events, "workgroup", waves["block"])
    for name in _WAVE_NUMBERS:
        annotations.add_numbers(events, interned.argument(name), waves[name].astype(np.int64))
    for name in ("dropped", "overwritten", "side_words"):
        has = np.flatnonzero(waves[name])
        counts = waves[name][has].astype(np.int64)
        annotations.add_numbers(events[has], interned.argument(name), counts)
    for flag, name in _WAVE_FLAGS.items():
        is_flagged = (waves["flags"] & int(flag)) != 0
        annotations.add_flags(events[is_flagged], interned.argument(name))


def _add_axes(
    annotations: Annotations, interned: Interned, events: Ints, name: str, sizes: Columns
) -> None:
    for axis in range(3):
        argument = interned.argument(f"{name}.{'xyz'[axis]}")
        annotations.add_numbers(events, argument, sizes[:, axis].astype(np.int64))
