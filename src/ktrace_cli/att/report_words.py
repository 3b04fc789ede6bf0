"""Short words for places in the source, and shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ktrace_cli.att.results import InstructionRow
from ktrace_cli.att.source_lines import Frame

WIDE: Final = 36


def share(part: int, whole: int) -> str:
    """Write a part in percent; a dash of nothing."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def short_source(frame: Frame) -> str:
    """Write `name:line`, without folders."""
    name = frame.path.rstrip("/").rpartition("/")[2] or frame.path
    return f"{name}:{frame.line}" if frame.line else name


def short_sources(frames: Sequence[Frame]) -> dict[Frame, str]:
    """Write `name:line`, with a folder where two files of one name would be alike."""
    paths: dict[str, set[str]] = {}
    for frame in frames:
        paths.setdefault(short_source(Frame(frame.path, 0)), set()).add(frame.path)
    names = {}
    for frame in frames:
        is_alike = len(paths[short_source(Frame(frame.path, 0))]) > 1
        names[frame] = frame.text if is_alike else short_source(frame)
    return names


def place_of(row: InstructionRow) -> str:
    """Write the innermost place of an instruction."""
    return short_source(row.chain[0]) if row.chain else ""
