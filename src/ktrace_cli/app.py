"""The list of subcommands, and the only place where a KtraceError is caught."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from ktrace_cli import console
from ktrace_cli.command_line import NO_SUCH_OPTION, in_our_words, refuse_empty_paths
from ktrace_cli.errors import KtraceError, UsageError


@dataclass(frozen=True)
class Subcommand:
    """A function of the module `ktrace_cli.commands.<name>`, named like it."""

    summary: str
    """The first sentence of its help."""
    takes_a_command_line: bool = False
    """Options end at its first argument: what follows is a program's own, also without `--`."""
    takes_files_or_program: bool = False
    """What follows `--` is a program with its arguments; it finds these in `meta[PROGRAM]`."""


PROGRAM = "ktrace.program"
SUBCOMMANDS = {
    "run": Subcommand("Run PROGRAM and record its annotated kernels.", takes_a_command_line=True),
    "decode": Subcommand("Write RECORDING as a Perfetto trace, a page, a table or text."),
    "summary": Subcommand("Show count and times of every phase of every kernel in RECORDING."),
    "diff": Subcommand("Tell whether phases of NEW are slower than those of BASE."),
    "baseline": Subcommand("Keep what RUNS measured, to compare later runs with."),
    "report": Subcommand("Write pages on RUNS for CI to keep: summary, timeline, verdict."),
    "merge": Subcommand("Write recordings, and traces of other tools, as one Perfetto trace."),
    "view": Subcommand("Show FILE in the Perfetto UI, or in the terminal."),
    "inspect": Subcommand(
        "Show the kernels in FILES: which are annotated, markers, code, what they use."
    ),
    "hotspots": Subcommand(
        "Show where a kernel waits, by its thread trace (ATT) in DIR: phases, lines, instructions."
    ),
    "discover": Subcommand(
        "Show which kernels a program launches, how long they take and what they use.",
        takes_files_or_program=True,
    ),
    "pmc": Subcommand(
        "Show what counters say of caches and memory, kernel by kernel.",
        takes_files_or_program=True,
    ),
    "att": Subcommand(
        "Trace the instructions of PROGRAM's kernels with rocprofv3, and show where they wait.",
        takes_a_command_line=True,
    ),
    "plan": Subcommand(
        "Say what to do about each kernel, first things first, by all that is known of it."
    ),
    "doctor": Subcommand(
        "Say what hinders tracing on this machine or in PROGRAM, and what to do.",
        takes_a_command_line=True,
    ),
    "selftest": Subcommand("Check that ktrace works on a device, and measure what it costs there."),
    "config": Subcommand("Show what a compiler or CMake needs to build annotated kernels."),
}


def _without_type(parameters: list[Any]) -> list[Any]:
    """Leave a flag's type out of help: newer versions of typer show `<bool>` behind each."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


class _Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        """Return all options and arguments."""
        return _without_type(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options; a path that is empty would stand for the folder one is in."""
        if not SUBCOMMANDS[str(ctx.info_name)].takes_a_command_line:
            refuse_empty_paths(args)
        return super().parse_args(ctx, args)


class _FilesOrProgram(_Command):
    """Keeps files apart from a program's own arguments, which may be anything."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what stands before the first `--`."""
        if "--" in args:
            at = args.index("--")
            args, ctx.meta[PROGRAM] = args[:at], args[at + 1 :]
        return super().parse_args(ctx, args)


class _Subcommands(TyperGroup):
    """Loads a subcommand when it is called: `ktrace run` shall not wait for numpy to load."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        for name, known in SUBCOMMANDS.items():
            self.commands[name] = TyperCommand(name, help=known.summary)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return all options."""
        return _without_type(super().get_params(ctx))

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        """Read the options in front of the subcommand."""
        with in_our_words(None, SUBCOMMANDS):
            return super().make_context(*arguments, **settings)

    def invoke(self, ctx: Any) -> Any:
        """Read the subcommand and its options, and do it."""
        with in_our_words(ctx, SUBCOMMANDS):
            return super().invoke(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the subcommand that `args` begin with, loaded."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command and load_subcommand(str(name)), rest


class _RunCommand(_Command):
    """Knows the options of rocprofv3 that ktrace has nothing for."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options, as every command does."""
        try:
            return super().parse_args(ctx, args)
        except NO_SUCH_OPTION as problem:
            _refuse_option_of_rocprofv3(str(problem.option_name))
            raise


def _refuse_option_of_rocprofv3(option: str) -> None:
    from ktrace_cli.launch.rocprofv3 import key_of_rocprofv3  # noqa: PLC0415 - rarely needed

    if option.startswith("--") and (known := key_of_rocprofv3(option[2:].replace("-", "_"))):
        what, fix = known
        raise UsageError(
            f"`ktrace run` has no option {option}", why=f"it is rocprofv3's: {what}", fix=fix
        )


def load_subcommand(name: str) -> Any:
    """Import a subcommand and build its options."""
    function = getattr(importlib.import_module(f"ktrace_cli.commands.{name}"), name)
    command_line = SUBCOMMANDS[name].takes_a_command_line
    settings = {"allow_interspersed_args": not command_line}
    single = typer.Typer(add_completion=False, rich_markup_mode="rich")
    kind = _RunCommand if name == "run" else _Command
    if SUBCOMMANDS[name].takes_files_or_program:
        kind = _FilesOrProgram
    single.command(name, cls=kind, context_settings=settings)(function)
    return typer.main.get_command(single)


app = typer.Typer(
    name="ktrace",
    cls=_Subcommands,
    help="Shows what happens inside GPU kernels.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(value: bool) -> None:
    if value:
        from importlib.metadata import version  # noqa: PLC0415 - slow to load

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
