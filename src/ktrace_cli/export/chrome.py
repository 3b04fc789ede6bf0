"""The model in Chrome's JSON trace format, for viewers and scripts that read no protobuf.

Times are microseconds with up to three decimals, counted from the first wave: whole nanoseconds of
which a double tells each from the next. Numbers that JSON or a double does not have are strings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

import numpy as np
import orjson

from ktrace_cli.export.chrome_details import (
    about_trace,
    dispatch_arguments,
    metadata,
    thread_metadata,
    wave_arguments,
)
from ktrace_cli.export.chrome_threads import Thread, Threads, plan_threads
from ktrace_cli.export.details import SLICE_FLAGS
from ktrace_cli.export.lines import Cached, join_lines, number_pieces
from ktrace_cli.export.output import Sink
from ktrace_cli.export.records import Written, kind_name, pieces, records_of, role_of
from ktrace_cli.export.tracks import GroupBy
from ktrace_cli.export.values import owned_values, payloads, value_jsons
from ktrace_cli.model import NONE, Columns, Part, SliceFlag, Timeline

_RUNNING, _MARK = 1, 2  # of _Writer._name


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
            out.write(lines)
    out.write("".join(writer.lane_names()).encode())
    out.write(b"\n]}\n")
    return writer.written


class _Writer:
    """Formats events. What is the same in many of them is formatted once."""

    def __init__(self, timeline: Timeline, threads: Threads) -> None:
        self._timeline = timeline
        self._zero = timeline.zero_ns
        self._threads = threads
        self._lanes_in_use: set[int] = set()
        self.written = Written()
        self._names = Cached(self._name)
        self._places = Cached(self._place)

    def _name(self, key: int) -> bytes:
        """Return how an event begins: three times its row, + 1: it is running, + 2: a mark."""
        row, kind = divmod(key, 3)
        event = self._timeline.events[row]
        name = _json(f"{event.name} (unfinished)" if kind == _RUNNING else event.name)
        head = '"ph":"i","s":"t"' if kind == _MARK else '"ph":"X"'
        return f',\n{{{head},"cat":{_json(kind_name(event))},"name":{name},'.encode()

    def _place(self, key: int) -> bytes:
        """Return where an event is: the row of its thread times the number of lanes, + its lane."""
        thread = self._threads.lane(*divmod(key, len(self._timeline.lanes)))
        return f'{_place(thread)},"ts":'.encode()

    def head(self) -> bytes:
        """Return all up to the events of waves: what the trace is, threads, dispatches."""
        about = _json(about_trace(self._timeline, self._zero))
        events = [_json(event) for event in metadata(self._threads)]
        events += self._dispatches()
        head = f'{{"displayTimeUnit":"ns","otherData":{about},"traceEvents":[\n'
        return (head + ",\n".join(events)).encode()

    def lane_names(self) -> Iterator[str]:
        """Yield the names of the lanes that were in use."""
        for place in sorted(self._lanes_in_use):
            thread = self._threads.lane(*divmod(place, len(self._timeline.lanes)))
            for event in thread_metadata(thread):
                yield ",\n" + _json(event)

    def _dispatches(self) -> Iterator[str]:
        for row, dispatch in enumerate(self._timeline.dispatches):
            thread = self._threads.own[self._threads.of_dispatch[row]]
            name = _json(f"dispatch {dispatch['number']}")
            head = f'{{"ph":"X","cat":"dispatch","name":{name},{_place(thread)}'
            yield f'{head}{self._span(dispatch)},"args":{_json(dispatch_arguments(dispatch))}}}'

    def lines(self, part: Part) -> Iterator[bytes]:
        """Yield the events of a part, a wave before its slices, parents before children."""
        arrows = self._arrows(part)
        yield self._waves(part.wave_rows)
        for records in pieces(records_of(part)):
            yield self._records(part, records, arrows)

    def _waves(self, rows: Columns) -> bytes:
        timeline, lines = self._timeline, []
        for row, wave in zip(rows.tolist(), timeline.waves[rows], strict=True):
            thread = int(self._threads.of_wave[row])
            if thread == NONE:
                continue
            arguments = _json(wave_arguments(timeline, wave))
            name = _json(role_of(timeline, wave) or "wave")
            head = f',\n{{"ph":"X","cat":"wave","name":{name},{_place(self._threads.own[thread])}'
            lines.append(f'{head}{self._span(wave)},"args":{arguments}}}')
        return "".join(lines).encode()

    def _records(self, part: Part, records: Columns, arrows: Mapping[int, bytes]) -> bytes:
        is_mark = records["lane"] == NONE
        is_running = (records["flags"] & SliceFlag.RUNNING) != 0
        names = records["event"].astype(np.int64) * 3 + np.where(is_mark, _MARK, is_running)
        lane = np.where(is_mark, 0, records["lane"])
        places = self._threads.of_wave[records["wave"]] * len(self._timeline.lanes) + lane
        self._lanes_in_use.update(np.unique(places[lane > 0]).tolist())
        self.written.add(records)
        begins = number_pieces((records["begin_ns"] - self._zero) / 1000)
        durations = [b',"dur":%s' % duration for duration in number_pieces(records["ns"] / 1000)]
        for row in np.flatnonzero(is_mark).tolist():
            durations[row] = b""
        return join_lines(
            len(records),
            self._names.pieces(names),
            self._places.pieces(places),
            begins,
            durations,
            self._tails(part, records, arrows),
        )

    def _tails(self, part: Part, records: Columns, arrows: Mapping[int, bytes]) -> list[bytes]:
        """Return the end of each event, with its arguments, if it has any, and arrows behind it."""
        tails = [b"}"] * len(records)
        values = payloads(records, value_jsons(owned_values(records, part.values)))
        for row, shown in values.items():
            tails[row] = b',"args":{%s}}' % _payload(shown)
        for row in np.flatnonzero(records["flags"]).tolist():
            flags = int(records["flags"][row])
            names = [name for flag, name in SLICE_FLAGS.items() if flag & flags]
            shown = [b'"%s":true' % name.encode() for name in names]
            if row in values:
                shown.insert(0, _payload(values[row]))
            tails[row] = b',"args":{%s}}' % b",".join(shown)
        has_arrow = np.isin(records["slice"], list(arrows)) if arrows else np.zeros(0, np.bool_)
        for row in np.flatnonzero(has_arrow).tolist():
            tails[row] += arrows[int(records["slice"][row])]
        return tails

    def _span(self, row: Columns) -> str:
        begin, end = int(row["begin_ns"]), int(row["end_ns"])
        return f',"ts":{(begin - self._zero) / 1000},"dur":{(end - begin) / 1000}'

    def _arrows(self, part: Part) -> dict[int, bytes]:
        """Return the events of arrows by the slice behind whose event they stand.

        An arrow ends on what is innermost on its thread at its time: a destination that began
        before the arrow's source takes it at that moment.
        """
        found: dict[int, bytes] = defaultdict(bytes)
        for flow in part.flows:
            self.written.arrows += 1
            edge = self._timeline.edges[flow["edge"]]
            name = _json(f"{edge.source} -> {edge.destination}")
            head = f'"cat":"edge","name":{name},"id":{self.written.arrows}'
            ends = [part.slices[flow[end]] for end in ("source", "destination")]
            leaves, arrives = np.maximum([of["begin_ns"] for of in ends], ends[0]["begin_ns"])
            begin = self._point(f'{{"ph":"s",{head}', ends[0], int(leaves))
            end = self._point(f'{{"ph":"f","bp":"e",{head}', ends[1], int(arrives))
            rows = [int(flow["source"]), int(flow["destination"])]
            if leaves == arrives:  # then their order counts, and that they stand behind both slices
                last = max((0, 1), key=lambda n: (ends[n]["wave"], ends[n]["begin_ticks"], rows[n]))
                rows = [rows[last]] * 2
            found[rows[0]] += begin
            found[rows[1]] += end
        return found

    def _point(self, head: str, of: Columns, at: int) -> bytes:
        thread = self._threads.lane(int(self._threads.of_wave[of["wave"]]), int(of["lane"]))
        return f',\n{head},{_place(thread)},"ts":{(at - self._zero) / 1000}}}'.encode()


def _place(thread: Thread) -> str:
    return f'"pid":{thread.pid},"tid":{thread.tid}'


def _json(value: object) -> str:
    return orjson.dumps(value).decode()


def _payload(values: list[bytes]) -> bytes:
    names = (f"value_{n}" if n > 1 else "value" for n in range(1, len(values) + 1))
    shown = zip(names, values, strict=True)
    return b",".join(b'"%s":%s' % (name.encode(), value) for name, value in shown)
