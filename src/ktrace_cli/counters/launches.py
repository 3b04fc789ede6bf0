"""Times and resources of kernels from traces without counters, launch by launch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ktrace_cli.errors import KtraceError
from ktrace_cli.importers.files import Found, Input, find_inputs
from ktrace_cli.importers.host_trace import HostTrace
from ktrace_cli.importers.reader import read_all_traces
from ktrace_cli.importers.report import sentences_on_repairs
from ktrace_cli.model import Columns

_KNOWN = (Input.ROCPD, Input.ROCPROFV3_JSON, Input.ROCPROFV3_CSV)
_NUMBERS = ("VGPR_Count", "Accum_VGPR_Count", "SGPR_Count", "LDS_Block_Size", "Scratch_Size")
_SIZES = tuple(f"{name}_Size_{axis}" for name in ("Grid", "Workgroup") for axis in "XYZ")
_UNKNOWN = -1


@dataclass(frozen=True)
class Used:
    """What a launch needs, as the file tells it; -1 for what it does not tell."""

    vgprs: int
    """Corrected for gfx950, of which older releases told half."""
    agprs: int
    sgprs: int
    lds_bytes: int
    scratch_bytes: int
    is_doubled: bool
    """Whether the file had half of `vgprs`."""


@dataclass(frozen=True)
class Launches:
    """Launches of one kernel that are alike, in the order of their begin."""

    name: str
    grid: int
    """In work-items; 0 if not known."""
    workgroup: int
    target: str
    """gfx950; "" if the file does not tell."""
    used: Used
    durations_ns: tuple[tuple[int, ...], ...]
    """Of each process by itself."""

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(len(own) for own in self.durations_ns)

    def total_ns(self) -> int:
        """Return their time in all."""
        return sum(sum(own) for own in self.durations_ns)

    def without_first(self, warm_up: int) -> list[int]:
        """Return the durations without each process's first; all where nothing would be left."""
        kept = [time for own in self.durations_ns for time in own[warm_up:]]
        return kept or [time for own in self.durations_ns for time in own]


def read_launches(given: Sequence[Path]) -> tuple[list[Launches], list[str], list[str]]:
    """Read kernel traces; returns also notes, and what of the files is missing or repaired.

    Raises:
        KtraceError: a file cannot be read, is no trace of rocprofv3's, or tells of no kernel.
    """
    found, notes = find_inputs(given)
    for one in found:
        if one.kind not in _KNOWN:
            raise _other(one)
    traces = read_all_traces(found)
    told, repairs = sentences_on_repairs(traces)
    launches = _group([trace.trace for trace in traces])
    if not launches:
        raise KtraceError(
            f"{', '.join(map(str, given))} tells of no kernel",
            why="it holds calls or copies only",
            fix="trace with `rocprofv3 --kernel-trace`",
        )
    return launches, notes + told, repairs


def _other(one: Found) -> KtraceError:
    return KtraceError(
        f"{one.paths[0]} is no kernel trace of rocprofv3",
        why=f"it is a {one.kind.value}; wanted is a kernel_trace.csv, results.json or results.db",
        fix="trace with `rocprofv3 --kernel-trace -f csv -- PROGRAM`",
    )


def _group(traces: Sequence[HostTrace]) -> list[Launches]:
    groups: dict[tuple[str, int, int, str, Used], list[tuple[int, ...]]] = defaultdict(list)
    for trace in traces:
        own: dict[tuple[str, int, int, str, Used], list[int]] = defaultdict(list)
        columns = {name: _column(trace, name) for name in (*_NUMBERS, *_SIZES)}
        halves = _column(trace, "VGPR_Count_in_file")
        for row in trace.kernels.tolist():
            one = trace.slices[row]
            vgprs, agprs, sgprs, lds, scratch = (int(columns[n][row]) for n in _NUMBERS)
            used = Used(vgprs, agprs, sgprs, lds, scratch, bool(halves[row] != _UNKNOWN))
            target = trace.tracks[int(one["track"])].target
            sizes = _volume(columns, "Grid", row), _volume(columns, "Workgroup", row)
            key = (trace.name_of(row), *sizes, target, used)
            own[key].append(int(one["end_ns"] - one["begin_ns"]))
        for key, times in own.items():
            groups[key].append(tuple(times))
    return [Launches(*key, tuple(times)) for key, times in groups.items()]


def _column(trace: HostTrace, name: str) -> Columns:
    values = np.full(len(trace.slices), _UNKNOWN, np.int64)
    for argument in trace.arguments:
        if argument.name == name and not argument.is_text:
            values[argument.rows] = argument.values
    return values


def _volume(columns: dict[str, Columns], what: str, row: int) -> int:
    x, y, z = (int(columns[f"{what}_Size_{axis}"][row]) for axis in "XYZ")
    return x * max(y, 1) * max(z, 1) if x > 0 else 0
