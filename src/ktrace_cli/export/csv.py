"""The model as CSV: a line for each slice and mark, with everything that is known of its wave."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ktrace_cli.export.lines import Cached, join_lines, number_pieces
from ktrace_cli.export.output import Sink
from ktrace_cli.export.records import (
    Written,
    flag_names,
    head_keys,
    kind_name,
    pieces,
    records_of,
    role_of,
    split_key,
)
from ktrace_cli.export.values import payload_texts
from ktrace_cli.model import NONE, Columns, Part, SliceFlag, Timeline

WAVE_COLUMNS = (
    "dispatch",
    "device",
    "stream",
    "kernel",
    "block_x",
    "block_y",
    "block_z",
    "wave",
    "role",
    "xcc",
    "se",
    "cu",
    "simd",
    "slot",
    "wave_begin_ns",
    "wave_dur_ns",
)
RECORD_COLUMNS = (
    "kind",
    "name",
    "lane",
    "depth",
    "begin_ns",
    "dur_ns",
    "begin_ticks",
    "ticks",
    "flags",
    "values",
)


def column_names(timeline: Timeline) -> tuple[str, ...]:
    """Return the names of columns: in cycles, `begin_cycles` takes the place of `begin_ns`."""
    suffix = f"_{timeline.unit}"
    names = (*WAVE_COLUMNS, *RECORD_COLUMNS)
    return tuple(name[:-3] + suffix if name.endswith("_ns") else name for name in names)


def write_csv(timeline: Timeline, out: Sink) -> Written:
    """Write `timeline` to `out`, one line for each slice and mark, quoted as RFC 4180 says.

    Times are those of the host's clock, `begin_ticks` counts from the begin of the wave.
    """
    out.write((",".join(column_names(timeline)) + "\n").encode())
    rows = _Rows(timeline)
    written = Written()
    for part in timeline.parts():
        for records in pieces(records_of(part)):
            out.write(rows.lines(part, records))
            written.add(records)
    return written


class _Rows:
    """Formats lines. What is the same in many of them is formatted once."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._flags = flag_names(SliceFlag)
        self._kernels = [_quoted(kernel.name) for kernel in timeline.kernels]
        lanes = [*(_quoted(lane) for lane in timeline.lanes), ""]
        events = [f"{kind_name(event)},{_quoted(event.name)}" for event in timeline.events]

        def head(key: int) -> bytes:
            event, lane, depth = split_key(key, len(lanes))
            return f"{events[event]},{lanes[lane]},{'' if lane == NONE else depth},".encode()

        self._heads = Cached(head)

    def lines(self, part: Part, records: Columns) -> bytes:
        """Return the lines of some records of a part."""
        waves = records["wave"]
        first = int(waves[0])
        of_waves = [self._of_wave(w) for w in self._timeline.waves[first : int(waves[-1]) + 1]]
        begins = self._timeline.waves["begin_ticks"][waves]
        numbers = number_pieces(
            records["begin_ns"], records["ns"], records["begin_ticks"] - begins, records["ticks"]
        )
        return join_lines(
            len(records),
            [of_waves[row] for row in (waves - first).tolist()],
            self._heads.pieces(head_keys(records, len(self._timeline.lanes) + 1)),
            numbers,
            self._tails(part, records),
        )

    def _tails(self, part: Part, records: Columns) -> list[bytes]:
        """Return flags and payload of each line. Almost all have neither."""
        tails = [b",,\n"] * len(records)
        texts = payload_texts(records, part.values, b";")
        for row, text in texts.items():
            tails[row] = b",,%s\n" % text
        for row in np.flatnonzero(records["flags"]).tolist():
            flags = _quoted(self._flags(int(records["flags"][row]))).encode()
            tails[row] = b",%s,%s\n" % (flags, texts.get(row, b""))
        return tails

    def _of_wave(self, wave: Columns) -> bytes:
        dispatch = self._timeline.dispatches[wave["dispatch"]]
        columns: Sequence[object] = (
            dispatch["number"],
            dispatch["device"],
            dispatch["stream"],
            self._kernels[dispatch["kernel"]],
            *wave["block"],
            wave["wave"],
            _quoted(role_of(self._timeline, wave)),
            *(wave[name] for name in ("xcc", "se", "cu", "simd", "hardware_slot", "begin_ns")),
            wave["end_ns"] - wave["begin_ns"],
        )
        return "".join(f"{column}," for column in columns).encode()


def _quoted(text: str) -> str:
    """Return a text as a field."""
    if any(mark in text for mark in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text
