"""`ktrace plan`: what to do about a kernel, first things first."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ktrace_cli import console
from ktrace_cli.analysis.results import Request
from ktrace_cli.analysis.summary import summarize
from ktrace_cli.commands.recording import describe_devices, load_timeline
from ktrace_cli.commands.reporting import JsonOption, MarkdownOption, check_forms, write_result
from ktrace_cli.planning.inputs import read_inputs
from ktrace_cli.planning.plan import Recorded, doubts, make_plan
from ktrace_cli.planning.report import to_document, write_report
from ktrace_cli.planning.resources import recorded_steps

InputsArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="INPUTS",
        show_default=False,
        readable=False,  # that a file cannot be read is no usage error
        help="Recordings; folders of thread traces; files with counters; code objects; and JSON of"
        " `ktrace hotspots`, `att`, `pmc`, `inspect` and `discover`.",
    ),
]
KernelOption = Annotated[
    list[str] | None,
    typer.Option(
        "--kernel",
        metavar="PATTERN",
        show_default=False,
        help="Only kernels like this: `gemm*`, or `/regular expression/`. May be repeated.",
    ),
]


def plan(
    inputs: InputsArgument,
    kernel: KernelOption = None,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Say what to do about each kernel, first things first, by all that is known of it."""
    check_forms(as_json=as_json, as_markdown=as_markdown)
    given = read_inputs(inputs)
    timelines = {path: load_timeline(path) for path in given.recordings}
    recorded = [
        Recorded(summarize(timeline, Request()), recorded_steps(path))
        for path, timeline in timelines.items()
    ]
    devices = {str(path): describe_devices(timeline) for path, timeline in timelines.items()}
    plans = make_plan(given, recorded, kernel or ())
    write_result(
        write_report(plans, devices),
        to_document(plans, devices),
        as_json=as_json,
        as_markdown=as_markdown,
    )
    for note in given.notes:
        console.say(note)
    for fault in [*given.faults, *doubts(plans, given.times, are_all=not kernel)]:
        console.warn(fault)
