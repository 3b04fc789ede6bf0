"""What is known of waves and events once all words were read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ktrace_cli.model import NONE, Columns, Event, Flags
from ktrace_cli.timeline.clock import ClockMap
from ktrace_cli.timeline.segments import Ints


def set_wave_times(waves: Columns, dispatches: Columns, clock: ClockMap) -> None:
    """Set the nanoseconds of waves and dispatches; a torn wave stands at its dispatch's launch."""
    has_clock = clock.clock_of_wave >= 0
    known = np.flatnonzero(has_clock)
    for name in ("begin", "end"):
        waves[f"{name}_ns"] = dispatches["launched_ns"][waves["dispatch"]]
        waves[f"{name}_ns"][known] = clock.to_ns(known, waves[f"{name}_ticks"][known])
    dispatches["begin_ns"] = dispatches["end_ns"] = dispatches["launched_ns"]
    of = waves["dispatch"][known]
    if not len(of):
        return
    seen = np.unique(of)
    limits = np.iinfo(np.int64)
    begin = np.full(len(dispatches), limits.max)
    end = np.full(len(dispatches), limits.min)
    np.minimum.at(begin, of, waves["begin_ns"][known])
    np.maximum.at(end, of, waves["end_ns"][known])
    dispatches["begin_ns"][seen], dispatches["end_ns"][seen] = begin[seen], end[seen]


def keep_used(
    events: Sequence[Event], is_used: Flags, waves: Columns
) -> tuple[tuple[Event, ...], Ints]:
    """Return the events that occur, and the new row of each; waves name those of their groups."""
    is_used = np.append(is_used, False)
    is_used[waves["group"]] = True  # NONE marks the extra row
    used = np.flatnonzero(is_used[:-1])
    place = np.full(len(events) + 1, NONE, np.int64)
    place[used] = np.arange(len(used))
    waves["group"] = place[waves["group"]]
    return tuple(events[row] for row in used.tolist()), place
