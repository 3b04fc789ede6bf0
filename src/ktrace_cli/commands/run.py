"""`ktrace run`: launch a program under the interposer."""

from __future__ import annotations

from enum import Enum
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from ktrace_cli import console
from ktrace_cli.commands.decode import decode_recording
from ktrace_cli.errors import ExitStatus
from ktrace_cli.launch.device import Arch, DeviceChoice, is_software
from ktrace_cli.launch.environment import TraceOptions
from ktrace_cli.launch.filters import (
    check_blocks,
    check_memory,
    check_numbers,
    check_output,
    check_patterns,
    check_words,
)
from ktrace_cli.launch.report import notes, recordings, result_line, warnings
from ktrace_cli.launch.run import RunResult, run_traced
from ktrace_cli.units import parse_size


class RunFormat(str, Enum):
    """What `run -f` leaves besides the recording."""

    BIN = "bin"
    PFTRACE = "pftrace"


def run(
    command: Annotated[
        list[str], typer.Argument(metavar="PROGRAM", help="What to run, with its arguments.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="The recording. The first process that records writes it, others write "
            "<name>.<pid>.bin. Without it: ktrace_out/<program>.<pid>.bin.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file of -o.")] = False,
    format_: Annotated[
        RunFormat,
        typer.Option("-f", "--format", help="`pftrace`: also decode the recordings at the end."),
    ] = RunFormat.BIN,
    device: Annotated[
        DeviceChoice,
        typer.Option(
            help="`hardware`: the machine's HIP. `soft`: the software device, which runs the real "
            "code objects and models their time. `auto`: soft where there is no /dev/kfd."
        ),
    ] = DeviceChoice.AUTO,
    arch: Annotated[Arch, typer.Option(help="What the software device is.")] = Arch.GFX942,
    kernel: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="Trace only kernels whose name matches: `gemm*`, or a regular expression "
            "between slashes. May be repeated.",
        ),
    ] = None,
    blocks: Annotated[
        str,
        typer.Option(
            metavar="X[,Y[,Z]]",
            help="Trace only these workgroups; an axis is `*`, a number, or LO:HI[:STRIDE].",
        ),
    ] = "",
    waves: Annotated[
        str, typer.Option(metavar="LIST", help="Trace only these waves of a workgroup: `0,4-7`.")
    ] = "",
    xcc: Annotated[str, typer.Option(metavar="LIST", help="Trace only these XCCs: `0,2`.")] = "",
    memory: Annotated[
        str, typer.Option(metavar="SIZE", help="Trace buffers per device: `512M`, `2G` (1G).")
    ] = "",
    words: Annotated[
        str, typer.Option(metavar="N", help="Words of 8 bytes per wave, a power of two.")
    ] = "",
) -> None:
    """Run PROGRAM and record its annotated kernels.

    Options of ktrace come before PROGRAM; all that follows is its own, byte for byte.

    Exits with its status; with 125 if ktrace failed, 126 or 127 if it could not be started.
    """
    options = TraceOptions(
        output=output,
        memory=str(parse_size(memory)) if memory else "",
        words=words,
        kernels=tuple(kernel or ()),
        blocks=blocks,
        waves=waves,
        xcc=xcc,
        soft_arch=arch.value,
    )
    _check(options)
    software = is_software(device)
    if software and device is DeviceChoice.AUTO:
        console.say("no AMD GPU here: using the software device, whose times are modelled")
    result = run_traced(
        command, options, version("ktrace"), software_device=software, replace_output=force
    )
    raise typer.Exit(_finish(result, format_))


def _check(options: TraceOptions) -> None:
    """Refuse what the interposer could not understand, before the program starts."""
    check_output(options.output)
    check_patterns(options.kernels)
    if options.memory:
        check_memory(int(options.memory))
    if options.words:
        check_words(options.words)
    if options.blocks:
        check_blocks(options.blocks)
    for name, text in (("--waves", options.waves), ("--xcc", options.xcc)):
        if text:
            check_numbers(name, text)


def _finish(result: RunResult, format_: RunFormat) -> int:
    for line in warnings(result):
        console.warn(line)
    for line in notes(result):
        console.say(line)
    console.say(result_line(result))
    if format_ is RunFormat.PFTRACE:
        for recording in recordings(result):
            decode_recording(recording)
    if result.status == 0 and any(process.output_failed for process in result.processes):
        return ExitStatus.RUN_FAILED
    return result.status
