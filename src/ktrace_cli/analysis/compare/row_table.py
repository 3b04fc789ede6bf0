"""The phases of a kernel on both sides as a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ktrace_cli.analysis.compare.profile import LAUNCH_TIME
from ktrace_cli.analysis.compare.results import KernelComparison, Row, Status
from ktrace_cli.analysis.report import Column, Table
from ktrace_cli.units import format_time

_RATHER_AS_FACTOR = 10


def row_table(kernel: KernelComparison, rows: Sequence[Row], unit: str) -> Table:
    """Return a table of some rows of a kernel."""
    fields = _fields(kernel, rows, unit)
    cells = tuple(tuple(field.value(row) for field in fields) for row in rows)
    return Table(tuple(field.column for field in fields), cells)


@dataclass(frozen=True)
class _Field:
    """A column, and what is in it."""

    column: Column
    value: Callable[[Row], str]


def _fields(kernel: KernelComparison, rows: Sequence[Row], unit: str) -> list[_Field]:
    fields = [_Field(Column("phase", is_number=False, is_name=True), lambda row: row.id.name)]
    if any(row.id.lane for row in rows):
        lane = Column("lane", is_number=False, is_name=True, drop=3)
        fields.append(_Field(lane, lambda row: row.id.lane))
    fields += [
        _Field(
            Column("base", note=_note_on_times(rows, kernel)),
            lambda row: format_time(row.base.wave_ns, unit),
        ),
        _Field(Column("new"), lambda row: format_time(row.new.wave_ns, unit)),
        _Field(Column("change"), change_of),
        _Field(Column("result", is_number=False), _result),
    ]
    if any({row.base.count_per_wave, row.new.count_per_wave} != {1.0} for row in rows):
        fields.append(_Field(Column("count per wave", drop=2), _count))
        fields.append(_Field(Column("each", drop=4), lambda row: _each(row, unit)))
    if any(side.self_mean_ns != side.mean_ns for row in rows for side in (row.base, row.new)):
        fields.append(_Field(Column("each, self", drop=6), lambda row: _each_self(row, unit)))
    if any(row.noise is not None for row in rows):
        fields.append(_Field(Column("noise", drop=5), _noise))
    if any(row.p is not None for row in rows):
        fields.append(_Field(Column("p", drop=7), _p))
    return fields


def _note_on_times(rows: Sequence[Row], kernel: KernelComparison) -> str:
    over = "the middle half of the launches"
    if kernel.level != "launch":
        over = f"{kernel.level}s without the fastest and the slowest tenth"
    has_launch = any(row.id == LAUNCH_TIME for row in rows)
    launch = f", and in {LAUNCH_TIME.name} that of a launch" if has_launch else ""
    return f"base, new: time that a wave spends in the phase{launch}, mean over {over}"


def change_of(row: Row) -> str:
    """Write by how much a phase changed."""
    if row.change is None:
        return "from nothing" if row.change_ns else "0.0 %"
    if row.change >= _RATHER_AS_FACTOR:
        return f"x {1 + row.change:,.0f}"
    return f"{100 * row.change:+.1f} %" if abs(row.change) >= 0.0005 else "0.0 %"


def _result(row: Row) -> str:
    limit = f" ({row.limit.rpartition('>')[2]})" if row.status is Status.REGRESSED else ""
    return f"{row.status.value.upper() if limit else row.status.value}{limit}"


def _count(row: Row) -> str:
    return both(f"{row.base.count_per_wave:.4g}", f"{row.new.count_per_wave:.4g}")


def _each(row: Row, unit: str) -> str:
    return both(format_time(row.base.mean_ns, unit), format_time(row.new.mean_ns, unit))


def _each_self(row: Row, unit: str) -> str:
    return both(format_time(row.base.self_mean_ns, unit), format_time(row.new.self_mean_ns, unit))


def both(base: str, new: str) -> str:
    """Write what both sides have, once where it is the same."""
    return base if base == new else f"{base} -> {new}"


def _noise(row: Row) -> str:
    return "" if row.noise is None else f"{100 * row.noise:.1f} %"


def _p(row: Row) -> str:
    if row.p is None:
        return ""
    return "< 0.001" if row.p < 0.001 else f"{row.p:.3f}"
