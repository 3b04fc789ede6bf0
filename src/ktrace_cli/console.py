"""The only module that prints: data to stdout, all else to stderr with `ktrace: ` in front."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.markup import escape

from ktrace_cli.errors import KtraceError


def _stderr() -> Console:
    return Console(stderr=True, highlight=False, soft_wrap=True)


def data(text: str) -> None:
    """Write a command's result to stdout, as it is."""
    sys.stdout.write(text)
    sys.stdout.flush()


def table(renderable: object) -> None:
    """Write a rich table to stdout; as wide as it needs where stdout is no terminal."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=10_000)
    console.print(renderable)


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
