"""Recordings and traces of other tools as one Perfetto trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.errors import KtraceError
from ktrace_cli.export.merged_events import count_pieces, order_events, write_events, write_state
from ktrace_cli.export.merged_lanes import assign_lanes
from ktrace_cli.export.merged_scopes import find_scopes
from ktrace_cli.export.merged_tracks import Places, Trees, calendar_packet
from ktrace_cli.export.output import Sink
from ktrace_cli.export.perfetto import write_perfetto
from ktrace_cli.export.space import Space
from ktrace_cli.export.tracks import MOST_WAVE_TRACKS, GroupBy
from ktrace_cli.export.write import MOST_IN_PERFETTO, count_events
from ktrace_cli.importers.clocks import Alignment
from ktrace_cli.importers.host_trace import Argument, Clock, HostTrace
from ktrace_cli.importers.inputs import RecordingInput, TraceInput
from ktrace_cli.importers.kernel_names import shown_name
from ktrace_cli.importers.matching import Match
from ktrace_cli.model import NONE
from ktrace_cli.progress import Advance, part_of, unwatched
from ktrace_cli.timeline.progress import with_progress

Ints = NDArray[np.int64]

_FIRST_SEQUENCE = 75


@dataclass(frozen=True)
class Merging:
    """What is merged, and how it belongs together."""

    recordings: Sequence[RecordingInput]
    traces: Sequence[TraceInput]
    alignment: Alignment
    matches: Mapping[tuple[int, int], Match]
    """By number of the recording and of the trace."""
    group_by: GroupBy | None = None
    """What tracks of waves are; None: hardware slots where there are very many waves."""


@dataclass(frozen=True)
class Merged:
    """What a merged trace holds."""

    slices: int
    """Of our recordings."""
    host_slices: int
    """Of other tools."""
    arrows: int
    crossing: Mapping[int, int]
    """By number of the trace: slices that overlap others of their track, on lanes of their own."""
    beside: int
    """Recordings whose waves are beside the kernels that they belong to: tracks are slots."""
    renumbered: int
    """Processes that are shown with another id, because another one has theirs."""


def write_merged(merging: Merging, out: Sink, advance: Advance = unwatched) -> Merged:
    """Write everything to `out`, uncompressed.

    Raises:
        KtraceError: times before the common axis' zero.
    """
    trees = Trees()
    scopes = find_scopes(merging.recordings, merging.traces, merging.alignment, merging.matches)
    places = [
        Places(trees, trace.trace, scope)
        for trace, scope in zip(merging.traces, scopes.traces, strict=True)
    ]
    for recording, scope in zip(merging.recordings, scopes.recordings, strict=True):
        if trees.pid(scope, recording.pid):
            trees.titles[scope, recording.pid] = _title(merging, recording)
    share = 1 / (len(merging.recordings) + len(merging.traces))
    crossing = {}
    flow = 1
    for number, own in enumerate(places):
        target = _Target(out, _FIRST_SEQUENCE + number, flow, part_of(advance, share))
        crossing[number] = _write_trace(merging, own, number, target)
        flow += len(own.trace.flows)
    out.write(_calendar(merging))
    spaces = [
        _space(merging, number, trees, scopes.recordings[number], _parents(merging, places, number))
        for number in range(len(merging.recordings))
    ]
    for descriptor in trees.descriptors:
        out.write(descriptor)
    free = Space(trees.next_uuid, _FIRST_SEQUENCE + len(merging.traces), flow)
    slices, arrows = _write_recordings(merging, spaces, free, out, part_of(advance, share))
    return Merged(
        slices=slices,
        host_slices=sum(len(trace.trace.slices) for trace in merging.traces),
        arrows=flow - 1 + arrows,
        crossing=crossing,
        beside=_count_beside(merging),
        renumbered=trees.renumbered,
    )


def size_warning(merging: Merging, most: int = MOST_IN_PERFETTO) -> str:
    """Return what to say before more is written than a viewer opens; "" if it is not too much."""
    events = sum(count_events(recording.timeline) for recording in merging.recordings)
    events += sum(2 * len(trace.trace.slices) for trace in merging.traces)
    if events <= most:
        return ""
    return (
        f"{events:,} events are more than the Perfetto UI opens (about {most:,}): merge fewer"
        " files, or recordings of fewer launches, workgroups or waves (`ktrace run --help`)"
    )


def _space(
    merging: Merging, number: int, trees: Trees, scope: int, parents: dict[int, int]
) -> Space:
    """Return where a recording is shown; its numbers are not yet known."""
    recording = merging.recordings[number]
    return Space(
        shift_ns=merging.alignment.recordings[number].shift_ns,
        title=trees.called(scope, recording.pid, _title(merging, recording)),
        pid=trees.pid(scope, recording.pid),
        process_uuid=trees.known_process(scope, recording.pid),
        shows_clocks=number == _teller(merging),
        parents=parents,
    )


def _write_recordings(
    merging: Merging, spaces: Sequence[Space], free: Space, out: Sink, advance: Advance
) -> tuple[int, int]:
    """Write all recordings with the numbers that are free; returns how many slices and arrows."""
    slices = arrows = 0
    for recording, space in zip(merging.recordings, spaces, strict=True):
        own = replace(
            space,
            first_uuid=free.first_uuid,
            first_sequence=free.first_sequence,
            first_flow=free.first_flow,
        )
        told = with_progress(recording.timeline, advance)
        written = write_perfetto(told, out, own, _group_by(merging, recording))
        slices += written.slices
        arrows += written.arrows
        free = written.next_space
    return slices, arrows


@dataclass(frozen=True)
class _Target:
    """Where one trace goes, and what it may number."""

    out: Sink
    sequence: int
    first_flow: int
    advance: Advance


def _write_trace(merging: Merging, places: Places, number: int, target: _Target) -> int:
    """Write one trace; returns how many of its slices are not on the first lane of their track."""
    trace = _with_dispatches(merging, number)
    lanes = assign_lanes(trace)
    shift_ns = merging.alignment.traces[number].shift_ns
    shown = order_events(trace, _tracks(places, lanes), shift_ns)
    if len(shown.ns) and shown.ns[0] < 0:
        raise KtraceError(
            f"cannot show {trace.path}",
            why=f"on {merging.alignment.axis} it begins {-int(shown.ns[0]):,} ns before zero",
            fix="check that it is of the same run, or shift it with `--shift FILE=NS`",
        )
    for piece in write_state(trace, target.sequence):
        target.out.write(piece)
    for piece in write_events(trace, shown, target.sequence, target.first_flow):
        target.out.write(piece)
        target.advance(1 / count_pieces(shown))
    return int((lanes > 0).sum())


def _calendar(merging: Merging) -> bytes:
    """Tell that times are the calendar's, where they are: traces without a recording may be."""
    begins = [
        int(one.trace.slices["begin_ns"][0]) + at.shift_ns
        for one, at in zip(merging.traces, merging.alignment.traces, strict=True)
        if one.trace.clock is Clock.REALTIME and len(one.trace.slices)
    ]
    if merging.recordings or not begins:
        return b""
    return calendar_packet(min(begins), _FIRST_SEQUENCE)


def _group_by(merging: Merging, recording: RecordingInput) -> GroupBy:
    """Return what tracks of a recording's waves are."""
    many = len(recording.timeline.waves) > MOST_WAVE_TRACKS
    return merging.group_by or (GroupBy.HARDWARE if many else GroupBy.WORKGROUP)


def _count_beside(merging: Merging) -> int:
    """Return how many recordings have kernels whose waves are not below them."""
    matched = {own for (own, _), match in merging.matches.items() if match.count}
    return sum(
        number in matched and _group_by(merging, recording) is GroupBy.HARDWARE
        for number, recording in enumerate(merging.recordings)
    )


def _tracks(places: Places, lanes: Ints) -> Ints:
    """Return the track of each slice."""
    slices = places.trace.slices
    if not len(slices):
        return np.zeros(0, np.int64)
    width = int(lanes.max()) + 1
    pairs, inverse = np.unique(slices["track"] * width + lanes, return_inverse=True)
    uuids = [places.track(*divmod(pair, width)) for pair in pairs.tolist()]
    return np.array(uuids, np.int64)[inverse]


def _with_dispatches(merging: Merging, number: int) -> HostTrace:
    """Name kernels as we do, and tell which of them are dispatches of ours."""
    trace = _with_short_names(merging.traces[number].trace)
    arguments = list(trace.arguments)
    for (recording, of_trace), match in merging.matches.items():
        if of_trace != number:
            continue
        dispatches = merging.recordings[recording].timeline.dispatches
        matched = match.slice_of_dispatch != NONE
        rows = match.slice_of_dispatch[matched]
        values = dispatches["number"][matched].astype(np.int64)
        arguments.append(Argument("ktrace_dispatch", rows, values))
    return replace(trace, arguments=tuple(arguments))


def _with_short_names(trace: HostTrace) -> HostTrace:
    """Show kernels without their parameters, which are told when one clicks on them."""
    rows = trace.kernels
    strings = {string: row for row, string in enumerate(trace.strings)}
    short = {}
    for name in np.unique(trace.slices["name"][rows]).tolist():
        shown = shown_name(trace.strings[name])
        short[name] = strings.setdefault(shown, len(strings))
    slices = trace.slices.copy()
    full = slices["name"][rows].astype(np.int64)
    slices["name"][rows] = [short[name] for name in full.tolist()]
    is_cut = slices["name"][rows] != full
    told = Argument("kernel", rows[is_cut], full[is_cut], is_text=True)
    return replace(trace, slices=slices, strings=tuple(strings), arguments=(told, *trace.arguments))


def _parents(merging: Merging, places: Sequence[Places], number: int) -> dict[int, int]:
    """Return the track of the kernel's queue for each dispatch that is matched."""
    timeline = merging.recordings[number].timeline
    found: dict[int, int] = {}
    if _group_by(merging, merging.recordings[number]) is GroupBy.HARDWARE:
        return found
    for (recording, of_trace), match in sorted(merging.matches.items()):
        if recording != number:
            continue
        own = places[of_trace]
        for row in np.flatnonzero(match.slice_of_dispatch != NONE).tolist():
            track = int(own.trace.slices["track"][match.slice_of_dispatch[row]])
            kernel = timeline.kernels[int(timeline.dispatches["kernel"][row])]
            queue = own.track(track)
            found.setdefault(row, own.trees.group(queue, shown_name(kernel.mangled)))
    return found


def _title(merging: Merging, recording: RecordingInput) -> str:
    """Return what a process is called where there are several."""
    process = recording.timeline.process
    program = process.arguments[0].rpartition("/")[2] if process and process.arguments else ""
    names = Counter(other.path.stem for other in merging.recordings)
    own = recording.path.stem if names[recording.path.stem] == 1 else str(recording.path)
    hosts = {other.host for other in merging.recordings}
    parts = [own if len(merging.recordings) > 1 else "", program]
    parts.append(recording.host if len(hosts) > 1 else "")
    return " · ".join(part for part in parts if part)


def _teller(merging: Merging) -> int:
    """Return the recording whose host's clocks are told: one that is not moved."""
    for number, (recording, at) in enumerate(
        zip(merging.recordings, merging.alignment.recordings, strict=True)
    ):
        if at.shift_ns == 0 and recording.boot_ns is not None:
            return number
    return NONE
