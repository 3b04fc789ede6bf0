"""How long the waves of launches, of workgroups, and single waves spend in each phase.

Of many units a sample is drawn, the same one each time: memory is bounded whatever the run's size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ktrace_cli.analysis.compare.profile import DIGITS, MOST_UNITS, Floats
from ktrace_cli.analysis.rows import Rows
from ktrace_cli.model import NONE, Timeline, WaveFlag
from ktrace_cli.timeline.segments import Ints, run_numbers, run_starts

_FEW_WORKGROUPS = 64
"""With fewer of them, single waves are kept, too."""


@dataclass(frozen=True)
class Group:
    """The launches of one kernel that have one shape."""

    kernel: int
    """Timeline.kernels, the first one of its name."""
    launches: Ints
    """Timeline.dispatches."""


@dataclass(frozen=True)
class Units:
    """The sampled units of one level in one group."""

    total: int
    """How many there were."""
    rows: Ints
    """Of its level's units, ascending: those that were drawn."""
    first: int
    """Place of the first one's times in UnitTimes' sums."""


class UnitTimes:
    """Adds up phases in units of one level."""

    def __init__(self, unit_of_wave: Ints, groups: list[Units], columns: list[int]) -> None:
        """Begin with nothing.

        Args:
            unit_of_wave: which unit each of Timeline.waves belongs to; NONE for torn ones.
            groups: the sampled units of each group.
            columns: how many phases each group has.
        """
        self._groups, self._columns = groups, columns
        units = int(unit_of_wave.max(initial=NONE)) + 1
        first = np.full(units + 1, NONE, np.int64)  # the last one is that of torn waves
        for group, width in zip(groups, columns, strict=True):
            first[group.rows] = group.first + np.arange(len(group.rows)) * width
        self._first_of_wave = first[unit_of_wave]
        waves = np.bincount(unit_of_wave[unit_of_wave != NONE], minlength=units)
        self._waves = waves.astype(np.int64)
        size = sum(len(g.rows) * width for g, width in zip(groups, columns, strict=True))
        self._sums = np.zeros(size, np.int64)

    def add(self, wave: Ints, column: Ints, ns: Ints) -> None:
        """Add slices of waves in columns of their group."""
        first = self._first_of_wave.take(wave)
        kept = np.flatnonzero(first != NONE)
        np.add.at(self._sums, first.take(kept) + column.take(kept), ns.take(kept))

    def units(self, group: int) -> Units:
        """Return the units of a group."""
        return self._groups[group]

    def times(self, group: int) -> Floats:
        """Return the time per wave of a group, shape (units, phases), in whole tenths."""
        units, width = self._groups[group], self._columns[group]
        sums = self._sums[units.first : units.first + len(units.rows) * width]
        waves = self._waves[units.rows].reshape(-1, 1)
        # A baseline keeps no more digits: what is compared with it must not have them either.
        return np.asarray(np.round(sums.reshape(-1, width) / waves, DIGITS), np.float64)


def make_units(timeline: Timeline, groups: list[Group], columns: list[int]) -> dict[str, UnitTimes]:
    """Number the units of all levels and draw samples of them."""
    waves = timeline.waves
    is_timed = (waves["flags"] & WaveFlag.TORN) == 0
    launch = waves["dispatch"].astype(np.int64)
    block = run_starts(np.rec.fromarrays([launch, *waves["block"].T]))
    numbers = {
        "launch": launch,
        "workgroup": run_numbers(block, len(waves)),
        "wave": np.arange(len(waves)),
    }
    group_of_launch = np.full(len(timeline.dispatches), NONE, np.int64)
    for place, group in enumerate(groups):
        group_of_launch[group.launches] = place
    group_of_wave = group_of_launch[launch]
    made: dict[str, UnitTimes] = {}
    for level, number in numbers.items():
        unit = np.where(is_timed, number, NONE)
        sampled = _draw(unit, group_of_wave, len(groups), columns)
        if level == "wave":
            many = [made["workgroup"].units(n).total >= _FEW_WORKGROUPS for n in range(len(groups))]
            sampled = _without(sampled, many, columns)
        made[level] = UnitTimes(unit, sampled, columns)
    return made


def _draw(unit: Ints, group_of_wave: Ints, groups: int, columns: list[int]) -> list[Units]:
    timed = np.flatnonzero(unit != NONE)
    distinct, at = np.unique(unit[timed], return_index=True)
    drawn, first = [], 0
    for number, places in enumerate(rows_by_number(group_of_wave[timed[at]], groups)):
        rows = kept = distinct[places]
        if len(rows) > MOST_UNITS:
            chosen = np.random.default_rng(0).choice(len(rows), MOST_UNITS, replace=False)
            kept = rows[np.sort(chosen)]
        drawn.append(Units(len(rows), kept, first))
        first += len(kept) * columns[number]
    return drawn


def _without(units: list[Units], is_left_out: list[bool], columns: list[int]) -> list[Units]:
    left, first = [], 0
    for number, one in enumerate(units):
        rows = one.rows[:0] if is_left_out[number] else one.rows
        left.append(Units(one.total, rows, first))
        first += len(rows) * columns[number]
    return left


def rows_by_number(numbers: Ints, count: int) -> list[Ints]:
    """Return the rows that have each number below `count`, ascending."""
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.searchsorted(numbers[order], np.arange(1, count))) if count else []


def slices_of(rows: Rows) -> tuple[Ints, Ints, Ints]:
    """Return wave, phase and length of the slices of a part whose length is known."""
    wave, phase, ns = rows.wave.astype(np.int64), rows.phase, rows.ns
    if rows.is_endless.any():
        ended = ~rows.is_endless
        return wave[ended], phase[ended], ns[ended]
    return wave, phase, ns
