"""Chrome JSON of in-kernel tracers to waves, ranges and marks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from ktrace_cli.errors import UsageError
from ktrace_cli.foreign.shape import Shape
from ktrace_cli.foreign.traces.places import place_of
from ktrace_cli.foreign.traces.spans import NO_END, Place, Spans
from ktrace_cli.foreign.traces.wrapping import unwrapped
from ktrace_cli.importers.chrome_events import (
    Rows,
    Sorted,
    needs_exact_times,
    sort_events,
    with_exact_times,
)
from ktrace_cli.importers.json_file import parse_json, read_bytes
from ktrace_cli.units import counted

_MOST = 1 << 31
_HOSTS = ("deviceProperties", "baseTimeNanoseconds", "schemaVersion")
_WANTED = frozenset({"sm", "block", "warp", "Init Time (ns)", "Frequency (MHz)"})
_REPAIRS = {
    "malformed_rows": "unread_records",
    "no_times": "undated_records",
    "not_shown": "unshown_records",
    "stray_ends": "stray_ends",
    "cut_off": "cut_files",
    "invalid_utf8": "repaired_texts",
    "json_numbers": "repaired_texts",
    "json_commas": "repaired_texts",
    "json_controls": "repaired_texts",
}


@dataclass(frozen=True)
class ChromeTrace:
    """The events of a file, column by column."""

    path: Path
    events: Sorted
    header: Mapping[str, Any]
    losses: Counter[str]
    """By field of model.Losses."""

    @property
    def rows(self) -> Rows:
        """Ranges and marks in the order of the file."""
        return self.events.rows

    def column(self, name: str) -> dict[int, Any]:
        """Return an argument of events, by row."""
        rows, values = self.rows.arguments.get(name, ([], []))
        return dict(zip(rows, values, strict=True))

    def put(
        self, spans: Spans, wave_of: Callable[[int], int | None], origin: Callable[[int], int]
    ) -> None:
        """Add all rows that have a wave.

        Args:
            spans: where to.
            wave_of: the wave of a row; None: it is not shown, and counted.
            origin: nanoseconds to take from its times.
        """
        rows, unclosed = self.rows, set(self.events.unclosed)
        for row, begin in enumerate(rows.begin):
            wave = wave_of(row)
            if wave is None:
                spans.losses["unshown_records"] += 1
                continue
            ns = begin - origin(row)
            if row in unclosed:
                spans.add_range(wave, rows.name[row], ns, NO_END)
            elif rows.is_mark[row]:
                spans.add_mark(wave, rows.name[row], ns)
            else:
                spans.add_range(wave, rows.name[row], ns, ns + rows.length[row])


def read_chrome(path: Path) -> ChromeTrace:
    """Read a file.

    Raises:
        KtraceError: it is no JSON, or what it holds is what a host did.
    """
    data = read_bytes(path)
    if needs_exact_times(data):
        data = with_exact_times(data)
    repairs: Counter[str] = Counter()
    document = parse_json(data, path, repairs)
    del data
    header = dict(document) if isinstance(document, Mapping) else {}
    events = header.pop("traceEvents", document)
    if any(key in header for key in _HOSTS):
        raise UsageError(
            f"{path} tells of a host, not of waves",
            why="it is a trace of PyTorch's profiler, which knows kernels as a whole only",
            fix="`ktrace merge` shows it beside a recording",
        )
    if not isinstance(events, list):
        raise UsageError(
            f"{path} holds no events",
            why="it is JSON, but neither a list nor an object with `traceEvents`",
            fix="name a trace file, or a recording",
        )
    found = sort_events(events, repairs, _WANTED)
    losses: Counter[str] = Counter()
    for name, count in repairs.items():
        if name in _REPAIRS:
            losses[_REPAIRS[name]] += count
    if arrows := len(found.destinations):
        losses["unshown_records"] += arrows
    return ChromeTrace(path, found, header, losses)


def is_number(value: object) -> TypeGuard[int]:
    """Tell whether something is the number of a block or a warp."""
    return isinstance(value, int) and 0 <= value < _MOST


def read_mori(trace: ChromeTrace, shape: Shape) -> Spans:
    """Read a trace of MORI-VIZ: threads are warps of the whole grid, and nothing tells blocks."""
    spans = Spans(losses=trace.losses)
    warps = shape.warps
    spans.notes.append(
        f"a workgroup is taken as of {counted(warps, 'warp')}, as told"
        if warps
        else "its warps are shown as of one workgroup, as it numbers them through the grid and"
        " does not tell how many a workgroup has (`--shape warps=8`)"
    )
    spans.notes.append(
        "times are as its exporter made them, with the rate of the wall clock that HIP told it;"
        " MORI-VIZ drops what never ended or began, and what its ring has overwritten, uncounted"
    )

    def wave_of(row: int) -> int | None:
        thread = trace.rows.tid[row]
        if not is_number(thread):
            return None
        block, wave = divmod(thread, warps) if warps else (0, thread)
        return spans.wave_at(Place(block=(block, 0, 0), wave=wave))

    trace.put(spans, wave_of, lambda _: 0)
    return spans


def read_warpscope(trace: ChromeTrace) -> Spans:
    """Read a trace of warpscope: processes are blocks, threads are groups."""
    spans = Spans(losses=trace.losses)
    rotate = unwrapped(trace.rows.begin, spans.notes)
    names = trace.events.thread_names

    def wave_of(row: int) -> int | None:
        block, group = trace.rows.pid[row], trace.rows.tid[row]
        if not is_number(block) or not is_number(group):
            return None
        role = names.get((block, group), f"group_{group}")
        return spans.wave_at(Place(block=(block, 0, 0), wave=group, role=role))

    trace.put(spans, wave_of, rotate)
    return spans


def read_any(trace: ChromeTrace) -> Spans:
    """Read a trace of an unknown tool: a process is a workgroup, unless names tell more."""
    spans = Spans(losses=trace.losses)
    spans.notes.append(
        "no tool is known that writes such a file: processes are taken as workgroups and threads"
        " as waves, where their names do not tell; `ts` and `dur` as microseconds"
    )
    places: dict[tuple[object, object], Place] = {}
    blocks: dict[object, int] = {}
    waves: Counter[object] = Counter()
    processes, threads = trace.events.process_names, trace.events.thread_names

    def place(pid: object, tid: object) -> Place:
        process = processes.get(pid, str(pid))
        known = place_of((process, threads.get((pid, tid), str(tid))))
        if known is not None:
            return known
        block = blocks.setdefault(pid, len(blocks))
        wave, waves[pid] = waves[pid], waves[pid] + 1
        return Place(block=(block, 0, 0), wave=wave, role=threads.get((pid, tid), ""))

    def wave_of(row: int) -> int | None:
        key = (trace.rows.pid[row], trace.rows.tid[row])
        if key not in places:
            places[key] = place(*key)
        return spans.wave_at(places[key])

    first = min(trace.rows.begin, default=0)
    trace.put(spans, wave_of, lambda _: first)
    return spans
