"""PyTorch's (Kineto's) traces, and other Chrome traces, to a host trace."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from ktrace_cli.importers.builder import Builder, Source
from ktrace_cli.importers.chrome_events import (
    Rows,
    Sorted,
    needs_exact_times,
    sort_events,
    with_exact_times,
)
from ktrace_cli.importers.host_trace import Clock, HostTrace, Kind
from ktrace_cli.importers.json_file import parse_json
from ktrace_cli.importers.kineto_flows import add_flows
from ktrace_cli.importers.kineto_places import (
    KIND_BY_CATEGORY,
    Owner,
    Places,
    main_process,
    rank_of,
)
from ktrace_cli.progress import Advance, part_of, unwatched

Ints = NDArray[np.int64]

_FILE_NAME = re.compile(r"(?P<host>.+)_\d+\.\d+\.pt\.trace\.json")
_EPOCH_NS = 10**18  # 2001: what is later counts from 1970, no machine has been up so long
_LARGEST = 1 << 62
# Shares of the time that reading takes.
_PARSING, _SORTING = 0.2, 0.4
_EVENTS_PER_STEP = 20_000


def read_kineto(data: bytes, path: Path, advance: Advance = unwatched) -> HostTrace:
    """Read a Chrome trace.

    Args:
        data: the file's content, decompressed.
        path: where it is from.
        advance: is told how far it is.

    Raises:
        KtraceError: it is no JSON.
    """
    builder = Builder()
    if needs_exact_times(data):
        data = with_exact_times(data)
    document = parse_json(data, path, builder.repairs)
    del data  # as large as a tenth of all that is to come
    advance(_PARSING)
    header = dict(document) if isinstance(document, Mapping) else {}
    drained = _drain(header.pop("traceEvents", document), part_of(advance, _SORTING))
    events = sort_events(drained, builder.repairs)
    base = header.get("baseTimeNanoseconds", 0)
    base = base if isinstance(base, int) and 0 <= base < _LARGEST else 0
    clock = _clock(events.rows, base)
    placed = _add_rows(builder, events, header, path)
    add_flows(builder, events, placed)
    first = int(_is_pytorch(header))  # PyTorch writes 0 where it knows no time
    source = Source(path, _format(header), clock, _why_unknown(header), first)
    trace = builder.build(source)
    for column in ("begin_ns", "end_ns"):
        trace.slices[column] += base
    advance(1 - _PARSING - _SORTING)
    return trace


def _drain(events: Any, advance: Advance) -> Iterator[Any]:
    """Yield events in order; each is let go of at once, as there may be millions."""
    if not isinstance(events, list):
        return
    events.reverse()
    count = told = len(events)
    while events:
        yield events.pop()
        if len(events) % _EVENTS_PER_STEP == 0:
            advance((told - len(events)) / count)
            told = len(events)


def _why_unknown(header: Mapping[str, Any]) -> str:
    if "baseTimeNanoseconds" not in header:
        return "no baseTimeNanoseconds"
    return f"its baseTimeNanoseconds is {header['baseTimeNanoseconds']!r:.40}"


def _format(header: Mapping[str, Any]) -> str:
    return "PyTorch JSON" if _is_pytorch(header) else "Chrome JSON"


def _is_pytorch(header: Mapping[str, Any]) -> bool:
    return "deviceProperties" in header or "baseTimeNanoseconds" in header


def _clock(rows: Rows, base: int) -> Clock:
    if base:
        return Clock.REALTIME
    first = min((begin for begin in rows.begin if begin > 0), default=0)
    return Clock.REALTIME if first > _EPOCH_NS else Clock.UNKNOWN


def _add_rows(builder: Builder, events: Sorted, header: Mapping[str, Any], path: Path) -> Ints:
    """Add everything; returns the builder's rows."""
    rows = events.rows
    begin, length = _columns(rows)
    main = main_process(rows)
    named = _FILE_NAME.match(path.name)
    host = named["host"] if named else ""
    places = Places(builder, events, Owner(main, host, rank_of(header)))
    kinds = np.array([_kind(c, m) for c, m in zip(rows.category, rows.is_mark, strict=True)])
    track_by_key: dict[tuple[object, object, str], int] = {}
    tracks = np.zeros(len(begin), np.int64)
    for row, key in enumerate(zip(rows.pid, rows.tid, rows.category, strict=True)):
        place = (key[0], key[1], places.kind_of_place(key[0], key[2]))
        if place not in track_by_key:
            track_by_key[place] = builder.track(places.track(*place))
        tracks[row] = track_by_key[place]
    names = builder.texts(rows.name)
    placed = np.empty(len(begin), np.int64)
    for kind in np.unique(kinds):
        here = np.flatnonzero(kinds == kind)
        placed[here] = builder.add(
            Kind(int(kind)),
            {
                "track": tracks[here],
                "name": names[here],
                "begin_ns": begin[here],
                "end_ns": begin[here] + length[here],
            },
        )
    builder.text_argument("category", placed, rows.category)
    while rows.arguments:
        name = next(iter(rows.arguments))
        owners, values = rows.arguments.pop(name)
        _tell(builder, name, placed[np.array(owners, np.int64)], values)
    return placed


def _columns(rows: Rows) -> tuple[Ints, Ints]:
    def bounded(values: Sequence[int]) -> Ints:
        return np.array([v if abs(v) < _LARGEST else -_LARGEST for v in values], np.int64)

    return bounded(rows.begin), bounded(rows.length)


def _kind(category: str, is_mark: bool) -> int:
    return int(Kind.MARK if is_mark else KIND_BY_CATEGORY.get(category, Kind.CALL))


def _tell(builder: Builder, name: str, rows: Ints, values: Sequence[Any]) -> None:
    whole = [i for i, v in enumerate(values) if isinstance(v, int) and abs(v) < _LARGEST]
    real = [i for i, v in enumerate(values) if isinstance(v, float)]
    builder.argument(name, rows[whole], [int(values[i]) for i in whole])
    builder.argument(name, rows[real], np.array([values[i] for i in real], np.float64))
    others = sorted(set(range(len(values))) - set(whole) - set(real))
    builder.text_argument(name, rows[others], [_as_text(values[i]) for i in others])


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
