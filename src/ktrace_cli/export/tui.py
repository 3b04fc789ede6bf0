"""The terminal view: waves by time, as lines of styled text; it prints nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from ktrace_cli.code_object.names import display_name, shorten
from ktrace_cli.export.tui_cells import (
    EMPTY,
    IDLE,
    UNFINISHED,
    Cells,
    Layout,
    Scale,
    fill_cells,
    mark_unfinished,
)
from ktrace_cli.export.tui_groups import by_unit
from ktrace_cli.export.tui_lanes import read_lanes
from ktrace_cli.export.tui_open import OpenWaves, find_open
from ktrace_cli.export.tui_rows import (
    Census,
    Span,
    fit_units,
    fit_waves,
    lane_rows,
    take_census,
)
from ktrace_cli.export.tui_symbols import Symbol, Symbols, choose_symbols
from ktrace_cli.model import Timeline
from ktrace_cli.units import format_duration

Line = tuple[tuple[str, str], ...]
"""Pieces of text, each with the name of its style."""

BLOCKS = "▁▂▃▄▅▆▇█"
"""What a picture has that is not ASCII, but for names and `·`."""
_LEAST_COLUMNS = 20
_TICK = 14  # columns that a tick and its label need
_DIM = "dim"  # bright black is the background of some terminals


class By(str, Enum):
    """What a row of the terminal view stands for."""

    WORKGROUP = "workgroup"
    XCD = "xcd"
    SE = "se"
    CU = "cu"


_DEPTHS = {By.XCD: 1, By.SE: 2, By.CU: 3}


@dataclass(frozen=True)
class View:
    """What to show, and how much room there is."""

    dispatch: int
    """Row of Timeline.dispatches."""
    by: By = By.WORKGROUP
    width: int = 100
    """Characters of a line."""
    rows: int = 40
    """At most; one workgroup is shown whole all the same."""
    is_ascii: bool = False
    zero_ns: int = 0
    """When the recording's first wave began."""
    window_ns: tuple[int, int] | None = None
    """What is shown of the dispatch's time; None is all."""
    about: tuple[str, ...] = ()
    """Lines that the heading begins with, after the kernel's name."""


def pick_dispatches(timeline: Timeline, asked: Sequence[int]) -> list[int]:
    """Return the rows of the dispatches that are asked for by number; else of the longest one."""
    dispatches = timeline.dispatches
    if asked or not len(dispatches):
        return [int(row) for row in np.flatnonzero(np.isin(dispatches["number"], asked))]
    return [int((dispatches["end_ns"] - dispatches["begin_ns"]).argmax())]


def draw(timeline: Timeline, view: View) -> list[Line]:
    """Draw one dispatch: a row for each wave or unit, a column for each bit of time."""
    lanes = read_lanes(timeline)
    span = _span(timeline, view)
    if view.by is By.WORKGROUP:
        groups, census = fit_waves(timeline, view.dispatch, span, lanes, view.rows)
    else:
        groups = by_unit(timeline, view.dispatch, _DEPTHS[view.by])
        census = take_census(timeline, groups, lanes, span)
        groups, census = fit_units(groups, census, view.rows)
    unfinished = find_open(timeline, view.dispatch, span, groups, lanes)
    rows = lane_rows(groups, census, lanes)
    symbols = choose_symbols(lanes.phases, census.totals.sum(axis=0))
    margin = _margin([groups.heading, *rows.labels])
    ends = 1 if unfinished.all_waves else 0
    scale = Scale(span, max(_LEAST_COLUMNS, view.width - len(margin[0]) - ends))
    layout = Layout(scale, lanes, rows, symbols.of_phase, len(symbols.all))
    cells = fill_cells(timeline, groups, layout)
    if ends:
        cells = mark_unfinished(cells, unfinished, groups, layout)
    return [
        *_heading(timeline, view, groups.note() + unfinished.note(), scale),
        ((margin[0] + _axis(scale) + " " * ends, _DIM),),
        *(
            ((label, ""), *_pieces(cells, row, symbols.all, is_ascii=view.is_ascii))
            for row, label in enumerate(margin[1:])
        ),
        *_legend(view, census, _with_counts(symbols, unfinished)),
        *_explained(view, cells, has_unfinished=bool(ends)),
    ]


def _span(timeline: Timeline, view: View) -> Span:
    dispatch = timeline.dispatches[view.dispatch]
    begin, end = int(dispatch["begin_ns"]), int(dispatch["end_ns"])
    if view.window_ns is None:
        return Span(begin, end)
    begin = min(max(begin, view.window_ns[0]), end)
    return Span(begin, max(begin, min(end, view.window_ns[1])))


def _margin(labels: list[tuple[str, str]]) -> list[str]:
    """Write labels in two columns; a first half that is the one above it is left out."""
    first, second = (max(map(len, column)) for column in zip(*labels, strict=True))
    above = ["", *(place for place, _ in labels)]
    return [
        f"{'' if place == last else place:<{first}}  {name:<{second}}".rstrip().ljust(
            first + second + (4 if second else 2)
        )
        for (place, name), last in zip(labels, above, strict=False)
    ]


def _heading(timeline: Timeline, view: View, note: str, scale: Scale) -> Iterator[Line]:
    dispatch = timeline.dispatches[view.dispatch]
    kernel = timeline.kernels[int(dispatch["kernel"])]
    number = int(dispatch["number"])
    name = shorten(display_name(kernel.mangled), max(_LEAST_COLUMNS, view.width - 20))
    yield ((name, "bold"), (f", dispatch {number}", ""))
    for text in view.about:
        yield ((text, ""),)
    time = format_duration(scale.span.end_ns - scale.span.begin_ns)
    since = scale.span.begin_ns - view.zero_ns
    begin = f", from {since}ns on," if since > 0 else ""
    width = format_duration(scale.width)
    yield ((f"{time}{begin} in columns of {width}; {note}", ""),)
    yield ()


def _axis(scale: Scale) -> str:
    """Write a tick and its time at every 1, 2 or 5 of some power of ten, where there is room."""
    step = _round_up(scale.width * _TICK)
    text = ""
    for time in range(0, scale.span.end_ns - scale.span.begin_ns + 1, step):
        longer = text.ljust(round(time / scale.width)) + f"|{format_duration(time)}"
        text = longer if len(longer) <= scale.count else text
    return text.ljust(scale.count)


def _round_up(ns: float) -> int:
    power = 1
    while True:
        for digit in (1, 2, 5):
            if digit * power >= ns:
                return digit * power
        power *= 10


def _pieces(
    cells: Cells, row: int, symbols: tuple[Symbol, ...], *, is_ascii: bool
) -> Iterator[tuple[str, str]]:
    """Write the cells of a row; neighbours of one phase are one piece."""
    phase = cells.phase[row]
    starts = np.flatnonzero(np.diff(phase, prepend=UNFINISHED - 1))
    for start, stop in zip(starts, [*starts[1:], len(phase)], strict=True):
        shown = int(phase[start])
        if shown in (IDLE, EMPTY):
            text = " " if shown == EMPTY else "." if is_ascii else "·"
            yield text * (stop - start), _DIM
            continue
        if shown == UNFINISHED:
            yield (">" if is_ascii else "»"), "bold"
            continue
        letter, fill = symbols[shown].letter, cells.fill[row, start:stop]
        if is_ascii:
            text = "".join(letter.upper() if share >= 0.5 else letter for share in fill)
        else:
            height = np.clip(np.ceil(fill * len(BLOCKS)).astype(int) - 1, 0, None)
            text = letter + "".join(BLOCKS[h] for h in height[1:])
        yield text, symbols[shown].style


def _with_counts(symbols: Symbols, unfinished: OpenWaves) -> list[tuple[Symbol, int]]:
    """Return how many waves were in the phases of each symbol when they were recorded."""
    counts = [0] * len(symbols.all)
    for phase, symbol in enumerate(symbols.of_phase.tolist()):
        counts[symbol] += unfinished.count_in(phase)
    return list(zip(symbols.all, counts, strict=True))


def _legend(view: View, census: Census, symbols: list[tuple[Symbol, int]]) -> Iterator[Line]:
    block, dot = ("", ".") if view.is_ascii else ("█", "·")
    wave_ns = float(census.wave_ns.sum())
    whole = max(wave_ns, 1.0)
    entries = [
        (
            (f"{s.letter}{block}", s.style),
            (f" {_name(s)} {100 * s.time_ns / whole:.1f} %{f', {count:,} open' * (count > 0)}", ""),
        )
        for s, count in symbols
        if s.time_ns > 0 or count
    ]
    outside = 100 * max(wave_ns - float(census.phase_ns.sum()), 0.0) / whole
    entries.append(((dot, _DIM), (f" outside phases {outside:.1f} %", "")))
    yield ()
    line: Line = ()
    for entry in entries:
        wider = (*line, ("   ", ""), *entry) if line else entry
        if line and sum(len(text) for text, _ in wider) > view.width:
            yield line
            wider = entry
        line = wider
    yield line


def _name(symbol: Symbol) -> str:
    name = shorten(symbol.name, 28)
    return f"{name} ({symbol.lane})" if symbol.lane not in ("", symbol.name) else name


def _explained(view: View, cells: Cells, *, has_unfinished: bool) -> Iterator[Line]:
    whole = "the column"
    if view.by is not By.WORKGROUP:
        whole += f" of {cells.most_waves:.3g} waves at once"
    if view.is_ascii:
        yield ((f"letter: the phase with most time; upper case: at least half of {whole}", _DIM),)
    else:
        yield ((f"a letter begins a phase; a block's height is its share of {whole}", _DIM),)
    yield (("%: of the time of these waves, without phases that nest inside", _DIM),)
    if has_unfinished:
        mark = ">" if view.is_ascii else "»"
        text = f"{mark}: not ended when it was recorded; open: how many waves were in the phase"
        yield ((text, _DIM),)
