"""Which launches are those of some tests, by the sections of a recording and of those beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ktrace_cli.errors import KtraceError, UsageError
from ktrace_cli.trace_file.sections import (
    SUFFIX,
    Section,
    launch_ranges,
    matching,
    read_sections,
)
from ktrace_cli.units import counted

_MOST_LISTED = 8


def launches_of_sections(recording: Path, patterns: Sequence[str]) -> list[range]:
    """Return the launches of all tests that match any of the patterns.

    Raises:
        KtraceError: the recording has no sections, or they cannot be read.
        UsageError: a pattern names no section, or they launched nothing.
    """
    sections = read_sections(recording)
    for pattern in patterns:
        if not matching(sections, [pattern]):
            raise _names_nothing(recording, sections, pattern)
    found = matching(sections, patterns)
    ranges = launch_ranges(found)
    if not ranges:
        tests = len({section.test for section in found})
        raise UsageError(
            f"`--section {' '.join(patterns)}` selects nothing",
            why=f"{counted(tests, 'test')} of that name launched nothing in the process of"
            f" {recording}",
            fix="programs that a test starts have recordings of their own, without sections",
        )
    return ranges


def _names_nothing(recording: Path, sections: Sequence[Section], pattern: str) -> UsageError:
    tests = list(dict.fromkeys(s.test for s in sections if s.launches != 0))
    more = f" and {len(tests) - _MOST_LISTED} more" if len(tests) > _MOST_LISTED else ""
    listed = f"{', '.join(tests[:_MOST_LISTED])}{more}"
    elsewhere = _beside(recording, pattern)
    return UsageError(
        f"`--section {pattern}` selects nothing",
        why=f"tests with launches in {recording}: {listed or 'none'}",
        fix=f"it is in {elsewhere}" if elsewhere else "name one of these, or a shell pattern",
    )


def _beside(recording: Path, pattern: str) -> Path | None:
    """Find a recording of the same folder that has launches in such a section."""
    for path in sorted(recording.parent.glob(f"*{SUFFIX}")):
        other = path.with_name(path.name.removesuffix(SUFFIX))
        try:
            sections = matching(read_sections(other), [pattern])
        except KtraceError:
            continue  # it is not what was asked for
        if launch_ranges(sections) and other != recording:
            return other
    return None
