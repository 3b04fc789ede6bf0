"""Which kernels a program launches: from a kernel trace, or from a table of statistics."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ktrace_cli.code_object.files import read_file
from ktrace_cli.counters.collecting import number_of
from ktrace_cli.counters.launches import Launches, Used, read_launches
from ktrace_cli.errors import KtraceError
from ktrace_cli.importers.csv_table import read_header, read_table
from ktrace_cli.importers.host_trace import Repairs
from ktrace_cli.importers.kernel_names import is_same_kernel

_STATS = ("Name", "Calls", "TotalDurationNs")
_STATS_ENDING = "_stats.csv"
_KERNEL_STATS = "kernel_stats.csv"


@dataclass(frozen=True)
class Kernel:
    """All launches of one kernel."""

    name: str
    """As the tool wrote it."""
    calls: int
    total_ns: float
    median_ns: float | None
    """None where the file tells sums only."""
    least_ns: float | None
    most_ns: float | None
    used: Used | None
    """None where the file does not tell, or where launches differ in it."""
    shapes: int
    """Pairs of grid and workgroup; 0 where the file does not tell."""
    target: str
    is_annotated: bool | None
    """None where no code object was given that has it."""

    @property
    def mean_ns(self) -> float:
        """The time of a launch."""
        return self.total_ns / self.calls


@dataclass(frozen=True)
class Discovery:
    """All kernels, that with the most time first."""

    kernels: tuple[Kernel, ...]
    notes: tuple[str, ...]
    faults: tuple[str, ...]

    @property
    def total_ns(self) -> float:
        """Time of all kernels, added up although they may overlap."""
        return sum(kernel.total_ns for kernel in self.kernels)


def discover_kernels(files: Sequence[Path], code: Sequence[Path]) -> Discovery:
    """Read files of rocprofv3.

    Args:
        files: kernel traces or a table of statistics.
        code: code objects, programs, libraries or recordings that tell what is annotated.

    Raises:
        KtraceError: one cannot be read, or holds no kernel.
    """
    stats = [path for path in files if _is_stats(path)]
    notes: list[str] = []
    faults: list[str] = []
    found: list[Kernel] = []
    for path in stats:
        own, problems = _read_stats(path)
        found += own
        faults += problems
    if traces := [path for path in files if path not in stats]:
        launches, notes, repairs = read_launches(traces)
        found += _by_name(launches)
        faults += repairs
    annotated, others, problems = _annotated(code)
    faults += problems
    kernels = [_with_annotation(kernel, annotated, others) for kernel in found]
    kernels.sort(key=lambda kernel: (-kernel.total_ns, kernel.name))
    return Discovery(tuple(kernels), tuple(notes), tuple(faults))


def _is_stats(path: Path) -> bool:
    if path.suffix != ".csv" or not path.is_file():
        return False
    if not set(_STATS) <= set(read_header(path)):
        return False
    if path.name.endswith(_STATS_ENDING) and not path.name.endswith(_KERNEL_STATS):
        raise KtraceError(
            f"{path} tells of no kernels",
            why="it has the statistics of something else, as its name says",
            fix="name the kernel_stats.csv, or better the kernel_trace.csv beside it",
        )
    return True


def _read_stats(path: Path) -> tuple[list[Kernel], list[str]]:
    repairs: Counter[str] = Counter()
    table = read_table(path, repairs)
    columns = [table.columns.get(name, [""] * table.count) for name in (*_STATS, "MinNs", "MaxNs")]
    kernels = []
    for name, *texts in zip(*columns, strict=True):
        calls, total, least, most = map(number_of, texts)
        if not name or not calls or calls < 1 or total is None or total < 0:
            repairs["malformed_rows"] += 1
            continue
        own = name.removesuffix(".kd")
        kernels.append(Kernel(own, int(calls), total, None, least, most, None, 0, "", None))
    if not kernels:
        raise KtraceError(
            f"{path} tells of no kernels",
            why="it has no row with a name, a count and a time",
            fix="write it again with `rocprofv3 --stats --kernel-trace -f csv -- PROGRAM`",
        )
    known = {name: n for name, n in repairs.items() if n}
    return kernels, [f"{path}: {line}" for line in Repairs(**known).sentences()]


def _by_name(launches: Sequence[Launches]) -> list[Kernel]:
    groups: dict[tuple[str, str], list[Launches]] = defaultdict(list)
    for one in launches:
        groups[one.name, one.target].append(one)
    kernels = []
    for (name, target), own in groups.items():
        times = np.array([t for one in own for process in one.durations_ns for t in process])
        used = {one.used for one in own}
        kernels.append(
            Kernel(
                name=name,
                calls=len(times),
                total_ns=float(times.sum()),
                median_ns=float(np.median(times)),
                least_ns=float(times.min()),
                most_ns=float(times.max()),
                used=used.pop() if len(used) == 1 else None,
                shapes=len({(one.grid, one.workgroup) for one in own}),
                target=target,
                is_annotated=None,
            )
        )
    return kernels


def _annotated(code: Sequence[Path]) -> tuple[list[str], list[str], list[str]]:
    """Return the names of kernels with annotations and of those without, and what is damaged."""
    annotated: list[str] = []
    others: list[str] = []
    problems: list[str] = []
    for path in code:
        content = read_file(path)
        problems += [f"{problem.what}: {problem.why}" for problem in content.problems]
        for one in content.found:
            for kernel in one.code_object.kernels:
                (annotated if kernel.is_annotated else others).append(kernel.name)
    return annotated, others, problems


def _with_annotation(kernel: Kernel, annotated: Sequence[str], others: Sequence[str]) -> Kernel:
    if any(is_same_kernel(name, kernel.name) for name in annotated):
        return replace(kernel, is_annotated=True)
    if any(is_same_kernel(name, kernel.name) for name in others):
        return replace(kernel, is_annotated=False)
    return kernel
