"""One traced run from start to finish: session, environment, program, reports."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ktrace_cli.launch.environment import TraceOptions, traced_environment
from ktrace_cli.launch.native import make_session
from ktrace_cli.launch.output import free_output, refuse_output
from ktrace_cli.launch.program import Program, held_signals, run_program

if TYPE_CHECKING:
    from ktrace_cli.launch.status import ProcessStatus


@dataclass(frozen=True)
class RunResult:
    """How the program ended and what its processes reported."""

    status: int
    processes: tuple[ProcessStatus, ...]
    not_preloaded: str = ""
    """Why the interposer could not be loaded into the program; "" if it could."""
    left_beside: tuple[Path, ...] = ()
    """Recordings of an earlier run, beside the one that was replaced."""


def run_traced(
    program: Program,
    options: TraceOptions,
    version: str,
    *,
    software_device: bool,
    replace_output: bool = False,
    before_start: Callable[[Mapping[str, str]], None] | None = None,
) -> RunResult:
    """Run `program` under the interposer and collect what was recorded.

    `before_start` sees the program's environment.

    Raises:
        KtraceError: the program cannot be started, or its recording would replace a file.
    """
    refuse_output(options.output, may_replace=replace_output)
    with (
        make_session(software_device=software_device) as session,
        free_output(options.output, session.folder.name) as left_beside,
    ):
        environment = traced_environment(
            replace(options, inherited=dict(os.environ)),
            session,
            version,
            software_device=software_device,
        )
        if before_start is not None:
            before_start(environment)
        with held_signals() as mask:
            status = run_program(program, environment, mask)
            processes = _reports(session.folder)
    return RunResult(status, processes, program.not_preloadable, left_beside)


def _reports(folder: Path) -> tuple[ProcessStatus, ...]:
    if not any(folder.glob("*.status")):
        return ()
    # numpy takes longer to load than all else of `run`, and many programs never call HIP.
    from ktrace_cli.launch.status import read_statuses  # noqa: PLC0415

    return tuple(read_statuses(folder))
