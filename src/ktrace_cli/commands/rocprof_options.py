"""Options of the commands that run a program under rocprofv3."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ktrace_cli.errors import UsageError

PROGRAM = "ktrace.program"

FolderOption = Annotated[
    Path | None,
    typer.Option(
        "-d",
        "--output-directory",
        metavar="DIR",
        show_default=False,
        help="An empty folder for what rocprofv3 writes. Without it: a new one in ktrace_out.",
    ),
]
OneKernelOption = Annotated[
    str | None,
    typer.Option(
        "--kernel",
        metavar="PATTERN",
        show_default=False,
        help="The kernel: `gemm*`, or `/regular expression/`.",
    ),
]


def program_of(context: typer.Context, files: list[Path] | None) -> list[str] | None:
    """Return the program behind `--`, None where files are given.

    Raises:
        UsageError: there are both, or neither.
    """
    name = str(context.info_name)
    program: list[str] | None = context.meta.get(PROGRAM)
    fix = f"name files, or run a program: `ktrace {name} -- PROGRAM`"
    if program is not None and files:
        why = f"{files[0]} stands before `--`, where options and files are"
        raise UsageError("either files are read or a program is run", why=why, fix=fix)
    if not program and not files:
        why = "nothing stands behind `--`" if program is not None else "there is no file"
        raise UsageError("there is nothing to show", why=why, fix=fix)
    return program or None
