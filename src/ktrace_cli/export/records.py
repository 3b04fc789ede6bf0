"""Slices and marks as one table, wave by wave in order of time: what text and CSV show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntFlag
from functools import cache

import numpy as np

from ktrace_cli.model import NONE, Columns, Event, Part, Timeline
from ktrace_cli.trace_file.layout import Kind

RECORD = np.dtype(
    [
        ("wave", "<i4"),  # Timeline.waves
        ("event", "<i4"),  # Timeline.events
        ("lane", "<i4"),  # Timeline.lanes; NONE: a mark
        ("depth", "<u2"),  # on its lane
        ("flags", "<u2"),  # SliceFlag
        ("begin_ticks", "<i8"),
        ("ticks", "<i8"),
        ("begin_ns", "<i8"),
        ("ns", "<i8"),
        ("first_value", "<i8"),  # Part.values
        ("values", "<u4"),
        ("slice", "<i4"),  # Part.slices; NONE: a mark
    ]
)


@dataclass
class Written:
    """What an export holds."""

    slices: int = 0
    instants: int = 0
    arrows: int = 0

    def add(self, records: Columns) -> None:
        """Count some records."""
        marks = int(np.count_nonzero(records["slice"] == NONE))
        self.instants += marks
        self.slices += len(records) - marks


_PIECE = 65_536  # rows that are Python objects at a time


def records_of(part: Part) -> Columns:
    """Return RECORD of all slices and marks of a part, by wave, then by begin."""
    slices, instants = part.slices, part.instants
    records = np.zeros(len(slices) + len(instants), RECORD)
    ranges, marks = records[: len(slices)], records[len(slices) :]
    for name in ("wave", "event", "lane", "depth", "flags", "begin_ticks", "ticks", "begin_ns"):
        ranges[name] = slices[name]
    for name in ("ns", "first_value", "values"):
        ranges[name] = slices[name]
    ranges["slice"] = np.arange(len(slices))
    for name in ("wave", "event", "first_value", "values"):
        marks[name] = instants[name]
    marks["begin_ticks"], marks["begin_ns"] = instants["ticks"], instants["ns"]
    marks["lane"] = marks["slice"] = NONE
    return records.take(np.lexsort((records["begin_ticks"], records["wave"])))


def pieces(records: Columns) -> Iterator[Columns]:
    """Yield a part's records, some at a time: as Python objects they are large."""
    for first in range(0, len(records), _PIECE):
        yield records[first : first + _PIECE]


def head_keys(records: Columns, lanes: int) -> Columns:
    """Return a number for what a record is called: its event, its lane and its depth there.

    Args:
        records: RECORD.
        lanes: how many there are, and one more.
    """
    lane = np.where(records["lane"] == NONE, lanes - 1, records["lane"])
    named = records["event"].astype(np.int64) * lanes + lane
    return np.asarray((named << 16) + records["depth"], np.int64)


def split_key(key: int, lanes: int) -> tuple[int, int, int]:
    """Return the event, lane and depth of a number of `head_keys`."""
    event, lane = divmod(key >> 16, lanes)
    return event, NONE if lane == lanes - 1 else lane, key & 0xFFFF


def kind_name(event: Event) -> str:
    """Return how an event is marked in the source: `range`, `push`, `start`, `phase`, `mark`."""
    return Kind(event.kind).name.lower()


def flag_names(kind: type[IntFlag]) -> Callable[[int], str]:
    """Return what gives the names of the flags in a number, joined by commas."""

    @cache
    def names(flags: int) -> str:
        return ",".join((flag.name or "").lower() for flag in kind if flag & flags)

    return names


def role_of(timeline: Timeline, wave: Columns) -> str:
    """Return the role of a wave; "" if it named none."""
    return timeline.events[wave["group"]].name if wave["group"] != NONE else ""
