"""The regions of FlyDSL's buffer: which of them are waves, and how much each has."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ktrace_cli.foreign.events import CLOCK_LIMIT
from ktrace_cli.foreign.flydsl.layout import (
    KIND_MASK,
    KIND_SHIFT,
    RECORD,
    REGION_SLOTS,
    SLOT,
    UNUSED_BIT,
    WAVE_HEADER,
    Layout,
)
from ktrace_cli.model import Columns, Flags
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.trace_file.mapping import Bytes, forget

_READ_REGIONS = 1024
_KINDS = 5
_LARGEST_Z = 0xFFFF


@dataclass(frozen=True)
class Regions:
    """All regions, as they are."""

    data: Bytes | memoryview
    layout: Layout

    @property
    def records(self) -> Columns:
        """RECORD of all slots behind the counters."""
        offset = self.layout.header_slots * SLOT
        return np.frombuffer(self.data, RECORD, self.layout.slots, offset)

    @property
    def headers(self) -> Columns:
        """WAVE_HEADER of each region."""
        return np.ascontiguousarray(self.records[::REGION_SLOTS]).view(WAVE_HEADER)

    def times(self, first: int, last: int) -> Columns:
        """Return the `ts` of all events of regions, shape (regions, 255): 0 beyond the end."""
        begin, end = first * REGION_SLOTS, min(last * REGION_SLOTS, self.layout.slots)
        times = np.zeros((last - first) * REGION_SLOTS, np.uint64)
        times[: end - begin] = self.records["ts"][begin:end]
        return times.reshape(-1, REGION_SLOTS)[:, 1:]


@dataclass(frozen=True)
class Survey:
    """How much there is in each region."""

    first: Ints
    """Slot in its region of the first event that is there; 0: none is."""
    last: Ints
    """Of the last one."""
    written: Ints
    """How many events are there."""
    beyond: Ints
    """How many of these are behind those that the wave has counted."""
    is_wave: Flags
    """Whether there is anything at all."""


def survey(regions: Regions) -> Survey:
    """Look at every region."""
    count = regions.layout.regions
    columns = np.zeros((4, count), np.int64)
    headers = regions.headers
    attempted = headers["attempted"].astype(np.int64)
    slot = np.arange(1, REGION_SLOTS)
    for first in range(0, count, _READ_REGIONS):
        last = min(first + _READ_REGIONS, count)
        is_there = regions.times(first, last) != 0
        written = is_there.sum(axis=1)
        some = written > 0
        limit = attempted[first:last, None]
        columns[:, first:last] = (
            np.where(some, np.argmax(is_there, axis=1) + 1, 0),
            np.where(some, REGION_SLOTS - 1 - np.argmax(is_there[:, ::-1], axis=1), 0),
            written,
            (is_there & (slot > limit) & (limit > 0)).sum(axis=1),
        )
        if not isinstance(regions.data, memoryview):
            forget(regions.data)
    has_header = headers.view(f"V{SLOT}") != np.void(bytes(SLOT))
    begins, ends, written, beyond = columns
    return Survey(begins, ends, written, beyond, np.asarray(has_header | (written > 0), np.bool_))


def look_like_waves(regions: Regions, numbers: Ints) -> Flags:
    """Tell which regions could be those of waves: nothing in them is impossible."""
    headers = regions.headers[numbers]
    is_wave = headers.view(f"V{SLOT}") != np.void(bytes(SLOT))
    is_wave &= headers["wave"] >> np.uint32(8) <= _LARGEST_Z
    records = regions.records
    begin = numbers * REGION_SLOTS
    before = np.zeros(len(numbers), np.uint64)
    for at in (1, 2):
        slot = begin + at
        has_slot = slot < len(records)
        events = records[np.where(has_slot, slot, 0)]
        is_there = has_slot & (events["ts"] != 0)
        packed = events["packed"]
        kind = packed >> np.uint32(KIND_SHIFT) & np.uint32(KIND_MASK)
        is_event = (packed & np.uint32(UNUSED_BIT) == 0) & (kind < _KINDS)
        is_event &= (events["ts"] < CLOCK_LIMIT) & (events["ts"] >= before)
        is_wave &= is_event | ~is_there
        if at == 1:
            # A wave that has counted an event has written its first one.
            is_wave &= is_there | (headers["attempted"] == 0)
        before = np.where(is_there, events["ts"], before)
    return np.asarray(is_wave, np.bool_)
