"""The arrows of a PyTorch trace: from the slice that one begins in to the one that it ends in."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.importers.builder import Builder
from ktrace_cli.importers.chrome_events import FlowEnd, Rows, Sorted
from ktrace_cli.importers.kineto_places import OF_HOST

Ints = NDArray[np.int64]

_MOST_STEPS = 64  # back from where an arrow ends to the slice that holds it


class _Threads:
    """The slices of each (pid, tid), by begin; of those that begin together the innermost last."""

    def __init__(self, rows: Rows) -> None:
        members: dict[tuple[object, object], list[int]] = {}
        for row, (pid, tid) in enumerate(zip(rows.pid, rows.tid, strict=True)):
            if not rows.is_mark[row]:
                members.setdefault((pid, tid), []).append(row)
        self._rows = rows
        self._members = {
            key: sorted(own, key=lambda row: (rows.begin[row], -rows.length[row]))
            for key, own in members.items()
        }
        self._begins = {key: [rows.begin[r] for r in own] for key, own in self._members.items()}

    def slice_at(self, end: FlowEnd) -> int | None:
        """Return the innermost slice that lasts at this time, or None."""
        key = (end.pid, end.tid)
        at = bisect_right(self._begins.get(key, ()), end.ns) - 1
        for step in range(at, max(at - _MOST_STEPS, -1), -1):
            row = self._members[key][step]
            if self._rows.begin[row] + self._rows.length[row] >= end.ns:
                return row
        return None


def add_flows(builder: Builder, events: Sorted, placed: Ints) -> None:
    """Add the arrows whose two ends are known; others are counted.

    Args:
        builder: gets them.
        events: all events.
        placed: the builder's row of each row of the events.
    """
    rows = events.rows
    threads = _Threads(rows)
    sources, destinations = [], []
    for key, end in events.destinations:
        begin = events.sources.get(key)
        source = threads.slice_at(begin) if begin is not None else None
        destination = threads.slice_at(end)
        if begin is None and destination is not None and rows.category[destination] in OF_HOST:
            continue  # PyTorch ends an arrow in each call, also in those that launch nothing
        if source is None or destination is None:
            builder.repairs["loose_flows"] += 1
            continue
        sources.append(source)
        destinations.append(destination)
    ended = {key for key, _ in events.destinations}
    builder.repairs["loose_flows"] += sum(key not in ended for key in events.sources)
    if sources:
        builder.flow(placed[np.array(sources)], placed[np.array(destinations)])
