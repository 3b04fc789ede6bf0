"""`ktrace summary`: how long the phases of each kernel take."""

from __future__ import annotations

from typing import Annotated

import orjson
import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from ktrace_cli import console
from ktrace_cli.analysis.summary import KernelSummary, Phase, summarize
from ktrace_cli.analysis.unfinished import OpenStack, UnfinishedDispatch, WavePlace
from ktrace_cli.code_object.names import shorten
from ktrace_cli.commands.recording import (
    RecordingArgument,
    StrictOption,
    check_losses,
    describe_devices,
    find_recording,
    load_timeline,
)
from ktrace_cli.units import counted, format_duration

_NAME_WIDTH = 28
_MOST_PLACES = 3
_FAULTS = {700: "hipErrorIllegalAddress", 719: "hipErrorLaunchFailure"}
_TIMES = ("total", "self", "mean", "min", "p50", "p90", "p99", "max")


def summary(
    recording: RecordingArgument = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Write JSON; its keys are a promise.")
    ] = False,
    strict: StrictOption = False,
) -> None:
    """Show count and times of every phase of every kernel in RECORDING.

    Times are added over all waves, although these run at the same time.

    "% waves" is the share of the time of all waves; "self" leaves out what nests inside.
    """
    timeline = load_timeline(find_recording(recording))
    result = summarize(timeline)
    if as_json:
        console.data(orjson.dumps(result.to_json(), option=orjson.OPT_INDENT_2).decode() + "\n")
    else:
        console.data(describe_devices(timeline) + "\n")
        for kernel in result.kernels:
            _show(kernel)
        for dispatch in result.unfinished:
            _show_unfinished(dispatch)
    check_losses(timeline, strict=strict)


def _show(kernel: KernelSummary) -> None:
    console.data("\n" + _title(kernel) + "\n")
    if kernel.phases:
        console.table(_table(kernel))
    if any(phase.open for phase in kernel.phases):
        console.data("open: had not ended when it was recorded; in no other number of its phase\n")
    if kernel.marks:
        marks = ", ".join(f"{mark.name} {mark.count:,}" for mark in kernel.marks)
        console.data(f"marks: {marks}\n")
    if kernel.side_words:
        share = 100 * kernel.side_words / kernel.words
        console.data(
            f"partly active waves wrote {share:.1f} % of {counted(kernel.words, 'word')};"
            " there an event costs more\n"
        )


def _show_unfinished(dispatch: UnfinishedDispatch) -> None:
    head = f"{shorten(dispatch.kernel, 80)} dispatch {dispatch.dispatch}"
    waves = f"{dispatch.unfinished_waves:,} of {counted(dispatch.waves, 'wave')} unfinished"
    missing = f", {dispatch.missing_waves:,} more not begun" if dispatch.missing_waves else ""
    console.data(f"\n{head}: {waves}{missing}\n")
    if dispatch.status:
        error = _FAULTS.get(dispatch.status)
        end = f"faulted ({error})" if error else f"ended with HIP error {dispatch.status}"
        console.data(f"  the kernel {end}: what its waves recorded until then is kept\n")
    for stack in dispatch.open:
        place = " > ".join(f"`{name}`" for name in stack.names)
        where = f"in {place}" if place else "with nothing open"
        full = f"; the region of {stack.full_waves:,} was full before" if stack.full_waves else ""
        since = _since(stack, is_modelled=dispatch.is_modelled)
        console.data(f"  {counted(stack.waves, 'wave')} {where} ({since}{full})\n")
        console.data(f"    {_places(stack.places)}\n")


def _since(stack: OpenStack, *, is_modelled: bool) -> str:
    """Say how long it has been so: the model's clock knows nothing of what came after a record."""
    if not is_modelled:
        state = "open" if stack.names else "without a record"
        return f"{state} for at least {format_duration(stack.since_ns)}"
    if stack.names and stack.since_ns:
        return f"open for {format_duration(stack.since_ns)} up to its last record, and since"
    return "open since its last record" if stack.names else "since its last record"


def _places(places: tuple[WavePlace, ...]) -> str:
    texts = []
    for place in places[:_MOST_PLACES]:
        group = f" ({place.group})" if place.group else ""
        x, y, z = place.workgroup
        texts.append(f"workgroup {x},{y},{z} wave {place.wave}{group}")
    more = len(places) - _MOST_PLACES
    return "; ".join(texts) + (f" and {more:,} more" if more > 0 else "")


def _title(kernel: KernelSummary) -> str:
    dispatches = counted(kernel.dispatches, "dispatch", "dispatches")
    waves = counted(kernel.waves, "wave")
    part = f" ({kernel.filtered_dispatches:,} in part)" if kernel.filtered_dispatches else ""
    time = format_duration(kernel.wave_ns)
    unfinished = (
        f" ({counted(kernel.unfinished_waves, 'unfinished wave')}: up to the last known time)"
        if kernel.unfinished_waves
        else ""
    )
    return (
        f"{shorten(kernel.name, 80)}: {dispatches}{part}, {waves}, {time} of wave time{unfinished}"
    )


def _table(kernel: KernelSummary) -> Table:
    optional = _optional_columns(kernel)
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("phase", no_wrap=True)
    if "lane" in optional:
        table.add_column("lane", no_wrap=True)
    shown = [name for name in ("unclosed", "open") if name in optional]
    for name in ("count", *shown, "% waves", *_TIMES):
        table.add_column(name, justify="right", no_wrap=True)
    for phase in kernel.phases:
        table.add_row(*_row(phase, optional))
    return table


def _optional_columns(kernel: KernelSummary) -> set[str]:
    """Return the columns that are shown only where they tell something."""
    return {
        name
        for name in ("lane", "unclosed", "open")
        if any(getattr(p, name) for p in kernel.phases)
    }


def _row(phase: Phase, optional: set[str]) -> list[str]:
    name = shorten(phase.name, _NAME_WIDTH)
    lane = [shorten(phase.lane, _NAME_WIDTH)] if "lane" in optional else []
    shown = [f"{getattr(phase, name):,}" for name in ("unclosed", "open") if name in optional]
    times = (
        phase.total_ns,
        phase.self_ns,
        phase.mean_ns,
        phase.min_ns,
        phase.p50_ns,
        phase.p90_ns,
        phase.p99_ns,
        phase.max_ns,
    )
    cells = [format_duration(time) if phase.count else "-" for time in times]
    counts = [f"{phase.count:,}", *shown, f"{100 * phase.share:.1f} %"]
    return [name, *lane, *counts, *cells]
