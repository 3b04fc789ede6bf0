"""Edge notes to edges: which kernels' arrows each one means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ktrace_cli.code_object import contents
from ktrace_cli.code_object.contents import CodeObject, missing_ends
from ktrace_cli.model import Edge
from ktrace_cli.timeline.native import LOW_HALF
from ktrace_cli.trace_file.recording import KernelRecord


def read_edges(
    code_objects: Mapping[int, CodeObject], records: Sequence[KernelRecord]
) -> tuple[Edge, ...]:
    """Return the edges of all code objects.

    Args:
        code_objects: by index in the recording.
        records: one per row of Timeline.kernels.
    """
    edges = []
    for index, code_object in code_objects.items():
        for edge in dict.fromkeys(code_object.edges):
            names = _kernels_with_both_ends(code_object, edge)
            rows = [
                row
                for row, record in enumerate(records)
                if record.code_object == index and record.name in names
            ]
            unit = edge.unit_key & LOW_HALF
            edges.append(Edge(edge.source, edge.destination, unit, frozenset(rows)))
    return tuple(edges)


def count_unknown_edges(code_objects: Iterable[CodeObject]) -> int:
    """Count edges of which neither end names a range; of one that has one, arrows lack an end."""
    return sum(
        set(missing_ends(edge, code_object.events)) == {edge.source, edge.destination}
        for code_object in code_objects
        for edge in dict.fromkeys(code_object.edges)
    )


def _kernels_with_both_ends(code_object: CodeObject, edge: contents.Edge) -> set[str]:
    """Return the names of the kernels that have markers of both ends in the edge's unit.

    Several kernels of a unit may have a marker `load`, and those that lack the other end are not
    meant. But if none has both, the edge names what does not exist, and all shall show it.
    """
    both = {edge.source, edge.destination}
    called = _names(code_object.events_in_functions, edge.unit_key)
    found = {
        kernel.name
        for kernel in code_object.kernels
        if both <= called | _names(code_object.events_in(kernel), edge.unit_key)
    }
    return found or {kernel.name for kernel in code_object.kernels}


def _names(events: Iterable[contents.Event], unit_key: int) -> set[str]:
    return {event.name for event in events if event.unit_key == unit_key}
