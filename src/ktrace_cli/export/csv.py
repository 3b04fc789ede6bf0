"""The model as CSV: a line for each slice and mark, with everything that is known of its wave."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from ktrace_cli.export.output import Sink
from ktrace_cli.export.records import Written, flag_names, kind_name, pieces, records_of, role_of
from ktrace_cli.export.values import payloads, show
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
            out.write("".join(rows.lines(part, records)).encode())
            written.add(records)
    return written


class _Rows:
    """Formats lines. What is the same in many of them is formatted once."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._flags = flag_names(SliceFlag)
        self._kernels = [_quoted(kernel.name) for kernel in timeline.kernels]
        lanes = [_quoted(lane) for lane in timeline.lanes]
        heads = [f"{kind_name(event)},{_quoted(event.name)}" for event in timeline.events]

        @cache
        def head(event: int, lane: int) -> str:
            return f"{heads[event]},{lanes[lane] if lane != NONE else ''}"

        self._head = head

    def lines(self, part: Part, records: Columns) -> list[str]:
        """Return the lines of some records of a part."""
        waves = records["wave"]
        first, last = int(waves[0]), int(waves[-1])
        of_wave = [self._of_wave(wave) for wave in self._timeline.waves[first : last + 1]]
        begins = self._timeline.waves["begin_ticks"][waves]
        # Almost all have no payload: an empty last column.
        tails: list[str] = ["\n"] * len(records)
        for row, values in payloads(records, part.values).items():
            tails[row] = ";".join(map(show, values)) + "\n"
        head, flags = self._head, self._flags
        return [
            f"{of_wave[wave - first]}{head(event, lane)},{depth if lane != NONE else ''},"
            f"{begin},{ns},{tick},{ticks},{_quoted(flags(flag)) if flag else ''},{tail}"
            for wave, event, lane, depth, begin, ns, tick, ticks, flag, tail in zip(
                *(records[name].tolist() for name in _COLUMNS[:6]),
                (records["begin_ticks"] - begins).tolist(),
                *(records[name].tolist() for name in _COLUMNS[6:]),
                tails,
                strict=True,
            )
        ]

    def _of_wave(self, wave: Columns) -> str:
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
        return "".join(f"{column}," for column in columns)


_COLUMNS = ("wave", "event", "lane", "depth", "begin_ns", "ns", "ticks", "flags")


def _quoted(text: str) -> str:
    """Return a text as a field."""
    if any(mark in text for mark in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text
