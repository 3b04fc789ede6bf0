"""The model as text: one line per record, for bug reports and for comparing by eye or `diff`."""

from __future__ import annotations

from collections.abc import Iterator

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
from ktrace_cli.model import NONE, Columns, Part, SliceFlag, Timeline, WaveFlag
from ktrace_cli.timeline.losses import count_filtered

COLUMNS = (
    "dispatch",
    "device",
    "kernel",
    "block",
    "wave",
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


def write_text(timeline: Timeline, out: Sink) -> Written:
    """Write tab-separated lines: column names, then records wave by wave; comments begin with `#`.

    `begin_ns` counts from the `# zero_ns` line, `begin_ticks` from the begin of the wave. In
    cycles, these are `begin_cycles` and `# zero_cycles`.
    """
    for line in _head(timeline):
        out.write(f"{line}\n".encode())
    rows = _Rows(timeline)
    for part in timeline.parts():
        for lines in rows.lines(part):
            out.write(lines)
    if timeline.edges:
        for part in timeline.parts():
            out.write("".join(_flows(timeline, part)).encode())
    return rows.written


def _head(timeline: Timeline) -> Iterator[str]:
    yield "# ktrace text 2"
    for device in timeline.devices:
        times = "modelled times (software device)" if device.is_software else "measured times"
        yield f"# device {device.device} {device.target}: {times}"
    yield f"# zero_{timeline.unit} {timeline.zero_ns}"
    if filtered := count_filtered(timeline.dispatches):
        yield f"# filtered {filtered} of {len(timeline.dispatches)} dispatches"
    for name, count in timeline.losses.counted().items():
        yield f"# loss {name} {count}"
    yield "\t".join(COLUMNS).replace("_ns", f"_{timeline.unit}")


def _flows(timeline: Timeline, part: Part) -> Iterator[str]:
    for flow in part.flows:
        edge = timeline.edges[flow["edge"]]
        source, destination = (
            _slice_place(timeline, part.slices[flow[end]]) for end in ("source", "destination")
        )
        names = f"{_clean(edge.source)} -> {_clean(edge.destination)}"
        yield f"# flow {names}: {source} -> {destination}\n"


def _slice_place(timeline: Timeline, of: Columns) -> str:
    wave = timeline.waves[of["wave"]]
    number = timeline.dispatches["number"][wave["dispatch"]]
    ticks = of["begin_ticks"] - wave["begin_ticks"]
    return f"dispatch {number} block {_block(wave)} wave {wave['wave']} tick {ticks}"


class _Rows:
    """Formats lines. What is the same in many of them is formatted once."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._zero = timeline.zero_ns
        self.written = Written()
        self._flags = flag_names(SliceFlag)
        self._wave_flags = flag_names(WaveFlag)
        lanes = [*(_clean(lane) for lane in timeline.lanes), ""]
        events = [f"{kind_name(event)}\t{_clean(event.name)}" for event in timeline.events]

        def head(key: int) -> bytes:
            event, lane, depth = split_key(key, len(lanes))
            shown = "" if lane == NONE else depth
            return f"{events[event]}\t{lanes[lane]}\t{shown}\t".encode()

        self._heads = Cached(head)

    def lines(self, part: Part) -> Iterator[bytes]:
        """Yield the lines of a part: those of a wave, then of the next one."""
        records = records_of(part)
        self.written.add(records)
        places = self._waves(part.wave_rows)
        at = 0  # the first wave whose own line is yet to come; it may have no other
        for piece in pieces(records):
            of = np.searchsorted(part.wave_rows, piece["wave"])
            prefixes = [places[row][0] for row in of.tolist()]
            for first in np.flatnonzero(np.diff(of, prepend=-1)).tolist():
                last = int(of[first]) + 1
                own = b"".join(line for _, line in places[at:last])
                prefixes[first] = own + prefixes[first]
                at = max(at, last)
            yield join_lines(len(piece), prefixes, *self._records(part, piece))
        yield b"".join(line for _, line in places[at:])

    def _records(self, part: Part, records: Columns) -> Iterator[list[bytes]]:
        yield self._heads.pieces(head_keys(records, len(self._timeline.lanes) + 1))
        begins = self._timeline.waves["begin_ticks"][records["wave"]]
        numbers = (records["begin_ns"] - self._zero, records["ns"], records["begin_ticks"] - begins)
        yield [text.replace(b",", b"\t") for text in number_pieces(*numbers, records["ticks"])]
        tails = [b"\t\t\n"] * len(records)
        texts = payload_texts(records, part.values, b",")
        for row, text in texts.items():
            tails[row] = b"\t\t%s\n" % text
        for row in np.flatnonzero(records["flags"]).tolist():
            flags = self._flags(int(records["flags"][row])).encode()
            tails[row] = b"\t%s\t%s\n" % (flags, texts.get(row, b""))
        yield tails

    def _waves(self, rows: Columns) -> list[tuple[bytes, bytes]]:
        """Return how the lines of each wave begin, and the line that is its own."""
        timeline = self._timeline
        found = []
        for wave in timeline.waves[rows]:
            dispatch = timeline.dispatches[wave["dispatch"]]
            kernel = _clean(timeline.kernels[dispatch["kernel"]].name)
            place = f"{dispatch['number']}\t{dispatch['device']}\t{kernel}"
            prefix = f"{place}\t{_block(wave)}\t{wave['wave']}\t"
            line = f"{prefix}{self._wave_line(wave)}\n"
            found.append((prefix.encode(), line.encode()))
        return found

    def _wave_line(self, wave: Columns) -> str:
        role = _clean(role_of(self._timeline, wave))
        ticks = wave["end_ticks"] - wave["begin_ticks"]
        begin, duration = wave["begin_ns"] - self._zero, wave["end_ns"] - wave["begin_ns"]
        place = f"xcc={wave['xcc']} se={wave['se']} cu={wave['cu']} simd={wave['simd']}"
        counts = f"words={wave['words']} side={wave['side_words']} dropped={wave['dropped']}"
        flags = self._wave_flags(int(wave["flags"]))
        columns = f"{begin}\t{duration}\t0\t{ticks}\t{flags}"
        return f"wave\t{role}\t\t\t{columns}\t{place} slot={wave['hardware_slot']} {counts}"


def _block(wave: Columns) -> str:
    return ",".join(str(axis) for axis in wave["block"])


def _clean(name: str) -> str:
    """Keep a name from ending its column or line."""
    return name.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
