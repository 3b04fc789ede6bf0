"""Times and resources of kernels from traces without counters, launch by launch."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ktrace_cli.errors import KtraceError
from ktrace_cli.importers.csv_table import read_header
from ktrace_cli.importers.files import Found, Input, find_inputs
from ktrace_cli.importers.host_trace import HostTrace, Repairs
from ktrace_cli.importers.json_file import parse_json, read_bytes
from ktrace_cli.importers.rocpd import read_rocpd
from ktrace_cli.importers.rocprofv3_csv import read_rocprofv3_csv
from ktrace_cli.importers.rocprofv3_json import ROOT, read_rocprofv3_json
from ktrace_cli.model import Columns
from ktrace_cli.trace_file.file_kind import HEAD_SIZE, FileKind, identify

_COLUMNS = {"Kernel_Name", "Start_Timestamp", "End_Timestamp"}
_ENDINGS = ("kernel_trace.csv", "results.db", "results.json", "results.json.gz")
_FIX = "trace with `ktrace discover -- PROGRAM`, or `rocprofv3 --kernel-trace -f csv -- PROGRAM`"
_PEEK = 1 << 16
_PID = re.compile(r"(\d+)_")
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
    files = [file for path in given for file in (_in_folder(path) if path.is_dir() else [path])]
    for path in files:
        _check(path)
    found, notes = find_inputs(files)
    repairs = Counter[str]()
    traces = [trace for one in found for trace in _read(one, repairs)]
    told = [f"{trace.path}: {note}" for trace in traces for note in trace.notes]
    lost = [f"{trace.path}: {line}" for trace in traces for line in trace.repairs.sentences()]
    lost += [f"{files[0]}: {line}" for line in Repairs(**repairs).sentences()]
    launches = _group(traces)
    if not launches:
        raise KtraceError(
            f"{', '.join(map(str, given))} tells of no kernel",
            why="; ".join(["there is no launch with a time in it", *lost]),
            fix=_FIX,
        )
    return launches, notes + told, lost


def _in_folder(folder: Path) -> list[Path]:
    for ending in _ENDINGS:
        if found := sorted(folder.rglob(f"*{ending}")):
            return found
    raise KtraceError(
        f"no kernel trace in {folder}",
        why=f"none of its files ends in {', '.join(_ENDINGS)}",
        fix=_FIX,
    )


def _check(path: Path) -> None:
    """Refuse what is no kernel trace of rocprofv3."""
    try:
        with path.open("rb") as file:
            head = file.read(_PEEK)
        if identify(head[:HEAD_SIZE]) is FileKind.GZIP:
            head = read_bytes(path)[:_PEEK]
    except OSError as problem:
        why = problem.strerror or str(problem)
        raise KtraceError(f"cannot read {path}", why=why, fix="check the path") from problem
    kind = identify(head[:HEAD_SIZE])
    columns = set(read_header(path)) if path.suffix == ".csv" else set()
    is_table = columns >= _COLUMNS and "Counter_Name" not in columns
    if not (kind is FileKind.SQLITE or is_table or f'"{ROOT}"'.encode() in head):
        raise KtraceError(
            f"{path} is no kernel trace of rocprofv3",
            why=f"it is {'a table of something else' if path.suffix == '.csv' else kind.value};"
            " wanted is a kernel_trace.csv, results.json or results.db",
            fix=_FIX,
        )


def _read(found: Found, repairs: Counter[str]) -> list[HostTrace]:
    path = found.paths[0]
    if found.kind is Input.ROCPROFV3_CSV:
        named = _PID.match(path.name)
        return [read_rocprofv3_csv(found.paths, pid=int(named[1]) if named else 0)]
    if found.kind is Input.ROCPD:
        return [read_rocpd(path)]
    return read_rocprofv3_json(parse_json(read_bytes(path), path, repairs), path)


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
