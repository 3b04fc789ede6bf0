"""`ktrace merge`: recordings, and traces of other tools, as one Perfetto trace."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from ktrace_cli import console
from ktrace_cli.commands.recording import StrictOption, load_timeline
from ktrace_cli.commands.sources import (
    NamesOption,
    ShapeOption,
    ToolOption,
    is_shown_as_buffer,
    read_source,
)
from ktrace_cli.errors import ExitStatus
from ktrace_cli.export.formats import choose_trace
from ktrace_cli.export.merged import Merged, Merging, size_warning, write_merged
from ktrace_cli.export.output import STDOUT, compressed, open_output
from ktrace_cli.export.tracks import GroupBy
from ktrace_cli.importers.clocks import align
from ktrace_cli.importers.files import Input, find_inputs, inputs_of
from ktrace_cli.importers.inputs import RecordingInput
from ktrace_cli.importers.matching import match_all
from ktrace_cli.importers.reader import read_all_traces
from ktrace_cli.importers.report import losses_of, sentences_on_matches, sentences_on_repairs
from ktrace_cli.importers.shifts import parse_shifts
from ktrace_cli.units import counted

FilesArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE",
        help="Recordings; rocprofv3's CSV, results.json, rocpd .db or .pftrace; PyTorch's"
        " .json or .json.gz; folders of these.",
        show_default=False,
    ),
]
OutputOption = Annotated[
    Path,
    typer.Option(
        "-o",
        "--output",
        metavar="OUT",
        help="The Perfetto trace to write: .pftrace or .perfetto-trace, with .gz behind it"
        " compressed; - is stdout.",
        show_default=False,
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace an existing OUT.")]
ShiftOption = Annotated[
    list[str] | None,
    typer.Option(
        "--shift",
        metavar="FILE",
        help="Add so many nanoseconds to all times of FILE, for a file whose clock nothing ties to"
        " the others'; may be repeated.",
    ),
]
GroupByOption = Annotated[
    GroupBy | None,
    typer.Option(
        show_default=False,
        help="What tracks of waves are: waves below their kernel and workgroup, or wave slots of"
        " the hardware. Without it: hardware for a recording of more than 4096 waves.",
    ),
]


def merge(
    files: FilesArgument,
    output: OutputOption,
    force: ForceOption = False,
    strict: StrictOption = False,
    shift: ShiftOption = None,
    group_by: GroupByOption = None,
    tool: ToolOption = None,
    names: NamesOption = None,
    shape: ShapeOption = None,
) -> None:
    """Write recordings, and traces of other tools, as one Perfetto trace.

    Open it at https://ui.perfetto.dev; nothing is uploaded.
    """
    shifts = parse_shifts(shift or (), files)
    source = read_source(tool, names, shape)
    buffers = frozenset(path for path in files if is_shown_as_buffer(path, source))
    found, notes = find_inputs(files, buffers)
    inputs = [path for one in found for path in one.paths]
    target = choose_trace(output, inputs, may_replace=force)
    _tell(notes, ())
    recordings = [
        RecordingInput(one.given, one.paths[0], load_timeline(one.paths[0], source))
        for one in inputs_of(found, Input.RECORDING)
    ]
    others = [one for one in found if one.kind is not Input.RECORDING]
    with console.progress("reading") as advance:
        traces = read_all_traces(others, advance)
    _tell(*sentences_on_repairs(traces))
    alignment = align(recordings, traces, shifts)
    _tell(alignment.notes, [f"assumed: {line}" for line in alignment.assumptions])
    matches = match_all(recordings, traces, alignment)
    said, missing = sentences_on_matches(recordings, traces, matches)
    _tell(said, missing)
    merging = Merging(recordings, traces, alignment, matches, group_by)
    if warning := size_warning(merging):
        console.warn(warning)
    packed = compressed if target.is_compressed else nullcontext
    with (
        open_output(target.path, may_replace=target.may_replace) as out,
        packed(out) as stream,
        console.progress("writing", beside_stdout=output == STDOUT) as advance,
    ):
        merged = write_merged(merging, stream, advance)
    _tell_result(merging, merged, output)
    if strict and (missing or losses_of(recordings, traces)):
        raise typer.Exit(ExitStatus.LOSS)


def _tell(notes: Sequence[str], warnings: Sequence[str]) -> None:
    for note in notes:
        console.say(note)
    for warning in warnings:
        console.warn(warning)


def _tell_result(merging: Merging, merged: Merged, output: Path) -> None:
    for number, crossing in merged.crossing.items():
        if crossing:
            overlap = counted(crossing, "slice overlaps", "slices overlap")
            console.say(
                f"{merging.traces[number].trace.path}: {overlap} with others of the same track:"
                " shown on lanes of their own, uncut"
            )
    if merged.beside:
        recordings = counted(merged.beside, "recording has", "recordings have")
        console.say(
            f"{recordings} so many waves that they are shown by hardware slot, beside their"
            " kernels' queues; `--group-by workgroup` shows them below their kernels"
        )
    if merged.renumbered:
        processes = counted(merged.renumbered, "process has", "processes have")
        console.say(
            f"{processes} the id of another one: shown with a number that Linux does not give"
        )
    is_file = output != STDOUT
    name = str(output) if is_file else "stdout"
    parts = [
        f"{counted(slices, 'slice')} of {counted(len(inputs), what)}"
        for slices, inputs, what in (
            (merged.slices, merging.recordings, "recording"),
            (merged.host_slices, merging.traces, "other trace"),
        )
        if inputs
    ]
    console.say(
        f"wrote {' and '.join(parts)} to {name}, on {merging.alignment.axis}"
        + ("; open it at https://ui.perfetto.dev" if is_file else "")
    )
