"""Options of `ktrace report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ktrace_cli.commands.selection import Unit

RunsArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUN...",
        help="Recordings; a folder stands for its recordings, which are compared as one run."
        " Also traces of rocprofv3 and PyTorch, which are shown.",
        show_default=False,
        readable=False,  # one that cannot be read has a page that says so
    ),
]
OutputOption = Annotated[
    Path,
    typer.Option(
        "-o",
        "--output",
        metavar="SITE",
        help="The folder of the pages: a new or empty one.",
        show_default=False,
    ),
]
BaselineOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--baseline",
        metavar="FILE",
        show_default=False,
        readable=False,
        help="What each RUN is compared with: a file of `ktrace baseline`, a recording or a folder"
        " of recordings; may be repeated. Without it nothing is compared.",
    ),
]
SelftestOption = Annotated[
    Path | None,
    typer.Option(
        "--selftest",
        metavar="FILE",
        show_default=False,
        help="Tell what tracing costs, from a file of `ktrace selftest`. Without it:"
        " KTRACE_SELFTEST.",
    ),
]
SummaryOption = Annotated[
    str | None,
    typer.Option(
        "--step-summary",
        metavar="FILE",
        show_default=False,
        help="Append the verdict and what it rests on as Markdown, for example to"
        " `$GITHUB_STEP_SUMMARY`; - is stdout.",
    ),
]
TitleOption = Annotated[str, typer.Option(metavar="TEXT", help="Of the first page.")]
TimelineOption = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=0,
        help="Most ranges and marks in the interactive timeline of a recording; 0: no timeline.",
    ),
]
ComparedUnitOption = Annotated[
    Unit | None,
    typer.Option(
        show_default=False,
        help="Times in nanoseconds, or in cycles of the core clock. Without it: what the baseline"
        " has, else nanoseconds.",
    ),
]
TopOption = Annotated[
    int, typer.Option(metavar="N", min=0, help="Most rows of a table, and kernels; 0: all.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace the report in SITE.")]
