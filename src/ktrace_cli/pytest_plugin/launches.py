"""The launches of a process that still records: those of one test's call, decoded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from ktrace_cli.model import Losses, Timeline
from ktrace_cli.pytest_plugin.demangler import load_demangler
from ktrace_cli.timeline.build import build_timeline
from ktrace_cli.timeline.select import Selection, select
from ktrace_cli.trace_file.following import Follower
from ktrace_cli.trace_file.recording import DispatchRecord

# The longer a clock is looked at, the better its rate is known: to one tick of the reference.
_MOST_EARLIER = 8


@dataclass(frozen=True)
class Window:
    """Some launches."""

    timeline: Timeline
    """Only their waves; its losses are also of the launches before."""
    losses: Losses
    """Of these launches alone."""


class Launches:
    """Reads a recording while it grows."""

    def __init__(self, recording: Path) -> None:
        self._follower = Follower(recording)
        self._kept: tuple[DispatchRecord, ...] = ()

    def between(self, before: int, after: int) -> Window | None:
        """Decode the launches behind number `before`, up to number `after`.

        None if no such launch is recorded.

        Raises:
            KtraceError: the recording cannot be read, or no wave of these launches is in it.
        """
        recording = self._follower.read()
        known = {d.number: d for d in (*self._kept, *recording.dispatches)}.values()
        earlier = tuple(d for d in known if d.record["launch"] <= before)[-_MOST_EARLIER:]
        wanted = tuple(d for d in known if before < d.record["launch"] <= after)
        later = tuple(d for d in known if d.record["launch"] > after)
        self._kept = (*(*earlier, *wanted)[-_MOST_EARLIER:], *later)
        if not wanted:
            return None
        load_demangler()
        timeline = build_timeline(replace(recording, dispatches=wanted))
        losses = timeline.losses
        if earlier:
            timeline = build_timeline(replace(recording, dispatches=(*earlier, *wanted)))
            launches = [range(before + 1, after + 1)]
            timeline = select(timeline, Selection(launches=launches))
        return Window(timeline, losses)
