"""Events of a Chrome trace, sorted by what they are: times as exact nanoseconds."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

Event = Mapping[str, Any]

# A double holds nanoseconds exactly up to here if it counts microseconds.
_MOST_EXACT_MICROSECONDS = 1 << 43
_TIME = re.compile(rb'("ts"\s*:\s*)(-?\d[\d.eE+-]*)')
_LARGE_TIME = re.compile(rb'"ts"\s*:\s*([1-9]\d{12,})')
_NS_PER_US = 1000
_MOST_MICROSECONDS = (1 << 62) // _NS_PER_US


def needs_exact_times(data: bytes) -> bool:
    """Tell whether the first large time of a trace is too large for a double."""
    large = _LARGE_TIME.search(data)
    return large is not None and int(large[1][:20]) > _MOST_EXACT_MICROSECONDS


def with_exact_times(data: bytes) -> bytes:
    """Return JSON in which the times of events are texts: a parser keeps all of their digits."""
    return _TIME.sub(rb'\1"\2"', data)


def nanoseconds(microseconds: object) -> int | None:
    """Return a number or text of microseconds as whole nanoseconds, or None if it is neither."""
    time: int | float | Decimal
    if isinstance(microseconds, str):
        try:
            time = Decimal(microseconds)
        except InvalidOperation:
            return None
    elif isinstance(microseconds, bool) or not isinstance(microseconds, (int, float)):
        return None
    else:
        time = microseconds
    is_time = math.isfinite(time) and -_MOST_MICROSECONDS < time < _MOST_MICROSECONDS
    return round(time * _NS_PER_US) if is_time else None


@dataclass
class Rows:
    """Slices and marks of a trace, column by column, before they have tracks."""

    pid: list[object] = field(default_factory=list)
    tid: list[object] = field(default_factory=list)
    name: list[str] = field(default_factory=list)
    category: list[str] = field(default_factory=list)
    begin: list[int] = field(default_factory=list)
    length: list[int] = field(default_factory=list)
    is_mark: list[bool] = field(default_factory=list)
    arguments: dict[str, tuple[list[int], list[Any]]] = field(default_factory=dict)
    """By name: rows, values."""
    wanted: frozenset[str] | None = None
    """Names of arguments that are kept; None: all."""

    def add(self, event: Event, begin: int, length: int, *, is_mark: bool) -> int:
        """Add one; returns its row."""
        row = len(self.begin)
        self.pid.append(hashable(event.get("pid", 0)))
        self.tid.append(hashable(event.get("tid", 0)))
        self.name.append(str(event.get("name", "")))
        self.category.append(str(event.get("cat", "")))
        self.begin.append(begin)
        self.length.append(length)
        self.is_mark.append(is_mark)
        self.tell(row, event.get("args"))
        return row

    def tell(self, row: int, arguments: object) -> None:
        """Keep what is told about a row."""
        if isinstance(arguments, Mapping):
            wanted = self.wanted
            for name, value in arguments.items():
                if value is not None and (wanted is None or name in wanted):
                    rows, values = self.arguments.setdefault(str(name), ([], []))
                    rows.append(row)
                    values.append(value)


@dataclass(frozen=True)
class FlowEnd:
    """Where an arrow begins or ends."""

    pid: object
    tid: object
    ns: int


@dataclass
class Sorted:
    """All events of a trace."""

    rows: Rows = field(default_factory=Rows)
    sources: dict[tuple[str, object], FlowEnd] = field(default_factory=dict)
    """By category and id."""
    destinations: list[tuple[tuple[str, object], FlowEnd]] = field(default_factory=list)
    process_names: dict[object, str] = field(default_factory=dict)
    process_labels: dict[object, str] = field(default_factory=dict)
    thread_names: dict[tuple[object, object], str] = field(default_factory=dict)
    unclosed: list[int] = field(default_factory=list)
    """Rows that were begun and never ended: they are marks."""
    _open: dict[tuple[object, object], list[int]] = field(default_factory=dict)

    def finish(self, repairs: Counter[str]) -> None:
        """Make marks of what was begun and never ended."""
        for rows in self._open.values():
            for row in rows:
                self.rows.is_mark[row] = True
                repairs["unclosed"] += 1
            self.unclosed += rows


def sort_events(
    events: Iterable[Any], repairs: Counter[str], wanted: frozenset[str] | None = None
) -> Sorted:
    """Sort events; what is none, or is of a kind that is not shown, is counted.

    Args:
        events: in the order of the file.
        repairs: counts.
        wanted: names of arguments to keep; None: all.
    """
    result = Sorted(Rows(wanted=wanted))
    for event in events:
        if not isinstance(event, Mapping) or not isinstance(event.get("ph"), str):
            # Some writers end their list with an empty object.
            repairs["malformed_rows"] += event != {}
        elif event["ph"] == "M":
            _take_name(result, event)
        else:
            _take(result, event, repairs)
    result.finish(repairs)
    return result


def _take_name(result: Sorted, event: Event) -> None:
    arguments = event.get("args")
    if not isinstance(arguments, Mapping):
        return
    pid, tid, what = event.get("pid", 0), event.get("tid", 0), event.get("name")
    if what == "process_name":
        result.process_names[hashable(pid)] = str(arguments.get("name", ""))
    elif what == "process_labels":
        result.process_labels[hashable(pid)] = str(arguments.get("labels", ""))
    elif what == "thread_name":
        result.thread_names[hashable(pid), hashable(tid)] = str(arguments.get("name", ""))


def hashable(identifier: object) -> object:
    """Return a pid, tid or id as something that names it."""
    return identifier if isinstance(identifier, (int, str)) else str(identifier)


def _take(result: Sorted, event: Event, repairs: Counter[str]) -> None:
    phase = event["ph"]
    begin = nanoseconds(event.get("ts"))
    if begin is None:
        repairs["no_times"] += 1
    elif phase == "X":
        length = nanoseconds(event.get("dur"))
        repairs["unclosed"] += length is None
        result.rows.add(event, begin, length or 0, is_mark=length is None)
    elif phase in ("i", "I", "R"):
        result.rows.add(event, begin, 0, is_mark=True)
    elif phase in ("B", "E"):
        _take_half(result, event, begin, repairs)
    elif phase in ("s", "f"):
        key = (str(event.get("cat", "")), hashable(event.get("id")))
        end = FlowEnd(hashable(event.get("pid", 0)), hashable(event.get("tid", 0)), begin)
        if phase == "s":
            result.sources[key] = end
        else:
            result.destinations.append((key, end))
    else:
        repairs["not_shown"] += 1


def _take_half(result: Sorted, event: Event, ns: int, repairs: Counter[str]) -> None:
    thread = (hashable(event.get("pid", 0)), hashable(event.get("tid", 0)))
    open_ = result._open.setdefault(thread, [])
    if event["ph"] == "B":
        open_.append(result.rows.add(event, ns, 0, is_mark=False))
    elif open_:
        row = open_.pop(_begin_of(event, open_, result.rows.name))
        result.rows.length[row] = ns - result.rows.begin[row]
        result.rows.tell(row, event.get("args"))
    else:
        repairs["stray_ends"] += 1


def _begin_of(event: Event, open_: list[int], names: list[str]) -> int:
    """Return which of the open ones an end is of: the last of its name, if it has one.

    Tracers inside of kernels write ranges that cross others of their thread.
    """
    name = event.get("name")
    if name is not None:
        for place in range(len(open_) - 1, -1, -1):
            if names[open_[place]] == name:
                return place
    return len(open_) - 1
