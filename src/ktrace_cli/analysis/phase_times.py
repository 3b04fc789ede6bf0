"""How long the phases of each kernel take: over all of its waves, and by unit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ktrace_cli.analysis.durations import NO_TIMES, Durations, Times
from ktrace_cli.analysis.grouping import Grouping, UnitValue
from ktrace_cli.analysis.phases import PhaseTable
from ktrace_cli.analysis.rows import Rows
from ktrace_cli.errors import UsageError
from ktrace_cli.model import SliceFlag, Timeline
from ktrace_cli.timeline.segments import Ints

MOST_UNIT_ROWS = 2_000_000


@dataclass(frozen=True)
class Phase:
    """All slices of a kernel that have one name, kind and lane.

    Those without a known length are in `open` and nothing else.
    """

    name: str
    kind: str
    """range, push, start or phase: how it is marked in the source."""
    lane: str
    """As in the source, else a token's name; "" is the waves' own, where slices nest."""
    share: float
    """Of the time of all waves of the kernel, or of the unit; above 1 where ranges overlap."""
    times: Times
    unclosed: int
    """Of `times.count`: without an end, shown up to the wave's last record."""
    open: int
    """Nobody knows how long they last: their dispatch was recorded while it ran, or their wave's
    region had no room for their end."""


@dataclass(frozen=True)
class UnitPhase:
    """A phase in one unit, such as an XCD."""

    unit: tuple[UnitValue, ...]
    phase: Phase


class PhaseTimes:
    """Collects the phases of all kernels, in all units of a grouping if there is one."""

    def __init__(
        self, timeline: Timeline, table: PhaseTable, grouping: Grouping | None = None
    ) -> None:
        self._timeline = timeline
        self._table = table
        self._grouping = grouping
        units = len(grouping.units) if grouping else 1
        self._durations = Durations(units * len(table.keys))
        self._unclosed: Counter[int] = Counter()
        self._open: Counter[int] = Counter()

    @property
    def largest_error(self) -> float:
        """Of percentiles, as a part of them."""
        return self._durations.largest_error

    def add(self, rows: Rows) -> None:
        """Add a part.

        Raises:
            UsageError: there are too many units to tell about each.
        """
        key, ns, own = rows.phase, rows.ns, rows.self_ns
        if self._grouping:
            key = self._grouping.of_slices(rows) * len(self._table.keys) + key
        special = np.flatnonzero(rows.flags & SliceFlag.UNCLOSED)
        if len(special):
            is_endless = rows.is_endless
            self._open.update(key[is_endless].tolist())
            self._unclosed.update(key[special[~is_endless[special]]].tolist())
            if is_endless.any():
                key, ns, own = key[~is_endless], ns[~is_endless], own[~is_endless]
        self._durations.add(key, ns, own)
        if self._durations.keys > MOST_UNIT_ROWS:
            raise _too_many_units(self._grouping)

    def phases(self, wave_ns: Ints) -> dict[int, tuple[Phase, ...]]:
        """Return the phases of each kernel, longest total first.

        Args:
            wave_ns: time of all waves of each row of Timeline.kernels.
        """
        found: dict[int, list[Phase]] = {}
        for row, times in self._times():
            kernel = self._table.keys[row].kernel
            found.setdefault(kernel, []).append(self._phase(row, row, times, int(wave_ns[kernel])))
        return {kernel: tuple(sorted(phases, key=_order)) for kernel, phases in found.items()}

    def by_unit(self, wave_ns: Ints) -> dict[int, tuple[UnitPhase, ...]]:
        """Return the phases of each kernel in each unit, longest total first.

        Args:
            wave_ns: time of the waves, shape (kernels, units).
        """
        found: dict[int, list[UnitPhase]] = {}
        units = self._grouping.units if self._grouping else ((),)
        for key, times in self._times():
            unit, row = divmod(key, len(self._table.keys))
            kernel = self._table.keys[row].kernel
            phase = self._phase(key, row, times, int(wave_ns[kernel, unit]))
            found.setdefault(kernel, []).append(UnitPhase(units[unit], phase))
        return {
            kernel: tuple(sorted(rows, key=lambda row: _order(row.phase)))
            for kernel, rows in found.items()
        }

    def _times(self) -> Iterator[tuple[int, Times]]:
        seen = set()
        for key, times in self._durations.times():
            seen.add(key)
            yield key, times
        for key in sorted(set(self._open) - seen):
            yield key, NO_TIMES

    def _phase(self, key: int, row: int, times: Times, wave_ns: int) -> Phase:
        of = self._table.keys[row]
        return Phase(
            name=of.name,
            kind=of.kind,
            lane=of.lane,
            share=round(times.total_ns / wave_ns, 6) if wave_ns else 0.0,
            times=times,
            unclosed=self._unclosed[key],
            open=self._open[key],
        )


def _order(phase: Phase) -> tuple[int, str, str, str]:
    return -phase.times.total_ns, phase.name, phase.kind, phase.lane


def _too_many_units(grouping: Grouping | None) -> UsageError:
    units = f"{len(grouping.units):,}" if grouping else "many"
    by = grouping.by.value if grouping else ""
    return UsageError(
        f"`--by {by}` has too many rows",
        why=f"there are {units} of them, and more than {MOST_UNIT_ROWS:,} with their phases",
        fix="select some with `--kernel`, `--dispatch`, `--blocks` or `--limit`",
    )
