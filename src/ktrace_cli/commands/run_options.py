"""The options of `ktrace run`, in the groups that its help shows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_OUTPUT = "Where to record"
_WHAT = "What to record"
_BUFFERS = "Trace buffers"
_DEVICE = "Device"
_MORE = "More"

Command = Annotated[
    list[str],
    typer.Argument(metavar="PROGRAM", help="What to run, and its arguments.", show_default=False),
]
OutputFile = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output-file",
        "--output",
        metavar="NAME",
        rich_help_panel=_OUTPUT,
        help="The recording. The first process that records writes it, every other one"
        " <name>.<pid>.bin. %pid%, %rank%, %hostname% and others stand for their values."
        " Without it: <program>.<pid>.bin.",
    ),
]
OutputDirectory = Annotated[
    str | None,
    typer.Option(
        "-d",
        "--output-directory",
        metavar="DIR",
        rich_help_panel=_OUTPUT,
        help="The folder of recordings. Without it: that of -o, or ktrace_out.",
    ),
]
Force = Annotated[
    bool, typer.Option("--force", rich_help_panel=_OUTPUT, help="Replace the file of -o.")
]
OutputFormat = Annotated[
    list[str] | None,
    typer.Option(
        "-f",
        "--output-format",
        "--format",
        metavar="bin|pftrace",
        rich_help_panel=_OUTPUT,
        help="`pftrace`: also decode each recording at the end.",
    ),
]
Kernel = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATTERN",
        rich_help_panel=_WHAT,
        help="Only kernels whose name is like this: `gemm*`, or `/regular expression/`. May be"
        " repeated.",
    ),
]
KernelIncludeRegex = Annotated[
    list[str] | None,
    typer.Option(
        metavar="REGEX",
        rich_help_panel=_WHAT,
        help="Only kernels in whose name this is found. May be repeated.",
    ),
]
KernelExcludeRegex = Annotated[
    list[str] | None,
    typer.Option(
        metavar="REGEX", rich_help_panel=_WHAT, help="No kernel in whose name this is found."
    ),
]
KernelIterationRange = Annotated[
    list[str] | None,
    typer.Option(
        metavar="RANGES",
        rich_help_panel=_WHAT,
        help="Only these launches of each kernel, counted from 1: `[1,[3-4]]` or `1,3-4`.",
    ),
]
CollectionPeriod = Annotated[
    list[str] | None,
    typer.Option(
        "-P",
        "--collection-period",
        metavar="DELAY:TIME:REPEAT",
        rich_help_panel=_WHAT,
        help="Only launches in these periods, from the first HIP call on: wait DELAY, record"
        " for TIME, REPEAT times (0: for ever). May be repeated: one after the other.",
    ),
]
CollectionPeriodUnit = Annotated[
    str | None,
    typer.Option(
        metavar="UNIT",
        rich_help_panel=_WHAT,
        help="Of DELAY and TIME: `hour`, `min`, `sec`, `msec`, `usec`, `nsec`. Default: sec.",
    ),
]
Blocks = Annotated[
    str | None,
    typer.Option(
        metavar="X[,Y[,Z]]",
        rich_help_panel=_WHAT,
        help="Only these workgroups; an axis is `*`, a number, or LO:HI[:STRIDE].",
    ),
]
Waves = Annotated[
    str | None,
    typer.Option(
        metavar="LIST",
        rich_help_panel=_WHAT,
        help="Only these waves of a workgroup: `0,4-7`.",
    ),
]
Xcc = Annotated[
    str | None,
    typer.Option(metavar="LIST", rich_help_panel=_WHAT, help="Only these XCCs: `0,2`."),
]
Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        rich_help_panel=_BUFFERS,
        help="Trace buffers per device: `512M`, `2G`. Default: 1G.",
    ),
]
Words = Annotated[
    str | None,
    typer.Option(
        metavar="N",
        rich_help_panel=_BUFFERS,
        help="Words of 8 bytes for each wave, a power of two. Default: by the number of waves.",
    ),
]
Mode = Annotated[
    str | None,
    typer.Option(
        metavar="direct|claim",
        rich_help_panel=_BUFFERS,
        help="How waves find their words. `direct`: every wave has its own; a launch with more"
        " waves than fit is not traced. `claim`: first come, first served. Default: direct,"
        " and claim for launches that do not fit.",
    ),
]
Full = Annotated[
    str | None,
    typer.Option(
        metavar="saturate|ring",
        rich_help_panel=_BUFFERS,
        help="What a wave keeps that writes more than fits: the first words, or the last"
        " (kernels compiled with -DKTRACE_RING). Default: saturate.",
    ),
]
OnFull = Annotated[
    str | None,
    typer.Option(
        metavar="drop|wait",
        rich_help_panel=_BUFFERS,
        help="When all of --memory is in use: launch untraced, or wait for a buffer."
        " Default: drop.",
    ),
]
OnFullMs = Annotated[
    str | None,
    typer.Option(
        metavar="N",
        rich_help_panel=_BUFFERS,
        help="The longest wait of `--on-full wait`, in milliseconds. Default: 1000.",
    ),
]
Hang = Annotated[
    str | None,
    typer.Option(
        metavar="SECONDS",
        rich_help_panel=_BUFFERS,
        help="For kernels that never end: record what a dispatch wrote until then, through"
        " slower memory of the host. The kernel is not stopped.",
    ),
]
Device = Annotated[
    str | None,
    typer.Option(
        metavar="auto|hardware|soft",
        rich_help_panel=_DEVICE,
        help="`hardware`: the machine's HIP. `soft`: the software device, which runs the real"
        " code objects and models their time. `auto`: soft where there is no /dev/kfd."
        " Default: auto.",
    ),
]
Arch = Annotated[
    str | None,
    typer.Option(
        metavar="gfx90a|gfx942|gfx950",
        rich_help_panel=_DEVICE,
        help="What the software device is. Default: gfx942.",
    ),
]
SoftDevices = Annotated[
    str | None,
    typer.Option(
        metavar="N",
        rich_help_panel=_DEVICE,
        help="How many software devices there are. Default: 1.",
    ),
]
SoftCheck = Annotated[
    bool,
    typer.Option(
        "--soft-check",
        rich_help_panel=_DEVICE,
        help="Check kernels on the software device: tell, by source line, what works there and"
        " need not work on hardware.",
    ),
]
InputFile = Annotated[
    Path | None,
    typer.Option(
        "-i",
        "--input",
        metavar="FILE",
        rich_help_panel=_MORE,
        help="Take options from the `jobs:` of a .yaml or .json file, with `_` for `-` in"
        " their names. Each job is a run of its own.",
    ),
]
LogLevel = Annotated[
    str | None,
    typer.Option(
        metavar="LEVEL",
        rich_help_panel=_MORE,
        help="What the interposer says inside the program: `fatal`, `error`, `warning`, `info`,"
        " `trace`. `env`: show the environment that the program gets. Default: warning.",
    ),
]
