"""The only module that prints: data to stdout, all else to stderr with `ktrace: ` in front."""

from __future__ import annotations

import io
import sys

from rich.console import Console, RenderableType
from rich.markup import escape

from ktrace_cli.errors import KtraceError, StandardOutputError


def _stderr() -> Console:
    return Console(stderr=True, highlight=False, soft_wrap=True)


def data(text: str) -> None:
    """Write a command's result to stdout, as it is.

    Raises:
        KtraceError: stdout is closed or full. A reader that left (`| head`) is no error of ours.
    """
    if sys.stdout is None:
        raise StandardOutputError("it is closed")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StandardOutputError(error.strerror or str(error)) from error


def table(renderable: RenderableType) -> None:
    """Write a rich table to stdout; as wide as it needs where stdout is no terminal."""
    text = io.StringIO()
    terminal = Console(highlight=False)
    console = Console(
        file=text,
        highlight=False,
        force_terminal=terminal.is_terminal,
        color_system="auto" if terminal.is_terminal else None,
        width=terminal.width if terminal.is_terminal else 10_000,
    )
    console.print(renderable)
    data(text.getvalue())


def say(text: str) -> None:
    """Tell the user something in one line."""
    _stderr().print(f"ktrace: {escape(text)}")


def warn(text: str) -> None:
    """Tell the user about something that is missing or assumed."""
    _stderr().print(f"ktrace: [yellow]warning:[/yellow] {escape(text)}")


def error(problem: KtraceError) -> None:
    """Show an error: what happened, why, what to do."""
    console = _stderr()
    console.print(f"ktrace: [red]error:[/red] {escape(problem.what)}")
    if problem.why:
        console.print(f"  why: {escape(problem.why)}")
    if problem.fix:
        console.print(f"  try: {escape(problem.fix)}")
