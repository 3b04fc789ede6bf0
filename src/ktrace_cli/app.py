"""The list of subcommands, and the only place where a KtraceError is caught."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from ktrace_cli import console
from ktrace_cli.commands.decode import decode
from ktrace_cli.commands.inspect import inspect
from ktrace_cli.commands.run import run
from ktrace_cli.commands.summary import summary
from ktrace_cli.errors import KtraceError

app = typer.Typer(
    name="ktrace",
    help="Shows what happens inside GPU kernels.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
# Options end at the program's name, so that the program's own options reach it without `--`.
app.command(context_settings={"allow_interspersed_args": False})(run)
app.command()(decode)
app.command()(summary)
app.command()(inspect)


def _print_version(value: bool) -> None:
    if value:
        console.data(f"ktrace {version('ktrace')}\n")
        raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None: ...


def main() -> None:
    """Run the command line; print a KtraceError as three lines and exit with its status."""
    try:
        app()
    except KtraceError as problem:
        console.error(problem)
        sys.exit(problem.status)
