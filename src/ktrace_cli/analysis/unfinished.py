"""Where the waves of dispatches that never ended stand: what is open in each of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ktrace_cli.code_object.names import display_name
from ktrace_cli.model import NONE, Columns, SliceFlag, Timeline, WaveFlag
from ktrace_cli.trace_file.layout import DispatchFlag


@dataclass(frozen=True)
class WavePlace:
    """Which wave of its dispatch."""

    workgroup: tuple[int, int, int]
    wave: int
    """In its workgroup."""
    group: str
    """`KTRACE_GROUP`; "" without one."""


@dataclass(frozen=True)
class OpenStack:
    """Waves of one dispatch in which the same ranges are open."""

    names: tuple[str, ...]
    """The first one opened comes first; empty: nothing is open."""
    waves: int
    since_ns: int
    """How long the last one of `names` has been open at least, or nothing was recorded: the
    longest. Where times are modelled, only up to the wave's last record."""
    places: tuple[WavePlace, ...]
    """Of its `waves`."""
    full_waves: int
    """Of `waves`: their region was full, so that they may have gone on."""


@dataclass(frozen=True)
class UnfinishedDispatch:
    """A dispatch that was recorded while it was still running, or when it faulted."""

    kernel: str
    """Without return type and parameters."""
    dispatch: int
    """Number of the traced launch in its process, from 1."""
    waves: int
    """That have begun."""
    unfinished_waves: int
    status: int
    """HIP's error code, if it did not run any more; else 0."""
    is_modelled: bool
    """No host time tells when it was recorded: `since_ns` ends at each wave's last record."""
    missing_waves: int
    """That are expected and have not begun."""
    open: tuple[OpenStack, ...]
    """Most waves first."""


def find_unfinished(timeline: Timeline) -> tuple[UnfinishedDispatch, ...]:
    """Describe all dispatches that were still running, in the order of their launches."""
    rows = np.flatnonzero(timeline.dispatches["flags"] & DispatchFlag.UNFINISHED)
    return tuple(_describe(timeline, int(row)) for row in rows)


def _describe(timeline: Timeline, row: int) -> UnfinishedDispatch:
    dispatch = timeline.dispatches[row]
    first, count = int(dispatch["first_wave"]), int(dispatch["waves"])
    numbers = np.arange(first, first + count)
    is_running = (timeline.waves["flags"][numbers] & WaveFlag.UNFINISHED) != 0
    running = numbers[is_running]
    is_modelled = int(dispatch["completed_ns"]) == 0
    return UnfinishedDispatch(
        kernel=display_name(timeline.kernels[dispatch["kernel"]].mangled),
        dispatch=int(dispatch["number"]),
        waves=count,
        unfinished_waves=len(running),
        status=int(dispatch["status"]),
        is_modelled=is_modelled,
        missing_waves=max(int(dispatch["expected"]) - count, 0),
        open=_open_stacks(timeline, running.tolist(), is_modelled=is_modelled),
    )


def _open_stacks(
    timeline: Timeline, waves: list[int], *, is_modelled: bool
) -> tuple[OpenStack, ...]:
    found: dict[tuple[str, ...], list[tuple[int, int, bool]]] = {}
    for wave in waves:
        names, since = _stack(timeline, wave, is_modelled=is_modelled)
        is_full = bool(timeline.waves["flags"][wave] & WaveFlag.DROPPED)
        found.setdefault(names, []).append((wave, since, is_full))
    stacks = [
        OpenStack(
            names=names,
            waves=len(group),
            since_ns=max(since for _, since, _ in group),
            places=tuple(_place(timeline, wave) for wave, _, _ in group),
            full_waves=sum(is_full for _, _, is_full in group),
        )
        for names, group in found.items()
    ]
    return tuple(sorted(stacks, key=lambda stack: (-stack.waves, stack.names)))


def _place(timeline: Timeline, wave: int) -> WavePlace:
    row = timeline.waves[wave]
    x, y, z = row["block"].tolist()
    group = "" if row["group"] == NONE else timeline.events[row["group"]].name
    return WavePlace((x, y, z), int(row["wave"]), group)


def _stack(timeline: Timeline, wave: int, *, is_modelled: bool) -> tuple[tuple[str, ...], int]:
    """Return the names of what is open in a wave, outermost first, and for how long."""
    first, last = np.searchsorted(timeline.slices["wave"], [wave, wave + 1])
    slices = timeline.slices[first:last]
    rows = slices[(slices["flags"] & SliceFlag.RUNNING) != 0]
    last_record = _last_record(timeline, slices, wave)
    end = last_record if is_modelled else int(timeline.waves["end_ns"][wave])
    if not len(rows):
        return (), end - last_record
    rows = rows[np.lexsort((rows["depth"], rows["begin_ticks"]))]
    names = tuple(timeline.events[event].name for event in rows["event"].tolist())
    return names, end - int(rows["begin_ns"][-1])


def _last_record(timeline: Timeline, slices: Columns, wave: int) -> int:
    instants = timeline.instants
    of_wave = instants["ns"][instants["wave"] == wave]
    begin = int(timeline.waves["begin_ns"][wave])
    is_open = (slices["flags"] & SliceFlag.RUNNING) != 0
    ends = slices["begin_ns"] + np.where(is_open, 0, slices["ns"])
    return max(int(ends.max(initial=begin)), int(of_wave.max(initial=begin)))
