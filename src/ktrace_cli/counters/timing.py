"""How long kernels take when nothing is counted: what bandwidth may be computed with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ktrace_cli.counters.collecting import Collector
from ktrace_cli.counters.json_file import read_counter_json
from ktrace_cli.counters.kernels import KernelCounters, Spread, spread
from ktrace_cli.counters.launches import Launches, read_launches
from ktrace_cli.counters.rocpd_file import database_has_counters
from ktrace_cli.errors import KtraceError
from ktrace_cli.importers.kernel_names import shown_name
from ktrace_cli.trace_file.file_kind import HEAD_SIZE, FileKind, identify

_TRACE = "kernel_trace.csv"
_COUNTERS = "counter_collection.csv"


@dataclass(frozen=True)
class Bandwidth:
    """Bytes of a kernel's dispatches over the time of others that were not counted."""

    duration_ns: Spread
    read: float | None
    """Bytes per second; None without the counters."""
    written: float | None
    both: float | None
    is_bound: bool
    """Whether the bytes are a lower bound."""


def read_timing(paths: Sequence[Path]) -> tuple[list[Launches], list[str], list[str]]:
    """Read kernel traces of runs without counters; returns also notes and repairs.

    Raises:
        KtraceError: one cannot be read, or was written while counters were collected.
    """
    for path in paths:
        if path.is_file() and (why := _instrumented(path)):
            raise KtraceError(
                f"no time is taken from {path}",
                why=f"{why}: counting makes launches wait for each other and slows them down",
                fix="trace in a run of its own: `rocprofv3 --kernel-trace -f csv -- PROGRAM`",
            )
    return read_launches(paths)


def _instrumented(path: Path) -> str:
    """Say how a file shows that its run was counted; "" if it does not."""
    if path.name.endswith(_COUNTERS):
        return "it is itself what counting wrote"
    beside = path.with_name(path.name.removesuffix(_TRACE) + _COUNTERS)
    if path.name.endswith(_TRACE) and beside.is_file():
        return f"{beside.name} beside it is of the same run"
    with path.open("rb") as file:
        head = file.read(HEAD_SIZE)
    if identify(head) is FileKind.SQLITE:
        return "it holds counters" if database_has_counters(path) else ""
    if not path.name.endswith((".json", ".json.gz")):
        return ""
    collector = Collector()
    read_counter_json(path, collector)
    return "it holds counters" if collector.dispatches() else ""


def bandwidth_of(
    kernel: KernelCounters, timing: Sequence[Launches], warm_up: int
) -> Bandwidth | str:
    """Compute the bandwidth of a kernel, or say why there is none."""
    name = shown_name(kernel.name)
    named = [one for one in timing if shown_name(one.name) == name]
    alike = [
        one
        for one in named
        if kernel.grid in (0, one.grid) and kernel.workgroup in (0, one.workgroup)
    ]
    if not alike:
        grids = ", ".join(f"{one.grid:,}" for one in named)
        return (
            f"the timing has it with other grids only: {grids} work-items"
            if named
            else "the timing has no kernel of this name"
        )
    times = [time for one in alike for time in one.without_first(warm_up)]
    fetched, written = kernel.figure("fetched_bytes"), kernel.figure("written_bytes")
    if fetched is None and written is None:
        return "neither fetched nor written bytes are known"
    duration = spread(times)
    if duration.median <= 0:
        return "the timing says that it takes no time"
    per_second = 1e9 / duration.median
    read = fetched.spread.median * per_second if fetched else None
    wrote = written.spread.median * per_second if written else None
    both = read + wrote if read is not None and wrote is not None else None
    return Bandwidth(duration, read, wrote, both, bool(fetched and fetched.bound))
