"""The file beside a recording that says which launches each test made. Knows nothing of pytest.

One JSON object on each line, so that what was written outlives any crash: first the file's kind,
then a section each. A section that is still going on has no count of launches; it means something
only on the last line, where its process ended in it. docs/reference/pytest.md describes the keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeGuard

from ktrace_cli.errors import KtraceError

SUFFIX = ".sections.jsonl"
VERSION = 1
_VERSION_KEY = "ktrace_sections"
_NO_END = (1 << 64) - 1


@dataclass(frozen=True)
class Section:
    """The launches of one phase of one test: setup, call or teardown."""

    test: str
    phase: str
    outcome: str
    """Of the phase; "" while it is going on."""
    first: int
    """Number of its first launch in its process, were there any."""
    launches: int | None
    """None while it is going on."""

    @property
    def numbers(self) -> range:
        """Return the numbers of its launches."""
        end = _NO_END if self.launches is None else self.first + self.launches
        return range(self.first, end)

    def matches(self, pattern: str) -> bool:
        """Tell whether a name of it is `pattern`, or matches it as a shell pattern."""
        return any(name == pattern or fnmatchcase(name, pattern) for name in self._names())

    def _names(self) -> list[str]:
        """Return the test's id, without its folders, without its file; each with the phase, too."""
        file, separator, rest = self.test.partition("::")
        ids = [self.test, file.rpartition("/")[2] + separator + rest, rest]
        return [name for each in ids if each for name in (each, f"{each}::{self.phase}")]


def sections_path(recording: Path) -> Path:
    """Return where the sections of a recording are, if it has any."""
    return recording.with_name(recording.name + SUFFIX)


def first_line(recording: Path, pid: int) -> str:
    """Write the line that a file of sections begins with."""
    return _line({_VERSION_KEY: VERSION, "recording": recording.name, "pid": pid})


def section_line(section: Section) -> str:
    """Write a section."""
    return _line(
        {
            "test": section.test,
            "phase": section.phase,
            "outcome": section.outcome or None,
            "first": section.first,
            "launches": section.launches,
        }
    )


def read_sections(recording: Path) -> list[Section]:
    """Read the sections of a recording, in order of their launches.

    Raises:
        KtraceError: there are none, or they cannot be read.
    """
    path = sections_path(recording)
    try:
        text = path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError as error:
        raise KtraceError(
            f"{recording} has no sections",
            why=f"there is no {path.name} beside it",
            fix="`pytest --ktrace` writes one for each recording",
        ) from error
    except OSError as error:
        raise KtraceError(
            f"cannot read {path}", why=error.strerror or str(error), fix="check the path"
        ) from error
    return parse_sections(text, path)


def parse_sections(text: str, path: Path) -> list[Section]:
    """Read sections from the text of their file.

    Raises:
        KtraceError: a line is not understood; the last one may be torn.
    """
    lines = text.split("\n")
    whole, torn = lines[:-1], lines[-1]
    if not whole and not torn:
        return []
    head = _object(whole[0]) if whole else None
    if head is None or head.get(_VERSION_KEY) != VERSION:
        found = "no version" if head is None else repr(head.get(_VERSION_KEY))
        raise KtraceError(
            f"cannot read {path}",
            why=f"line 1 has {found}; this ktrace reads version {VERSION} of {_VERSION_KEY!r}",
            fix="use the ktrace that recorded it, or run the tests again",
        )
    sections = [_section(line, number, path) for number, line in enumerate(whole[1:], 2)]
    last = len(sections) - 1
    return [s for row, s in enumerate(sections) if s.launches is not None or row == last]


def launch_ranges(sections: Iterable[Section]) -> list[range]:
    """Return the launches of some sections, ascending and without overlap."""
    merged: list[range] = []
    for numbers in sorted((s.numbers for s in sections if s.numbers), key=lambda r: r.start):
        if merged and numbers.start <= merged[-1].stop:
            merged[-1] = range(merged[-1].start, max(merged[-1].stop, numbers.stop))
        else:
            merged.append(numbers)
    return merged


def matching(sections: Sequence[Section], patterns: Iterable[str]) -> list[Section]:
    """Return the sections that match any of the patterns, in their order."""
    wanted = list(patterns)
    return [section for section in sections if any(map(section.matches, wanted))]


def _section(line: str, number: int, path: Path) -> Section:
    found = _object(line)
    values = None if found is None else _values(found)
    if values is None:
        raise KtraceError(
            f"cannot read {path}",
            why=f"line {number} is no section: {line[:80]!r}",
            fix="run the tests again",
        )
    return values


def _values(found: dict[str, Any]) -> Section | None:
    test, phase, outcome = (found.get(name) for name in ("test", "phase", "outcome"))
    first, launches = found.get("first"), found.get("launches")
    if not (isinstance(test, str) and isinstance(phase, str) and _is_count(first)):
        return None
    if not (launches is None or _is_count(launches)):
        return None
    if outcome is not None and not isinstance(outcome, str):
        return None
    return Section(test, phase, outcome or "", first, launches)


def _is_count(value: Any) -> TypeGuard[int]:
    return type(value) is int and 0 <= value < 1 << 62


def _object(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _line(values: dict[str, Any]) -> str:
    return json.dumps(values) + "\n"
