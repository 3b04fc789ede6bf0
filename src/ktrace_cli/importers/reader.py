"""One input to host traces, whatever its format."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ktrace_cli.errors import KtraceError
from ktrace_cli.importers.files import Found, Input
from ktrace_cli.importers.host_trace import HostTrace, Repairs
from ktrace_cli.importers.inputs import TraceInput
from ktrace_cli.importers.json_file import parse_json, read_bytes
from ktrace_cli.importers.kineto import read_kineto
from ktrace_cli.importers.perfetto_trace import read_perfetto
from ktrace_cli.importers.rocpd import read_rocpd
from ktrace_cli.importers.rocprofv3_csv import read_rocprofv3_csv
from ktrace_cli.importers.rocprofv3_json import read_rocprofv3_json
from ktrace_cli.progress import Advance, part_of, unwatched

_PID = re.compile(r"(\d+)_")


def read_all_traces(found: Sequence[Found], advance: Advance = unwatched) -> list[TraceInput]:
    """Read the traces of other tools.

    Raises:
        KtraceError: one cannot be read, or holds nothing.
    """
    sizes = [sum(path.stat().st_size for path in one.paths) for one in found]
    traces = []
    for one, size in zip(found, sizes, strict=True):
        traces += read_traces(one, part_of(advance, size / sum(sizes)))
    return traces


def read_traces(found: Found, advance: Advance = unwatched) -> list[TraceInput]:
    """Read another tool's trace; a file may hold those of several processes.

    Raises:
        KtraceError: it cannot be read, or holds nothing.
    """
    repairs = Counter[str]()
    traces = _read(found, repairs, advance)
    for trace in traces:
        repairs.update(trace.repairs.counted())
    full = [trace for trace in traces if len(trace.slices)]
    if not full:
        sentences = "; ".join(Repairs(**repairs).sentences())
        raise KtraceError(
            f"nothing to merge in {traces[0].path if traces else found.paths[0]}",
            why=f"the {found.kind.value} holds no event with a time"
            + (f": {sentences}" if sentences else ""),
            fix="record with tracing, for example `rocprofv3 --sys-trace`, or leave it out",
        )
    # The repairs of a file are told once.
    told = [replace(trace, repairs=Repairs()) for trace in full]
    told[0] = replace(told[0], repairs=Repairs(**repairs))
    return [TraceInput(found.given, trace) for trace in told]


def _read(found: Found, repairs: Counter[str], advance: Advance) -> list[HostTrace]:
    path = found.paths[0]
    if found.kind is Input.CHROME_JSON:
        return [read_kineto(read_bytes(path), path, advance)]
    if found.kind is Input.PERFETTO:
        return [read_perfetto(read_bytes(path), path, advance)]
    traces = _read_at_once(found, path, repairs)
    advance(1)
    return traces


def _read_at_once(found: Found, path: Path, repairs: Counter[str]) -> list[HostTrace]:
    if found.kind is Input.ROCPROFV3_CSV:
        # By default rocprofv3 begins the names of its files with the process id.
        named = _PID.match(path.name)
        return [read_rocprofv3_csv(found.paths, pid=int(named[1]) if named else 0)]
    if found.kind is Input.ROCPD:
        return [read_rocpd(path)]
    return read_rocprofv3_json(parse_json(read_bytes(path), path, repairs), path)
