"""What commands that read a recording share: which one, and what it lacks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ktrace_cli import console
from ktrace_cli.commands.sources import OPTIONS_OF_BUFFERS, load_buffer
from ktrace_cli.errors import ExitStatus, KtraceError, TraceFileError
from ktrace_cli.foreign.flydsl.recorded import build_recorded, holds_flydsl
from ktrace_cli.foreign.source import Source, Tool
from ktrace_cli.launch.environment import DEFAULT_FOLDER
from ktrace_cli.model import Device, Timeline
from ktrace_cli.progress import part_of
from ktrace_cli.timeline.build import build_timeline
from ktrace_cli.timeline.flows import count_in_part
from ktrace_cli.timeline.losses import count_filtered
from ktrace_cli.trace_file.reader import read_recording
from ktrace_cli.trace_file.recording import Recording
from ktrace_cli.units import counted

RUN_FOLDER = Path(DEFAULT_FOLDER)
"""Where `ktrace run` writes without `-o`."""
_CHECKING = 0.15  # the share of the time of reading that checksums take

RecordingArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="RECORDING",
        help="Without it: the newest one in ktrace_out.",
        show_default=False,
    ),
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Exit with status 5 if anything is missing.")
]


def find_recording(path: Path | None) -> Path:
    """Return `path`, or else the newest recording of `ktrace_out`, and say which.

    Raises:
        KtraceError: none is named and there is none.
    """
    if path is not None:
        return path
    recordings = sorted(RUN_FOLDER.glob("*.bin"), key=lambda p: (p.stat().st_mtime_ns, p.name))
    if not recordings:
        raise KtraceError(
            "no recording to read",
            why=f"none is named, and {RUN_FOLDER.resolve()} holds no *.bin",
            fix="name one, or make one with `ktrace run -- PROGRAM`",
        )
    console.say(f"reading {recordings[-1]}")
    return recordings[-1]


def load_timeline(path: Path, source: Source | None = None) -> Timeline:
    """Decode a recording, or another tool's buffer, and tell the user, once, what it lacks.

    Raises:
        KtraceError: it cannot be read, its damage has left no wave, or its times cannot be told.
    """
    return load_recording(path, source)[1]


def load_recording(path: Path, source: Source | None = None) -> tuple[Recording, Timeline]:
    """Do as load_timeline, and return the records as well, of which a buffer has none."""
    source = source or Source()
    recording, timeline = load_buffer(path, source) or _read_own(path, source)
    for sentence in timeline.losses.sentences():
        console.warn(f"{path}: {sentence}")
    for loss in recording.losses:
        what = loss.kernel or "code object"
        console.warn(f"{path}: lost {loss.count:,}: {what}: {loss.explanation}")
    if timeline.losses.is_damaged and not len(timeline.waves):
        raise TraceFileError(
            f"nothing readable in {path}",
            why="it is damaged, as the warnings say, and what is left has no wave",
            fix="copy it again from where it was recorded, or record again",
        )
    dispatches = len(timeline.dispatches)
    if filtered := count_filtered(timeline.dispatches):
        console.say(
            "recorded only in part, as asked for (--blocks, --waves or --xcc):"
            f" {filtered:,} of {counted(dispatches, 'dispatch', 'dispatches')}"
        )
        _say_without_arrows(timeline)
    if not dispatches:
        console.say(f"nothing was recorded in {path}: {_why_nothing(timeline)}")
    return recording, timeline


def _read_own(path: Path, source: Source) -> tuple[Recording, Timeline]:
    notes: tuple[str, ...] = ()
    with console.progress(f"reading {path.name}") as advance:
        recording = read_recording(path, part_of(advance, _CHECKING))
        has_other = holds_flydsl(recording)
        rest = part_of(advance, 1 - _CHECKING)
        if has_other and (not recording.dispatches or source.tool is Tool.FLYDSL):
            timeline, notes = build_recorded(recording, rest)
            has_other = False
        else:
            timeline = build_timeline(recording, rest)
            if source.tool is Tool.FLYDSL:
                notes = (OPTIONS_OF_BUFFERS,)
    for note in notes:
        console.say(f"{path} {note}" if note is OPTIONS_OF_BUFFERS else f"{path}: {note}")
    if has_other:
        launches = counted(len(recording.foreign.launches), "launch", "launches")
        console.warn(
            f"{path}: {launches} that FlyDSL traced are not shown beside those of annotated"
            " kernels: `--from flydsl` shows them"
        )
    return recording, timeline


def _say_without_arrows(timeline: Timeline) -> None:
    count = count_in_part(timeline.waves, timeline.dispatches) if timeline.edges else 0
    if count:
        lack, their = ("lacks", "its") if count == 1 else ("lack", "their")
        console.say(f"{counted(count, 'workgroup')} {lack} some of {their} waves: no arrows there")


def check_losses(timeline: Timeline, *, strict: bool) -> None:
    """End with status 5 if the user is strict and anything is missing."""
    if strict and timeline.losses.counted():
        raise typer.Exit(ExitStatus.LOSS)


def describe_devices(timeline: Timeline) -> str:
    """Return one line on the devices and whether their times are real."""
    return "; ".join(_describe(device) for device in timeline.devices)


def describe_times(timeline: Timeline) -> str:
    """Return in a few words whether times are real."""
    kinds = {device.is_software for device in timeline.devices}
    if kinds == {True}:
        return "modelled times: software device"
    if kinds == {False}:
        return "measured times"
    return describe_devices(timeline) or "no device"


def _describe(device: Device) -> str:
    target = device.target.split(":")[0] or "target not known,"
    if device.is_software:
        return f"device {device.device}: {target}, modelled times (software device)"
    return f"device {device.device}: {target} {device.name}, measured times"


def _why_nothing(timeline: Timeline) -> str:
    if timeline.losses.counted():
        return "see the warnings"
    if timeline.launches:
        launches = counted(timeline.launches, "launch was", "launches were")
        return f"{launches} seen, none of them of an annotated kernel that was to be traced"
    return "no kernel was launched"
