"""All of `ktrace pmc`: files in, figures of each kernel out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ktrace_cli.counters.choosing import choose_kernels
from ktrace_cli.counters.formulas import METRICS_BY_TARGET
from ktrace_cli.counters.kernels import KernelCounters, by_kernel
from ktrace_cli.counters.measured import Dispatch, Measured
from ktrace_cli.counters.reading import read_counters
from ktrace_cli.counters.timing import Bandwidth, bandwidth_of, read_timing
from ktrace_cli.counters.verdicts import Verdict, judge
from ktrace_cli.errors import UsageError
from ktrace_cli.units import counted
from ktrace_cli.wording import listed


@dataclass(frozen=True)
class Request:
    """What is asked."""

    files: tuple[Path, ...]
    kernels: tuple[str, ...] = ()
    """Patterns; none: all."""
    target: str = ""
    """In place of what files tell."""
    warm_up: int = 1
    ideal_bytes: float | None = None
    """What a dispatch has to read."""
    timing: tuple[Path, ...] = ()


@dataclass(frozen=True)
class KernelResult:
    """One kernel, and what is concluded."""

    counters: KernelCounters
    over_fetch: float | None
    bandwidth: Bandwidth | None
    no_bandwidth: str
    """Why there is none, where a timing was given."""
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True)
class Result:
    """Everything that `ktrace pmc` says."""

    request: Request
    kernels: tuple[KernelResult, ...]
    notes: tuple[str, ...]
    faults: tuple[str, ...]
    """What is missing, repaired or assumed: sentences."""


def analyse(request: Request) -> Result:
    """Read files and work out the figures.

    Raises:
        KtraceError: a file cannot be read.
        UsageError: a pattern matches nothing, or what was asked makes no sense with the files.
    """
    check_target(request.target)
    measured = read_counters(request.files)
    chosen = _chosen(measured.dispatches, request.kernels)
    kernels = by_kernel(chosen, warm_up=request.warm_up, target=request.target)
    if request.ideal_bytes is not None and len(kernels) > 1:
        names = ", ".join(dict.fromkeys(kernel.name for kernel in kernels))
        raise UsageError(
            "`--ideal-gb` is for one kernel",
            why=f"there are {counted(len(kernels), 'kernel and shape', 'kernels and shapes')}:"
            f" {names[:200]}",
            fix="choose one with `--kernel`",
        )
    timing, notes, repairs = read_timing(request.timing) if request.timing else ([], [], [])
    results = []
    for kernel in kernels:
        fetched = kernel.figure("fetched_bytes")
        over = None
        if fetched is not None and request.ideal_bytes is not None:
            over = fetched.spread.median / request.ideal_bytes
        found = bandwidth_of(kernel, timing, request.warm_up) if request.timing else ""
        bandwidth, why = (None, found) if isinstance(found, str) else (found, "")
        verdicts = tuple(judge(kernel, over))
        results.append(KernelResult(kernel, over, bandwidth, why, verdicts))
    faults = (*_faults(measured), *repairs)
    return Result(request, tuple(results), (*measured.notes, *notes), faults)


def check_target(target: str) -> None:
    """Refuse a target that there are no formulas for; "" is none.

    Raises:
        UsageError: it is not known.
    """
    if target and target not in METRICS_BY_TARGET:
        raise UsageError(
            f"no formulas for {target}",
            why=f"they are known for {listed(METRICS_BY_TARGET)}",
            fix="name one of these, or leave `--arch` out: counters are shown as they are",
        )


def _chosen(dispatches: Sequence[Dispatch], patterns: Sequence[str]) -> list[Dispatch]:
    kept = choose_kernels([dispatch.kernel for dispatch in dispatches], patterns)
    return [dispatch for dispatch in dispatches if dispatch.kernel in kept]


def _faults(measured: Measured) -> list[str]:
    return [f"{path}: {line}" for path, own in measured.faults.items() for line in own.sentences()]
