"""Some dispatches to slices and instants in ticks; memory is bounded by the size of a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ktrace_cli.model import INSTANT, SLICE, Columns, Flags, WaveFlag
from ktrace_cli.timeline.clock import ANCHOR
from ktrace_cli.timeline.headers import Headers, read_headers
from ktrace_cli.timeline.lanes import LaneTable, assign_lanes
from ktrace_cli.timeline.names import Names
from ktrace_cli.timeline.pairing import pair_events
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.timeline.words import Events, read_events
from ktrace_cli.trace_file.layout import Kind
from ktrace_cli.trace_file.mapping import Bytes, forget
from ktrace_cli.trace_file.recording import DispatchRecord

_BATCH_WORDS = 1_000_000


@dataclass(frozen=True)
class Batch:
    """The decoded waves of neighbouring dispatches. Rows of waves count within the batch."""

    first_wave: int
    """Row of Timeline.waves of the first one."""
    waves: Columns
    """model.WAVE, without nanoseconds."""
    slices: Columns
    """model.SLICE, without nanoseconds, in no order."""
    begin_key: Ints
    """Order of the slices of one wave by their begins, parents before children."""
    instants: Columns
    """model.INSTANT, without nanoseconds."""
    values: Columns
    """model.VALUE, in order of the words."""
    owners: Ints
    """Slice of each value; len(slices) and above are instants."""
    anchors: Columns
    """clock.ANCHOR"""
    losses: dict[str, int]


@dataclass(frozen=True)
class Decoder:
    """Decodes dispatches, about a million words at a time."""

    dispatches: Sequence[DispatchRecord]
    names: Names
    lanes: LaneTable
    data: Bytes
    """What the dispatches are views of: what was read of it is given back after each batch."""

    def batches(self, wanted: Flags | None = None) -> Iterator[Batch]:
        """Decode all dispatches, but batches without a wanted wave; events and lanes are added."""
        first_wave = 0
        for first, last in self._ranges():
            count = sum(len(d.headers) for d in self.dispatches[first:last])
            if wanted is None or wanted[first_wave : first_wave + count].any():
                own = self.dispatches[first:last]
                yield _decode(own, first, first_wave, self.names, self.lanes)
                forget(self.data)
            first_wave += count

    def _ranges(self) -> Iterator[tuple[int, int]]:
        first, size = 0, 0
        for row, dispatch in enumerate(self.dispatches):
            words = len(dispatch.words)
            if row > first and size + words > _BATCH_WORDS:
                yield first, row
                first, size = row, 0
            size += words
        if first < len(self.dispatches):
            yield first, len(self.dispatches)


def _decode(
    dispatches: Sequence[DispatchRecord],
    first: int,
    first_wave: int,
    names: Names,
    lanes: LaneTable,
) -> Batch:
    headers = read_headers(dispatches, first)
    read = read_events(dispatches, headers)
    events, waves = read.events, headers.waves
    paired = pair_events(events, waves)
    ranges = paired.ranges

    row_of_dispatch = np.array([names.row_by_kernel[d.kernel] for d in dispatches], np.int64)
    kernel = row_of_dispatch[waves["dispatch"] - first]
    _set_groups(events, waves, kernel, names)
    event = _names(events, ranges["event"], kernel, names)
    lane, depth = assign_lanes(ranges, event, names.events, lanes)
    slices = np.zeros(len(ranges), SLICE)
    slices["wave"], slices["flags"] = ranges["wave"], ranges["flags"]
    slices["event"], slices["lane"], slices["depth"] = event, lane, depth
    slices["begin_ticks"] = ranges["begin_ticks"]
    slices["ticks"] = ranges["end_ticks"] - ranges["begin_ticks"]

    marks = np.flatnonzero(events["kind"] == Kind.MARK)
    instants = np.zeros(len(marks), INSTANT)
    instants["wave"], instants["ticks"] = events["wave"][marks], events["ticks"][marks]
    instants["event"] = _names(events, marks, kernel, names)
    owners, is_owned, stray = _owners(read, ranges, marks)
    waves["slices"] = np.bincount(slices["wave"], minlength=len(waves))
    waves["instants"] = np.bincount(instants["wave"], minlength=len(waves))
    return Batch(
        first_wave=first_wave,
        waves=waves,
        slices=slices,
        begin_key=ranges["begin_key"],
        instants=instants,
        values=read.values[is_owned],
        owners=owners,
        anchors=_anchors(headers, read),
        losses={
            "torn_words": read.torn_words,
            "stray_values": read.stray_values + stray,
            "long_gaps": read.long_gaps,
            "clamped_words": read.clamped,
            "stray_ends": paired.stray_ends,
            "overwritten_begins": paired.overwritten_begins,
            "overwritten_words": read.overwritten,
        },
    )


def _names(events: Columns, rows: Ints, kernel: Ints, names: Names) -> Ints:
    of = events[rows]
    return names.find(kernel[of["wave"]], of["unit"], of["id"], of["kind"])


def _set_groups(events: Columns, waves: Columns, kernel: Ints, names: Names) -> None:
    """Give each wave the role that it named last."""
    rows = np.flatnonzero(events["kind"] == Kind.GROUP)
    waves["group"][events["wave"][rows]] = _names(events, rows, kernel, names)


def _owners(read: Events, ranges: Columns, marks: Ints) -> tuple[Ints, Any, int]:
    """Return the owners of values that have one, which these are, and how many have none."""
    target = np.full(len(read.events), -1, np.int64)
    has_end = np.flatnonzero(ranges["end_event"] >= 0)
    target[ranges["end_event"][has_end]] = has_end
    target[ranges["event"]] = np.arange(len(ranges))
    target[marks] = len(ranges) + np.arange(len(marks))
    owners = target[read.owners]
    kind = read.events["kind"][read.owners]
    is_used = (kind == Kind.ANCHOR) | (kind == Kind.GROUP)
    is_owned = owners >= 0
    return owners[is_owned], is_owned, int(np.count_nonzero(~is_owned & ~is_used))


def _anchors(headers: Headers, read: Events) -> Columns:
    """Return both clocks wherever a wave read both: in its header and at ANCHOR words."""
    raw = headers.raw
    goes_back = (raw["realtime_end"] < raw["realtime_begin"]) | (
        raw["memtime_end"] < raw["memtime_begin"]
    )
    headers.waves["flags"][headers.is_ended & goes_back] |= np.uint16(WaveFlag.CLAMPED)
    begins = np.flatnonzero(~headers.is_torn)
    # An end before the last word is wrong, and a wave that moved may have read another clock.
    is_doubtful = (headers.waves["flags"] & (WaveFlag.CLAMPED | WaveFlag.MOVED)) != 0
    ends = np.flatnonzero(headers.is_ended & ~is_doubtful)
    at = np.searchsorted(read.owners, read.anchors)
    has_value = at < np.searchsorted(read.owners, read.anchors, "right")
    words, values = read.anchors[has_value], read.values[at[has_value]]

    anchors = np.zeros(len(begins) + len(ends) + len(words), ANCHOR)
    anchors["wave"] = np.concatenate([begins, ends, read.events["wave"][words]])
    anchors["is_begin"][: len(begins)] = True
    for name, column in (("ticks", "memtime"), ("realtime", "realtime")):
        from_word = read.events["ticks"][words] if name == "ticks" else values["bits"]
        parts = [raw[f"{column}_begin"][begins], raw[f"{column}_end"][ends], from_word]
        anchors[name] = np.concatenate([part.astype(np.int64) for part in parts])
    return anchors
