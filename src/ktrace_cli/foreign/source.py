"""Another tracer's buffer or trace, by its name or by its bytes, to a timeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from ktrace_cli.errors import KtraceError, UsageError
from ktrace_cli.foreign.buffer import Buffer, read_buffer
from ktrace_cli.foreign.build import build_foreign
from ktrace_cli.foreign.flydsl import find as flydsl
from ktrace_cli.foreign.names_file import read_side_cars
from ktrace_cli.foreign.quack.find import find_quack
from ktrace_cli.foreign.quack.slots import is_quack
from ktrace_cli.foreign.shape import Shape
from ktrace_cli.foreign.side_car import SideCar
from ktrace_cli.foreign.tileops.find import find_tileops
from ktrace_cli.foreign.tileops.slots import is_tileops
from ktrace_cli.foreign.traces.find import find_trace
from ktrace_cli.foreign.traces.writers import find_writer, is_chrome, peek
from ktrace_cli.model import Timeline
from ktrace_cli.progress import Advance, part_of, unwatched
from ktrace_cli.trace_file.file_kind import HEAD_SIZE, FileKind, identify
from ktrace_cli.units import counted


class Tool(str, Enum):
    """Whose buffer a file holds, or which format of traces it has."""

    FLYDSL = "flydsl"
    QUACK = "quack"
    TILEOPS = "tileops"
    CHROME = "chrome"
    PFTRACE = "pftrace"


TRACES = frozenset({Tool.CHROME, Tool.PFTRACE})


@dataclass(frozen=True)
class Source:
    """What the user says of files that are no recordings."""

    tool: Tool | None = None
    names: Sequence[Path] = ()
    shape: Shape = field(default_factory=Shape)

    @property
    def is_told(self) -> bool:
        """Whether anything was said."""
        return self != Source()


@dataclass(frozen=True)
class Foreign:
    """A buffer as a timeline."""

    timeline: Timeline
    notes: tuple[str, ...]
    """What was assumed."""


# A buffer of nothing but zeros is one, too; text and archives are not.
_POSSIBLE = (FileKind.UNKNOWN, FileKind.ZEROS)


def find_tool(path: Path, source: Source) -> Tool | None:
    """Tell whose buffer a file is: as the user says, or as its bytes do without a doubt.

    None: it is a recording of ours, or nobody's.

    Raises:
        UsageError: it may be that of several.
    """
    kind = _kind(path)
    if kind is None or kind is FileKind.RECORDING:
        return None
    if source.tool is not None:
        return source.tool
    if not path.is_file():
        return None
    head, tail = peek(path)
    if find_writer(head, tail) is not None:
        return Tool.CHROME if is_chrome(head) else Tool.PFTRACE
    return _find_buffer(path, source) if kind in _POSSIBLE else None


def _find_buffer(path: Path, source: Source) -> Tool | None:
    try:
        buffer = read_buffer(path)
    except KtraceError:  # numpy's, but not to be read
        return None
    likely = [tool for tool in _FINDERS if _is_buffer_of(tool, buffer, source.shape)]
    if len(likely) > 1:
        raise UsageError(
            f"cannot tell what {path} is",
            why=f"its bytes may be the buffer of {' or of '.join(tool.value for tool in likely)}",
            fix=f"say which: `--from {likely[0].value}`",
        )
    return likely[0] if likely else None


def is_recording(path: Path) -> bool:
    """Tell whether a file is a recording of ours."""
    return _kind(path) is FileKind.RECORDING


def _kind(path: Path) -> FileKind | None:
    """Return what a file is; None if it cannot be read, which who reads recordings words."""
    try:
        with path.open("rb") as file:
            return identify(file.read(HEAD_SIZE))
    except OSError:
        return None


def read_foreign(path: Path, tool: Tool, source: Source, advance: Advance = unwatched) -> Foreign:
    """Decode a buffer.

    Raises:
        KtraceError: it, or a file beside it, cannot be read.
    """
    side_car, notes = _side_car(path, tool, source)
    if tool in TRACES:
        about = (side_car.kernel, side_car.target)
        found, told = find_trace(path, side_car.shape, about, part_of(advance, 0.3))
        return Foreign(build_foreign(found, part_of(advance, 0.7)), (*told, *notes))
    found, told = _FINDERS[tool](read_buffer(path), side_car)
    if source.tool is None:
        told = (f"{told[0]}: its bytes are not anything else (`--from {tool.value}`)", *told[1:])
    return Foreign(build_foreign(found, advance), (*told, *notes))


def _side_car(path: Path, tool: Tool, source: Source) -> tuple[SideCar, tuple[str, ...]]:
    beside = path.with_name(f"{path.name}.names.json")
    notes: list[str] = []
    files = list(source.names)
    if not files and beside.is_file():
        files = [beside]
        notes.append(f"names are those in {beside}")
    found = read_side_cars(files)
    if not files and tool not in TRACES:
        notes.append("no names are known, so events are called after their ids: add `--names FILE`")
    if found.contradicting:
        ids = counted(found.contradicting, "id has", "ids have")
        notes.append(f"{ids} several names in these files: the first one counts")
    shape = source.shape.over(found.shape)
    return SideCar(**{**vars(found), "shape": shape}), tuple(notes)


def _is_buffer_of(tool: Tool, buffer: Buffer, shape: Shape) -> bool:
    if tool is Tool.FLYDSL:
        return flydsl.guess_layout(buffer.data, shape.bytes).is_certain
    return (is_quack if tool is Tool.QUACK else is_tileops)(buffer, shape)


_FINDERS = {
    Tool.FLYDSL: flydsl.find_flydsl,
    Tool.QUACK: find_quack,
    Tool.TILEOPS: find_tileops,
}
