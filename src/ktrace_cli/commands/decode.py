"""`ktrace decode`: a recording as a Perfetto trace, or as text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from ktrace_cli import console
from ktrace_cli.commands.recording import (
    RecordingArgument,
    StrictOption,
    check_losses,
    describe_times,
    find_recording,
    load_timeline,
)
from ktrace_cli.export.output import STDOUT, compressed, open_output
from ktrace_cli.export.perfetto import write_perfetto
from ktrace_cli.export.text import write_text
from ktrace_cli.model import Timeline
from ktrace_cli.timeline.select import Selection, select
from ktrace_cli.units import counted

# A viewer in a browser keeps some 100 to 160 bytes per event within 4 GiB.
_MANY_EVENTS = 20_000_000


class Format(str, Enum):
    """What `decode` writes."""

    PFTRACE = "pftrace"
    TEXT = "text"


@dataclass(frozen=True)
class Target:
    """What `decode` writes, and where."""

    output: Path | None
    """None is the format's own place."""
    format: Format
    may_replace: bool
    """Whether an `output` that exists is replaced."""


OutputOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="The file to write; - is stdout. Without it: RECORDING's name with .pftrace.gz"
        " beside it; text goes to stdout.",
    ),
]
FormatOption = Annotated[Format, typer.Option("-f", "--format", help="What to write.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace an existing file named by -o.")]
KernelOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATTERN",
        help="Only kernels whose name matches this shell pattern; may be repeated.",
    ),
]
DispatchOption = Annotated[
    list[int] | None,
    typer.Option(metavar="NUMBER", help="Only this traced launch, from 1; may be repeated."),
]
WaveOption = Annotated[
    list[int] | None,
    typer.Option(
        metavar="NUMBER", help="Only this wave of each workgroup, from 0; may be repeated."
    ),
]
LimitOption = Annotated[
    int, typer.Option(metavar="WAVES", min=0, help="At most so many waves; 0: all.")
]


def decode(
    recording: RecordingArgument = None,
    output: OutputOption = None,
    output_format: FormatOption = Format.PFTRACE,
    force: ForceOption = False,
    strict: StrictOption = False,
    kernel: KernelOption = None,
    dispatch: DispatchOption = None,
    wave: WaveOption = None,
    limit: LimitOption = 0,
) -> None:
    """Write RECORDING as a Perfetto trace or as text.

    Open the trace at https://ui.perfetto.dev; nothing is uploaded.
    """
    selection = Selection(
        kernels=kernel or (),
        dispatches=dispatch or (),
        waves=[range(number, number + 1) for number in wave or ()],
        limit=limit,
    )
    target = Target(output, output_format, may_replace=force)
    path = find_recording(recording)
    timeline = load_timeline(path)
    _write(_selected(timeline, selection), path, target)
    check_losses(timeline, strict=strict)


def decode_recording(recording: Path) -> None:
    """Write the Perfetto trace of a recording beside it, as `decode RECORDING` does."""
    target = Target(output=None, format=Format.PFTRACE, may_replace=False)
    _write(load_timeline(recording), recording, target)


def default_output(recording: Path) -> Path:
    """Return where the Perfetto trace of a recording goes; `decode` may replace that file."""
    return recording.with_suffix(".pftrace.gz")


def _selected(timeline: Timeline, selection: Selection) -> Timeline:
    shown = select(timeline, selection)
    if not selection.is_everything:
        waves = counted(len(timeline.waves), "wave")
        of_all = "; the warnings are of the whole recording" if timeline.losses.counted() else ""
        console.say(f"selected {len(shown.waves):,} of {waves}{of_all}")
    return shown


def _write(timeline: Timeline, recording: Path, target: Target) -> None:
    if target.format is Format.TEXT:
        with open_output(target.output or STDOUT, may_replace=target.may_replace) as out:
            write_text(timeline, out)
    elif target.output is None:
        _write_trace(timeline, default_output(recording), may_replace=True)
    else:
        _write_trace(timeline, target.output, may_replace=target.may_replace)


def _write_trace(timeline: Timeline, path: Path, *, may_replace: bool) -> None:
    with open_output(path, may_replace=may_replace) as out, compressed(out) as stream:
        written = write_perfetto(timeline, stream)
    events = 2 * written.slices + written.instants
    if events > _MANY_EVENTS:
        console.warn(
            f"{events:,} events may be too many for a browser; select some with `--dispatch`,"
            " `--wave` or `--limit`"
        )
    name = "stdout" if path == STDOUT else str(path)
    console.say(
        f"wrote {counted(written.slices, 'slice')} and {counted(written.instants, 'mark')} of"
        f" {counted(len(timeline.waves), 'wave')} to {name} ({describe_times(timeline)});"
        " open it at https://ui.perfetto.dev"
    )
