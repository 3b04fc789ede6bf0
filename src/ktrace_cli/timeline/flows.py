"""Edges to flows: arrows between the k-th occurrences of two events within a workgroup."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ktrace_cli.model import FLOW, Columns, Edge, Event
from ktrace_cli.timeline.segments import Ints, run_starts


def find_flows(
    slices: Columns, waves: Columns, events: Sequence[Event], edges: Sequence[Edge]
) -> tuple[Columns, int]:
    """Return model.FLOW, by edge, and how many occurrences have no partner.

    Args:
        slices: model.SLICE, by wave.
        waves: model.WAVE.
        events: Timeline.events.
        edges: Timeline.edges; a name stands for every event of that name.
    """
    flows, unmatched = [np.zeros(0, FLOW)], 0
    for number, edge in enumerate(edges):
        sources = _occurrences(slices, waves, _named(events, edge.source))
        destinations = _occurrences(slices, waves, _named(events, edge.destination))
        _, left, right = np.intersect1d(
            sources[0], destinations[0], assume_unique=True, return_indices=True
        )
        found = np.zeros(len(left), FLOW)
        found["source"], found["destination"] = sources[1][left], destinations[1][right]
        found["edge"] = number
        flows.append(found)
        unmatched += len(sources[1]) + len(destinations[1]) - 2 * len(left)
    return np.concatenate(flows), unmatched


def _named(events: Sequence[Event], name: str) -> Ints:
    return np.array([row for row, event in enumerate(events) if event.name == name], np.int64)


def _occurrences(slices: Columns, waves: Columns, events: Ints) -> tuple[Ints, Ints]:
    """Return a key (workgroup, how many before it in the workgroup) of each slice, and the slice.

    Within a workgroup, slices count by wave, then time.
    """
    rows = np.flatnonzero(np.isin(slices["event"], events))
    wave = slices["wave"][rows]
    group = _workgroups(waves)[wave]
    order = np.lexsort((rows, slices["begin_ticks"][rows], waves["wave"][wave], group))
    rows, group = rows[order], group[order]
    starts = run_starts(group)
    counts = np.diff(np.append(starts, len(rows)))
    number = np.arange(len(rows)) - np.repeat(starts, counts)
    return group * (len(slices) + 1) + number, rows


def _workgroups(waves: Columns) -> Ints:
    """Return a number for the workgroup, of one dispatch, of each wave."""
    if not len(waves):
        return np.zeros(0, np.int64)
    block = waves["block"]
    order = np.lexsort((block[:, 0], block[:, 1], block[:, 2], waves["dispatch"]))
    columns = np.column_stack([waves["dispatch"], block])[order]
    is_new = np.concatenate(([False], np.any(columns[1:] != columns[:-1], axis=1)))
    result = np.empty(len(waves), np.int64)
    result[order] = np.cumsum(is_new)
    return result
