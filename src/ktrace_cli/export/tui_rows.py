"""What there is of the terminal view's waves, and the rows that show it, as many as fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.export.tui_groups import Groups, by_wave
from ktrace_cli.export.tui_lanes import Lanes
from ktrace_cli.model import NONE, Flags, Part, Timeline
from ktrace_cli.timeline.segments import Ints

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Span:
    """The time that is shown."""

    begin_ns: int
    end_ns: int

    def within(self, begin: Ints, end: Ints) -> Ints:
        """Return how much of each time lies in it."""
        inside = np.minimum(end, self.end_ns) - np.maximum(begin, self.begin_ns)
        return np.asarray(np.maximum(inside, 0), np.int64)

    def holds(self, time: Ints) -> Flags:
        """Tell which times lie in it."""
        return np.asarray((time >= self.begin_ns) & (time <= self.end_ns), np.bool_)


@dataclass(frozen=True)
class Census:
    """What there is to show of each group."""

    totals: Floats
    """Time of each phase without what nests inside; shape (groups, phases)."""
    wave_ns: Floats
    """Time of its waves."""
    phase_ns: Floats
    """Of it, inside phases on the waves' own lanes."""
    present: NDArray[np.bool_]
    """Whether it has anything on a lane; shape (groups, lanes)."""
    widths: Ints
    """How many lanes of a timeline are shown as one, for each."""

    def heights(self) -> Ints:
        """Return how many rows each group needs."""
        return np.asarray(1 + self.present[:, 1:].sum(axis=1), np.int64)


@dataclass(frozen=True)
class Rows:
    """The rows, from above."""

    labels: tuple[tuple[str, str], ...]
    widths: Ints
    """How many lanes each shows."""
    of: Ints
    """The row of a group's lane, or NONE; shape (groups, lanes)."""


def take_census(timeline: Timeline, groups: Groups, lanes: Lanes, span: Span) -> Census:
    """Add up the phases of each group, and find which lanes it has."""
    count, phases = len(groups.labels), len(lanes.phases)
    totals, phase_ns = np.zeros(count * phases), np.zeros(count)
    present = np.zeros((count, len(lanes.names)), np.bool_)
    seen: set[tuple[int, ...]] = set()
    for part, rows in parts_of(timeline, groups):
        slices = part.slices[rows]
        group, lane = groups.of_wave[slices["wave"]], lanes.of(slices)
        time = span.within(slices["begin_ns"], slices["begin_ns"] + slices["ns"])
        cell = group * phases + lanes.phase_of_event[slices["event"]]
        totals += np.bincount(cell, time, len(totals))
        is_inner = slices["parent"] != NONE
        outer = part.slices["event"][slices["parent"][is_inner]]
        cell = group[is_inner] * phases + lanes.phase_of_event[outer]
        totals -= np.bincount(cell, time[is_inner], len(totals))
        is_top = (slices["lane"] == 0) & ~is_inner
        phase_ns += np.bincount(group[is_top], time[is_top], count)
        is_shown = time > 0
        present[group[is_shown], lane[is_shown]] = True
        pairs = np.unique(np.stack((lane, slices["lane"]), axis=1)[is_shown], axis=0)
        seen.update(map(tuple, pairs.tolist()))
    widths = np.bincount([lane for lane, _ in seen], minlength=len(lanes.names))
    return Census(
        totals.reshape(count, phases),
        wave_ns=_wave_ns(timeline, groups, span),
        phase_ns=phase_ns,
        present=present,
        widths=np.maximum(widths, 1),
    )


def parts_of(timeline: Timeline, groups: Groups) -> Iterator[tuple[Part, Ints]]:
    """Yield the parts that have a wave of a group, with the rows of its slices."""
    wanted = groups.of_wave != NONE
    for part in timeline.source(wanted):
        rows = np.flatnonzero(wanted[part.slices["wave"]])
        if len(rows):
            yield part, rows


def _wave_ns(timeline: Timeline, groups: Groups, span: Span) -> Floats:
    is_shown = groups.of_wave != NONE
    waves = timeline.waves[is_shown]
    time = span.within(waves["begin_ns"], waves["end_ns"])
    return np.bincount(groups.of_wave[is_shown], time, len(groups.labels)).astype(np.float64)


def fit_waves(
    timeline: Timeline, dispatch: int, span: Span, lanes: Lanes, most: int
) -> tuple[Groups, Census]:
    """Choose as many workgroups as fit into `most` rows; one is left whole."""
    count = most
    while True:
        groups = by_wave(timeline, dispatch, count)
        census = take_census(timeline, groups, lanes, span)
        heights = np.bincount(groups.sets, census.heights())
        if count <= 1 or heights.sum() <= most:
            return groups, census
        count = max(1, min(count - 1, most // int(heights.max())))


def fit_units(groups: Groups, census: Census, most: int) -> tuple[Groups, Census]:
    """Let neighbouring parts of the hardware share rows until at most `most` are left, or one."""
    heights = census.heights()
    if heights.sum() <= most:
        return groups, census
    rows = max(1, most // int(heights.max()))
    place = np.arange(len(groups.labels)) // -(-len(groups.labels) // rows)
    starts = np.flatnonzero(np.diff(place, prepend=-1))
    stops = [*starts[1:], len(place)]
    names = [
        (groups.labels[a][0], groups.labels[b - 1][0]) for a, b in zip(starts, stops, strict=True)
    ]
    labels = tuple((" - ".join(dict.fromkeys(pair)), "") for pair in names)
    merged = replace(
        groups,
        of_wave=np.where(groups.of_wave == NONE, NONE, place[groups.of_wave]),
        labels=labels,
        sets=np.arange(len(labels)),
    )
    return merged, replace(
        census,
        totals=np.add.reduceat(census.totals, starts),
        wave_ns=np.add.reduceat(census.wave_ns, starts),
        phase_ns=np.add.reduceat(census.phase_ns, starts),
        present=np.logical_or.reduceat(census.present, starts),
    )


def lane_rows(groups: Groups, census: Census, lanes: Lanes) -> Rows:
    """Give each group a row, and each of its lanes one below it."""
    of = np.full((len(groups.labels), len(lanes.names)), NONE, np.int64)
    labels: list[tuple[str, str]] = []
    widths: list[int] = []
    for group, (place, name) in enumerate(groups.labels):
        for lane in (0, *(np.flatnonzero(census.present[group, 1:]) + 1).tolist()):
            of[group, lane] = len(labels)
            width = int(census.widths[lane])
            label = f"  {lanes.names[lane]}" if lane else name
            labels.append((place, label if width == 1 else f"{label} x{width}"))
            widths.append(width)
    return Rows(tuple(labels), np.array(widths, np.int64), of)
