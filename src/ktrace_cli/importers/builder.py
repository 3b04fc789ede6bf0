"""Collects what a reader finds, and puts it into order: one way into HostTrace for all formats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.importers.host_trace import (
    HOST_FLOW,
    HOST_SLICE,
    Argument,
    Clock,
    HostProcess,
    HostTrace,
    HostTrack,
    Kind,
    Repairs,
)
from ktrace_cli.model import NONE, Columns

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Source:
    """Where a trace comes from."""

    path: Path
    format: str
    clock: Clock
    why_unknown: str = "no baseTimeNanoseconds"
    first_ns: int = 1
    """Times before it are none. Most formats write 0 where they know no time; to those whose times
    count from their first event it is one."""


@dataclass
class Builder:
    """Rows so far. Rows of slices are numbered in the order in which they are added."""

    repairs: Counter[str] = field(default_factory=Counter)
    """By field of Repairs."""
    notes: list[str] = field(default_factory=list)
    processes: list[HostProcess] = field(default_factory=list)
    _strings: dict[str, int] = field(default_factory=dict)
    _tracks: dict[HostTrack, int] = field(default_factory=dict)
    _process_rows: dict[tuple[int, str], int] = field(default_factory=dict)
    _slices: list[Columns] = field(default_factory=list)
    _count: int = 0
    _arguments: list[Argument] = field(default_factory=list)
    _flows: list[Columns] = field(default_factory=list)

    def text(self, text: str) -> int:
        """Return the row of a string."""
        return self._strings.setdefault(text, len(self._strings))

    def texts(self, texts: Sequence[str]) -> Ints:
        """Return the rows of strings."""
        return np.array([self.text(text) for text in texts], np.int64)

    def process(self, pid: int, name: str = "", host: str = "") -> int:
        """Return the row of a process; a name that comes later is kept."""
        key = (pid, host)
        row = self._process_rows.setdefault(key, len(self.processes))
        if row == len(self.processes):
            self.processes.append(HostProcess(pid, name, host))
        elif name and not self.processes[row].name:
            self.processes[row] = replace(self.processes[row], name=name)
        return row

    def track(self, track: HostTrack) -> int:
        """Return the row of a track."""
        return self._tracks.setdefault(track, len(self._tracks))

    def add(self, kind: Kind, columns: dict[str, Any]) -> Ints:
        """Add slices; returns their rows.

        Args:
            kind: of all of them.
            columns: `track`, `name`, `begin_ns`, `end_ns` and maybe `correlation`, of one length.
        """
        count = len(columns["begin_ns"])
        slices = np.zeros(count, HOST_SLICE)
        slices["correlation"] = NONE
        slices["kind"] = kind
        for name, values in columns.items():
            slices[name] = values
        self._slices.append(slices)
        self._count += count
        return np.arange(self._count - count, self._count)

    def argument(self, name: str, rows: Ints, values: Any) -> None:
        """Tell a number of some slices."""
        if len(rows):
            array = np.asarray(values)
            is_real = array.dtype.kind == "f"
            self._arguments.append(
                Argument(name, rows, array.astype(np.float64 if is_real else np.int64))
            )

    def text_argument(self, name: str, rows: Ints, values: Sequence[str]) -> None:
        """Tell a text of some slices; an empty one is not told."""
        kept = [i for i, value in enumerate(values) if value]
        if kept:
            texts = self.texts([values[i] for i in kept])
            self._arguments.append(Argument(name, rows[kept], texts, is_text=True))

    def flow(self, sources: Ints, destinations: Ints) -> None:
        """Add arrows between slices."""
        flows = np.zeros(len(sources), HOST_FLOW)
        flows["source"], flows["destination"] = sources, destinations
        self._flows.append(flows)

    def build(self, source: Source) -> HostTrace:
        """Return everything, in order of time."""
        slices = np.concatenate([np.zeros(0, HOST_SLICE), *self._slices])
        flows = np.concatenate([np.zeros(0, HOST_FLOW), *self._flows])
        slices, kept = self._with_times(slices, source.first_ns)
        order = kept[np.lexsort((kept, -slices["end_ns"][kept], slices["begin_ns"][kept]))]
        place = np.full(len(slices), NONE, np.int64)
        place[order] = np.arange(len(order))
        return HostTrace(
            path=source.path,
            format=source.format,
            clock=source.clock,
            processes=tuple(self.processes),
            tracks=tuple(self._tracks),
            strings=tuple(self._strings),
            slices=slices[order],
            arguments=tuple(self._placed_arguments(place)),
            flows=_placed_flows(flows, place),
            repairs=Repairs(**{name: count for name, count in self.repairs.items() if count}),
            why_unknown=source.why_unknown,
            notes=tuple(self.notes),
        )

    def _with_times(self, slices: Columns, first_ns: int) -> tuple[Columns, Ints]:
        """Put begin before end; leave out what has no time."""
        is_timed = (slices["begin_ns"] >= first_ns) & (slices["end_ns"] >= first_ns)
        is_swapped = is_timed & (slices["end_ns"] < slices["begin_ns"])
        begin, end = slices["begin_ns"].copy(), slices["end_ns"].copy()
        slices["begin_ns"][is_swapped] = end[is_swapped]
        slices["end_ns"][is_swapped] = begin[is_swapped]
        self.repairs["swapped_times"] += int(is_swapped.sum())
        self.repairs["no_times"] += int((~is_timed).sum())
        return slices, np.flatnonzero(is_timed)

    def _placed_arguments(self, place: Ints) -> list[Argument]:
        placed = []
        for argument in self._arguments:
            rows = place[argument.rows]
            kept = rows != NONE
            placed.append(replace(argument, rows=rows[kept], values=argument.values[kept]))
        return placed


def _placed_flows(flows: Columns, place: Ints) -> Columns:
    for end in ("source", "destination"):
        flows[end] = place[flows[end]]
    is_kept = (flows["source"] != NONE) & (flows["destination"] != NONE)
    flows = flows.compress(is_kept)
    return flows[np.lexsort((flows["destination"], flows["source"]))]


def joined_by_correlation(calls: Ints, call_keys: Ints, work: Ints, work_keys: Ints) -> Columns:
    """Return arrows from calls to the work of the same key; a key of 0 or less joins nothing.

    Args:
        calls: rows of slices.
        call_keys: of each call; where several have one key the last one wins.
        work: rows of slices.
        work_keys: of each.
    """
    calls, call_keys = calls[call_keys > 0], call_keys[call_keys > 0]
    if not len(calls):
        return np.zeros(0, HOST_FLOW)
    order = np.argsort(call_keys, kind="stable")
    at = np.searchsorted(call_keys[order], work_keys, "right") - 1
    found = (at >= 0) & (call_keys[order][np.maximum(at, 0)] == work_keys)
    flows = np.zeros(int(found.sum()), HOST_FLOW)
    flows["source"] = calls[order][at[found]]
    flows["destination"] = work[found]
    return flows
