"""`ktrace discover`: which kernels a program launches."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ktrace_cli import console
from ktrace_cli.commands.reporting import JsonOption, MarkdownOption, check_forms, write_result
from ktrace_cli.commands.rocprof_options import FolderOption, program_of
from ktrace_cli.errors import UsageError
from ktrace_cli.rocprof.discovered import discover_kernels
from ktrace_cli.rocprof.discovery_report import to_document, write_report
from ktrace_cli.rocprof.discovery_run import trace_kernels
from ktrace_cli.rocprof.folder import make_folder
from ktrace_cli.rocprof.tool import find_rocprofv3

FilesArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILES",
        show_default=False,
        readable=False,  # that a file cannot be read is no usage error
        help="kernel_trace.csv, kernel_stats.csv, results.json or results.db of rocprofv3.",
    ),
]
CodeOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--code",
        metavar="FILE",
        show_default=False,
        readable=False,
        help="A code object, program, library or recording: says which kernels are annotated. May"
        " be repeated.",
    ),
]
TopOption = Annotated[int, typer.Option(metavar="N", min=0, help="Most kernels; 0: all.")]


def discover(
    context: typer.Context,
    files: FilesArgument = None,
    code: CodeOption = None,
    folder: FolderOption = None,
    top: TopOption = 20,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Show which kernels a program launches, how long they take and what they use.

    Reads FILES, or runs a program under rocprofv3: `ktrace discover -- PROGRAM …`.
    """
    check_forms(as_json=as_json, as_markdown=as_markdown)
    program = program_of(context, files)
    if folder is not None and program is None:
        raise UsageError("`-d` has no meaning for files", fix="leave it out")
    losses: tuple[str, ...] = ()
    if program is not None:
        run = trace_kernels(find_rocprofv3(), program, make_folder(folder, "discover"))
        files, losses = list(run.files), run.losses
    found = discover_kernels(files or [], code or [])
    write_result(
        write_report(found, top), to_document(found), as_json=as_json, as_markdown=as_markdown
    )
    for note in found.notes:
        console.say(note)
    for line in (*losses, *found.faults):
        console.warn(line)
