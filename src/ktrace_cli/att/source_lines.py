"""Source lines of a bundle: chains of inlining, snippets, and lines that mean a whole kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from ktrace_cli.att.faults import Faults
from ktrace_cli.kernel_code.instructions import InstructionClass

CHAIN: Final = " -> "
_LINE: Final = re.compile(r"^(.*):(\d{1,9})(?::\d{1,9})?$", re.DOTALL)
_DECLARES: Final = re.compile(r"^\s*(@|def\s|async\s+def\s)|__global__")
_KINDS_OF_ARTEFACT: Final = 6
_SPREAD: Final = 0.5
_LONGEST_FILE: Final = 1 << 24


@dataclass(frozen=True)
class Frame:
    """One place in the source."""

    path: str
    line: int
    """0 if it is not known."""

    @property
    def text(self) -> str:
        """`path:line`."""
        return f"{self.path}:{self.line}" if self.line else self.path


def split_chain(source: str) -> tuple[Frame, ...]:
    """Split a chain of inlining, innermost first: `a.py:1 -> b.py:2`; () where there is none."""
    return tuple(_frame(part.strip()) for part in source.split(CHAIN) if part.strip())


def _frame(text: str) -> Frame:
    found = _LINE.match(text)
    return Frame(found[1], int(found[2])) if found else Frame(text, 0)


@dataclass(frozen=True)
class SourceTexts:
    """The text of source files that the bundle carries."""

    lines_by_path: Mapping[str, tuple[str, ...]]

    def line(self, frame: Frame) -> str | None:
        """Return a line's text, None where the bundle does not have it."""
        lines = self.lines_by_path.get(frame.path, ())
        return lines[frame.line - 1] if 0 < frame.line <= len(lines) else None

    def around(self, frame: Frame, context: int) -> list[tuple[int, str]]:
        """Return up to `context` lines before and after a line, with their numbers."""
        lines = self.lines_by_path.get(frame.path, ())
        if not 0 < frame.line <= len(lines):
            return []
        first = max(1, frame.line - context)
        return list(enumerate(lines[first - 1 : frame.line + context], first))


def read_sources(folder: Path, faults: Faults) -> SourceTexts:
    """Read the source files that snapshots.json names."""
    path = folder / "snapshots.json"
    if not path.exists():
        return SourceTexts({})
    try:
        document = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        faults["unreadable_snapshots"] += 1
        return SourceTexts({})
    lines_by_path = {}
    for name, local in _leaves(document):
        file = folder / local
        try:
            # A name with folders in it would lead out of the bundle.
            is_inside = "/" not in local and file.stat().st_size < _LONGEST_FILE
            text = file.read_text(errors="replace") if is_inside else None
        except (OSError, ValueError):
            text = None
        faults["missing_sources"] += text is None
        if text is not None:
            lines_by_path[name] = tuple(text.splitlines())
    return SourceTexts(lines_by_path)


def _leaves(document: object) -> Iterator[tuple[str, str]]:
    """Yield path and local name of each file of the tree of path components."""
    waiting: list[tuple[tuple[str, ...], Any]] = [((), document)]
    while waiting:
        parts, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [((*parts, "" if key == "/" else key), one) for key, one in value.items()]
        elif isinstance(value, str) and value:
            yield "/".join(parts), value


@dataclass(frozen=True)
class LineUse:
    """What of a kernel's code one source line stands for."""

    frame: Frame
    classes: frozenset[InstructionClass]
    first: int
    last: int
    """Rows of the first and the last instruction."""


def find_artefacts(uses: Sequence[LineUse], texts: SourceTexts, rows: int) -> dict[Frame, str]:
    """Find lines to which compilers put what has no line of its own; returns why each is one.

    Args:
        uses: of each line.
        texts: the source, as far as the bundle has it.
        rows: how many rows the kernel's code has.
    """
    found = {}
    lowest: dict[str, int] = {}
    for use in uses:
        path = use.frame.path
        lowest[path] = min(use.frame.line, lowest.get(path, use.frame.line))
    for use in uses:
        text = texts.line(use.frame)
        if text is not None:
            if _DECLARES.search(text) and len(use.classes) > 1:
                found[use.frame] = f"it declares the kernel (`{text.strip()}`)"
        elif _is_like_a_declaration(use, lowest, rows):
            kinds = len(use.classes)
            found[use.frame] = (
                f"it is the first line of its file that has code, and stands for {kinds} classes of"
                " instructions all over the kernel, as the line of a kernel's decorator does"
            )
    return found


def _is_like_a_declaration(use: LineUse, lowest: Mapping[str, int], rows: int) -> bool:
    return (
        use.frame.path.endswith(".py")
        and use.frame.line == lowest[use.frame.path]
        and len(use.classes) >= _KINDS_OF_ARTEFACT
        and use.last - use.first >= _SPREAD * rows
    )
