"""Reads the notes of owner KTRACE: which code is annotated, what its event ids mean."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from ktrace_cli.code_object.contents import Edge, Event
from ktrace_cli.code_object.notes import Note
from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import Dtype, NoteType

NOTE_KINDS: Final = (
    layout.Kind.RANGE,
    layout.Kind.PUSH,
    layout.Kind.START,
    layout.Kind.PHASE,
    layout.Kind.MARK,
    layout.Kind.GROUP,
)


@dataclass(frozen=True)
class KernelMarker:
    """A KERNEL note."""

    pc: int
    unit_key: int
    abi_version: int
    flags: int
    arg_index: int
    kernarg_offset: int
    record_format: int


@dataclass
class Markers:
    """All of ktrace's notes in one code object, without their duplicates."""

    kernels: list[KernelMarker] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    conflicting_units: dict[int, str] = field(default_factory=dict)
    """Why the ids of a translation unit mean nothing, by unit key."""
    problems: list[str] = field(default_factory=list)


def read_markers(notes: Iterable[Note], *, has_addresses: bool) -> Markers:
    """Read the notes of owner KTRACE among `notes`.

    Args:
        notes: in file order.
        has_addresses: False for a relocatable file, where no `pc` means anything yet.
    """
    markers = Markers()
    events: dict[tuple[int, int], list[Event]] = {}
    edges: dict[Edge, None] = {}
    for note in notes:
        if note.owner != layout.NOTE_OWNER:
            continue
        where = f"the KTRACE note at offset {note.offset}"
        try:
            if note.type == NoteType.KERNEL:
                markers.kernels.append(_kernel(note))
            elif note.type == NoteType.EVENT:
                event = _event(note)
                events.setdefault((event.unit_key, event.id), []).append(event)
            elif note.type == NoteType.EDGE:
                edges[_edge(note)] = None
            else:
                markers.problems.append(f"{where} is of type {note.type}, which is not known")
        except _MalformedNoteError as problem:
            markers.problems.append(f"{where} {problem}")
    markers.edges = list(edges)
    for key in sorted(events):
        _add_event(markers, events[key], has_addresses=has_addresses)
    _find_half_shared_units(markers)
    if not has_addresses:
        markers.kernels = []
    return markers


def _find_half_shared_units(markers: Markers) -> None:
    # A recorded event names its unit by the low half of the key.
    units_by_half: dict[int, set[int]] = {}
    for event in markers.events:
        units_by_half.setdefault(event.unit_key & 0xFFFF_FFFF, set()).add(event.unit_key)
    for units in units_by_half.values():
        if len(units) > 1:
            keys = " and ".join(f"{unit:016x}" for unit in sorted(units))
            words = (
                f"the unit keys {keys} have one low half: recorded events do not tell them apart"
            )
            for unit in units:
                markers.conflicting_units.setdefault(unit, words)


class _MalformedNoteError(Exception):
    """A note contradicts itself."""


def _add_event(markers: Markers, copies: list[Event], *, has_addresses: bool) -> None:
    first = copies[0]
    meanings = {(copy.kind, copy.name, copy.lane) for copy in copies}
    if len(meanings) > 1:
        names = ", ".join(sorted({f"{name!r}" for _, name, _ in meanings}))
        places = ", ".join(sorted({f"{copy.file}:{copy.line}" for copy in copies}))
        # A wrong name is worse than none: neither is taken.
        markers.conflicting_units[first.unit_key] = (
            f"event {first.id} of unit {first.unit_key:016x} is {names} ({places}): "
            "two translation units share one unit key"
        )
        return
    pcs = sorted({pc for copy in copies for pc in copy.pcs}) if has_addresses else ()
    markers.events.append(
        Event(
            first.unit_key, first.id, first.kind, first.name, first.lane, first.file, first.line,
            tuple(pcs),
        )
    )  # fmt: skip


def _kernel(note: Note) -> KernelMarker:
    record = _record(note, layout.KERNEL_NOTE)
    return KernelMarker(
        pc=_address(note, record, layout.KERNEL_NOTE),
        unit_key=int(record["unit_key"]),
        abi_version=int(record["abi_version"]),
        flags=int(record["flags"]),
        arg_index=int(record["arg_index"]),
        kernarg_offset=int(record["kernarg_offset"]),
        record_format=int(record["record_format"]),
    )


def _event(note: Note) -> Event:
    record = _record(note, layout.EVENT_NOTE)
    name, file = _strings(note, layout.EVENT_NOTE, 2)
    kind = int(record["kind"])
    if kind not in NOTE_KINDS:
        raise _MalformedNoteError(f"names event {name!r} of kind {kind}, which is not known")
    return Event(
        unit_key=int(record["unit_key"]),
        id=int(record["event_id"]),
        kind=kind,
        name=name,
        lane=bytes(record["lane"]).split(b"\0")[0].decode("utf-8", "backslashreplace"),
        file=file,
        line=int(record["line"]),
        pcs=(_address(note, record, layout.EVENT_NOTE),),
    )


def _edge(note: Note) -> Edge:
    record = _record(note, layout.EDGE_NOTE)
    source, destination = _strings(note, layout.EDGE_NOTE, 2)
    return Edge(int(record["unit_key"]), source, destination)


def _record(note: Note, dtype: Dtype) -> np.void:
    size = len(note.descriptor)
    if size < dtype.itemsize:
        raise _MalformedNoteError(f"has {size} bytes; {dtype.itemsize} are needed")
    record: np.void = np.frombuffer(note.descriptor, dtype, 1)[0]
    return record


def _address(note: Note, record: np.void, dtype: Dtype) -> int:
    assert dtype.fields is not None
    field_address = note.descriptor_address + int(dtype.fields["pc"][1])
    return (field_address + int(record["pc"])) % (1 << 64)


def _strings(note: Note, dtype: Dtype, number: int) -> list[str]:
    parts = bytes(note.descriptor[dtype.itemsize :]).split(b"\0")
    if len(parts) <= number:
        raise _MalformedNoteError(f"ends inside its {number} strings")
    return [part.decode("utf-8", "backslashreplace") for part in parts[:number]]
