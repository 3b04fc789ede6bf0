"""The model as a Perfetto trace: one sequence of packets, written part by part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ktrace_cli.errors import KtraceError
from ktrace_cli.export.arguments import (
    as_columns,
    dispatch_arguments,
    slice_flag_names,
    wave_arguments,
)
from ktrace_cli.export.arrows import find_arrow_ends
from ktrace_cli.export.descriptors import (
    clock_packet,
    interned_packets,
    process_packet,
    sequence_packets,
    track_packets,
)
from ktrace_cli.export.encoder import Batch, Encoder, Names, Piece, Spans, Tracks
from ktrace_cli.export.encoder_layout import SPAN
from ktrace_cli.export.interning import Interned, SliceNames, name_slices
from ktrace_cli.export.output import Sink
from ktrace_cli.export.space import ALONE, Space
from ktrace_cli.export.tracks import GroupBy, Track, TrackTree, plan_tracks
from ktrace_cli.model import Columns, Timeline, WaveFlag, join_parts
from ktrace_cli.timeline.segments import Ints

_DISPATCHES_PER_BATCH = 1 << 16


@dataclass(frozen=True)
class Written:
    """What a trace holds."""

    slices: int
    instants: int
    arrows: int
    uses_slots: bool
    """Tracks are hardware slots: there are too many waves for a track each, or it was asked for."""
    next_space: Space
    """What another timeline in the same trace may number."""


def write_perfetto(
    timeline: Timeline, out: Sink, space: Space = ALONE, group_by: GroupBy | None = None
) -> Written:
    """Write `timeline` to `out`, uncompressed.

    Traces of several timelines are written one after the other, each in a space of its own.

    Args:
        timeline: what is shown.
        out: gets packets; they may stand behind those of others.
        space: the numbers that are free, and where the timeline is shown.
        group_by: what tracks are; None: hardware slots if there are very many waves.

    Raises:
        KtraceError: times before the host clock's zero.
    """
    tree = plan_tracks(timeline, space, group_by)
    tracks = Tracks(space.first_uuid, tree.count, len(timeline.lanes))
    zero = _zero_ns(timeline, space)
    interned = Interned()
    slice_names = name_slices(timeline, interned, by_kernel=tree.uses_slots)
    names = _name_arguments(timeline, slice_names, interned)

    if not space.process_uuid:
        out.write(process_packet(timeline, space))
    for packets in track_packets(tree.all_tracks(timeline)):
        out.write(packets)
    out.write(sequence_packets(timeline, space, zero))
    slices = instants = arrows = 0
    with Encoder(names, tracks, space.first_sequence, zero, clock_packet(space, zero)) as encoder:
        for batch in _batches(timeline, tree, slice_names, interned, space.first_flow):
            for piece in encoder.encode(batch):
                _name_values(piece, names, interned)
                out.write(interned_packets(space, interned))
                for packets in track_packets(_lane_tracks(piece, tracks, timeline)):
                    out.write(packets)
                out.write(piece.content)
            slices += len(batch.part.slices)
            instants += len(batch.part.instants)
            arrows += len(batch.part.flows)
    next_space = Space(
        first_uuid=tracks.stop,
        first_sequence=space.first_sequence + 1,
        first_flow=space.first_flow + arrows,
        shows_clocks=False,
    )
    return Written(slices, instants, arrows, tree.uses_slots, next_space)


def _zero_ns(timeline: Timeline, space: Space) -> int:
    """Return the first time that is shown, which the clock of the sequence counts from."""
    is_shown = (timeline.waves["flags"] & WaveFlag.TORN) == 0
    begins = [timeline.dispatches["begin_ns"], timeline.waves["begin_ns"][is_shown]]
    zero = min((int(times.min()) for times in begins if len(times)), default=0)
    if zero + space.shift_ns < 0:
        raise KtraceError(
            "cannot write a Perfetto trace",
            why=f"its first event is at {zero + space.shift_ns} ns of the host's clock,"
            " before that clock began",
            fix="write text with `-f text`, and report the recording's clock samples",
        )
    return zero


def _name_arguments(timeline: Timeline, slice_names: SliceNames, interned: Interned) -> Names:
    """Give numbers to all arguments; those of payloads come last, as there is no end of them."""
    for told in (
        wave_arguments(timeline, timeline.waves[:0]),
        dispatch_arguments(timeline.dispatches[:0]),
    ):
        as_columns(told, interned)
    return Names(
        of_event=slice_names.of_event.astype(np.uint32),
        of_running=slice_names.of_running.astype(np.uint32),
        flags=slice_flag_names(interned),
        first_value=interned.argument("value"),
    )


def _name_values(piece: Piece, names: Names, interned: Interned) -> None:
    """Name the payloads that an event of this piece is the first one to have."""
    while interned.arguments - names.first_value + 1 < piece.most_values:
        interned.argument(f"value_{interned.arguments - names.first_value + 2}")


def _lane_tracks(piece: Piece, tracks: Tracks, timeline: Timeline) -> Iterator[Track]:
    for uuid in piece.new_tracks:
        owner, lane = tracks.lane_of(uuid)
        yield Track(uuid, timeline.lanes[lane], owner, rank=lane)


def _batches(
    timeline: Timeline,
    tree: TrackTree,
    names: SliceNames,
    interned: Interned,
    first_flow: int,
) -> Iterator[Batch]:
    """Yield dispatches, then waves with what they hold, each in order of their rows.

    Waves that use a track in turn are in this order, too: see slots.fit_slots.
    """
    nothing = join_parts([])
    for first in range(0, len(timeline.dispatches), _DISPATCHES_PER_BATCH):
        rows = np.arange(first, min(first + _DISPATCHES_PER_BATCH, len(timeline.dispatches)))
        dispatches = timeline.dispatches[rows]
        told = dispatch_arguments(dispatches)
        spans = _spans(rows, dispatches, tree.of_dispatch, names.of_dispatch)
        yield Batch(Spans(spans, *as_columns(told, interned)), nothing, None)
    last = -1
    for part in timeline.parts():
        rows = part.wave_rows
        if len(rows) and rows[0] <= last:
            raise ValueError("parts are not in order of their waves")
        last = int(rows[-1]) if len(rows) else last
        waves = timeline.waves[rows]
        spans = _spans(rows, waves, tree.of_wave, names.of_wave)
        told = wave_arguments(timeline, waves)
        arrows = find_arrow_ends(part, first_flow)
        first_flow += len(part.flows)
        yield Batch(Spans(spans, *as_columns(told, interned)), part, arrows)


def _spans(rows: Ints, times: Columns, tracks: Ints, names: Ints) -> Columns:
    spans = np.empty(len(rows), SPAN)
    spans["row"] = rows
    spans["track"], spans["name"] = tracks[rows], names[rows]
    for name in ("begin_ns", "end_ns"):
        spans[name] = times[name]
    return spans
