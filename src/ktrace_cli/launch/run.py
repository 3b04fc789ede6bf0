"""One traced run from start to finish: session, environment, program, reports."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ktrace_cli.launch.environment import TraceOptions, traced_environment
from ktrace_cli.launch.native import REFUSED_KERNELS, make_session
from ktrace_cli.launch.output import free_output, output_here, refuse_folder, refuse_output
from ktrace_cli.launch.program import Program, held_signals, run_program

if TYPE_CHECKING:
    from ktrace_cli.launch.status import ProcessStatus

_MOST_NOT_CHOSEN = 20


@dataclass(frozen=True)
class RunResult:
    """How the program ended and what its processes reported."""

    status: int
    processes: tuple[ProcessStatus, ...]
    not_preloaded: str = ""
    """Why the interposer could not be loaded into the program; "" if it could."""
    left_beside: tuple[Path, ...] = ()
    """Recordings of an earlier run, beside the one that was replaced."""
    options: TraceOptions = field(default_factory=TraceOptions)
    """What it was to record."""
    not_chosen: tuple[str, ...] = ()
    """Annotated kernels that were launched, and whose names the filters left out."""
    not_replaced: Path | None = None
    """The file of an earlier run that should have been replaced, and still is what it was."""
    without_waves: int = 0
    """Dispatches of which the filters of blocks, waves and XCCs left no wave."""
    kept_session: Path | None = None
    """The session's folder, if processes that need it outlived the program."""


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
    refuse_places(options, may_replace=replace_output)
    old = output_here(options.output)
    old = old if old and old.exists() else None
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
            not_chosen = _not_chosen(session.folder)
            without_waves = _without_waves(options, processes)
            not_replaced = old if old and not old.exists() else None
    return RunResult(
        status,
        processes,
        program.not_preloadable,
        left_beside,
        options,
        not_chosen,
        not_replaced,
        without_waves,
        session.folder if session.folder.exists() else None,
    )


def refuse_places(options: TraceOptions, *, may_replace: bool) -> None:
    """Refuse names of recordings that cannot be used, before anything starts.

    Raises:
        KtraceError: a folder cannot be written to, or a file is there that may not be replaced.
    """
    if options.output is None:
        refuse_folder(f"record in {options.output_dir}", options.output_dir)
    refuse_output(options.output, may_replace=may_replace)


def _without_waves(options: TraceOptions, processes: tuple[ProcessStatus, ...]) -> int:
    if not (options.blocks or options.waves or options.xcc):
        return 0
    from ktrace_cli.launch.waves import dispatches_without_waves  # noqa: PLC0415 - loads numpy

    outputs = {process.output for process in processes if process.output and process.dispatches}
    return sum(dispatches_without_waves(output) for output in outputs)


def _not_chosen(folder: Path) -> tuple[str, ...]:
    """Read what preload/interposer/selection.cpp lists, each name once."""
    try:
        text = (folder / REFUSED_KERNELS).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ()
    return tuple(sorted(set(text.splitlines()))[:_MOST_NOT_CHOSEN])


def _reports(folder: Path) -> tuple[ProcessStatus, ...]:
    if not any(folder.glob("*.status")):
        return ()
    # numpy takes longer to load than all else of `run`, and many programs never call HIP.
    from ktrace_cli.launch.status import read_statuses  # noqa: PLC0415

    return tuple(read_statuses(folder))
