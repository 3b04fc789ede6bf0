"""Which inputs of a merge tell of the same processes: ids alone do not say it.

Containers of one machine begin to count processes at 1, and so do machines. A tool records a
process once: two recordings, or two traces of one format, with one id are of two processes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ktrace_cli.importers.clocks import Alignment
from ktrace_cli.importers.inputs import RecordingInput, TraceInput
from ktrace_cli.importers.matching import Match


@dataclass(frozen=True)
class Scopes:
    """A number for each input: where it is the same, process ids mean the same."""

    recordings: tuple[int, ...]
    traces: tuple[int, ...]


@dataclass
class _Giving:
    next_free: int
    used: set[tuple[int, str, int]] = field(default_factory=set)
    """Scope, format and process id."""

    def give(self, wanted: int, what: str, pids: set[int]) -> int:
        """Return the scope that is wanted, or a new one if it has one of these from this tool."""
        keys = {(wanted, what, pid) for pid in pids}
        if keys & self.used:
            wanted = self.next_free
            self.next_free += 1
            keys = {(wanted, what, pid) for pid in pids}
        self.used |= keys
        return wanted


def find_scopes(
    recordings: Sequence[RecordingInput],
    traces: Sequence[TraceInput],
    alignment: Alignment,
    matches: Mapping[tuple[int, int], Match],
) -> Scopes:
    """Give each input a scope: its machine's, as long as that is not ambiguous."""
    placements = [*alignment.recordings, *alignment.traces]
    giving = _Giving(1 + max((at.machine for at in placements), default=0))
    of_recordings = [
        giving.give(at.machine, "", {recording.pid} - {0})
        for recording, at in zip(recordings, alignment.recordings, strict=True)
    ]
    of_traces = []
    for number, (trace, at) in enumerate(zip(traces, alignment.traces, strict=True)):
        counts = {own: m.count for (own, other), m in matches.items() if other == number}
        best = max(counts, key=lambda own: counts[own], default=None)
        wanted = of_recordings[best] if best is not None and counts[best] else at.machine
        pids = {process.pid for process in trace.trace.processes} - {0}
        of_traces.append(giving.give(wanted, trace.trace.format, pids))
    return Scopes(tuple(of_recordings), tuple(of_traces))
