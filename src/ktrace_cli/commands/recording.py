"""What commands that read a recording share: which one, and what it lacks."""

from __future__ import annotations

from pathlib import Path

from ktrace_cli import console
from ktrace_cli.errors import KtraceError
from ktrace_cli.model import Device, Timeline
from ktrace_cli.timeline.build import build_timeline
from ktrace_cli.trace_file.reader import read_recording

RUN_FOLDER = Path("ktrace_out")
"""Where `ktrace run` writes without `-o`."""


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


def load_timeline(path: Path) -> Timeline:
    """Decode a recording and tell the user, once, what it lacks.

    Raises:
        KtraceError: it cannot be read, or its times cannot be told.
    """
    recording = read_recording(path)
    timeline = build_timeline(recording)
    for sentence in timeline.losses.sentences():
        console.warn(f"{path}: {sentence}")
    for loss in recording.losses:
        what = loss.kernel or "code object"
        console.warn(f"{path}: lost {loss.count:,}: {what}: {loss.explanation}")
    for fit in timeline.clocks:
        if fit.core_hz == 0 and len(timeline.waves):
            console.warn(
                f"{path}: no wave tells the core clock's rate of device {fit.device}:"
                " all that a wave recorded is shown at its begin"
            )
    return timeline


def describe_devices(timeline: Timeline) -> str:
    """Return one line on the devices and whether their times are real."""
    return "; ".join(_describe(device) for device in timeline.devices)


def _describe(device: Device) -> str:
    target = device.target.split(":")[0]
    if device.is_software:
        return f"device {device.device}: {target}, modelled times (software device)"
    return f"device {device.device}: {target} {device.name}, measured times"
