"""Errors in a command line in ktrace's own words, whatever words typer has for them.

Which words these are differs between versions of typer: what is not understood is shown as it is.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from typer.core import TyperCommand

from ktrace_cli.errors import UsageError
from ktrace_cli.wording import listed, nearest


def _class_of_click(name: str) -> Any:
    """Find an exception of the click that this typer uses: its own copy, or the package."""
    package = TyperCommand.__mro__[1].__module__.rpartition(".")[0]
    return getattr(importlib.import_module(f"{package}.exceptions"), name, ())


NO_SUCH_OPTION = _class_of_click("NoSuchOption")
_USAGE_ERROR = _class_of_click("UsageError")
_BAD_PARAMETER = _class_of_click("BadParameter")
_MISSING_PARAMETER = _class_of_click("MissingParameter")
_BAD_OPTION_USAGE = _class_of_click("BadOptionUsage")
_ONLY_HELP = _class_of_click("NoArgsIsHelpError")

_OPTIONS_OF_PATHS = ("-o", "--output", "--baseline")
_NO_COMMAND = re.compile(r"No such command '(.*?)'\.")
_WORDS = (
    (r"^Value error, ", ""),
    (r"\.$", ""),
    (r"^Input should be greater than or equal to (\S+)", r"wanted \1 or more"),
    (r"^Input should be less than or equal to (\S+)", r"wanted \1 or less"),
    (r"^Input should be a valid (integer|number), unable to parse.*", r"wanted a number"),
    (r"^Got unexpected extra arguments?(?:\(s\))? \((.*)\)", r"it has no use for \1"),
    (r"^Option '.*' requires an argument", "its value is missing"),
    (r"^Option '.*' does not take a value", "it takes no value"),
)
"""What newer versions of typer say, in shorter words."""
_NO_CHOICE = re.compile(r"is not one of (?P<names>'.+')")
_VALUE_IN_MESSAGE = re.compile(r"'(?P<value>[^']*)' is not ")


@contextmanager
def in_our_words(context: Any, commands: Iterable[str]) -> Iterator[None]:
    """Raise what typer finds wrong in a command line as our own error.

    Args:
        context: the one of `ktrace` itself, which knows the subcommand.
        commands: the names of all subcommands.

    Raises:
        UsageError: the command line cannot be understood.
    """
    try:
        yield
    except _USAGE_ERROR as problem:
        if isinstance(problem, _ONLY_HELP):
            raise
        subcommand = context.invoked_subcommand if context else None
        raise _reworded(problem, subcommand or "", list(commands)) from problem


def refuse_empty_paths(arguments: Sequence[str]) -> None:
    """Refuse an empty argument where a path is wanted: Python reads it as the current folder.

    Raises:
        UsageError: there is one.
    """
    for before, argument in zip(["", *arguments], arguments, strict=False):
        if not argument and (before in _OPTIONS_OF_PATHS or not before.startswith("-")):
            where = f"the value of `{before}`" if before in _OPTIONS_OF_PATHS else "an argument"
            raise UsageError(
                f"{where} is empty",
                why="a path is wanted; a variable that is not set is empty",
                fix="name a file; `.` is the current folder",
            )


def _reworded(problem: Any, subcommand: str, commands: list[str]) -> UsageError:
    command = f"ktrace {subcommand}".strip()
    help_fix = f"`{command} --help` describes it"
    message = _sentence(problem.message)
    if isinstance(problem, NO_SUCH_OPTION):
        likely = sorted(problem.possibilities or ())
        fix = f"did you mean {listed(f'`{name}`' for name in likely)}?" if likely else ""
        what = f"`{command}` has no option {problem.option_name}"
        fix = fix or f"`{command} --help` lists all"
        return UsageError(what, why="none is called so", fix=fix)
    if isinstance(problem, _MISSING_PARAMETER):
        name, kind = _name(problem.param), problem.param.param_type_name
        return UsageError(
            f"{name} is missing" if kind == "argument" else f"`{name}` is missing",
            why=f"`{command}` cannot do without it",
            fix=help_fix,
        )
    if isinstance(problem, _BAD_PARAMETER) and problem.param is not None:
        return _bad_value(problem, message, help_fix)
    if isinstance(problem, _BAD_OPTION_USAGE):
        return UsageError(f"cannot read `{problem.option_name}`", why=message, fix=help_fix)
    if found := _NO_COMMAND.match(problem.message):
        meant = nearest(found[1], commands)
        return UsageError(
            f"there is no `ktrace {found[1]}`",
            why=f"the commands are {', '.join(commands)}",
            fix=f"did you mean `ktrace {meant}`?" if meant else "`ktrace --help` describes them",
        )
    return UsageError(f"cannot understand `{command} …`", why=message, fix=help_fix)


def _bad_value(problem: Any, message: str, help_fix: str) -> UsageError:
    name, value = _name(problem.param), _value(problem)
    what = f"cannot read `{name} {value}`" if value else f"cannot read the value of `{name}`"
    if found := _NO_CHOICE.search(message):
        names = re.findall(r"'([^']*)'", found["names"])
        meant = nearest(value, names)
        fix = f"did you mean `{name} {meant}`?" if meant else "write one of them"
        return UsageError(what, why=f"wanted {listed(names)}", fix=fix)
    return UsageError(what, why=message, fix=help_fix)


def _value(problem: Any) -> str:
    """Return what was given; newer versions tell it only in the error that theirs comes from."""
    if found := _VALUE_IN_MESSAGE.search(problem.message):
        return found["value"]
    errors = getattr(problem.__cause__ or problem.__context__, "errors", None)
    return str(errors()[0].get("input", "")) if errors else ""


def _name(parameter: Any) -> str:
    """Return the longest name of an option, or what help calls an argument."""
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name.upper())
    return str(max(parameter.opts, key=len))


def _sentence(message: str) -> str:
    for pattern, words in _WORDS:
        message = re.sub(pattern, words, message)
    return message[:1].lower() + message[1:]
