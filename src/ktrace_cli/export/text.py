"""The model as text: one line per record, for bug reports and for comparing by eye or `diff`."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntFlag

import numpy as np

from ktrace_cli.export.output import Sink
from ktrace_cli.export.values import Value, to_python
from ktrace_cli.model import NONE, Columns, SliceFlag, Timeline, WaveFlag
from ktrace_cli.timeline.losses import count_filtered
from ktrace_cli.timeline.select import zero_ns
from ktrace_cli.trace_file.layout import Kind

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


def write_text(timeline: Timeline, out: Sink) -> None:
    """Write tab-separated lines: column names, then records wave by wave; comments begin with `#`.

    `begin_ns` counts from the `# zero_ns` line, `begin_ticks` from the begin of the wave.
    """
    zero = zero_ns(timeline) if len(timeline.dispatches) else 0
    for line in _head(timeline, zero):
        out.write(f"{line}\n".encode())
    for lines in _records(timeline, zero):
        out.write("".join(f"{line}\n" for line in lines).encode())
    for line in _flows(timeline):
        out.write(f"{line}\n".encode())


def _head(timeline: Timeline, zero: int) -> Iterator[str]:
    yield "# ktrace text 2"
    for device in timeline.devices:
        times = "modelled times (software device)" if device.is_software else "measured times"
        yield f"# device {device.device} {device.target}: {times}"
    yield f"# zero_ns {zero}"
    if filtered := count_filtered(timeline.dispatches):
        yield f"# filtered {filtered} of {len(timeline.dispatches)} dispatches"
    for name, count in timeline.losses.counted().items():
        yield f"# loss {name} {count}"
    yield "\t".join(COLUMNS)


def _flows(timeline: Timeline) -> Iterator[str]:
    for flow in timeline.flows:
        edge = timeline.edges[flow["edge"]]
        source, destination = (
            _slice_place(timeline, int(flow[end])) for end in ("source", "destination")
        )
        names = f"{_clean(edge.source)} -> {_clean(edge.destination)}"
        yield f"# flow {names}: {source} -> {destination}"


def _slice_place(timeline: Timeline, row: int) -> str:
    of = timeline.slices[row]
    wave = timeline.waves[of["wave"]]
    number = timeline.dispatches["number"][wave["dispatch"]]
    ticks = of["begin_ticks"] - wave["begin_ticks"]
    return f"dispatch {number} block {_block(wave)} wave {wave['wave']} tick {ticks}"


def _records(timeline: Timeline, zero: int) -> Iterator[list[str]]:
    slices, instants = timeline.slices, timeline.instants
    numbers = np.arange(len(timeline.waves) + 1)
    first_slice = np.searchsorted(slices["wave"], numbers)
    first_instant = np.searchsorted(instants["wave"], numbers)
    for number, wave in enumerate(timeline.waves):
        dispatch = timeline.dispatches[wave["dispatch"]]
        kernel = timeline.kernels[dispatch["kernel"]].name
        place = f"{dispatch['number']}\t{dispatch['device']}\t{_clean(kernel)}"
        prefix = f"{place}\t{_block(wave)}\t{wave['wave']}"
        rows = [
            (int(s["begin_ticks"]), _slice_line(timeline, s, wave, zero))
            for s in slices[first_slice[number] : first_slice[number + 1]]
        ]
        rows += [
            (int(i["ticks"]), _instant_line(timeline, i, wave, zero))
            for i in instants[first_instant[number] : first_instant[number + 1]]
        ]
        rows.sort(key=lambda row: row[0])
        lines = [_wave_line(timeline, wave, zero), *(line for _, line in rows)]
        yield [f"{prefix}\t{line}" for line in lines]


def _wave_line(timeline: Timeline, wave: Columns, zero: int) -> str:
    group = timeline.events[wave["group"]].name if wave["group"] != NONE else ""
    ticks = wave["end_ticks"] - wave["begin_ticks"]
    begin, duration = wave["begin_ns"] - zero, wave["end_ns"] - wave["begin_ns"]
    place = f"xcc={wave['xcc']} se={wave['se']} cu={wave['cu']} simd={wave['simd']}"
    counts = f"words={wave['words']} side={wave['side_words']} dropped={wave['dropped']}"
    flags = _flags(WaveFlag(int(wave["flags"])))
    columns = f"{begin}\t{duration}\t0\t{ticks}\t{flags}"
    return f"wave\t{_clean(group)}\t\t\t{columns}\t{place} slot={wave['hardware_slot']} {counts}"


def _slice_line(timeline: Timeline, row: Columns, wave: Columns, zero: int) -> str:
    event = timeline.events[row["event"]]
    columns = (
        Kind(event.kind).name.lower(),
        _clean(event.name),
        _clean(timeline.lanes[row["lane"]]),
        row["depth"],
        row["begin_ns"] - zero,
        row["ns"],
        row["begin_ticks"] - wave["begin_ticks"],
        row["ticks"],
        _flags(SliceFlag(int(row["flags"]))),
        _values(timeline, row),
    )
    return "\t".join(str(column) for column in columns)


def _instant_line(timeline: Timeline, row: Columns, wave: Columns, zero: int) -> str:
    event = timeline.events[row["event"]]
    columns = (
        Kind.MARK.name.lower(),
        _clean(event.name),
        "",
        "",
        row["ns"] - zero,
        0,
        row["ticks"] - wave["begin_ticks"],
        0,
        "",
        _values(timeline, row),
    )
    return "\t".join(str(column) for column in columns)


def _values(timeline: Timeline, row: Columns) -> str:
    first, count = int(row["first_value"]), int(row["values"])
    return ",".join(_show(value) for value in to_python(timeline.values[first : first + count]))


def _show(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _flags(flags: IntFlag) -> str:
    return ",".join((flag.name or "").lower() for flag in type(flags) if flag in flags)


def _block(wave: Columns) -> str:
    return ",".join(str(axis) for axis in wave["block"])


def _clean(name: str) -> str:
    """Keep a name from ending its column or line."""
    return name.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
