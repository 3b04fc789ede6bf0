"""Another tracer's buffer, through files, to what tests compare."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ktrace_cli.foreign.shape import Shape
from ktrace_cli.foreign.source import Foreign, Source, Tool, find_tool, read_foreign
from ktrace_cli.model import Timeline


def read(
    folder: Path, content: bytes, tool: Tool, names: Any = None, shape: Shape | None = None
) -> Foreign:
    """Write a buffer, and its names as JSON, and read it."""
    path = folder / "buffer.bin"
    path.write_bytes(content)
    files = []
    if names is not None:
        files.append(folder / "names.json")
        files[0].write_text(json.dumps(names))
    return read_foreign(path, tool, Source(tool, files, shape or Shape()))


def told_apart(folder: Path, content: bytes) -> Tool | None:
    """Return whose buffer a file is by its bytes alone."""
    path = folder / "unknown.bin"
    path.write_bytes(content)
    return find_tool(path, Source())


def slices(timeline: Timeline) -> list[tuple[int, str, int, int, int, str, int]]:
    """Wave, name, begin and length in the timeline's unit, depth, lane and flags of each slice."""
    zero = timeline.zero_ns
    return [
        (
            int(row["wave"]),
            timeline.events[row["event"]].name,
            int(row["begin_ns"]) - zero,
            int(row["ns"]),
            int(row["depth"]),
            timeline.lanes[row["lane"]],
            int(row["flags"]),
        )
        for row in timeline.slices
    ]


def marks(timeline: Timeline) -> list[tuple[int, str, int]]:
    """Wave, name and time of each mark."""
    return [
        (int(row["wave"]), timeline.events[row["event"]].name, int(row["ns"]) - timeline.zero_ns)
        for row in timeline.instants
    ]


def values(timeline: Timeline, row: Any) -> list[tuple[int, int]]:
    """Type and bits of all values of a slice or a mark."""
    first = int(row["first_value"])
    own = timeline.values[first : first + int(row["values"])]
    return [(int(value["type"]), int(value["bits"])) for value in own]
