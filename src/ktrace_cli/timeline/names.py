"""Unit keys and ids to events: what the markers are called in the source."""

from __future__ import annotations

from dataclasses import dataclass, field

from ktrace_cli.code_object.contents import CodeObject
from ktrace_cli.code_object.names import demangle
from ktrace_cli.code_object.reader import read_code_object
from ktrace_cli.errors import CodeObjectError
from ktrace_cli.model import Edge, Event, Kernel
from ktrace_cli.timeline.edges import count_unknown_edges, read_edges
from ktrace_cli.timeline.native import LOW_HALF, OTHER_ID
from ktrace_cli.trace_file.recording import CodeObjectRecord, KernelRecord, Recording


@dataclass
class Names:
    """The events of a recording; ids that have no name are added as they are met."""

    kernels: tuple[Kernel, ...]
    edges: tuple[Edge, ...]
    unread_code_objects: int
    unknown_edges: int
    row_by_kernel: dict[int, int]
    """Row of `kernels` by KernelRecord.kernel."""
    records: tuple[KernelRecord, ...]
    """One per row of `kernels`."""
    events: list[Event] = field(default_factory=list)
    named: int = 0
    """How many of `events` have a name in the notes: the first ones."""
    row_by_key: dict[tuple[int, int, int], int] = field(default_factory=dict)
    """Row of `events` by kernel, low half of the unit key, id."""

    def add(self, kernel: int, unit: int, id_: int, event: Event) -> None:
        """Add an event unless its key is there."""
        key = (kernel, unit & LOW_HALF, id_)
        if key not in self.row_by_key:
            self.row_by_key[key] = len(self.events)
            self.events.append(event)

    def add_unnamed(self, kernel: int, unit: int, id_: int, kind: int) -> None:
        """Add an event that was recorded without being in the notes."""
        self.add(kernel, unit, id_, Event(unnamed(id_), kind, "", "", 0, kernel, unit))


def unnamed(id_: int) -> str:
    """Return what an event is called of which only the id is known, or not even that."""
    return "other events" if id_ == OTHER_ID else f"event_{id_}"


def read_names(recording: Recording) -> Names:
    """Read the names of all kernels and events that the recording's code objects hold."""
    code_objects: dict[int, CodeObject] = {}
    unread = 0
    for index, record in recording.code_objects.items():
        code_object = _read(record)
        if code_object is None:
            unread += 1
        else:
            code_objects[index] = code_object
    records = tuple(recording.kernels[index] for index in sorted(recording.kernels))
    kernels = tuple(_kernel(recording, code_objects, record) for record in records)
    names = Names(
        kernels=kernels,
        edges=read_edges(code_objects, records),
        unread_code_objects=unread,
        unknown_edges=count_unknown_edges(code_objects.values()),
        row_by_kernel={record.kernel: row for row, record in enumerate(records)},
        records=records,
    )
    for row, kernel in enumerate(records):
        code_object = code_objects.get(kernel.code_object)
        for event in code_object.events if code_object else ():
            unit = event.unit_key & LOW_HALF
            model = Event(event.name, event.kind, event.lane, event.file, event.line, row, unit)
            names.add(row, unit, event.id, model)
    names.named = len(names.events)
    return names


def _read(record: CodeObjectRecord) -> CodeObject | None:
    try:
        return read_code_object(record.image, f"code object {record.code_object}")
    except CodeObjectError:
        return None


def _kernel(
    recording: Recording, code_objects: dict[int, CodeObject], record: KernelRecord
) -> Kernel:
    code_object = code_objects.get(record.code_object)
    stored = recording.code_objects.get(record.code_object)
    return Kernel(
        name=demangle(record.name),
        mangled=record.name,
        target=code_object.target if code_object else "",
        code_object=stored.sha256 if stored else "",
    )
