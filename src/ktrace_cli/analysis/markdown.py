"""A report as GitHub's Markdown, for comments that CI writes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ktrace_cli.analysis.report import Block, Heading, Line, Name, Table, Text, printable


def to_markdown(blocks: Sequence[Block]) -> str:
    """Return Markdown in which names of the program mean nothing but themselves."""
    texts: list[str] = []
    for block in blocks:
        if isinstance(block, Heading):
            texts.append(f"\n### {_text(block.text)}\n")
        elif isinstance(block, Line):
            texts.append(f"{' ' * block.indent}- {_text(block.text)}\n")
        else:
            texts.append(f"\n{_table(block)}")
    return "".join(texts).lstrip("\n")


def code(name: str) -> str:
    """Return a name as a code span, whatever backticks it has."""
    name = printable(name)
    longest = max((len(run) for run in re.findall("`+", name)), default=0)
    fence = "`" * (longest + 1)
    # A space that a code span begins and ends with is taken off.
    space = " " if name[:1] in "` " or name[-1:] in "` " else ""
    return f"{fence}{space}{name}{space}{fence}"


def _text(text: Text) -> str:
    return "".join(code(part.text) if isinstance(part, Name) else part for part in text)


def _table(table: Table) -> str:
    heads = [column.title for column in table.columns]
    rules = ["---:" if column.is_number else ":---" for column in table.columns]
    rows = [heads, rules, *(_cells(table, row) for row in table.rows)]
    notes = [f"- {column.note}\n" for column in table.columns if column.note]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows) + "".join(["\n", *notes])


def _cells(table: Table, row: Sequence[str]) -> list[str]:
    return [
        # A table is cut at pipes before code spans are read.
        (code(cell) if column.is_name and cell else cell).replace("|", "\\|")
        for column, cell in zip(table.columns, row, strict=True)
    ]
