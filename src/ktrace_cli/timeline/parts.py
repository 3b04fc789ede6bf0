"""The model's parts: some workgroups at a time, with what only the whole timeline tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ktrace_cli.model import FLOW, Columns, Edge, Event, Flags, Part
from ktrace_cli.timeline.batch import Decoder
from ktrace_cli.timeline.clock import ClockMap
from ktrace_cli.timeline.flows import find_flows
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.timeline.unfinished import keep_slices_open


@dataclass(frozen=True)
class Parts:
    """A model.PartSource: decodes a recording's words anew each time."""

    decoder: Decoder
    clock: ClockMap
    counts: Columns
    """native.SCANNED: how much each wave has."""
    events: tuple[Event, ...]
    edges: Sequence[Edge]
    dispatches: Columns
    waves: Columns

    def __call__(self, wanted: Flags | None) -> Iterator[Part]:
        """Yield the workgroups that have a wanted wave."""
        for part, _ in self.with_lost_flows(wanted):
            yield part

    def with_lost_flows(self, wanted: Flags | None = None) -> Iterator[tuple[Part, Counter[str]]]:
        """Yield parts, and the counts of arrows that could not be drawn."""
        for rows in self.decoder.batches(wanted):
            part = self._decoded(rows)
            if not self.edges:
                yield part, Counter()
                continue
            flows, lost = find_flows(part, self.waves, self.dispatches, self.events, self.edges)
            yield replace(part, flows=flows), lost

    def _decoded(self, rows: Ints) -> Part:
        made = self.decoder.decode(rows, self.counts, self.clock)
        keep_slices_open(self.dispatches, self.waves, made.slices)
        return Part(rows, made.slices, made.instants, made.values, np.zeros(0, FLOW))
