"""Which waves of a dispatch the terminal view shows, and which of them share rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ktrace_cli.code_object.names import shorten
from ktrace_cli.model import NONE, Columns, Timeline, WaveFlag
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.units import counted

_PLACE = ("xcc", "se", "cu")
_UNITS = ("XCD", "SE", "CU")
_ROLE_WIDTH = 20


@dataclass(frozen=True)
class Groups:
    """Waves that share rows: one wave each, or those of a part of the hardware."""

    of_wave: Ints
    """The group of each row of Timeline.waves, or NONE."""
    labels: tuple[tuple[str, str], ...]
    """Of each group, in two halves: the first is that of its workgroup or hardware."""
    sets: Ints
    """The set of each group, ascending: groups of one set are shown together or not at all."""
    heading: tuple[str, str]
    """What the halves of labels are."""
    kind: str
    """What a set is."""
    all_waves: int
    all_sets: int
    is_by_wave: bool = False
    """Whether each group is one wave."""

    def note(self) -> str:
        """Say how many waves are shown, of how many."""
        waves = int((self.of_wave != NONE).sum())
        sets = counted(self.all_sets, self.kind)
        if waves < self.all_waves:
            shown = int(self.sets.max(initial=-1)) + 1
            of_all = f"{shown:,} of {sets}, evenly spaced"
            return f"{waves:,} of {counted(self.all_waves, 'wave')}: {of_all}"
        size = -(-self.all_sets // max(len(self.labels), 1))
        merged = f", {size} in a row" if len(self.labels) < self.all_sets else ""
        return f"all {counted(waves, 'wave')} of {sets}{merged}"


def by_wave(timeline: Timeline, dispatch: int, most: int) -> Groups:
    """Give each wave of a dispatch a group; keep at most `most` workgroups, evenly spaced."""
    rows = _shown(timeline, dispatch)
    waves = timeline.waves[rows]
    block = waves["block"]
    order = np.lexsort((waves["wave"], block[:, 0], block[:, 1], block[:, 2]))
    waves, rows = waves[order], rows[order]
    is_first = np.ones(len(rows), np.bool_)
    is_first[1:] = (waves["block"][1:] != waves["block"][:-1]).any(axis=1)
    workgroup = np.cumsum(is_first) - 1
    kept = _evenly(int(is_first.sum()), most)
    keep = np.isin(workgroup, kept)
    waves, rows = waves[keep], rows[keep]
    of_wave = np.full(len(timeline.waves), NONE, np.int64)
    of_wave[rows] = np.arange(len(rows))
    return Groups(
        of_wave,
        labels=tuple((",".join(map(str, w["block"])), _name(timeline, w)) for w in waves),
        sets=np.searchsorted(kept, workgroup[keep]),
        heading=("workgroup", "wave"),
        kind="workgroup",
        all_waves=len(keep),
        all_sets=int(is_first.sum()),
        is_by_wave=True,
    )


def _name(timeline: Timeline, wave: Columns) -> str:
    role = timeline.events[wave["group"]].name if wave["group"] != NONE else ""
    return f"{wave['wave']} {shorten(role, _ROLE_WIDTH)}".rstrip()


def by_unit(timeline: Timeline, dispatch: int, depth: int) -> Groups:
    """Give the waves of each XCD (depth 1), shader engine (2) or CU (3) one group."""
    rows = _shown(timeline, dispatch)
    places = np.stack([timeline.waves[name][rows] for name in _PLACE[:depth]], axis=1)
    units, group = np.unique(places, axis=0, return_inverse=True)
    of_wave = np.full(len(timeline.waves), NONE, np.int64)
    of_wave[rows] = group.reshape(-1)
    return Groups(
        of_wave,
        labels=tuple(("/".join(map(str, place)), "") for place in units),
        sets=np.arange(len(units)),
        heading=("/".join(_UNITS[:depth]), ""),
        kind=_UNITS[depth - 1],
        all_waves=len(rows),
        all_sets=len(units),
    )


def _shown(timeline: Timeline, dispatch: int) -> Ints:
    waves = timeline.waves
    is_shown = (waves["dispatch"] == dispatch) & ((waves["flags"] & WaveFlag.TORN) == 0)
    return np.flatnonzero(is_shown)


def _evenly(count: int, most: int) -> Ints:
    """Choose at most `most` of `count`, the first and the last among them."""
    chosen = np.linspace(0, max(count - 1, 0), max(1, min(count, most))).round()
    return np.unique(chosen.astype(np.int64))
