"""`ktrace decode`: a recording as a Perfetto trace, or as text."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from ktrace_cli import console
from ktrace_cli.commands.recording import describe_devices, find_recording, load_timeline
from ktrace_cli.errors import ExitStatus
from ktrace_cli.export.output import STDOUT, compressed, open_output
from ktrace_cli.export.perfetto import write_perfetto
from ktrace_cli.export.text import write_text
from ktrace_cli.model import Timeline
from ktrace_cli.timeline.select import Selection, select

# A viewer in a browser keeps some 100 to 160 bytes per event within 4 GiB.
_MANY_EVENTS = 20_000_000


class Format(str, Enum):
    """What `decode` writes."""

    PFTRACE = "pftrace"
    TEXT = "text"


def decode(
    recording: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RECORDING]",
            help="Without it: the newest one in ktrace_out.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="The file to write; - is stdout. Without it: RECORDING's name with .pftrace.gz"
            " beside it; text goes to stdout.",
        ),
    ] = None,
    output_format: Annotated[
        Format, typer.Option("-f", "--format", help="What to write.")
    ] = Format.PFTRACE,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an existing file named by -o.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with status 5 if anything is missing.")
    ] = False,
    kernel: Annotated[
        list[str] | None,
        typer.Option(
            "--kernel",
            metavar="PATTERN",
            help="Only kernels whose name matches this shell pattern; may be repeated.",
        ),
    ] = None,
    dispatch: Annotated[
        list[int] | None,
        typer.Option(
            "--dispatch",
            metavar="NUMBER",
            help="Only this traced launch, from 1; may be repeated.",
        ),
    ] = None,
    wave: Annotated[
        list[int] | None,
        typer.Option(
            "--wave",
            metavar="NUMBER",
            help="Only this wave of each workgroup, from 0; may be repeated.",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="WAVES", min=0, help="At most so many waves; 0: all.")
    ] = 0,
) -> None:
    """Write RECORDING as a Perfetto trace or as text.

    Open the trace at https://ui.perfetto.dev; nothing is uploaded.
    """
    path = find_recording(recording)
    timeline = load_timeline(path)
    selection = Selection(kernel or (), dispatch or (), wave or (), limit)
    shown = select(timeline, selection)
    if not selection.is_everything:
        console.say(f"selected {len(shown.waves):,} of {len(timeline.waves):,} waves")
    if output_format is Format.TEXT:
        with open_output(output or STDOUT, may_replace=force) as out:
            write_text(shown, out)
    else:
        _write_trace(shown, output or default_output(path), may_replace=force or output is None)
    if strict and timeline.losses.counted():
        raise typer.Exit(ExitStatus.LOSS)


def decode_recording(recording: Path) -> None:
    """Write the Perfetto trace of a recording beside it, as `decode RECORDING` does."""
    _write_trace(load_timeline(recording), default_output(recording), may_replace=True)


def default_output(recording: Path) -> Path:
    """Return where the Perfetto trace of a recording goes; `decode` may replace that file."""
    return recording.with_suffix(".pftrace.gz")


def _write_trace(timeline: Timeline, path: Path, *, may_replace: bool) -> None:
    with open_output(path, may_replace=may_replace) as out, compressed(out) as stream:
        written = write_perfetto(timeline, stream)
    if written.backward_arrows:
        console.warn(f"{written.backward_arrows:,} arrows would go back in time and are left out")
    events = 2 * written.slices + written.instants
    if events > _MANY_EVENTS:
        console.warn(
            f"{events:,} events may be too many for a browser; select some with `--dispatch`,"
            " `--wave` or `--limit`"
        )
    name = "stdout" if path == STDOUT else str(path)
    console.say(
        f"wrote {written.slices:,} slices and {written.instants:,} marks of"
        f" {len(timeline.waves):,} waves to {name} ({describe_devices(timeline)});"
        " open it at https://ui.perfetto.dev"
    )
