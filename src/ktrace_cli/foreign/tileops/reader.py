"""The events of TileOPs' groups, behind the name of each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from ktrace_cli.foreign.events import EVENT, NO_START, NO_VALUE, EventBatch, hold_clocks, rows_of
from ktrace_cli.foreign.tileops.slots import ID_MASK, KIND_SHIFT, KINDS, LANE_SHIFT, Slots
from ktrace_cli.model import Columns, Flags
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.trace_file.layout import Kind, ValueType

_KINDS = np.array([Kind.LONG_BEGIN, Kind.LONG_END, Kind.MARK], np.uint8)


@dataclass(frozen=True)
class TileopsReader:
    """An EventReader, whose slots are those of the buffer."""

    slots: Slots
    keys: Ints
    """Ids with their lanes, ascending: an event's number is its place here."""
    is_named: Flags
    """Which of them have names."""
    group_ids: Ints
    """The number of the event that names each group, from 0."""

    def __call__(self, slots: Ints) -> EventBatch:
        """Read the events of some slots."""
        counts = self.slots.counts[slots]
        place = slots * (self.slots.capacity + 1) + 1
        raw = self.slots.records.reshape(-1)[rows_of(place, counts)]
        # In front, each says whose it is.
        has_any = counts > 0
        own = counts + has_any
        at = np.cumsum(own) - own
        is_event = np.ones(int(own.sum()), np.bool_)
        is_event[at[has_any]] = False
        events = np.zeros(len(is_event), EVENT)
        events["start"], events["type"] = NO_START, NO_VALUE
        losses = self._put(events, np.flatnonzero(is_event), raw)
        held = raw["clock"].copy()
        losses["clamped_words"] = hold_clocks(held, counts)
        ticks = np.zeros(len(events), np.int64)
        ticks[is_event] = held
        first = at[has_any]
        ticks[first] = ticks[first + 1]
        events["ticks"] = ticks
        events["kind"][first] = Kind.GROUP
        events["id"][first] = self.group_ids[slots[has_any] % self.slots.groups]
        return EventBatch(own, events, np.zeros(len(slots), np.int64), losses)

    def _put(self, events: Columns, rows: Ints, raw: Columns) -> Counter[str]:
        kinds = raw["tag"] >> np.uint32(KIND_SHIFT) & np.uint32(0xF)
        is_known = kinds < KINDS
        kind = np.where(is_known, _KINDS[np.where(is_known, kinds, 0)], np.uint8(Kind.MARK))
        number = np.searchsorted(self.keys, keys_of(raw))
        events["kind"][rows], events["id"][rows] = kind, number
        has_payload = raw["payload"] != 0
        events["type"][rows] = np.where(has_payload, np.uint8(ValueType.U32), np.uint8(NO_VALUE))
        events["bits"][rows] = raw["payload"]
        unnamed = ~self.is_named[number] & (kind != Kind.LONG_END)
        return Counter(
            unknown_kinds=int(np.count_nonzero(~is_known)),
            unnamed_events=int(np.count_nonzero(unnamed)),
        )


def keys_of(raw: Columns) -> Ints:
    """Return the id of records, with their lane."""
    tag = raw["tag"].astype(np.int64)
    return np.asarray((tag & ID_MASK) << 4 | tag >> LANE_SHIFT, np.int64)
