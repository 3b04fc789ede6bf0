"""The options of `ktrace view` that are its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ktrace_cli.export.tui import By

_BROWSER = "In the browser"
_TERMINAL = "In the terminal"

FileArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="FILE",
        help="A recording, or a trace that the Perfetto UI opens. Without it: the newest recording"
        " in ktrace_out.",
        show_default=False,
    ),
]
OfflineOption = Annotated[
    bool,
    typer.Option(
        "--offline",
        rich_help_panel=_BROWSER,
        help="Serve the Perfetto UI from here, too: `pip install 'ktrace\\[view]'` brings it.",
    ),
]
NoBrowserOption = Annotated[
    bool,
    typer.Option("--no-browser", rich_help_panel=_BROWSER, help="Only print the link."),
]
TimeoutOption = Annotated[
    float,
    typer.Option(
        metavar="SECONDS",
        min=0,
        rich_help_panel=_BROWSER,
        help="How long to wait until a browser fetches the trace; 0: without end.",
    ),
]
TuiOption = Annotated[
    bool,
    typer.Option("--tui", rich_help_panel=_TERMINAL, help="Print waves by time, as text."),
]
ByOption = Annotated[
    By,
    typer.Option(rich_help_panel=_TERMINAL, help="What rows are: waves of workgroups, or places."),
]
RowsOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        rich_help_panel=_TERMINAL,
        help="At most so many rows; without it as many as the screen has.",
        show_default=False,
    ),
]
AsciiOption = Annotated[
    bool, typer.Option("--ascii", rich_help_panel=_TERMINAL, help="Letters and dots only.")
]
