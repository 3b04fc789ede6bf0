"""Words to rows, through the native reader. Knows no dispatch and no name."""

from __future__ import annotations

import ctypes
import threading
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np

from ktrace_cli.errors import KtraceError
from ktrace_cli.model import INSTANT, SLICE, VALUE, Columns
from ktrace_cli.timeline.native import (
    ANCHOR,
    CLOCK,
    EVENT,
    LANE,
    LOSSES,
    ROWS,
    SCANNED,
    Status,
    load_reader,
)


@dataclass(frozen=True)
class Clock:
    """Pieces of lines, as clock.ClockMap has them."""

    ticks: Columns
    ns: Columns
    slope: Columns


@dataclass(frozen=True)
class Rows:
    """What some waves recorded; rows name values from 0."""

    slices: Columns
    instants: Columns
    values: Columns


class Reader:
    """Decodes waves; knows the events and lanes that it has met. Any thread may call it."""

    def __init__(self, units: Columns, events: Columns, bases: int) -> None:
        """Give it the low half of each kernel's unit key, EVENT and how many bases these name."""
        units = np.ascontiguousarray(units, "<u4")
        arguments = (_address(units), len(units), _address(events), len(events), bases)
        self._library = load_reader()
        self._reader = self._library.ktrace_reader_open(*arguments)
        self._lock = threading.Lock()
        if not self._reader:
            raise MemoryError
        weakref.finalize(self, self._library.ktrace_reader_close, self._reader)
        self._losses = np.zeros(1, LOSSES)

    def scan(self, waves: Columns) -> tuple[Columns, Columns]:
        """Look at WAVE; return SCANNED and ANCHOR."""
        scanned = np.zeros(len(waves), SCANNED)
        pointers = (_address(waves), len(waves), _address(scanned), _address(self._losses))
        with self._lock:
            _check(self._library.ktrace_reader_scan(self._reader, *pointers))
            return scanned, self._list("anchors", ANCHOR)

    def losses(self) -> dict[str, int]:
        """Return the counts of all scans."""
        return {name: int(self._losses[name][0]) for name in LOSSES.names or ()}

    def events(self) -> Columns:
        """Return EVENT: those given, then those without a name."""
        with self._lock:
            return self._list("events", EVENT)

    def lanes(self) -> Columns:
        """Return LANE; row 0 is a wave's own."""
        with self._lock:
            return self._list("lanes", LANE)

    def arrange(self, event_rows: Columns, lane_rows: Columns) -> None:
        """Let `decode` give events and lanes these numbers."""
        rows = [np.ascontiguousarray(each, "<i4") for each in (event_rows, lane_rows)]
        pointers = [value for each in rows for value in (_address(each), len(each))]
        with self._lock:
            _check(self._library.ktrace_reader_arrange(self._reader, *pointers))

    def decode(self, waves: Columns, scanned: Columns, clock: Clock) -> Rows:
        """Make the rows of WAVE, which were scanned before."""
        counts = [int(scanned[name].sum(dtype=np.int64)) for name in ("slices", "instants")]
        values = [
            int(scanned[name].sum(dtype=np.int64)) for name in ("slice_values", "instant_values")
        ]
        made = Rows(
            np.empty(counts[0], SLICE), np.empty(counts[1], INSTANT), np.empty(sum(values), VALUE)
        )
        places = [_address(each) for each in (made.slices, made.instants, made.values)]
        rows = np.array([(*places, *counts, *values)], ROWS)
        pieces = [np.ascontiguousarray(clock.ticks), np.ascontiguousarray(clock.ns)]
        pieces.append(np.ascontiguousarray(clock.slope))
        line = np.array([(*(_address(each) for each in pieces), len(clock.ticks))], CLOCK)
        pointers = (_address(waves), len(waves), _address(line), _address(rows))
        with self._lock:
            _check(self._library.ktrace_reader_decode(self._reader, *pointers))
        return made

    def _list(self, name: str, dtype: np.dtype[Any]) -> Columns:
        count = ctypes.c_uint64()
        call = getattr(self._library, f"ktrace_reader_{name}")
        address = call(self._reader, ctypes.addressof(count))
        if not count.value:
            return np.zeros(0, dtype)
        return np.frombuffer(ctypes.string_at(address, count.value * dtype.itemsize), dtype)


def _address(rows: Columns) -> int:
    if not rows.flags.c_contiguous:
        raise ValueError("rows are not one behind the other")
    return int(rows.ctypes.data)


def _check(status: int) -> None:
    if status == Status.NO_MEMORY:
        raise MemoryError
    if status == Status.CHANGED:
        raise KtraceError(
            "the recording changed while it was read",
            why="its words are not those that were there at the first look",
            fix="read it again when nothing writes to it any more",
        )
