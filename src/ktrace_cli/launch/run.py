"""One traced run from start to finish: session, environment, program, reports."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ktrace_cli.errors import ExitStatus, KtraceError
from ktrace_cli.launch.environment import TraceOptions, traced_environment
from ktrace_cli.launch.native import make_session
from ktrace_cli.launch.program import find_program, run_program, why_not_preloadable
from ktrace_cli.launch.status import ProcessStatus, read_statuses


@dataclass(frozen=True)
class RunResult:
    """How the program ended and what its processes reported."""

    status: int
    processes: tuple[ProcessStatus, ...]
    not_preloaded: str
    """Why the interposer could not be loaded into the program; "" if it could."""


def run_traced(
    command: Sequence[str],
    options: TraceOptions,
    version: str,
    *,
    software_device: bool,
    replace_output: bool = False,
) -> RunResult:
    """Run `command` under the interposer and collect what was recorded.

    Raises:
        KtraceError: the program cannot be started, or its recording would replace a file.
    """
    program = find_program(command[0])
    _make_room(options.output, may_replace=replace_output)
    session = make_session(software_device=software_device)
    try:
        environment = traced_environment(
            replace(options, inherited=dict(os.environ)),
            session,
            version,
            software_device=software_device,
        )
        status = run_program(program, command, environment)
        processes = tuple(read_statuses(session.folder))
    finally:
        shutil.rmtree(session.folder, ignore_errors=True)
    return RunResult(status, processes, why_not_preloadable(program))


def _make_room(output: Path | None, *, may_replace: bool) -> None:
    if output is None or not output.exists():
        return
    if output.is_dir():
        raise KtraceError(
            f"cannot record to {output}",
            why="it is a folder",
            fix=f"name a file: `-o {output / 'run.bin'}`",
            status=ExitStatus.RUN_FAILED,
        )
    if not may_replace:
        raise KtraceError(
            f"will not replace {output}",
            why="the file exists",
            fix="give another name to `-o`, or `--force` to replace it",
            status=ExitStatus.RUN_FAILED,
        )
    output.unlink()
