"""Batches to the model's columns: in order, with nanoseconds, each slice with its payload."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ktrace_cli.model import INSTANT, NONE, SLICE, VALUE, WAVE, Columns, Event
from ktrace_cli.timeline.batch import Batch
from ktrace_cli.timeline.clock import ClockMap
from ktrace_cli.timeline.segments import Ints, join_rows


def join_waves(parts: Sequence[Batch]) -> Columns:
    """Return the waves of all batches."""
    return join_rows(WAVE, (part.waves for part in parts))


def join_events(
    parts: Sequence[Batch], lane_place: Ints, clock: ClockMap
) -> tuple[Columns, Columns, Columns]:
    """Return slices, instants and values of all batches, in the model's order.

    Args:
        parts: in order.
        lane_place: the row in Timeline.lanes of each lane that slices name.
        clock: for the waves of `join_waves`.
    """
    slices: list[Columns] = []
    slice_values: list[Columns] = []
    instant_values: list[Columns] = []
    first_wave = 0
    for part in parts:
        part.slices["lane"] = lane_place[part.slices["lane"]]
        own, of_slices, of_instants = _in_order(part)
        own["wave"] += first_wave
        part.instants["wave"] += first_wave
        first_wave += len(part.waves)
        slices.append(own)
        slice_values.append(of_slices)
        instant_values.append(of_instants)
    all_slices = join_rows(SLICE, slices)
    all_instants = join_rows(INSTANT, (part.instants for part in parts))
    values = join_rows(VALUE, [*slice_values, *instant_values])
    _number_values(all_slices, 0)
    _number_values(all_instants, sum(len(v) for v in slice_values))
    _set_times(all_slices, all_instants, clock)
    return all_slices, all_instants, values


def _in_order(part: Batch) -> tuple[Columns, Columns, Columns]:
    """Return the slices by wave, lane and begin, and the values of slices and of instants."""
    count = len(part.slices)
    # Begins are in order of waves; two sorts of columns that are nearly sorted are fast.
    order = np.argsort(part.begin_key, kind="stable")
    lanes = int(part.slices["lane"].max(initial=0)) + 1
    place_of = part.slices["wave"].astype(np.int64) * lanes + part.slices["lane"]
    order = order[np.argsort(place_of[order], kind="stable")]
    place = np.empty(count + len(part.instants), np.int64)
    place[order] = np.arange(count)
    place[count:] = np.arange(count, len(place))
    owners = place[part.owners]
    by_owner = np.argsort(owners, kind="stable")
    values = part.values.take(by_owner)
    slices = part.slices.take(order)
    counts = np.bincount(owners, minlength=len(place))
    slices["values"], part.instants["values"] = counts[:count], counts[count:]
    split = int(counts[:count].sum())
    return slices, values[:split], values[split:]


def _number_values(rows: Columns, first: int) -> None:
    counts = rows["values"].astype(np.int64)
    rows["first_value"] = first + np.cumsum(counts) - counts


def _set_times(slices: Columns, instants: Columns, clock: ClockMap) -> None:
    begin = slices["begin_ticks"]
    slices["begin_ns"] = clock.to_ns(slices["wave"], begin)
    slices["ns"] = clock.to_ns(slices["wave"], begin + slices["ticks"]) - slices["begin_ns"]
    instants["ns"] = clock.to_ns(instants["wave"], instants["ticks"])


def set_wave_times(waves: Columns, dispatches: Columns, clock: ClockMap) -> None:
    """Set the nanoseconds of waves and dispatches; a torn wave stands at its dispatch's launch."""
    has_clock = clock.clock_of_wave >= 0
    known = np.flatnonzero(has_clock)
    for name in ("begin", "end"):
        waves[f"{name}_ns"] = dispatches["launched_ns"][waves["dispatch"]]
        waves[f"{name}_ns"][known] = clock.to_ns(known, waves[f"{name}_ticks"][known])
    dispatches["begin_ns"] = dispatches["end_ns"] = dispatches["launched_ns"]
    of = waves["dispatch"][known]
    if not len(of):
        return
    seen = np.unique(of)
    limits = np.iinfo(np.int64)
    begin = np.full(len(dispatches), limits.max)
    end = np.full(len(dispatches), limits.min)
    np.minimum.at(begin, of, waves["begin_ns"][known])
    np.maximum.at(end, of, waves["end_ns"][known])
    dispatches["begin_ns"][seen], dispatches["end_ns"][seen] = begin[seen], end[seen]


def keep_used(
    events: Sequence[Event], waves: Columns, slices: Columns, instants: Columns
) -> tuple[Event, ...]:
    """Return the events that occur, and let all columns point to them."""
    is_used = np.zeros(len(events) + 1, np.bool_)
    columns = [waves["group"], slices["event"], instants["event"]]
    for column in columns:
        is_used[column] = True  # NONE marks the extra row
    used = np.flatnonzero(is_used[:-1])
    place = np.full(len(events) + 1, NONE, np.int64)
    place[used] = np.arange(len(used))
    for column in columns:
        column[:] = place[column]
    return tuple(events[row] for row in used.tolist())
