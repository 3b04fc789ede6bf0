"""The model in Chrome's JSON trace format, for viewers and scripts that read no protobuf.

Times are microseconds with three decimals, counted from the first wave: whole nanoseconds that a
double holds exactly. Numbers that JSON or a double does not have are strings.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache

import numpy as np
import orjson

from ktrace_cli.export.chrome_threads import Thread, Threads, plan_threads
from ktrace_cli.export.details import (
    DISPATCH_FLAGS,
    DISPATCH_NUMBERS,
    SLICE_FLAGS,
    WAVE_COUNTS,
    WAVE_FLAGS,
    WAVE_NUMBERS,
)
from ktrace_cli.export.output import Sink
from ktrace_cli.export.records import Written, kind_name, pieces, records_of, role_of
from ktrace_cli.export.tracks import GroupBy
from ktrace_cli.export.values import Value, payloads
from ktrace_cli.model import NONE, Columns, Part, SliceFlag, Timeline
from ktrace_cli.timeline.select import zero_ns

_MOST_EXACT = (1 << 53) - 1

Arguments = dict[str, object]


def write_chrome(timeline: Timeline, out: Sink, group_by: GroupBy | None = None) -> Written:
    """Write `timeline` to `out` as one JSON object, an event a line.

    Args:
        timeline: what is shown.
        out: gets the JSON.
        group_by: what threads are; None: wave slots if there are very many waves.
    """
    writer = _Writer(timeline, plan_threads(timeline, group_by))
    out.write(writer.head())
    for part in timeline.parts():
        for lines in writer.lines(part):
            out.write("".join(lines).encode())
    out.write("".join(writer.lane_names()).encode())
    out.write(b"\n]}\n")
    return writer.written


class _Writer:
    """Formats events. What is the same in many of them is formatted once."""

    def __init__(self, timeline: Timeline, threads: Threads) -> None:
        self._timeline = timeline
        self._zero = zero_ns(timeline) if len(timeline.dispatches) else 0
        self._threads = threads
        self._lanes_in_use: set[tuple[int, int]] = set()
        self.written = Written()
        names = [_json(event.name) for event in timeline.events]
        running = [_json(f"{event.name} (unfinished)") for event in timeline.events]
        kinds = [_json(kind_name(event)) for event in timeline.events]

        @cache
        def name(event: int, flags: int) -> str:
            shown = running if flags & SliceFlag.RUNNING else names
            return f'"cat":{kinds[event]},"name":{shown[event]}'

        @cache
        def place(row: int, lane: int) -> str:
            return _place(threads.lane(row, lane))

        self._name, self._place = name, place

    def head(self) -> bytes:
        """Return all up to the events of waves: what the trace is, threads, dispatches."""
        about = _json(_about(self._timeline, self._zero))
        events = [_json(event) for event in _metadata(self._threads)]
        events += self._dispatches()
        head = f'{{"displayTimeUnit":"ns","otherData":{about},"traceEvents":[\n'
        return (head + ",\n".join(events)).encode()

    def lane_names(self) -> Iterator[str]:
        """Yield the names of the lanes that were in use."""
        for row, lane in sorted(self._lanes_in_use):
            for event in _thread_metadata(self._threads.lane(row, lane)):
                yield ",\n" + _json(event)

    def _dispatches(self) -> Iterator[str]:
        for row, dispatch in enumerate(self._timeline.dispatches):
            thread = self._threads.own[self._threads.of_dispatch[row]]
            name = _json(f"dispatch {dispatch['number']}")
            head = f'{{"ph":"X","cat":"dispatch","name":{name},{_place(thread)}'
            yield f'{head}{self._span(dispatch)},"args":{_json(_of_dispatch(dispatch))}}}'

    def lines(self, part: Part) -> Iterator[list[str]]:
        """Yield the events of a part, a wave before its slices, parents before children."""
        arrows = self._arrows(part)
        yield self._waves(part.wave_rows)
        for records in pieces(records_of(part)):
            yield self._records(part, records, arrows)

    def _waves(self, rows: Columns) -> list[str]:
        timeline, lines = self._timeline, []
        for row, wave in zip(rows.tolist(), timeline.waves[rows], strict=True):
            thread = int(self._threads.of_wave[row])
            if thread == NONE:
                continue
            dispatch = timeline.dispatches[wave["dispatch"]]
            arguments = _json(_of_wave(timeline, wave, int(dispatch["number"])))
            name = _json(role_of(timeline, wave) or "wave")
            head = f',\n{{"ph":"X","cat":"wave","name":{name},{self._place(thread, 0)}'
            lines.append(f'{head}{self._span(wave)},"args":{arguments}}}')
        return lines

    def _records(self, part: Part, records: Columns, arrows: Mapping[int, str]) -> list[str]:
        thread = self._threads.of_wave[records["wave"]]
        lane = np.maximum(records["lane"], 0)
        self._note_lanes(thread, lane)
        self.written.add(records)
        begin = records["begin_ns"] - self._zero
        tails = self._tails(part, records)
        has_arrow = np.isin(records["slice"], list(arrows)) if arrows else np.zeros(0, np.bool_)
        for at in np.flatnonzero(has_arrow).tolist():
            tails[at] += arrows[int(records["slice"][at])]
        name, place, decimals = self._name, self._place, _DECIMALS
        return [
            f',\n{{"ph":"i","s":"t",{name(event, 0)},{place(row, 0)},"ts":{us}.{decimals[ns]}{tail}'
            if in_lane == NONE
            else f',\n{{"ph":"X",{name(event, flags)},{place(row, in_lane)},'
            f'"ts":{us}.{decimals[ns]},"dur":{long_us}.{decimals[long_ns]}{tail}'
            for event, flags, row, in_lane, us, ns, long_us, long_ns, tail in zip(
                *(records[column].tolist() for column in ("event", "flags")),
                thread.tolist(),
                records["lane"].tolist(),
                *(column.tolist() for column in np.divmod(begin, 1000)),
                *(column.tolist() for column in np.divmod(records["ns"], 1000)),
                tails,
                strict=True,
            )
        ]

    def _note_lanes(self, thread: Columns, lane: Columns) -> None:
        lanes = len(self._timeline.lanes)
        used = np.unique(thread[lane > 0] * lanes + lane[lane > 0])
        self._lanes_in_use.update(divmod(key, lanes) for key in used.tolist())

    def _tails(self, part: Part, records: Columns) -> list[str]:
        """Return the end of each event: with its arguments, if it has any."""
        arguments: dict[int, Arguments] = defaultdict(dict)
        for row, values in payloads(records, part.values).items():
            for number, value in enumerate(values):
                arguments[row][f"value_{number + 1}" if number else "value"] = _shown(value)
        for row in np.flatnonzero(records["flags"]).tolist():
            flags = int(records["flags"][row])
            arguments[row].update({n: True for flag, n in SLICE_FLAGS.items() if flag & flags})
        tails = ["}"] * len(records)
        for row, found in arguments.items():
            tails[row] = f',"args":{_json(found)}}}'
        return tails

    def _span(self, row: Columns) -> str:
        begin, end = int(row["begin_ns"]), int(row["end_ns"])
        return f',"ts":{_microseconds(begin - self._zero)},"dur":{_microseconds(end - begin)}'

    def _arrows(self, part: Part) -> dict[int, str]:
        """Return the events of arrows by the slice behind whose event they stand.

        An arrow ends on what is innermost on its thread at its time: a destination that began
        before the arrow's source takes it at that moment.
        """
        found: dict[int, str] = defaultdict(str)
        for flow in part.flows:
            self.written.arrows += 1
            edge = self._timeline.edges[flow["edge"]]
            name = _json(f"{edge.source} -> {edge.destination}")
            head = f'"cat":"edge","name":{name},"id":{self.written.arrows}'
            source, destination = (int(flow[end]) for end in ("source", "destination"))
            leaves = int(part.slices["begin_ns"][source])
            arrives = max(int(part.slices["begin_ns"][destination]), leaves)
            begin = self._point(f'{{"ph":"s",{head}', part.slices[source], leaves)
            end = self._point(f'{{"ph":"f","bp":"e",{head}', part.slices[destination], arrives)
            # At equal times their order in the file counts: the begin is to be the first.
            found[max(source, destination) if arrives == leaves else source] += begin
            found[max(source, destination) if arrives == leaves else destination] += end
        return found

    def _point(self, head: str, of: Columns, at: int) -> str:
        place = self._place(int(self._threads.of_wave[of["wave"]]), int(of["lane"]))
        return f',\n{head},{place},"ts":{_microseconds(at - self._zero)}}}'


_DECIMALS = tuple(f"{number:03d}" for number in range(1000))


def _microseconds(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03d}"


def _place(thread: Thread) -> str:
    return f'"pid":{thread.pid},"tid":{thread.tid}'


def _json(value: object) -> str:
    return orjson.dumps(value).decode()


def _shown(value: Value) -> bool | int | float | str:
    """Return what readers of JSON get exactly: a string for what is no finite double."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return str(value) if isinstance(value, int) and abs(value) > _MOST_EXACT else value


def _about(timeline: Timeline, zero: int) -> Arguments:
    """Return what the trace is. Clocks are strings: doubles do not hold their nanoseconds."""
    about: Arguments = {"tool": "ktrace", "unit": timeline.unit}
    process = timeline.process
    if timeline.unit == "ns":
        about["begin_boottime_ns"] = str(zero)
    if process is not None:
        about |= {"host": process.host, "command": list(process.arguments)}
        since = zero - process.boottime_ns
        for name, at in (("monotonic", process.monotonic_ns), ("realtime", process.realtime_ns)):
            if at and timeline.unit == "ns":
                about[f"begin_{name}_ns"] = str(at + since)
    about["devices"] = [
        f"{d.device}: {d.target}, {'modelled' if d.is_software else 'measured'} times"
        for d in timeline.devices
    ]
    about["losses"] = timeline.losses.counted()
    return about


def _metadata(threads: Threads) -> Iterator[Arguments]:
    for index, name in enumerate(threads.processes):
        pid = index + 1
        yield {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}
        yield {"ph": "M", "name": "process_sort_index", "pid": pid, "args": {"sort_index": index}}
    for thread in threads.own:
        yield from _thread_metadata(thread)


def _thread_metadata(thread: Thread) -> Iterator[Arguments]:
    place = {"ph": "M", "pid": thread.pid, "tid": thread.tid}
    yield {**place, "name": "thread_name", "args": {"name": thread.name}}
    yield {**place, "name": "thread_sort_index", "args": {"sort_index": thread.tid}}


def _of_dispatch(dispatch: Columns) -> Arguments:
    found: Arguments = {name: int(dispatch[name]) for name in DISPATCH_NUMBERS}
    found |= {name: dispatch[name].tolist() for name in ("grid", "block")}
    flags = int(dispatch["flags"])
    return found | {name: True for flag, name in DISPATCH_FLAGS.items() if flag & flags}


def _of_wave(timeline: Timeline, wave: Columns, dispatch: int) -> Arguments:
    found: Arguments = {"dispatch": dispatch, "workgroup": wave["block"].tolist()}
    found |= {name: int(wave[name]) for name in WAVE_NUMBERS}
    found |= {name: int(wave[name]) for name in WAVE_COUNTS if wave[name]}
    flags = int(wave["flags"])
    return found | {name: True for flag, name in WAVE_FLAGS.items() if flag & flags}
