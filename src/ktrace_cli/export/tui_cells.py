"""Time to cells: which phase a row of the terminal view is in at each column, and how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.export.tui_groups import Groups
from ktrace_cli.export.tui_lanes import Lanes
from ktrace_cli.export.tui_open import OpenWaves
from ktrace_cli.export.tui_rows import Floats, Rows, Span, parts_of
from ktrace_cli.model import NONE, Columns, Timeline
from ktrace_cli.timeline.segments import Ints

IDLE = -1
"""A cell in which waves run outside all phases."""
EMPTY = -2
"""A cell in which no wave runs."""
UNFINISHED = -3
"""The cell behind the last known time of a wave that had not ended."""
_LEAST = 1e-6  # of a column: what rounding leaves behind is no time


@dataclass(frozen=True)
class Scale:
    """The columns of a picture."""

    span: Span
    count: int

    @property
    def width(self) -> float:
        """Nanoseconds of one column."""
        return max(self.span.end_ns - self.span.begin_ns, 1) / self.count

    def place(self, ns: NDArray[np.int64]) -> Floats:
        """Return where times lie, in columns."""
        return np.clip((ns - self.span.begin_ns) / self.width, 0, self.count)


@dataclass(frozen=True)
class Cells:
    """What each cell shows; all have the shape (rows, columns)."""

    phase: Ints
    """The phase with most time in it, or IDLE or EMPTY."""
    fill: Floats
    """The share that this phase has of it, from 0 to 1."""
    most_waves: float
    """Most waves of a group that run at once; a share is of so many."""


@dataclass(frozen=True)
class Layout:
    """Where time goes."""

    scale: Scale
    lanes: Lanes
    rows: Rows
    symbol_of_phase: Ints
    symbols: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, columns, symbols."""
        return len(self.rows.labels), self.scale.count, max(self.symbols, 1)


def fill_cells(timeline: Timeline, groups: Groups, layout: Layout) -> Cells:
    """Add up the time of each phase in each cell."""
    time = np.zeros(layout.shape)
    for part, rows in parts_of(timeline, groups):
        slices = part.slices[rows]
        row = layout.rows.of[groups.of_wave[slices["wave"]], layout.lanes.of(slices)]
        slices, row = slices[row != NONE], row[row != NONE]  # the rest has no time in it
        time += _columns_of(slices, row, slices["event"], layout)
        is_inner = slices["parent"] != NONE
        outer = part.slices["event"][slices["parent"][is_inner]]
        time -= _columns_of(slices[is_inner], row[is_inner], outer, layout)
    running = _running(timeline, groups, layout)
    most_waves = max(1.0, float(running.max(initial=0)))
    capacity = np.maximum(most_waves * layout.rows.widths, 1)[:, None]
    phase = time.argmax(axis=2)
    most = time.max(axis=2)
    phase[most < _LEAST] = EMPTY
    phase[(most < _LEAST) & (running > _LEAST)] = IDLE
    return Cells(phase, np.clip(most / capacity, 0, 1), most_waves)


def mark_unfinished(cells: Cells, waves: OpenWaves, groups: Groups, layout: Layout) -> Cells:
    """Add a column, and in it or behind its last cell mark each row that has unfinished waves.

    A wave's last cell shows the innermost phase that it was in, however short that was so far.
    """
    phase = np.pad(cells.phase, ((0, 0), (0, 1)), constant_values=EMPTY)
    fill = np.pad(cells.fill, ((0, 0), (0, 1)))
    scale = layout.scale
    for row in np.flatnonzero(scale.span.holds(waves.end_ns)).tolist():
        own = int(layout.rows.of[waves.group[row], 0])
        if not groups.is_by_wave:
            phase[own, scale.count] = UNFINISHED
            continue
        begin, end = scale.place(np.array([waves.phase_begin_ns[row], waves.end_ns[row]]))
        last = min(max(int(np.ceil(end)) - 1, 0), scale.count - 1)
        if waves.phase[row] != NONE:
            last = min(max(last, int(begin)), scale.count - 1)
            symbol = layout.symbol_of_phase[waves.phase[row]]
            fill[own, last] *= phase[own, last] == symbol
            phase[own, last] = symbol
        phase[own, last + 1] = UNFINISHED
    return replace(cells, phase=phase, fill=fill)


def _running(timeline: Timeline, groups: Groups, layout: Layout) -> Floats:
    """Return how many waves run in each cell; none on lanes that are not their own."""
    waves = timeline.waves[groups.of_wave != NONE]
    group = groups.of_wave[groups.of_wave != NONE]
    begin, end = layout.scale.place(waves["begin_ns"]), layout.scale.place(waves["end_ns"])
    symbol = np.zeros(len(group), np.int64)
    return spread(layout.rows.of[group, 0], symbol, (begin, end), layout.shape)[:, :, 0]


def _columns_of(slices: Columns, row: Ints, event: Columns, layout: Layout) -> Floats:
    """Add up the time of slices, as if they were of other events."""
    symbol = layout.symbol_of_phase[layout.lanes.phase_of_event[event]]
    begin = layout.scale.place(slices["begin_ns"])
    end = layout.scale.place(slices["begin_ns"] + slices["ns"])
    return spread(row, symbol, (begin, end), layout.shape)


def spread(
    row: Ints, symbol: Ints, span: tuple[Floats, Floats], shape: tuple[int, int, int]
) -> Floats:
    """Add up how much of each column spans cover: parts of the first and last, all between."""
    begin, end = span
    last_column = shape[1] - 1
    first = np.minimum(begin.astype(np.int64), last_column)
    last = np.minimum(end.astype(np.int64), last_column)
    # One column more: what ends with the last one has its step down there.
    steps = (shape[0], shape[1] + 1, shape[2])
    covered = _added(steps, (row, first, symbol), np.ones(len(row)))
    covered -= _added(steps, (row, last, symbol), np.ones(len(row)))
    covered = np.cumsum(covered, axis=1)
    covered -= _added(steps, (row, first, symbol), begin - first)
    covered += _added(steps, (row, last, symbol), end - last)
    return covered[:, :-1]


def _added(shape: tuple[int, int, int], place: Sequence[Ints], weight: Floats) -> Floats:
    flat = np.ravel_multi_index(tuple(place), shape)
    sums = np.bincount(flat, weight, int(np.prod(shape))).astype(np.float64)
    return sums.reshape(shape)
