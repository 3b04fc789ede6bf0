"""What the plugin says at the end: recordings, and in a few words what each test launched."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ktrace_cli.code_object.names import display_name
from ktrace_cli.errors import KtraceError
from ktrace_cli.launch.status import ProcessStatus, read_statuses
from ktrace_cli.model import Timeline
from ktrace_cli.pytest_plugin.demangler import load_demangler
from ktrace_cli.pytest_plugin.writing import rescue
from ktrace_cli.timeline.build import build_timeline
from ktrace_cli.trace_file.reader import read_recording
from ktrace_cli.trace_file.sections import Section, launch_ranges, read_sections, sections_path
from ktrace_cli.units import counted, format_bytes

_MOST_TESTS = 20
_MOST_READ = 256 << 20  # bytes: more of them would hold up the end for seconds
_MOST_KERNELS = 3


@dataclass(frozen=True)
class _Recorded:
    """A recording of the run, and the sections of the tests in its process."""

    path: Path
    size: int
    dispatches: int
    sections: list[Section]
    trouble: str
    """Why there are no sections; "" if there are."""


class Ending:
    """Knows which processes of the session are this run's."""

    def __init__(self, session: Path) -> None:
        self._session = session
        self._earlier = {status.output for status in read_statuses(session)}

    def write(self, terminal: Any) -> None:
        """Write the plugin's part of the terminal summary."""
        recorded = [self._recorded(s, s.output) for s in self._statuses() if s.output]
        if not recorded:
            return
        terminal.section("ktrace")
        for each in recorded:
            terminal.write_line(_recording_line(each))
        lines = [line for each in recorded for line in _test_lines(each)]
        for line in lines[:_MOST_TESTS]:
            terminal.write_line(line)
        if (more := len(lines) - _MOST_TESTS) > 0:
            terminal.write_line(f"and {counted(more, 'more test')}")
        if command := _next_command(recorded):
            terminal.write_line(f"next: `{command}`")

    def _statuses(self) -> Iterator[ProcessStatus]:
        for status in read_statuses(self._session):
            if status.output and status.dispatches and status.output not in self._earlier:
                yield status

    def _recorded(self, status: ProcessStatus, path: Path) -> _Recorded:
        trouble, sections = rescue(self._session, status), []
        try:
            if not trouble and sections_path(path).exists():
                sections = read_sections(path)
            elif not trouble:
                trouble = "of a program that a test started: in no section"
        except KtraceError as error:
            trouble = f"{error.what}: {error.why}"
        return _Recorded(path, status.size, status.recorded_dispatches, sections, trouble)


def _recording_line(recorded: _Recorded) -> str:
    dispatches = counted(recorded.dispatches, "dispatch", "dispatches")
    line = f"{_shortest(recorded.path)}: {dispatches}, {format_bytes(recorded.size)}"
    return f"{line}; {recorded.trouble}" if recorded.trouble else line


def _test_lines(recorded: _Recorded) -> list[str]:
    sections_by_test: dict[str, list[Section]] = {}
    for section in recorded.sections:
        sections_by_test.setdefault(section.test, []).append(section)
    with_launches = {t: s for t, s in sections_by_test.items() if launch_ranges(s)}
    if not with_launches:
        return []
    if recorded.size > _MOST_READ:
        tests = counted(len(with_launches), "test")
        return [f"{tests} in {_shortest(recorded.path)}, which is too large to be looked at here"]
    load_demangler()
    try:
        timeline = build_timeline(read_recording(recorded.path))
    except KtraceError as error:
        return [f"{error.what}: {error.why}"]
    return _lines_of(timeline, with_launches)


def _lines_of(timeline: Timeline, sections_by_test: dict[str, list[Section]]) -> list[str]:
    tests = list(sections_by_test)
    ranges = [(r.start, r.stop, row) for row, t in enumerate(tests)
              for r in launch_ranges(sections_by_test[t])]  # fmt: skip
    starts, stops, rows = (
        np.array(column, np.uint64) for column in zip(*sorted(ranges), strict=True)
    )
    launch = timeline.dispatches["launch"]
    place = np.searchsorted(starts, launch, "right") - 1
    is_in = (place >= 0) & (launch < stops[np.maximum(place, 0)])
    test_of_dispatch = np.where(is_in, rows[np.maximum(place, 0)].astype(np.int64), -1)
    shares = _phase_shares(timeline, test_of_dispatch)
    return [
        f"{test}: {_kernels(timeline, test_of_dispatch == row, sections_by_test[test])}"
        + shares.get(row, "")
        for row, test in enumerate(tests)
    ]


def _kernels(timeline: Timeline, is_its: Any, sections: list[Section]) -> str:
    names = [display_name(kernel.mangled) for kernel in timeline.kernels]
    found = Counter(names[row] for row in timeline.dispatches["kernel"][is_its].tolist())
    if not found:
        launches = sum(section.launches or 0 for section in sections)
        return f"{counted(launches, 'launch', 'launches')}, none recorded"
    listed = [
        f"{counted(count, 'dispatch', 'dispatches')} of {name}"
        for name, count in found.most_common(_MOST_KERNELS)
    ]
    more = len(found) - _MOST_KERNELS
    return ", ".join(listed) + (f" and {counted(more, 'more kernel')}" if more > 0 else "")


def _phase_shares(timeline: Timeline, test_of_dispatch: Any) -> dict[int, str]:
    """Say for each test which phase is the longest, and its share of the time of all waves."""
    test_of_wave = test_of_dispatch[timeline.waves["dispatch"]]
    wave_ns: Counter[int] = Counter()
    length = timeline.waves["end_ns"] - timeline.waves["begin_ns"]
    for test in np.unique(test_of_wave).tolist():
        wave_ns[test] = int(length[test_of_wave == test].sum())
    totals: Counter[tuple[int, str]] = Counter()
    for part in timeline.parts():
        key = test_of_wave[part.slices["wave"]] * len(timeline.events) + part.slices["event"]
        keys, place = np.unique(key, return_inverse=True)
        sums = np.bincount(place.reshape(-1), part.slices["ns"], len(keys))
        for each, total in zip(keys.tolist(), sums.tolist(), strict=True):
            test, event = divmod(each, len(timeline.events))
            totals[test, timeline.events[event].name] += int(total)
    lines: dict[int, str] = {}
    for (test, phase), total in totals.most_common():
        if test not in lines and wave_ns[test]:
            lines[test] = (
                f", longest phase `{phase}`: {100 * total / wave_ns[test]:.1f} % of wave time"
            )
    return lines


def _next_command(recorded: list[_Recorded]) -> str:
    for each in recorded:
        for section in each.sections:
            if launch_ranges([section]):
                path, test = shlex.quote(str(_shortest(each.path))), shlex.quote(section.test)
                return f"ktrace summary {path} --section {test}"
    return f"ktrace summary {shlex.quote(str(_shortest(recorded[0].path)))}"


def _shortest(path: Path) -> Path:
    relative = os.path.relpath(path)
    return Path(relative) if len(relative) < len(str(path)) else path
