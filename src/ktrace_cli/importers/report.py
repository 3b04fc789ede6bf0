"""What the user should know of a merge, in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ktrace_cli.importers.inputs import RecordingInput, TraceInput
from ktrace_cli.importers.matching import Match
from ktrace_cli.model import NONE
from ktrace_cli.units import counted, format_duration

Matches = Mapping[tuple[int, int], Match]


def sentences_on_repairs(traces: Sequence[TraceInput]) -> tuple[list[str], list[str]]:
    """Return what else is to be known of traces, and what is missing, repaired or assumed."""
    notes = [f"{one.trace.path}: {note}" for one in traces for note in one.trace.notes]
    repairs = [f"{t.trace.path}: {line}" for t in traces for line in t.trace.repairs.sentences()]
    return notes, repairs


def losses_of(recordings: Sequence[RecordingInput], traces: Sequence[TraceInput]) -> int:
    """Return how many kinds of things are missing, damaged or repaired."""
    own = sum(len(recording.timeline.losses.counted()) for recording in recordings)
    return own + sum(len(trace.trace.repairs.counted()) for trace in traces)


def sentences_on_matches(
    recordings: Sequence[RecordingInput], traces: Sequence[TraceInput], matches: Matches
) -> tuple[list[str], list[str]]:
    """Return what was matched, and what was not."""
    said, missing = [], []
    for (number, other), match in matches.items():
        recording, trace = recordings[number], traces[other]
        if not len(trace.trace.kernels):
            continue
        if len(recording.timeline.dispatches):
            said.append(_matched(recording, trace, match))
        if extra := match.candidates - match.count:
            kernels = counted(extra, "kernel is", "kernels are")
            missing.append(
                f"{trace.trace.path}: {kernels} called like one of"
                f" {recording.path}, but no dispatch of it"
            )
    for number, recording in enumerate(recordings):
        own = [match for (of, _), match in matches.items() if of == number]
        seen = any(len(traces[other].trace.kernels) for of, other in matches if of == number)
        if seen and (lost := _unmatched(recording, own)):
            missing.append(lost)
    return said, missing


def _matched(recording: RecordingInput, trace: TraceInput, match: Match) -> str:
    dispatches = counted(len(recording.timeline.dispatches), "dispatch", "dispatches")
    parts = [f"matched {match.count:,} of {dispatches} of {recording.path} to {trace.trace.path}"]
    if match.by_order:
        parts.append(f"{match.by_order:,} of these by the order of launches only")
    if match.outside_ns:
        outside = format_duration(match.outside_ns)
        parts.append(f"waves are up to {outside} outside of their kernel")
    return "; ".join(parts)


def _unmatched(recording: RecordingInput, matches: Sequence[Match]) -> str:
    timeline = recording.timeline
    is_missing = np.ones(len(timeline.dispatches), np.bool_)
    for match in matches:
        is_missing &= match.slice_of_dispatch == NONE
    if not is_missing.any():
        return ""
    kernels = timeline.dispatches["kernel"][is_missing]
    named = [
        f"{int((kernels == number).sum()):,} of {timeline.kernels[number].name}"
        for number in np.unique(kernels).tolist()
    ]
    dispatches = counted(int(is_missing.sum()), "dispatch is", "dispatches are")
    return f"{recording.path}: {dispatches} in no other trace: {', '.join(named)}"
