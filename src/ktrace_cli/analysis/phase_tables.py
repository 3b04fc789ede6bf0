"""The phases of a kernel as tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ktrace_cli.analysis.grouping import UnitValue
from ktrace_cli.analysis.histograms import Scale, draw_bars, find_scale
from ktrace_cli.analysis.phase_times import Phase, UnitPhase
from ktrace_cli.analysis.report import Block, Column, Glyphs, Line, Name, Table
from ktrace_cli.analysis.results import KernelSummary
from ktrace_cli.units import counted, format_time

_NO_TIME = "-"
_OPEN = (
    "open: had not ended when it was recorded, or its wave had no room for the end; in no other"
    " number of its phase"
)
_Row = TypeVar("_Row")


@dataclass(frozen=True)
class Style:
    """How a report is written."""

    unit: str
    glyphs: Glyphs
    top: int
    """Most rows of a table; 0: all."""
    has_self: bool = True
    """Whether what nests inside of each slice is known."""

    def time(self, time: float) -> str:
        """Write a time."""
        return format_time(time, self.unit)


@dataclass(frozen=True)
class _Field:
    """A column, and what is in it."""

    column: Column
    value: Callable[[Phase], str]


def phase_table(kernel: KernelSummary, style: Style) -> list[Block]:
    """Return the table of a kernel's phases, longest total first."""
    shown = _first(kernel.phases, style)
    scale = find_scale(phase.times.histogram or () for phase in shown)
    fields = _fields(shown, style, scale, share_of="% waves")
    rows = tuple(tuple(field.value(phase) for field in fields) for phase in shown)
    more = _more(len(kernel.phases) - len(shown), "phase")
    return [Table(tuple(field.column for field in fields), rows), *more]


def unit_table(
    kernel: KernelSummary, columns: Sequence[str], is_lane: bool, style: Style
) -> list[Block]:
    """Return the table of a kernel's phases in each unit, such as each XCD."""
    shown = _first(kernel.units, style)
    phases = [row.phase for row in shown]
    scale = find_scale(phase.times.histogram or () for phase in phases)
    share = "% waves" if is_lane else f"% {columns[-1]}"
    fields = _fields(phases, style, scale, share_of=share)
    heads = tuple(Column(name, is_number=False, is_name=name in _NAMED) for name in columns)
    rows = tuple(_unit_row(row, fields) for row in shown)
    more = _more(len(kernel.units) - len(shown), "row")
    return [Table((*heads, *(field.column for field in fields)), rows), *more]


def histogram_blocks(kernel: KernelSummary, phases: Sequence[Phase], style: Style) -> list[Block]:
    """Return a large histogram for each of some phases of a kernel."""
    blocks: list[Block] = []
    for phase in phases:
        lane = (" on lane ", Name(phase.lane)) if phase.lane else ()
        times = f", {counted(phase.times.count, 'time')}:"
        blocks.append(Line((Name(phase.name), *lane, times)))
        blocks.append(draw_bars(phase.times.histogram or (), style.unit, style.glyphs))
    return blocks


_NAMED = {"group", "lane"}


def _first(rows: Sequence[_Row], style: Style) -> Sequence[_Row]:
    return rows[: style.top] if style.top else rows


def _more(count: int, what: str) -> list[Block]:
    return [Line((f"and {counted(count, f'more {what}')} (`--top 0` shows all)",))] if count else []


def _unit_row(row: UnitPhase, fields: Sequence[_Field]) -> tuple[str, ...]:
    return (*map(_unit_cell, row.unit), *(field.value(row.phase) for field in fields))


def _unit_cell(value: UnitValue) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _fields(
    phases: Sequence[Phase], style: Style, scale: Scale | None, *, share_of: str
) -> list[_Field]:
    """Return the columns; some are there only where they tell something."""
    fields = [_Field(Column("phase", is_number=False, is_name=True), lambda phase: phase.name)]
    if any(phase.lane for phase in phases):
        lane = Column("lane", is_number=False, is_name=True)
        fields.append(_Field(lane, lambda phase: phase.lane))
    fields.append(_Field(Column("count"), lambda phase: f"{phase.times.count:,}"))
    if any(phase.unclosed for phase in phases):
        fields.append(_Field(Column("unclosed"), lambda phase: f"{phase.unclosed:,}"))
    if any(phase.open for phase in phases):
        fields.append(_Field(Column("open", note=_OPEN), lambda phase: f"{phase.open:,}"))
    fields.append(_Field(Column(share_of, drop=2), lambda phase: f"{100 * phase.share:.1f} %"))
    fields += _time_fields(style, has_percentiles=all(p.times.percentiles for p in phases))
    if scale:
        fields.append(_histogram_field(scale, style))
    return fields


def _histogram_field(scale: Scale, style: Style) -> _Field:
    def cell(phase: Phase) -> str:
        return scale.draw(phase.times.histogram or (), style.glyphs)

    note = scale.describe(style.unit)
    return _Field(Column("histogram", is_number=False, drop=9, note=note), cell)


def _time_fields(style: Style, *, has_percentiles: bool) -> list[_Field]:
    values: dict[str, tuple[int, Callable[[Phase], float]]] = {
        "total": (0, lambda phase: phase.times.total_ns),
        "self": (5, lambda phase: phase.times.self_ns),
        "mean": (1, lambda phase: phase.times.mean_ns),
        "min": (8, lambda phase: phase.times.min_ns),
        "p50": (3, lambda phase: phase.times.percentile(50)),
        "p90": (7, lambda phase: phase.times.percentile(90)),
        "p99": (6, lambda phase: phase.times.percentile(99)),
        "max": (4, lambda phase: phase.times.max_ns),
    }
    if not style.has_self:
        del values["self"]
    if not has_percentiles:
        values = {name: value for name, value in values.items() if not name.startswith("p")}
    return [_time_field(name, drop, value, style) for name, (drop, value) in values.items()]


def _time_field(name: str, drop: int, value: Callable[[Phase], float], style: Style) -> _Field:
    def cell(phase: Phase) -> str:
        return style.time(value(phase)) if phase.times.count else _NO_TIME

    return _Field(Column(name, drop=drop), cell)
