"""What a recording adds to an inspection of its kernels' code: times of phases, real launches."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ktrace_cli.analysis.phase_times import Phase
from ktrace_cli.analysis.summary import summarize
from ktrace_cli.errors import KtraceError
from ktrace_cli.kernel_code.inspected import Launch
from ktrace_cli.kernel_code.measured import Measured, MeasuredTime
from ktrace_cli.model import Losses, Timeline
from ktrace_cli.timeline.build import build_timeline
from ktrace_cli.trace_file.recording import Recording


@dataclass(frozen=True)
class Recorded:
    """What a recording adds."""

    measured: Measured
    launches: dict[str, Launch]
    """By `.name` of the kernel."""
    notices: list[str]
    """What is missing in it, in words."""


def read_recorded(recording: Recording) -> Recorded:
    """Return the times and launches of a recording; without its times, why there are none."""
    launches = find_launches(recording)
    try:
        timeline = build_timeline(recording)
        measured = measure_phases(timeline)
    except KtraceError as problem:
        return Recorded({}, launches, [f"no times are shown: {problem.what}: {problem.why}"])
    lost = [words for words in timeline.losses.sentences() if words not in damage_of(recording)]
    return Recorded(measured, launches, lost)


def damage_of(recording: Recording) -> list[str]:
    """Return what reading the file itself has told already."""
    return Losses(**recording.damage.counted()).sentences()


def measure_phases(timeline: Timeline) -> dict[tuple[str, str], MeasuredTime]:
    """Return the times of each kernel's phases; several lanes or kinds of a name are not told."""
    is_modelled = any(device.is_software for device in timeline.devices)
    found: dict[tuple[str, str], list[Phase]] = {}
    wave_ns: dict[tuple[str, str], int] = {}
    for kernel in summarize(timeline).kernels:
        for phase in kernel.phases:
            key = kernel.mangled, phase.name
            found.setdefault(key, []).append(phase)
            wave_ns[key] = kernel.wave_ns
    return {
        key: MeasuredTime(
            count=phases[0].times.count,
            mean=phases[0].times.mean_ns,
            self_share=phases[0].times.self_ns / wave_ns[key] if wave_ns[key] else 0.0,
            unit=timeline.unit,
            is_modelled=is_modelled,
        )
        for key, phases in found.items()
        if len(phases) == 1 and phases[0].times.count
    }


def find_launches(recording: Recording) -> dict[str, Launch]:
    """Return how each kernel was launched most often, by its `.name`."""
    shapes: dict[str, Counter[tuple[int, int]]] = {}
    for dispatch in recording.dispatches:
        kernel = recording.kernels.get(dispatch.kernel)
        x, y, z = (int(size) for size in dispatch.record["block"])
        if kernel and x * y * z:
            shape = x * y * z, int(dispatch.record["shared_bytes"])
            shapes.setdefault(kernel.name, Counter())[shape] += 1
    launches = {}
    for name, counts in shapes.items():
        (size, shared), number = counts.most_common(1)[0]
        total = sum(counts.values())
        origin = f"as in {number:,} of {total:,} recorded launches"
        launches[name] = Launch(size, shared, origin)
    return launches
