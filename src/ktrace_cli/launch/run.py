"""One traced run from start to finish: session, environment, program, reports."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ktrace_cli.errors import ExitStatus, KtraceError
from ktrace_cli.launch.environment import TraceOptions, traced_environment
from ktrace_cli.launch.native import Session, make_session
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
    _refuse_output(options.output, may_replace=replace_output)
    session = make_session(software_device=software_device)
    kept = None
    try:
        kept = _move_aside(options.output, session)
        _make_folder(options.output)
        environment = traced_environment(
            replace(options, inherited=dict(os.environ)),
            session,
            version,
            software_device=software_device,
        )
        status = run_program(program, command, environment)
        processes = tuple(read_statuses(session.folder))
    finally:
        _put_back(kept, options.output)
        shutil.rmtree(session.folder, ignore_errors=True)
    return RunResult(status, processes, why_not_preloadable(program))


def _refuse_output(output: Path | None, *, may_replace: bool) -> None:
    if output is None or not os.path.lexists(output):
        return
    if output.is_symlink() or not output.is_file():
        raise KtraceError(
            f"cannot record to {output}",
            why="it exists and is no regular file",
            fix=f"name a file: `-o {output / 'run.bin' if output.is_dir() else 'run.bin'}`",
            status=ExitStatus.RUN_FAILED,
        )
    if not may_replace:
        raise KtraceError(
            f"will not replace {output}",
            why="the file exists",
            fix="give another name to `-o`, or `--force` to replace it",
            status=ExitStatus.RUN_FAILED,
        )


def _move_aside(output: Path | None, session: Session) -> Path | None:
    """Free the recording's name, which processes take with O_EXCL; keep the old file for now."""
    if output is None or not output.exists():
        return None
    kept = output.with_name(f".{session.folder.name}")
    try:
        output.rename(kept)
    except OSError as error:
        raise KtraceError(
            f"cannot replace {output}",
            why=error.strerror or str(error),
            fix="record into a folder that you may write to",
            status=ExitStatus.RUN_FAILED,
        ) from error
    return kept


def _make_folder(output: Path | None) -> None:
    """Make the recording's folder; where that fails the program still runs and says why."""
    if output is not None:
        with contextlib.suppress(OSError):
            output.parent.mkdir(parents=True, exist_ok=True)


def _put_back(kept: Path | None, output: Path | None) -> None:
    """Restore the old recording if no process wrote a new one."""
    if kept is None or output is None:
        return
    if output.exists():
        kept.unlink()
    else:
        kept.rename(output)
