"""The model as text: one line per record, for bug reports and for comparing by eye or `diff`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from ktrace_cli.export.output import Sink
from ktrace_cli.export.records import Written, flag_names, kind_name, pieces, records_of, role_of
from ktrace_cli.export.values import payloads, show
from ktrace_cli.model import NONE, Columns, Part, SliceFlag, Timeline, WaveFlag
from ktrace_cli.timeline.losses import count_filtered
from ktrace_cli.timeline.select import zero_ns

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
    zero = zero_ns(timeline) if len(timeline.dispatches) else 0
    for line in _head(timeline, zero):
        out.write(f"{line}\n".encode())
    rows = _Rows(timeline, zero)
    for part in timeline.parts():
        for lines in rows.lines(part):
            out.write("".join(lines).encode())
    if timeline.edges:
        for part in timeline.parts():
            out.write("".join(_flows(timeline, part)).encode())
    return rows.written


def _head(timeline: Timeline, zero: int) -> Iterator[str]:
    yield "# ktrace text 2"
    for device in timeline.devices:
        times = "modelled times (software device)" if device.is_software else "measured times"
        yield f"# device {device.device} {device.target}: {times}"
    yield f"# zero_{timeline.unit} {zero}"
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

    def __init__(self, timeline: Timeline, zero: int) -> None:
        self._timeline = timeline
        self._zero = zero
        self.written = Written()
        self._flags = flag_names(SliceFlag)
        self._wave_flags = flag_names(WaveFlag)
        names = [f"{kind_name(event)}\t{_clean(event.name)}" for event in timeline.events]
        lanes = [_clean(lane) for lane in timeline.lanes]
        self._head = cache(lambda event, lane: f"{names[event]}\t{lanes[lane]}")
        self._mark_head = cache(lambda event: f"{names[event]}\t")

    def lines(self, part: Part) -> Iterator[list[str]]:
        """Yield the lines of a part: those of a wave, then of the next one."""
        records = records_of(part)
        self.written.add(records)
        # A wave without a record has a line as well.
        places = self._waves(part.wave_rows)
        at = 0
        for piece in pieces(records):
            lines: list[str] = []
            of = np.searchsorted(part.wave_rows, piece["wave"])
            for row, line in zip(of.tolist(), self._records(part, piece), strict=True):
                while at <= row:
                    lines.append(places[at][1])
                    at += 1
                lines.append(places[row][0] + line)
            yield lines
        yield [line for _, line in places[at:]]

    def _records(self, part: Part, records: Columns) -> Iterator[str]:
        waves = records["wave"]
        tails: list[str] = ["\n"] * len(records)
        for row, values in payloads(records, part.values).items():
            tails[row] = ",".join(map(show, values)) + "\n"
        flags = self._flags
        for event, lane, depth, begin, ns, tick, ticks, flag, tail in zip(
            *(records[name].tolist() for name in ("event", "lane", "depth")),
            (records["begin_ns"] - self._zero).tolist(),
            records["ns"].tolist(),
            (records["begin_ticks"] - self._timeline.waves["begin_ticks"][waves]).tolist(),
            *(records[name].tolist() for name in ("ticks", "flags")),
            tails,
            strict=True,
        ):
            if lane == NONE:
                yield f"{self._mark_head(event)}\t\t{begin}\t0\t{tick}\t0\t\t{tail}"
            else:
                head = f"{self._head(event, lane)}\t{depth}"
                yield f"{head}\t{begin}\t{ns}\t{tick}\t{ticks}\t{flags(flag)}\t{tail}"

    def _waves(self, rows: Columns) -> list[tuple[str, str]]:
        """Return how the lines of each wave begin, and the line that is its own."""
        timeline = self._timeline
        found = []
        for wave in timeline.waves[rows]:
            dispatch = timeline.dispatches[wave["dispatch"]]
            kernel = _clean(timeline.kernels[dispatch["kernel"]].name)
            place = f"{dispatch['number']}\t{dispatch['device']}\t{kernel}"
            prefix = f"{place}\t{_block(wave)}\t{wave['wave']}\t"
            found.append((prefix, f"{prefix}{self._wave_line(wave)}\n"))
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
