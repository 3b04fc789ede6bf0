"""Which unit of hardware or of the launch each slice belongs to: what `--by` asks for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from ktrace_cli.analysis.places import group_name, number_rows
from ktrace_cli.analysis.rows import Rows
from ktrace_cli.model import Columns, Timeline
from ktrace_cli.timeline.segments import Ints


class By(str, Enum):
    """What phases can be told apart by."""

    XCD = "xcd"
    SE = "se"
    CU = "cu"
    GROUP = "group"
    LANE = "lane"
    BLOCK = "block"
    DISPATCH = "dispatch"


UnitValue = int | str | tuple[int, int, int]


@dataclass(frozen=True)
class Grouping:
    """The units of one kind."""

    by: By
    columns: tuple[str, ...]
    """What names a unit: `xcd`, `se` for a shader engine."""
    units: tuple[tuple[UnitValue, ...], ...]
    """A value for each of `columns`."""
    of_wave: Ints | None
    """Row of `units` for each of Timeline.waves; None: `units` are Timeline.lanes."""

    def of_slices(self, rows: Rows) -> Ints:
        """Return the row of `units` of each slice."""
        if self.of_wave is None:
            return rows.part.slices["lane"].astype(np.int64)
        return self.of_wave.take(rows.wave)


def group_by(timeline: Timeline, by: By) -> Grouping:
    """Find all units of a kind, in their order."""
    if by is By.LANE:
        names = tuple((name,) for name in timeline.lanes)
        return Grouping(by, ("lane",), names, None)
    columns = _columns(timeline, by)
    first, number = number_rows(tuple(columns.values()))
    if by is By.BLOCK:
        blocks = timeline.waves["block"][first].tolist()
        return Grouping(by, ("block",), tuple((tuple(block),) for block in blocks), number)
    values = [columns[name][first].tolist() for name in columns]
    if by is By.GROUP:
        values = [[group_name(timeline, event) for event in values[0]]]
    units: tuple[tuple[UnitValue, ...], ...] = tuple(zip(*values, strict=True))
    return Grouping(by, tuple(columns), units, number)


def _columns(timeline: Timeline, by: By) -> dict[str, Columns]:
    """Return what tells units apart; the device only where there are several."""
    waves, dispatches = timeline.waves, timeline.dispatches
    if by is By.DISPATCH:
        return {"dispatch": dispatches["number"][waves["dispatch"]]}
    if by is By.GROUP:
        return {"group": _first_of_name(timeline)[waves["group"]]}
    if by is By.BLOCK:
        return {axis: waves["block"][:, number] for number, axis in enumerate("xyz")}
    device = {"device": dispatches["device"][waves["dispatch"]]}
    levels = {"xcd": waves["xcc"], "se": waves["se"], "cu": waves["cu"]}
    wanted = list(levels)[: list(levels).index(by.value) + 1]
    several = device if len(timeline.devices) > 1 else {}
    return {**several, **{name: levels[name] for name in wanted}}


def _first_of_name(timeline: Timeline) -> Ints:
    """Return for each event the first one of its name; the last row is for none."""
    first: dict[str, int] = {}
    rows = [first.setdefault(event.name, row) for row, event in enumerate(timeline.events)]
    return np.array([*rows, -1], np.int64)
