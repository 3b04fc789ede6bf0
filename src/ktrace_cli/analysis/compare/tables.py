"""Which phases are in the code of each kernel, whether they ran or not."""

from __future__ import annotations

from collections.abc import Mapping

from ktrace_cli.analysis.compare.profile import PhaseId, SourcePlace
from ktrace_cli.analysis.phases import PhaseTable
from ktrace_cli.code_object import contents
from ktrace_cli.code_object.reader import read_code_object
from ktrace_cli.errors import CodeObjectError
from ktrace_cli.model import Timeline
from ktrace_cli.trace_file.layout import Kind
from ktrace_cli.trace_file.recording import CodeObjectRecord, Recording

RANGES = frozenset({Kind.RANGE, Kind.PUSH, Kind.START, Kind.PHASE})
EventTable = dict[PhaseId, SourcePlace]


def list_tables(recording: Recording, timeline: Timeline, table: PhaseTable) -> list[EventTable]:
    """Return the phases of each of Timeline.kernels.

    Those are what has a marker in its code, or in functions that kernels of its code object call,
    and what ran. Kernels of one name have one table, at the first of them.
    """
    code_objects = _code_objects(recording)
    first: dict[str, int] = {}
    tables: list[EventTable] = [{} for _ in timeline.kernels]
    for row, kernel in enumerate(timeline.kernels):
        found = tables[first.setdefault(kernel.mangled, row)]
        if code_object := code_objects.get(kernel.code_object):
            found.update(_in_code(code_object, kernel.mangled))
    for row, event in enumerate(timeline.events):
        if event.kind in RANGES:
            key = table.keys[table.of_event[row]]
            place = SourcePlace(event.file, event.line)
            tables[key.kernel].setdefault(PhaseId(key.name, key.kind, key.lane), place)
    return tables


def _code_objects(recording: Recording) -> Mapping[str, contents.CodeObject]:
    read = {record.sha256: _read(record) for record in recording.code_objects.values()}
    return {sha256: code_object for sha256, code_object in read.items() if code_object}


def _read(record: CodeObjectRecord) -> contents.CodeObject | None:
    try:
        return read_code_object(record.image, record.sha256)
    except CodeObjectError:  # counted when the timeline was built
        return None


def _in_code(code_object: contents.CodeObject, mangled: str) -> EventTable:
    kernel = code_object.kernel(mangled)
    if kernel is None:
        return {}
    events = (*code_object.events_in(kernel), *code_object.events_in_functions)
    return {
        PhaseId(
            name=event.name,
            kind=Kind(event.kind).name.lower(),
            lane=event.lane or (event.name if event.kind == Kind.START else ""),
        ): SourcePlace(event.file, event.line)
        for event in events
        if event.kind in RANGES
    }
