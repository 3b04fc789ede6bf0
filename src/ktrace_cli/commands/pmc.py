"""`ktrace pmc`: what hardware counters say of caches and memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ktrace_cli import console
from ktrace_cli.commands.reporting import JsonOption, MarkdownOption, check_forms, write_result
from ktrace_cli.commands.rocprof_options import FolderOption, OneKernelOption, program_of
from ktrace_cli.counters.counters import Request, analyse, check_target
from ktrace_cli.counters.document import to_document
from ktrace_cli.counters.report import write_report
from ktrace_cli.errors import UsageError
from ktrace_cli.rocprof.counting import choose_passes, count
from ktrace_cli.rocprof.folder import make_folder
from ktrace_cli.rocprof.tool import find_rocprofv3

FilesArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILES",
        show_default=False,
        readable=False,  # that a file cannot be read is no usage error
        help="counter_collection.csv, results.json or results.db of rocprofv3, or folders of them.",
    ),
]
ArchOption = Annotated[
    str,
    typer.Option(
        metavar="TARGET", show_default=False, help="gfx90a, gfx942 or gfx950, where no file says."
    ),
]
WarmUpOption = Annotated[
    int,
    typer.Option(
        "--warm-up", metavar="N", min=0, help="Leave out a kernel's first N dispatches of each run."
    ),
]
IdealOption = Annotated[
    float | None,
    typer.Option(
        "--ideal-gb",
        metavar="GB",
        show_default=False,
        help="What a dispatch has to read, in 10^9 bytes: gives the over-fetch.",
    ),
]
TimingOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--timing",
        metavar="FILE",
        show_default=False,
        readable=False,
        help="A kernel trace of a run without counters: gives the bandwidth. May be repeated.",
    ),
]
CountersOption = Annotated[
    list[str] | None,
    typer.Option(
        "--counters",
        metavar="NAMES",
        show_default=False,
        help="With a program: what to count, in place of what the figures need. May be repeated.",
    ),
]


def pmc(
    context: typer.Context,
    files: FilesArgument = None,
    kernel: OneKernelOption = None,
    arch: ArchOption = "",
    warm_up: WarmUpOption = 1,
    ideal_gb: IdealOption = None,
    timing: TimingOption = None,
    counters: CountersOption = None,
    folder: FolderOption = None,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Show what counters say of caches and memory, kernel by kernel.

    Reads FILES, or runs a program under rocprofv3: `ktrace pmc -- PROGRAM …`.
    """
    check_forms(as_json=as_json, as_markdown=as_markdown)
    program = program_of(context, files)
    check_target(arch)
    _check(ideal_gb, files, counters, folder)
    request = Request(
        files=tuple(files or ()),
        kernels=(kernel,) if kernel is not None else (),
        target=arch,
        warm_up=warm_up,
        ideal_bytes=None if ideal_gb is None else ideal_gb * 1e9,
        timing=tuple(timing or ()),
    )
    notes: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()
    if program is not None:
        passes = choose_passes(counters or (), arch)
        tool = find_rocprofv3()
        run = count(tool, passes, kernel or "", program, make_folder(folder, "pmc"))
        request = replace(request, files=run.files, timing=request.timing or run.timing)
        notes, losses = run.notes, run.losses
    result = analyse(request)
    write_result(
        write_report(result), to_document(result), as_json=as_json, as_markdown=as_markdown
    )
    for note in (*notes, *result.notes):
        console.say(note)
    for line in (*losses, *result.faults):
        console.warn(line)


def _check(
    ideal_gb: float | None,
    files: list[Path] | None,
    counters: list[str] | None,
    folder: Path | None,
) -> None:
    if ideal_gb is not None and not 0 < ideal_gb < float("inf"):
        raise UsageError(
            f"cannot read `--ideal-gb {ideal_gb}`",
            why="wanted the 10^9 bytes that a dispatch reads, more than 0",
            fix="write for example `--ideal-gb 0.27`",
        )
    for option, is_given in (("--counters", bool(counters)), ("-d", folder is not None)):
        if files and is_given:
            fix = "leave it out, or run a program: `ktrace pmc -- PROGRAM`"
            raise UsageError(f"`{option}` has no meaning for files", fix=fix)
