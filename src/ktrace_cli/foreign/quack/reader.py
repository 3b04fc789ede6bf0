"""The events of QuACK's warps, oldest first."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from ktrace_cli.foreign.events import EVENT, NO_START, NO_VALUE, EventBatch, hold_clocks, rows_of
from ktrace_cli.foreign.quack.clocks import State, to_ticks
from ktrace_cli.foreign.quack.slots import Slots
from ktrace_cli.model import Columns
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.trace_file.layout import Kind

_KINDS = np.array([Kind.LONG_BEGIN, Kind.LONG_END, Kind.MARK], np.uint8)


@dataclass(frozen=True)
class QuackReader:
    """An EventReader, whose slots are those of the buffer."""

    slots: Slots
    state: State
    """Of every slot."""

    def __call__(self, slots: Ints) -> EventBatch:
        """Read the events of some warps, oldest first."""
        metas, capacity = self.slots.metas[slots], self.slots.capacity
        counts = _kept(self.slots, slots, metas)
        total = metas["count"].astype(np.int64)
        first = np.where(total > capacity, total % capacity, 0)
        wave = np.repeat(np.arange(len(slots)), counts)
        place = (first[wave] + rows_of(np.zeros_like(counts), counts)) % capacity
        raw = self.slots.records[slots[wave], place]
        events = np.zeros(len(raw), EVENT)
        events["id"], events["start"], events["type"] = raw["region"], NO_START, NO_VALUE
        is_known = raw["type"] < len(_KINDS)
        events["kind"] = np.where(is_known, _KINDS[np.where(is_known, raw["type"], 0)], Kind.MARK)
        losses = Counter(unknown_kinds=int(np.count_nonzero(~is_known)))
        ticks, long = to_ticks(raw["clock"], counts, metas, self.state.of(slots))
        losses["long_gaps"] = long
        losses["clamped_words"] = hold_clocks(ticks, counts)
        events["ticks"] = ticks
        return EventBatch(counts, events, np.zeros(len(slots), np.int64), losses)


def _kept(slots: Slots, numbers: Ints, metas: Columns) -> Ints:
    """Return how many events each warp has; of one that did not flush, those that are not 0."""
    counts = np.minimum(metas["count"].astype(np.int64), slots.capacity)
    for row in np.flatnonzero((metas["final_ns"] == 0) & (metas["init_ns"] != 0)).tolist():
        raw = np.ascontiguousarray(slots.records[numbers[row]]).view("<u8")
        empty = np.flatnonzero(raw == 0)
        counts[row] = empty[0] if len(empty) else slots.capacity
    counts[metas["init_ns"] == 0] = 0
    return counts
