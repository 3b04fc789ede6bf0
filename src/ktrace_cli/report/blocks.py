"""The parts of a written report as HTML: headings, sentences and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from ktrace_cli.analysis.report import Block, Column, Heading, Line, Table
from ktrace_cli.report.markup import Content, Html, code, join, rich_text, tag

_TONES = {"REGRESSED": "bad", "slower": "warn", "too few to tell": "warn", "faster": "good"}
_RESULT = "result"


def blocks_to_html(blocks: Sequence[Block], caption: str) -> Html:
    """Return all parts; sentences that follow each other are a list.

    Args:
        blocks: the parts.
        caption: what their tables show, for those who do not see them.
    """
    found: list[Html] = []
    for is_line, group in groupby(blocks, lambda block: isinstance(block, Line)):
        if is_line:
            found.append(_list([line for line in group if isinstance(line, Line)]))
            continue
        for block in group:
            if isinstance(block, Heading):
                found.append(tag("h3", rich_text(block.text)))
            elif isinstance(block, Table):
                found.append(_table(block, caption))
    return join(found)


def table(
    heads: Sequence[Html], rows: Sequence[Sequence[Html]], caption: str, class_: str | None = None
) -> Html:
    """Return a table that scrolls by itself where the page is too narrow for it."""
    top = tag("thead", tag("tr", *heads))
    body = tag("tbody", *(tag("tr", *row) for row in rows))
    shown = tag("table", tag("caption", caption, class_="unseen"), top, body, class_=class_)
    return tag("div", shown, class_="scroll", tabindex=0, role="region", aria_label=caption)


def head(title: str, *, is_number: bool = False, tip: str | None = None) -> Html:
    """Return the head of a column."""
    return tag("th", title, scope="col", class_="number" if is_number else None, title=tip)


def cell(
    *content: Content, is_number: bool = False, class_: str | None = None, label: str | None = None
) -> Html:
    """Return a cell; its label is seen where the page is too narrow for heads."""
    return tag("td", *content, class_="number" if is_number else class_, data_label=label)


def row_head(*content: Content) -> Html:
    """Return the cell that names a row."""
    return tag("th", *content, scope="row")


def _list(lines: Sequence[Line]) -> Html:
    items = [
        tag("li", rich_text(line.text), class_="inner" if line.indent and place else None)
        for place, line in enumerate(lines)
    ]
    return tag("ul", *items, class_="sentences")


def _table(block: Table, caption: str) -> Html:
    heads = [head(column.title, is_number=column.is_number) for column in block.columns]
    rows = [list(_row(block.columns, row)) for row in block.rows]
    notes = [tag("p", column.note, class_="note") for column in block.columns if column.note]
    return join([table(heads, rows, caption), *notes])


def _row(columns: Sequence[Column], row: Sequence[str]) -> Iterator[Html]:
    for place, (column, text) in enumerate(zip(columns, row, strict=True)):
        shown: Content = code(text) if column.is_name and text else text
        if column.title == _RESULT:
            tone = next((tone for word, tone in _TONES.items() if text.startswith(word)), None)
            shown = tag("span", text, class_=f"badge {tone}") if tone else text
        yield row_head(shown) if not place else cell(shown, is_number=column.is_number)
