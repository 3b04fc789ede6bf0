"""Events to what the terminal view shows them as: phases, and lanes by their names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ktrace_cli.model import Columns, Event, Timeline
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.trace_file.layout import Kind

OWN = ""
"""The lane of a wave's own nested ranges."""
_OVERLAP = "overlap"


@dataclass(frozen=True)
class Lanes:
    """The phases and lanes that events are shown as."""

    phases: tuple[tuple[str, str], ...]
    """Name and lane of each phase."""
    phase_of_event: Ints
    names: tuple[str, ...]
    """Of lanes; the first is OWN, the last that of own ranges which do not nest."""
    lane_of_event: Ints

    def of(self, slices: Columns) -> Ints:
        """Return the lane of each slice; numbered lanes of one name are one."""
        lane = self.lane_of_event[slices["event"]]
        elsewhere = np.where(lane == 0, len(self.names) - 1, lane)
        return np.where(slices["lane"] == 0, 0, elsewhere)


def read_lanes(timeline: Timeline) -> Lanes:
    """Tell phases and lanes from the events that occur."""
    phases: dict[tuple[str, str], int] = {}
    names: dict[str, int] = {OWN: 0}
    phase_of_event, lane_of_event = [], []
    for event in timeline.events:
        lane = _lane(event)
        phase_of_event.append(phases.setdefault((event.name, lane), len(phases)))
        lane_of_event.append(names.setdefault(lane, len(names)))
    return Lanes(
        tuple(phases),
        np.array(phase_of_event, np.int64),
        (*names, _OVERLAP),
        np.array(lane_of_event, np.int64),
    )


def _lane(event: Event) -> str:
    return event.lane or (event.name if event.kind == Kind.START else OWN)
