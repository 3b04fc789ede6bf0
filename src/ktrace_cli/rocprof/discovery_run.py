"""Traces the kernels of a program with rocprofv3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ktrace_cli.rocprof.failures import ending_of, nothing_collected
from ktrace_cli.rocprof.jobs import kernel_trace_job
from ktrace_cli.rocprof.output import tables_in
from ktrace_cli.rocprof.tool import Tool, run_job


@dataclass(frozen=True)
class KernelTrace:
    """What a run gave."""

    files: tuple[Path, ...]
    losses: tuple[str, ...]


def trace_kernels(tool: Tool, command: Sequence[str], folder: Path) -> KernelTrace:
    """Run a program and tell when its kernels ran.

    Raises:
        KtraceError: no kernel was traced.
    """
    outcome = run_job(tool, kernel_trace_job(folder), command, folder, {})
    files = tables_in(folder, "kernel_trace.csv")
    if not files:
        raise nothing_collected(outcome, "kernel trace")
    ended = ending_of(outcome.status)
    return KernelTrace(files, (f"{ended}: kernels after that are missing",) if ended else ())
