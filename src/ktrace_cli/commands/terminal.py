"""A report on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rich.box import Box
from rich.cells import cell_len
from rich.table import Table as RichTable
from rich.text import Text as RichText

from ktrace_cli import console
from ktrace_cli.analysis.report import Block, Heading, Line, Name, Table, Text, printable

_NAME_WIDTH = 28
_LEAST_NAME_WIDTH = 8
_GAP = 3  # between columns
_EDGES = 2
_NO_EDGES = "    \n"


def show_report(blocks: Sequence[Block]) -> None:
    """Write a report to stdout, as wide as its terminal is."""
    for block in blocks:
        if isinstance(block, Heading):
            console.data(f"\n{_text(block.text, quote='')}\n")
        elif isinstance(block, Line):
            console.data(f"{' ' * block.indent}{_text(block.text, quote='`')}\n")
        else:
            _show_table(block)


def _text(text: Text, quote: str) -> str:
    return "".join(
        f"{quote}{printable(part.text)}{quote}" if isinstance(part, Name) else part for part in text
    )


def _show_table(table: Table) -> None:
    width = console.table_width()
    rows = [_cells(table, row, _NAME_WIDTH) for row in table.rows]
    kept = _kept_columns(table, rows, width)
    if _width(table, rows, kept) > width:
        rows = [_cells(table, row, _LEAST_NAME_WIDTH) for row in table.rows]
    shown = RichTable(box=_box(), pad_edge=False, padding=(0, 1))
    for number in kept:
        column = table.columns[number]
        side: Literal["left", "right"] = "right" if column.is_number else "left"
        shown.add_column(RichText(column.title), justify=side, no_wrap=True)
    for row in rows:
        shown.add_row(*(RichText(row[number]) for number in kept))
    console.table(shown, least_width=_width(table, rows, kept))
    notes = [table.columns[number].note for number in kept if table.columns[number].note]
    if left_out := [c.title for n, c in enumerate(table.columns) if n not in kept]:
        notes.append(f"not shown, as the terminal is too narrow: {', '.join(left_out)}")
    console.data("".join(f"{note}\n" for note in notes))


def _cells(table: Table, row: Sequence[str], width: int) -> list[str]:
    return [
        printable(cell, max(width, column.width)) if column.is_name else cell
        for column, cell in zip(table.columns, row, strict=True)
    ]


def _kept_columns(table: Table, rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """Return the columns that fit, or that are never left out."""
    kept = list(range(len(table.columns)))
    while _width(table, rows, kept) > width:
        drop = max(kept, key=lambda number: table.columns[number].drop)
        if not table.columns[drop].drop:
            break
        kept.remove(drop)
    return kept


def _width(table: Table, rows: Sequence[Sequence[str]], kept: Sequence[int]) -> int:
    widths = [
        max(cell_len(table.columns[n].title), *(cell_len(row[n]) for row in rows)) for n in kept
    ]
    return sum(widths) + _GAP * (len(kept) - 1) + _EDGES


def _box() -> Box:
    line = "─" if console.can_write("─") else "-"
    rows = [_NO_EDGES] * 8
    rows[2] = f" {line}{line} \n"
    return Box("".join(rows), ascii=line == "-")
