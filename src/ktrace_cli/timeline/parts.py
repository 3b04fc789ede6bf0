"""Batches to the model's parts: in order, with nanoseconds, each slice with its payload."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ktrace_cli.model import FLOW, NONE, VALUE, Columns, Edge, Event, Flags, Part
from ktrace_cli.timeline.batch import Batch, Decoder
from ktrace_cli.timeline.clock import ClockMap
from ktrace_cli.timeline.flows import find_flows
from ktrace_cli.timeline.segments import Ints, join_rows
from ktrace_cli.timeline.unfinished import keep_slices_open


@dataclass(frozen=True)
class Parts:
    """A model.PartSource: decodes a recording's words anew each time."""

    decoder: Decoder
    clock: ClockMap
    lane_place: Ints
    """The row in Timeline.lanes of each lane that batches name."""
    event_place: Ints
    """The row in Timeline.events of each event that batches name."""
    events: tuple[Event, ...]
    edges: Sequence[Edge]
    dispatches: Columns
    waves: Columns

    def __call__(self, wanted: Flags | None) -> Iterator[Part]:
        """Yield all parts that have a wanted wave."""
        for part, _ in self.with_lost_flows(wanted):
            yield part

    def with_lost_flows(self, wanted: Flags | None = None) -> Iterator[tuple[Part, Counter[str]]]:
        """Yield parts, and the counts of arrows that could not be drawn."""
        for batch in self.decoder.batches(wanted):
            part = self._finished(batch)
            if not self.edges:
                yield part, Counter()
                continue
            flows, lost = find_flows(part, self.waves, self.dispatches, self.events, self.edges)
            yield replace(part, flows=flows), lost

    def _finished(self, batch: Batch) -> Part:
        """Put rows in order, and let them name rows of the timeline."""
        batch.slices["lane"] = self.lane_place[batch.slices["lane"]]
        slices, values = _in_order(batch)
        instants = batch.instants
        for rows in (slices, instants):
            rows["event"] = self.event_place[rows["event"]]
            rows["wave"] += batch.first_wave
        _set_times(slices, instants, self.clock)
        keep_slices_open(self.dispatches, self.waves, slices)
        _set_parents(slices)
        wave_rows = np.arange(batch.first_wave, batch.first_wave + len(batch.waves))
        return Part(wave_rows, slices, instants, values, np.zeros(0, FLOW))


def _in_order(batch: Batch) -> tuple[Columns, Columns]:
    """Return the slices by wave, lane and begin, and the values by slice, then instant."""
    count = len(batch.slices)
    # Begins are in order of waves; two sorts of columns that are nearly sorted are fast.
    order = np.argsort(batch.begin_key, kind="stable")
    lanes = int(batch.slices["lane"].max(initial=0)) + 1
    place_of = batch.slices["wave"].astype(np.int64) * lanes + batch.slices["lane"]
    order = order[np.argsort(place_of[order], kind="stable")]
    place = np.empty(count + len(batch.instants), np.int64)
    place[order] = np.arange(count)
    place[count:] = np.arange(count, len(place))
    owners = place[batch.owners]
    by_owner = np.argsort(owners, kind="stable")
    values = join_rows(VALUE, [batch.values.take(by_owner)])
    slices = batch.slices.take(order)
    counts = np.bincount(owners, minlength=len(place))
    firsts = np.cumsum(counts) - counts
    slices["values"], batch.instants["values"] = counts[:count], counts[count:]
    slices["first_value"], batch.instants["first_value"] = firsts[:count], firsts[count:]
    return slices, values


def _set_times(slices: Columns, instants: Columns, clock: ClockMap) -> None:
    begin = slices["begin_ticks"]
    slices["begin_ns"] = clock.to_ns(slices["wave"], begin)
    slices["ns"] = clock.to_ns(slices["wave"], begin + slices["ticks"]) - slices["begin_ns"]
    instants["ns"] = clock.to_ns(instants["wave"], instants["ticks"])


def _set_parents(slices: Columns) -> None:
    depth = slices["depth"]
    slices["parent"] = NONE
    last = np.full(int(depth.max(initial=0)) + 1, NONE, np.int64)
    for level in range(1, len(last)):
        at = np.where(depth == level - 1, np.arange(len(depth)), NONE)
        above = np.maximum.accumulate(at)
        rows = np.flatnonzero(depth == level)
        slices["parent"][rows] = above[rows]
