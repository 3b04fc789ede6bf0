"""Edges to flows: arrows between the k-th occurrences of two events within a workgroup."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ktrace_cli.model import FLOW, Columns, Edge, Event, Flags, Part, WaveFlag
from ktrace_cli.timeline.segments import Ints, run_starts
from ktrace_cli.trace_file.layout import WAVE_SIZE, DispatchFlag

_LOSSES = (
    WaveFlag.UNFINISHED
    | WaveFlag.TORN
    | WaveFlag.DROPPED
    | WaveFlag.OVERWRITTEN
    | WaveFlag.UNREADABLE
)


def find_flows(
    part: Part,
    all_waves: Columns,
    dispatches: Columns,
    events: Sequence[Event],
    edges: Sequence[Edge],
) -> tuple[Columns, Counter[str]]:
    """Return model.FLOW, by edge, and the counts of what cannot be drawn.

    Args:
        part: whole workgroups.
        all_waves: Timeline.waves.
        dispatches: model.DISPATCH.
        events: Timeline.events.
        edges: Timeline.edges; a name stands for every event of that name, of the edge's unit and
            kernels.
    """
    flows, losses = [np.zeros(0, FLOW)], Counter[str]()
    slices, waves = part.slices, all_waves[part.wave_rows]
    own_wave = np.searchsorted(part.wave_rows, slices["wave"])
    workgroup = _workgroups(waves)
    is_certain = _is_certain(waves, dispatches, workgroup)[own_wave]
    is_meant = ~_is_in_part(waves, dispatches, workgroup)[own_wave]
    for number, edge in enumerate(edges):
        ends = []
        for name in (edge.source, edge.destination):
            is_end = is_meant & np.isin(slices["event"], _named(events, edge, name))
            losses["uncertain_edges"] += int(np.count_nonzero(is_end & ~is_certain))
            rows = np.flatnonzero(is_end & is_certain)
            wave = own_wave[rows]
            waves_in_turn = waves["wave"][wave] * np.uint32(not edge.is_by_time)
            ends.append(_occurrences(slices, rows, waves_in_turn, workgroup[wave]))
        found, unmatched = _join(*ends)
        found["edge"] = number
        flows.append(found)
        losses["unmatched_edges"] += unmatched
    return _forward(np.concatenate(flows), slices, losses)


def _join(sources: tuple[Ints, Ints], destinations: tuple[Ints, Ints]) -> tuple[Columns, int]:
    """Return arrows between what has the same key, and how many ends have no other one."""
    _, left, right = np.intersect1d(
        sources[0], destinations[0], assume_unique=True, return_indices=True
    )
    found = np.zeros(len(left), FLOW)
    found["source"], found["destination"] = sources[1][left], destinations[1][right]
    return found, len(sources[1]) + len(destinations[1]) - 2 * len(left)


def _named(events: Sequence[Event], edge: Edge, name: str) -> Ints:
    rows = [
        row
        for row, event in enumerate(events)
        if event.name == name and event.unit == edge.unit and event.kernel in edge.kernels
    ]
    return np.array(rows, np.int64)


def _occurrences(slices: Columns, rows: Ints, wave: Columns, group: Ints) -> tuple[Ints, Ints]:
    """Return a key (workgroup, how many before it in the workgroup) of each slice, and the slice.

    Within a workgroup, slices count by wave, then time.

    Args:
        slices: model.SLICE.
        rows: of `slices`.
        wave: the number in its workgroup of the wave of each row.
        group: its workgroup.
    """
    order = np.lexsort((rows, slices["begin_ticks"][rows], wave, group))
    rows, group = rows[order], group[order]
    starts = run_starts(group)
    counts = np.diff(np.append(starts, len(rows)))
    number = np.arange(len(rows)) - np.repeat(starts, counts)
    return group * (len(slices) + 1) + number, rows


def _forward(flows: Columns, slices: Columns, losses: Counter[str]) -> tuple[Columns, Counter[str]]:
    """Leave out arrows whose end is not behind their begin: a viewer would turn them around."""
    source, destination = slices[flows["source"]], slices[flows["destination"]]
    is_forward = destination["begin_ns"] + destination["ns"] > source["begin_ns"]
    losses["backward_arrows"] += int(np.count_nonzero(~is_forward))
    return flows[is_forward], losses


def count_in_part(waves: Columns, dispatches: Columns) -> int:
    """Count workgroups that were recorded in part, as asked for: arrows are left out of them."""
    is_filtered = (dispatches["flags"] & DispatchFlag.FILTERED) != 0
    waves = waves[is_filtered[waves["dispatch"]]]
    workgroup = _workgroups(waves)
    return len(np.unique(workgroup[_is_in_part(waves, dispatches, workgroup)]))


def _is_in_part(waves: Columns, dispatches: Columns, workgroup: Ints) -> Flags:
    """Tell of each wave whether its workgroup was recorded in part, as asked for.

    How many occurrences its other waves had is not known, so that no arrow would be certain.
    """
    is_filtered = (dispatches["flags"] & DispatchFlag.FILTERED) != 0
    is_in_part = is_filtered[waves["dispatch"]] & _is_short(waves, dispatches, workgroup)
    return np.asarray(is_in_part, np.bool_)


def _is_certain(waves: Columns, dispatches: Columns, workgroup: Ints) -> Flags:
    """Tell of each wave whether its workgroup has lost no wave and no word.

    Behind a lost occurrence all others would be counted wrongly, and be joined with wrong ones.
    """
    if not len(waves):
        return np.zeros(0, np.bool_)
    has_lost = (waves["flags"] & _LOSSES) != 0
    lacks_waves = dispatches["expected"].astype(np.int64) > dispatches["waves"]
    has_lost |= lacks_waves[waves["dispatch"]] & _is_short(waves, dispatches, workgroup)
    return np.asarray(np.bincount(workgroup, has_lost)[workgroup] == 0, np.bool_)


def _is_short(waves: Columns, dispatches: Columns, workgroup: Ints) -> Flags:
    """Tell of each wave whether its workgroup has fewer waves than were launched."""
    waves_per_block = -(-dispatches["block"].astype(np.int64).prod(axis=1) // WAVE_SIZE)
    recorded = np.bincount(workgroup)[workgroup] if len(workgroup) else workgroup
    return np.asarray(recorded < waves_per_block[waves["dispatch"]], np.bool_)


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
