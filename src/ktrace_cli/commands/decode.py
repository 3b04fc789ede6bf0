"""`ktrace decode`: a recording as a Perfetto trace, a page, a table or text."""

from __future__ import annotations

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
from ktrace_cli.commands.selection import (
    BlocksOption,
    DispatchOption,
    FromOption,
    KernelOption,
    LimitOption,
    SectionOption,
    ToOption,
    Unit,
    UnitOption,
    WavesOption,
    XcdOption,
    read_selection,
    select_sections,
    select_waves,
)
from ktrace_cli.commands.sources import NamesOption, ShapeOption, read_source_or_time
from ktrace_cli.export.formats import Format, Target, choose_target
from ktrace_cli.export.output import STDOUT
from ktrace_cli.export.tracks import GroupBy
from ktrace_cli.export.write import Looks, check_grouping, passes, size_warning, write_timeline
from ktrace_cli.model import Timeline
from ktrace_cli.timeline.cycles import in_cycles
from ktrace_cli.timeline.progress import with_progress
from ktrace_cli.units import counted

_NEXT = {
    Format.PFTRACE: "; open it at https://ui.perfetto.dev",
    Format.CHROME: "; open it at https://ui.perfetto.dev",
    Format.HTML: "; open it in a browser",
}


OutputOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="The file to write; - is stdout. Its name tells the format, and .gz at its end"
        " compresses. Without it: RECORDING's name with .pftrace.gz, .trace.json.gz, .html or"
        " .parquet beside it; csv and text go to stdout.",
    ),
]
FormatOption = Annotated[
    Format | None,
    typer.Option(
        "-f",
        "--format",
        show_default=False,
        help="What to write. Without it: what the name of -o says, or pftrace.",
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace an existing file named by -o.")]
GroupByOption = Annotated[
    GroupBy | None,
    typer.Option(
        show_default=False,
        help="What tracks of pftrace and chrome are: waves below their workgroup, or wave slots of"
        " the hardware. Without it: hardware above 4096 waves.",
    ),
]


def decode(
    recording: RecordingArgument = None,
    output: OutputOption = None,
    output_format: FormatOption = None,
    force: ForceOption = False,
    strict: StrictOption = False,
    group_by: GroupByOption = None,
    unit: UnitOption = Unit.NS,
    kernel: KernelOption = None,
    dispatch: DispatchOption = None,
    section: SectionOption = None,
    blocks: BlocksOption = None,
    waves: WavesOption = None,
    xcd: XcdOption = None,
    begin: FromOption = None,
    end: ToOption = None,
    limit: LimitOption = None,
    names: NamesOption = None,
    shape: ShapeOption = None,
) -> None:
    """Write RECORDING as a Perfetto trace, a page, a table or text.

    Open a trace at https://ui.perfetto.dev; nothing is uploaded.
    """
    source, since = read_source_or_time(begin, names, shape)
    selection = read_selection(
        kernel=kernel,
        dispatch=dispatch,
        blocks=blocks,
        waves=waves,
        xcd=xcd,
        begin=since,
        end=end,
        limit=limit,
    )
    path = find_recording(recording)
    selection = select_sections(selection, path, section)
    target = choose_target(path, output, output_format, may_replace=force)
    check_grouping(target, group_by)
    timeline = load_timeline(path, source)
    shown = select_waves(timeline, selection)
    notes = () if selection.is_everything else (_selected(timeline, shown),)
    _write(in_cycles(shown) if unit is Unit.CYCLES else shown, target, Looks(group_by, notes))
    check_losses(timeline, strict=strict)


def decode_recording(recording: Path) -> None:
    """Write the Perfetto trace of a recording beside it, as `decode RECORDING` does."""
    target = choose_target(recording, None, None, may_replace=False)
    _write(load_timeline(recording), target, Looks())


def _selected(timeline: Timeline, shown: Timeline) -> str:
    count = len(shown.waves)
    waves = counted(len(timeline.waves), "wave")
    return f"{count:,} of {waves} {'was' if count == 1 else 'were'} selected"


def _write(timeline: Timeline, target: Target, looks: Looks) -> None:
    if warning := size_warning(timeline, target.format):
        console.warn(warning)
    doing = f"writing {target.format.value}"
    with console.progress(doing, beside_stdout=target.path == STDOUT) as advance:
        told = with_progress(timeline, advance, passes(timeline, target.format))
        written = write_timeline(told, target, looks)
    if target.path == STDOUT and target.format not in _NEXT:
        return
    name = "stdout" if target.path == STDOUT else str(target.path)
    console.say(
        f"wrote {counted(written.slices, 'slice')} and {counted(written.instants, 'mark')} of"
        f" {counted(len(timeline.waves), 'wave')} to {name} ({describe_times(timeline)})"
        + ("" if target.path == STDOUT else _NEXT.get(target.format, ""))
    )
