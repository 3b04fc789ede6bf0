"""Packets as a viewer reads them: by time, then as they come; an END ends what is innermost.

trace = read_packets(content)
trace.slices      # {track: [(name, depth, begin, duration), …]} in order of their begins
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest

_BEGIN, _END = 1, 2
_BOOTTIME, _NEEDS_STATE, _CLEARED = 6, 2, 1


@dataclass(frozen=True)
class Event:
    """One track event with its time and the words for its numbers."""

    ns: int
    type: int
    track: int
    name: str
    arguments: dict[str, Any]
    flows: tuple[int, ...]
    ended_flows: tuple[int, ...]


@dataclass
class Sequence:
    """What the packets of one sequence have said so far."""

    clocks: dict[int, int] = field(default_factory=dict)  # the time at which each stands
    default_clock: int = 0
    names: dict[int, str] = field(default_factory=dict)
    arguments: dict[int, str] = field(default_factory=dict)


@dataclass
class Packets:
    """All that a trace says."""

    events: list[Event] = field(default_factory=list)
    tracks: dict[int, str] = field(default_factory=dict)
    parents: dict[int, int] = field(default_factory=dict)
    resets: int = 0  # clock snapshots

    def slices(self) -> dict[int, list[tuple[str, int, int, int]]]:
        """Name, depth, begin and duration of each track's slices; what never ends lasts -1."""
        found: dict[int, list[list[Any]]] = {}
        stacks: dict[int, list[list[Any]]] = {}
        for event in sorted(self.events, key=lambda event: event.ns):
            stack = stacks.setdefault(event.track, [])
            if event.type == _END:
                if stack:
                    row = stack.pop()
                    row[3] = event.ns - row[2]
                continue
            if event.type == _BEGIN:
                row = [event.name, len(stack), event.ns, -1]
                found.setdefault(event.track, []).append(row)
                stack.append(row)
        return {track: [tuple(row) for row in rows] for track, rows in found.items()}


def read_packets(content: bytes) -> Packets:
    """Read a trace; fails where a viewer would silently leave out a packet."""
    protos = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    trace, sequences = Packets(), dict[int, Sequence]()
    for packet in protos.Trace.FromString(content).packet:
        if packet.HasField("track_descriptor"):
            descriptor = packet.track_descriptor
            assert descriptor.uuid not in trace.tracks
            trace.tracks[descriptor.uuid] = descriptor.name
            trace.parents[descriptor.uuid] = descriptor.parent_uuid
            continue
        number = packet.trusted_packet_sequence_id
        if packet.sequence_flags & _CLEARED:
            sequences[number] = Sequence(
                default_clock=packet.trace_packet_defaults.timestamp_clock_id
            )
        assert number in sequences, "a packet before its sequence's state was cleared"
        _read(packet, sequences[number], trace)
    return trace


def _read(packet: Any, sequence: Sequence, trace: Packets) -> None:
    if packet.HasField("clock_snapshot"):
        clocks = {clock.clock_id: clock for clock in packet.clock_snapshot.clocks}
        trace.resets += 1
        for number, clock in clocks.items():
            if clock.is_incremental:
                assert clock.timestamp == 0
                sequence.clocks[number] = clocks[_BOOTTIME].timestamp
    for entry in packet.interned_data.event_names:
        sequence.names[entry.iid] = entry.name
    for entry in packet.interned_data.debug_annotation_names:
        sequence.arguments[entry.iid] = entry.name
    if not packet.HasField("track_event"):
        return
    assert packet.sequence_flags == _NEEDS_STATE
    event = packet.track_event
    assert event.track_uuid in trace.tracks, "an event before its track"
    assert bool(event.name_iid) == (event.type != _END), "an END must not have a name"
    sequence.clocks[sequence.default_clock] += packet.timestamp
    trace.events.append(
        Event(
            ns=sequence.clocks[sequence.default_clock],
            type=event.type,
            track=event.track_uuid,
            name=sequence.names[event.name_iid] if event.name_iid else "",
            arguments=dict(_arguments(event.debug_annotations, sequence)),
            flows=tuple(event.flow_ids),
            ended_flows=tuple(event.terminating_flow_ids),
        )
    )


def _arguments(annotations: Iterable[Any], sequence: Sequence) -> Iterable[tuple[str, Any]]:
    for annotation in annotations:
        kind = annotation.WhichOneof("value")
        yield sequence.arguments[annotation.name_iid], getattr(annotation, kind)
