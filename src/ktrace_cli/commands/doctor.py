"""`ktrace doctor`: what hinders tracing on this machine, and what to do."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import orjson
import typer

from ktrace_cli import console
from ktrace_cli.doctor.examination import examine
from ktrace_cli.doctor.findings import as_text, listing, problems
from ktrace_cli.errors import ExitStatus
from ktrace_cli.launch.device import DeviceChoice
from ktrace_cli.launch.program import find_program
from ktrace_cli.units import counted


def doctor(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PROGRAM …]", help="What shall be traced; it does not run."),
    ] = None,
    device: Annotated[
        DeviceChoice,
        typer.Option("--device", help="soft: also name the instructions that it does not execute."),
    ] = DeviceChoice.AUTO,
    json: Annotated[bool, typer.Option("--json", help="Write JSON to stdout.")] = False,
) -> None:
    """Say what hinders tracing on this machine or in PROGRAM, and what to do."""
    findings = examine(find_program(command) if command else None, device=device)
    if json:
        text = orjson.dumps(listing(findings, version("ktrace")), option=orjson.OPT_INDENT_2)
        console.data(text.decode() + "\n")
    else:
        console.data(as_text(findings))
    if found := problems(findings):
        console.say(f"{counted(len(found), 'problem')} in the way of tracing")
        raise typer.Exit(ExitStatus.FAILED)
