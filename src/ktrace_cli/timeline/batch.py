"""The words of a recording, some workgroups at a time: memory is bounded by the size of a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ktrace_cli.model import Columns, Flags
from ktrace_cli.timeline import native
from ktrace_cli.timeline.clock import ClockMap
from ktrace_cli.timeline.headers import Headers, read_headers
from ktrace_cli.timeline.names import Names
from ktrace_cli.timeline.native import EventFlag
from ktrace_cli.timeline.segments import Ints, run_numbers, run_starts, run_stops
from ktrace_cli.timeline.word_reader import Clock, Reader, Rows
from ktrace_cli.trace_file.mapping import Bytes, forget
from ktrace_cli.trace_file.recording import DispatchRecord

_BATCH_WORDS = 250_000
# Waves that have recorded nothing are no batch of any size either.
_WAVE_WORDS = 16


@dataclass(frozen=True)
class Decoder:
    """All waves of a recording, and the reader that knows its events and lanes."""

    headers: Headers
    reader: Reader
    base_names: list[str]
    """What the lanes of each base are called."""
    workgroup: Ints
    """The number of each wave's workgroup, ascending."""
    data: Bytes
    """What the words are in: what was read of it is given back after each batch."""

    def batches(self, wanted: Flags | None = None) -> Iterator[Ints]:
        """Yield the rows of waves of whole workgroups, of those that have a wanted wave."""
        rows = np.arange(len(self.workgroup))
        if wanted is not None:
            is_wanted = np.zeros(int(self.workgroup[-1]) + 1 if len(rows) else 0, np.bool_)
            is_wanted[self.workgroup[wanted]] = True
            rows = rows[is_wanted[self.workgroup]]
        for first, last in self._cuts(rows):
            yield rows[first:last]
            forget(self.data)

    def _cuts(self, rows: Ints) -> Iterator[tuple[int, int]]:
        words = self.headers.words[rows]
        size = words["main_words"].astype(np.int64) + words["side_words"] + _WAVE_WORDS
        stops = run_stops(run_starts(self.workgroup[rows]), len(rows))
        behind = np.cumsum(size)[stops - 1]
        group = first = size_before = 0
        while group < len(stops):
            fitting = int(np.searchsorted(behind, size_before + _BATCH_WORDS, "right"))
            group = max(fitting, group + 1)
            yield first, int(stops[group - 1])
            first, size_before = int(stops[group - 1]), int(behind[group - 1])

    def scan(self, rows: Ints) -> tuple[Columns, Columns]:
        """Look at waves: native.SCANNED and native.ANCHOR."""
        return self.reader.scan(self.headers.words[rows])

    def decode(self, rows: Ints, scanned: Columns, clock: ClockMap) -> Rows:
        """Make the rows of waves, of which `scanned` tells how many there are."""
        words = self.headers.words[rows]
        of = clock.clock_of_wave[rows]
        words["first_piece"] = clock.first_piece[of]
        words["pieces"] = np.where(of >= 0, clock.first_piece[of + 1] - clock.first_piece[of], 0)
        pieces = Clock(clock.ticks, clock.ns, clock.slope)
        return self.reader.decode(words, scanned[rows], pieces)


def make_decoder(dispatches: Sequence[DispatchRecord], names: Names, data: Bytes) -> Decoder:
    """Read the headers of `dispatches`, and prepare to read their words."""
    headers = read_headers(dispatches, [names.row_by_kernel[d.kernel] for d in dispatches])
    base_by_name = {name: base for base, name in enumerate(_base_names(names))}
    events = np.zeros(len(names.events), native.EVENT)
    for row, key, event in zip(events, names.row_by_key, names.events, strict=True):
        row["kernel"], row["unit"], row["id"] = key
        row["kind"], row["base"] = event.kind, base_by_name[event.lane or event.name]
        row["flags"] = EventFlag.LANE if event.lane else 0
    units = np.array([record.unit_key & native.LOW_HALF for record in names.records], np.uint32)
    reader = Reader(units, events, len(base_by_name))
    return Decoder(headers, reader, list(base_by_name), workgroups_of(headers.waves), data)


def _base_names(names: Names) -> list[str]:
    return list(dict.fromkeys(event.lane or event.name for event in names.events))


def workgroups_of(waves: Columns) -> Ints:
    """Return the number of each wave's workgroup, ascending."""
    if not len(waves):
        return np.zeros(0, np.int64)
    is_new = waves["dispatch"][1:] != waves["dispatch"][:-1]
    is_new |= np.any(waves["block"][1:] != waves["block"][:-1], axis=1)
    starts = np.flatnonzero(np.concatenate(([True], is_new)))
    return run_numbers(starts, len(waves))
