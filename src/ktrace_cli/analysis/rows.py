"""The slices of one part as contiguous columns: what every analysis reads, taken out once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ktrace_cli.analysis.phases import PhaseTable
from ktrace_cli.model import NONE, Columns, Flags, Part, SliceFlag, Timeline
from ktrace_cli.timeline.segments import Ints


@dataclass(frozen=True)
class Rows:
    """A part's slices, and where they are in the whole."""

    timeline: Timeline
    table: PhaseTable
    part: Part

    @cached_property
    def wave(self) -> Columns:
        """Timeline.waves, ascending."""
        return np.ascontiguousarray(self.part.slices["wave"])

    @cached_property
    def phase(self) -> Ints:
        """PhaseTable.keys."""
        return self.table.of_event.take(self.part.slices["event"])

    @cached_property
    def ns(self) -> Ints:
        """How long each slice is."""
        return np.ascontiguousarray(self.part.slices["ns"])

    @cached_property
    def flags(self) -> Columns:
        """SliceFlag."""
        return np.ascontiguousarray(self.part.slices["flags"])

    @cached_property
    def is_open(self) -> Flags:
        """Which had not ended when they were recorded: nobody knows how long they last."""
        return np.asarray((self.flags & SliceFlag.RUNNING) != 0, np.bool_)

    @cached_property
    def is_endless(self) -> Flags:
        """Which have no known length: they were open, or their wave had no room for their end."""
        endless = SliceFlag.RUNNING | SliceFlag.TRUNCATED
        return np.asarray((self.flags & endless) != 0, np.bool_)

    @cached_property
    def parent(self) -> Columns:
        """Rows of the part's slices; NONE at the top of a lane."""
        return np.ascontiguousarray(self.part.slices["parent"])

    @cached_property
    def self_ns(self) -> Ints:
        """How long each slice is without what nests directly inside."""
        inner = np.flatnonzero(self.parent != NONE)
        inside = np.bincount(self.parent.take(inner), self.ns.take(inner), len(self.ns))
        return self.ns - inside.astype(np.int64)

    @cached_property
    def is_own(self) -> Flags:
        """Which are on their wave's own lane."""
        return np.asarray((self.table.lane == NONE).take(self.phase), np.bool_)
