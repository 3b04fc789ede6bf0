"""Waves that had not ended when they were recorded, and the phases that they were in then."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ktrace_cli.export.tui_groups import Groups
from ktrace_cli.export.tui_lanes import Lanes
from ktrace_cli.export.tui_rows import Span, parts_of
from ktrace_cli.model import NONE, Part, SliceFlag, Timeline, WaveFlag
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.units import counted


@dataclass(frozen=True)
class OpenWaves:
    """The waves of groups that had not ended, one row for each."""

    group: Ints
    end_ns: Ints
    """Its last known time."""
    phase: Ints
    """The innermost phase on its own lane that it was in at that time, if that is shown, or NONE.
    """
    phase_begin_ns: Ints
    all_waves: int
    """How many there are in the dispatch, whether they have a group or not."""

    def note(self) -> str:
        """Say how many there are; nothing if there are none."""
        if not self.all_waves:
            return ""
        shown = f" ({len(self.group):,} shown)" if len(self.group) < self.all_waves else ""
        return f"; {counted(self.all_waves, 'wave')} unfinished{shown}"

    def count_in(self, phase: int) -> int:
        """Return how many were in a phase."""
        return int((self.phase == phase).sum())


def find_open(
    timeline: Timeline, dispatch: int, span: Span, groups: Groups, lanes: Lanes
) -> OpenWaves:
    """Find them, and what they were in."""
    waves = timeline.waves
    state = waves["flags"] & (WaveFlag.TORN | WaveFlag.UNFINISHED)
    is_open = (waves["dispatch"] == dispatch) & (state == WaveFlag.UNFINISHED)
    rows = np.flatnonzero(is_open & (groups.of_wave != NONE))
    phase, begin = np.full(len(waves), NONE, np.int64), np.zeros(len(waves), np.int64)
    for part, own in parts_of(timeline, groups) if len(rows) else ():
        inner = _innermost(part, own[is_open[part.slices["wave"][own]]])
        slices = part.slices[inner]
        phase[slices["wave"]] = lanes.phase_of_event[slices["event"]]
        begin[slices["wave"]] = slices["begin_ns"]
    end = waves["end_ns"][rows]
    phase = np.where(span.holds(end), phase[rows], NONE)
    return OpenWaves(groups.of_wave[rows], end, phase, begin[rows], int(is_open.sum()))


def _innermost(part: Part, rows: Ints) -> Ints:
    """Return the deepest open slice on each wave's own lane."""
    slices = part.slices[rows]
    is_open = ((slices["flags"] & SliceFlag.UNCLOSED) != 0) & (slices["lane"] == 0)
    rows = rows[is_open]
    wave = part.slices["wave"][rows]
    # Parents come before what nests in them: the last one of a wave is the innermost.
    is_last = np.append(wave[1:] != wave[:-1], True) if len(rows) else np.zeros(0, np.bool_)
    return np.asarray(rows[is_last], np.int64)
