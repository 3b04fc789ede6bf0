"""A decoder whose words are made of another tracer's events, batch by batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ktrace_cli.foreign.events import EventReader
from ktrace_cli.foreign.words import encode
from ktrace_cli.model import Columns
from ktrace_cli.timeline.batch import Decoder
from ktrace_cli.timeline.clock import ClockMap
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.timeline.word_reader import Clock, Rows


@dataclass(frozen=True)
class ForeignDecoder(Decoder):
    """All waves of another tracer's buffer."""

    read: EventReader

    def scan(self, rows: Ints) -> tuple[Columns, Columns]:
        """Look at waves: native.SCANNED and native.ANCHOR."""
        headers, words = self._encoded(rows)
        found = self.reader.scan(headers)
        del words  # the headers hold its address
        return found

    def decode(self, rows: Ints, scanned: Columns, clock: ClockMap) -> Rows:
        """Make the rows of waves, of which `scanned` tells how many there are."""
        headers, words = self._encoded(rows)
        of = clock.clock_of_wave[rows]
        headers["first_piece"] = clock.first_piece[of]
        headers["pieces"] = np.where(of >= 0, clock.first_piece[of + 1] - clock.first_piece[of], 0)
        pieces = Clock(clock.ticks, clock.ns, clock.slope)
        made = self.reader.decode(headers, scanned[rows], pieces)
        del words
        return made

    def _encoded(self, rows: Ints) -> tuple[Columns, Columns]:
        """Return native.WAVE of these waves, and the words that it names by address."""
        words, first = encode(self.read(self.headers.waves["slot"][rows].astype(np.int64)))
        headers = self.headers.words[rows]
        headers["words"] = words.ctypes.data + first * words.itemsize
        return headers, words
