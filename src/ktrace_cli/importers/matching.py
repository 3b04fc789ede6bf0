"""Which slice of another tool shows the same kernel launch as a dispatch of ours.

A stream runs in order, so where a kernel ran on one stream and both tools have all of its launches,
the first is the first. Else both are on one axis, and what overlaps most is the same; a dispatch
that overlaps with nothing (clocks of a GPU are known to some microseconds, kernels may be shorter)
takes the next launch of its kernel between its launch and its completion.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.importers.clocks import Alignment, Placement
from ktrace_cli.importers.host_trace import HostTrace
from ktrace_cli.importers.inputs import RecordingInput, TraceInput
from ktrace_cli.importers.kernel_names import is_same_kernel
from ktrace_cli.model import NONE, Timeline

Ints = NDArray[np.int64]

# Host times of a launch bound its kernel; the two tools read the clock at different moments.
_SLACK_NS = 100_000


@dataclass(frozen=True)
class Match:
    """Which kernels of one trace are dispatches of one recording."""

    slice_of_dispatch: Ints
    """Row of HostTrace.slices for each dispatch, or NONE."""
    by_order: int
    """How many of them do not overlap in time: only the order of launches tells."""
    candidates: int
    """Kernels of the trace that are called like one of ours."""
    outside_ns: int
    """By how much the waves of a dispatch are outside of its kernel's slice at most."""

    @property
    def count(self) -> int:
        """How many dispatches are matched."""
        return int((self.slice_of_dispatch != NONE).sum())


@dataclass(frozen=True)
class _Kernels:
    """Kernels of a trace that may be ours, by begin, on the common axis."""

    rows: Ints
    """Of HostTrace.slices."""
    begin: Ints
    end: Ints
    reach: Ints
    """The latest end of this one and those before it."""


def match_all(
    recordings: Sequence[RecordingInput], traces: Sequence[TraceInput], alignment: Alignment
) -> dict[tuple[int, int], Match]:
    """Match each recording with each trace that may be of its process; keys are their numbers."""
    found = {}
    hosts = {recording.host for recording in recordings} - {""}
    for number, recording in enumerate(recordings):
        for other, trace in enumerate(traces):
            if trace.likely_host in hosts and trace.likely_host != recording.host:
                continue
            places = (alignment.recordings[number], alignment.traces[other])
            if (one := match(recording, trace, places)) is not None:
                found[number, other] = one
    return found


def match(
    recording: RecordingInput, trace: TraceInput, at: tuple[Placement, Placement]
) -> Match | None:
    """Find the slices of a recording's dispatches; None if they are of different processes.

    Args:
        recording: ours.
        trace: the other tool's.
        at: where each of them is on the common axis.
    """
    ours, theirs = at
    if ours.machine != theirs.machine or not _may_be_one_process(recording, trace.trace):
        return None
    timeline = recording.timeline
    kernels = _candidates(recording, trace.trace, theirs.shift_ns)
    begin = timeline.dispatches["begin_ns"] + ours.shift_ns
    end = timeline.dispatches["end_ns"] + ours.shift_ns
    found = np.full(len(timeline.dispatches), NONE, np.int64)
    _match_streams(timeline, kernels, ours.shift_ns, found)
    taken = set(found[found != NONE].tolist())
    for _, dispatch, row in sorted(_overlaps(timeline, kernels, begin, end)):
        if found[dispatch] == NONE and row not in taken:
            found[dispatch] = row
            taken.add(row)
    _match_in_order(timeline, kernels, ours.shift_ns, (found, taken))
    matched = np.flatnonzero(found != NONE)
    slices = trace.trace.slices[found[matched]]
    first, last = slices["begin_ns"] + theirs.shift_ns, slices["end_ns"] + theirs.shift_ns
    outside = np.maximum(first - begin[matched], end[matched] - last)
    apart = (first >= end[matched]) | (last <= begin[matched])
    named = np.unique(np.concatenate([k.rows for k in kernels.values()] or [np.zeros(0, np.int64)]))
    return Match(
        slice_of_dispatch=found,
        by_order=int(apart.sum()),
        candidates=len(named),
        outside_ns=max(int(outside.max(initial=0)), 0),
    )


def _may_be_one_process(recording: RecordingInput, trace: HostTrace) -> bool:
    pids = {process.pid for process in trace.processes} - {0}
    return not pids or not recording.pid or recording.pid in pids


def _candidates(recording: RecordingInput, trace: HostTrace, shift_ns: int) -> dict[int, _Kernels]:
    """Return for each of our kernels the slices of our process that are called like it."""
    pids = np.array([trace.processes[track.process].pid for track in trace.tracks], np.int64)
    rows = trace.kernels
    of_slice = pids[trace.slices["track"][rows]]
    if recording.pid:
        rows = rows[(of_slice == recording.pid) | (of_slice == 0)]
    names = trace.slices["name"][rows]
    found = {}
    for number, kernel in enumerate(recording.timeline.kernels):
        alike = [
            name
            for name in np.unique(names).tolist()
            if is_same_kernel(kernel.mangled, trace.strings[name])
        ]
        own = rows[np.isin(names, alike)]
        slices = trace.slices[own]
        end = slices["end_ns"] + shift_ns
        reach = np.maximum.accumulate(end)
        found[number] = _Kernels(own, slices["begin_ns"] + shift_ns, end, reach)
    return found


def _match_streams(
    timeline: Timeline, kernels: dict[int, _Kernels], shift_ns: int, found: Ints
) -> None:
    """Match kernels that were launched on one stream only, if all of them are there, in order.

    A stream runs its kernels in order. So this is right also where a clock is off by more than a
    kernel takes, and each dispatch would overlap with its neighbour's slice.
    """
    dispatches = timeline.dispatches
    rows, times = np.unique(
        np.concatenate([own.rows for own in kernels.values()] or [found[:0]]), return_counts=True
    )
    for number, own in kernels.items():
        ours = np.flatnonzero(dispatches["kernel"] == number)
        ours = ours[np.argsort(dispatches["number"][ours], kind="stable")]
        streams = np.unique(dispatches[["device", "stream"]][ours])
        is_shared = np.any(times[np.searchsorted(rows, own.rows)] > 1)
        if len(streams) != 1 or len(ours) != len(own.rows) or is_shared:
            continue
        launched = dispatches["launched_ns"][ours] + shift_ns - _SLACK_NS
        completed = dispatches["completed_ns"][ours] + shift_ns + _SLACK_NS
        if np.all((own.begin >= launched) & (own.end <= completed)):
            found[ours] = own.rows


def _overlaps(
    timeline: Timeline, kernels: dict[int, _Kernels], begin: Ints, end: Ints
) -> list[tuple[float, int, int]]:
    """Return what overlaps: minus the shared part of both, dispatch, row of the slice."""
    found = []
    for dispatch, kernel in enumerate(timeline.dispatches["kernel"].tolist()):
        own = kernels[kernel]
        first, last = int(begin[dispatch]), int(end[dispatch])
        stop = int(np.searchsorted(own.begin, last, "right"))
        for at in range(stop - 1, -1, -1):
            if own.reach[at] <= first:
                break
            shared = min(last, int(own.end[at])) - max(first, int(own.begin[at]))
            whole = max(last, int(own.end[at])) - min(first, int(own.begin[at]))
            if shared > 0:
                found.append((-shared / whole, dispatch, int(own.rows[at])))
    return found


def _match_in_order(
    timeline: Timeline,
    kernels: dict[int, _Kernels],
    shift_ns: int,
    known: tuple[Ints, set[int]],
) -> None:
    """Give each dispatch that has none the first free slice between its launch and its end."""
    found, taken = known
    dispatches = timeline.dispatches
    launched = dispatches["launched_ns"] + shift_ns - _SLACK_NS
    completed = dispatches["completed_ns"] + shift_ns + _SLACK_NS
    for number, own in kernels.items():
        missing = np.flatnonzero((dispatches["kernel"] == number) & (found == NONE))
        free = [at for at, row in enumerate(own.rows.tolist()) if row not in taken]
        begins = [int(own.begin[at]) for at in free]
        next_free = 0
        for dispatch in missing[np.argsort(launched[missing], kind="stable")].tolist():
            next_free = max(next_free, bisect_left(begins, int(launched[dispatch])))
            if next_free == len(free):
                break
            at = free[next_free]
            if int(own.end[at]) <= int(completed[dispatch]):
                found[dispatch] = own.rows[at]
                taken.add(int(own.rows[at]))
                next_free += 1
