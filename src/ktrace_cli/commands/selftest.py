"""`ktrace selftest`: whether ktrace works on this device, and what it costs there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import orjson
import typer

from ktrace_cli import console
from ktrace_cli.errors import ExitStatus
from ktrace_cli.export.output import STDOUT, check_place, open_output
from ktrace_cli.launch.device import DeviceChoice, is_software
from ktrace_cli.selftest.selftest import run_selftest
from ktrace_cli.selftest.settings import Settings
from ktrace_cli.selftest.wording import as_text, verdict
from ktrace_cli.selftest_file.result import to_document


def selftest(
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            show_default=False,
            help="Also write the result as JSON, for `ktrace summary --selftest` and to send.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file of -o.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Write JSON to stdout instead of text.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer launches and sizes, and no KTRACE_POLL_CLOCK.")
    ] = False,
    device: Annotated[
        DeviceChoice,
        typer.Option(
            "--device",
            help="The machine's HIP or the software device; auto: the software device without GPU.",
        ),
    ] = DeviceChoice.AUTO,
    device_index: Annotated[
        int, typer.Option("--device-index", metavar="N", min=0, help="The device that HIP calls N.")
    ] = 0,
) -> None:
    """Check that ktrace works on a device, and measure what it costs there.

    Exits with 0 if no check failed, with 1 if one did.
    """
    if output == STDOUT:
        output, json = None, True
    if output is not None:
        check_place(output, may_replace=force)
    is_soft = is_software(device)
    if is_soft and device is DeviceChoice.AUTO:
        console.say("no AMD GPU here: testing the software device, whose times are modelled")
    result = run_selftest(Settings(device_index, quick, is_soft, tries_polling=not quick))
    document = orjson.dumps(to_document(result), option=orjson.OPT_INDENT_2) + b"\n"
    if output is not None:
        with open_output(output, may_replace=force) as file:
            file.write(document)
    console.data(document.decode() if json else as_text(result))
    console.say(verdict(result) + (f"; wrote {output}" if output else ""))
    if not result.has_passed:
        raise typer.Exit(ExitStatus.FAILED)
