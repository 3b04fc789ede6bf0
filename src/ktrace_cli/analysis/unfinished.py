"""Where the waves of dispatches that never ended stand: what is open in each of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ktrace_cli.analysis.places import group_name
from ktrace_cli.analysis.rows import Rows
from ktrace_cli.code_object.names import display_name
from ktrace_cli.model import Columns, Timeline, WaveFlag
from ktrace_cli.timeline.segments import Ints
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


@dataclass(frozen=True)
class _Stuck:
    """What is open in one wave."""

    names: tuple[str, ...]
    since_ns: int


class Unfinished:
    """Collects what is open in the waves of dispatches that were still running."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        is_unfinished = (timeline.dispatches["flags"] & DispatchFlag.UNFINISHED) != 0
        self._dispatches = np.flatnonzero(is_unfinished)
        self._is_running = is_unfinished[timeline.waves["dispatch"]] & (
            (timeline.waves["flags"] & WaveFlag.UNFINISHED) != 0
        )
        self._found: dict[int, _Stuck] = {}

    def add(self, rows: Rows) -> None:
        """Add a part."""
        waves = rows.part.wave_rows[self._is_running[rows.part.wave_rows]]
        if not len(waves):
            return
        last_record = self._last_records(rows, waves)
        names = self._open_names(rows, waves)
        for wave, last, (stack, begin) in zip(
            waves.tolist(), last_record.tolist(), names, strict=True
        ):
            dispatch = self._timeline.dispatches[self._timeline.waves["dispatch"][wave]]
            end = last if _is_modelled(dispatch) else int(self._timeline.waves["end_ns"][wave])
            self._found[wave] = _Stuck(stack, end - (begin if stack else last))

    def dispatches(self) -> tuple[UnfinishedDispatch, ...]:
        """Describe all dispatches that were still running, in the order of their launches."""
        return tuple(self._describe(int(row)) for row in self._dispatches)

    def _last_records(self, rows: Rows, waves: Ints) -> Ints:
        """Return when each wave was last heard of."""
        last = self._timeline.waves["begin_ns"].copy()
        slices, instants = rows.part.slices, rows.part.instants
        chosen = np.flatnonzero(self._is_running[rows.wave])
        ends = slices["begin_ns"][chosen] + np.where(rows.is_open[chosen], 0, rows.ns[chosen])
        np.maximum.at(last, rows.wave[chosen], ends)
        np.maximum.at(last, instants["wave"], instants["ns"])
        return np.asarray(last[waves], np.int64)

    def _open_names(self, rows: Rows, waves: Ints) -> list[tuple[tuple[str, ...], int]]:
        """Return for each wave what is open, outermost first, and when the last of it began."""
        slices = rows.part.slices[rows.is_open]
        slices = slices[np.lexsort((slices["depth"], slices["begin_ticks"], slices["wave"]))]
        first = np.searchsorted(slices["wave"], waves, "left").tolist()
        stop = np.searchsorted(slices["wave"], waves, "right").tolist()
        names = [self._timeline.events[event].name for event in slices["event"].tolist()]
        begins = slices["begin_ns"].tolist()
        return [
            (tuple(names[a:b]), begins[b - 1] if b > a else 0)
            for a, b in zip(first, stop, strict=True)
        ]

    def _describe(self, row: int) -> UnfinishedDispatch:
        timeline = self._timeline
        dispatch = timeline.dispatches[row]
        first, count = int(dispatch["first_wave"]), int(dispatch["waves"])
        running = [wave for wave in range(first, first + count) if wave in self._found]
        return UnfinishedDispatch(
            kernel=display_name(timeline.kernels[dispatch["kernel"]].mangled),
            dispatch=int(dispatch["number"]),
            waves=count,
            unfinished_waves=len(running),
            status=int(dispatch["status"]),
            is_modelled=_is_modelled(dispatch),
            missing_waves=max(int(dispatch["expected"]) - count, 0),
            open=self._open_stacks(running),
        )

    def _open_stacks(self, waves: list[int]) -> tuple[OpenStack, ...]:
        by_names: dict[tuple[str, ...], list[int]] = {}
        for wave in waves:
            by_names.setdefault(self._found[wave].names, []).append(wave)
        is_full = (self._timeline.waves["flags"] & WaveFlag.DROPPED) != 0
        stacks = [
            OpenStack(
                names=names,
                waves=len(own),
                since_ns=max(self._found[wave].since_ns for wave in own),
                places=tuple(_place(self._timeline, wave) for wave in own),
                full_waves=int(np.count_nonzero(is_full[own])),
            )
            for names, own in by_names.items()
        ]
        return tuple(sorted(stacks, key=lambda stack: (-stack.waves, stack.names)))


def _is_modelled(dispatch: Columns) -> bool:
    return int(dispatch["completed_ns"]) == 0


def _place(timeline: Timeline, wave: int) -> WavePlace:
    row = timeline.waves[wave]
    x, y, z = row["block"].tolist()
    return WavePlace((x, y, z), int(row["wave"]), group_name(timeline, int(row["group"])))
