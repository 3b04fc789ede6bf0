"""Options for files that are no recordings: whose buffers they hold, and what these do not tell."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ktrace_cli import console
from ktrace_cli.errors import UsageError
from ktrace_cli.foreign.shape import Shape, parse_shape
from ktrace_cli.foreign.source import (
    TRACES,
    Source,
    Tool,
    find_tool,
    is_recording,
    read_foreign,
)
from ktrace_cli.model import Timeline
from ktrace_cli.trace_file.recording import Recording, empty_recording

_PANEL = "Buffers of other in-kernel tracers"
_TOOLS = ", ".join(tool.value for tool in Tool)

OPTIONS_OF_BUFFERS = (
    "is a recording of ktrace: `--from TOOL`, `--names` and `--shape` are about other files"
)

ToolOption = Annotated[
    Tool | None,
    typer.Option(
        "--from",
        metavar="TOOL",
        show_default=False,
        rich_help_panel=_PANEL,
        help="Files that are no recordings hold the buffer of this tool (flydsl, quack, tileops),"
        " or are traces that an in-kernel tracer wrote (chrome: JSON; pftrace: Perfetto). Without"
        " it: as their bytes tell.",
    ),
]
NamesOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--names",
        metavar="FILE",
        show_default=False,
        rich_help_panel=_PANEL,
        help="What events are called: JSON {name: id} or {id: name}; of FlyDSL also a file or"
        " folder of its cache; may be repeated. Without it: BUFFER.names.json, if there is one.",
    ),
]
ShapeOption = Annotated[
    str | None,
    typer.Option(
        "--shape",
        metavar="KEY=N,...",
        show_default=False,
        rich_help_panel=_PANEL,
        help="What the bytes do not tell: blocks=132,warps=8,capacity=4096 (QuACK);"
        " blocks=, groups=, capacity=, clock=1.755GHz (TileOPs); bytes=64M, of the whole buffer"
        " (FlyDSL); clock= (Proton's traces); warps= (MORI-VIZ's).",
    ),
]


def read_source(tool: Tool | None, names: Sequence[Path] | None, shape: str | None) -> Source:
    """Read the options of this module.

    Raises:
        UsageError: the shape cannot be read.
    """
    return Source(tool, tuple(names or ()), parse_shape(shape) if shape is not None else Shape())


def read_source_or_time(
    given: Sequence[str] | None, names: Sequence[Path] | None, shape: str | None
) -> tuple[Source, str | None]:
    """Read the same where `--from` is also a time, which is returned.

    Raises:
        UsageError: it names two tools or two times.
    """
    tools = [Tool(each) for each in given or () if each in _NAMED]
    times = [each for each in given or () if each not in _NAMED]
    for found in (tools, times):
        if len(found) > 1:
            raise UsageError(
                f"`--from {str(found[1].value) if isinstance(found[1], Tool) else found[1]}` is"
                " one too many",
                why="`--from` names one tool at most, and one time",
                fix=f"tools are {_TOOLS}; anything else is a time",
            )
    time = times[0] if times else None
    if time is not None and time.isalpha():
        raise UsageError(
            f"`--from {time}` is neither a tool nor a time",
            why=f"tools are {_TOOLS}; a time is a number with the unit ns, us, ms or s",
            fix="write for example `--from flydsl` or `--from 1.5ms`",
        )
    return read_source(tools[0] if tools else None, names, shape), time


_NAMED = frozenset(tool.value for tool in Tool)


def load_buffer(path: Path, source: Source) -> tuple[Recording, Timeline] | None:
    """Decode another tool's buffer and say what is assumed; None: it is none.

    Raises:
        KtraceError: it cannot be read.
    """
    tool = find_tool(path, source)
    if tool is None:
        if source.is_told and source.tool is not Tool.FLYDSL and is_recording(path):
            console.say(f"{path} {OPTIONS_OF_BUFFERS}")
        return None
    with console.progress(f"reading {path.name}") as advance:
        found = read_foreign(path, tool, source, advance)
    for note in found.notes:
        console.say(f"{path}: {note}")
    return empty_recording(path), found.timeline


def is_buffer(path: Path, source: Source) -> bool:
    """Tell whether a file is another tool's buffer."""
    return find_tool(path, source) is not None


def is_shown_as_buffer(path: Path, source: Source) -> bool:
    """Tell whether a file's waves are shown: a trace is shown as it is, if nobody asks."""
    tool = find_tool(path, source)
    return tool is not None and (tool not in TRACES or source.tool is not None)
