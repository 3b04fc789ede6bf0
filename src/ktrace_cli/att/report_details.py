"""The parts of the report that go deeper: what was waited for, padding, snippets."""

from __future__ import annotations

from collections.abc import Iterator

from ktrace_cli.analysis.report import Block, Column, Heading, Line, Name, Table
from ktrace_cli.att.report_words import WIDE, place_of, share, short_source
from ktrace_cli.att.results import Hotspots, InstructionRow, SourceRow

_NOP_NOTE = (
    "needed: wait states that the target demands between this matrix instruction and a read of its"
    " result; other instructions in between count, too"
)


def awaited(found: Hotspots, most: int) -> list[Block]:
    """Return the instructions that waits waited for."""
    total = found.totals.stall
    shown = found.awaited[: most or None]
    if not shown:
        return []
    rows = [
        (one.instruction.text, place_of(one.instruction), f"{one.count:,}", f"{one.stall:,}",
         share(one.stall, total))
        for one in shown
    ]  # fmt: skip
    columns = (
        Column("waited for", is_number=False, is_name=True, width=44),
        Column("source line", is_number=False, is_name=True, width=WIDE, drop=1), Column("waits"),
        Column("their stall"), Column("%"),
    )  # fmt: skip
    return [Line(("instructions that were waited for last:",)), Table(columns, tuple(rows))]


def padding(found: Hotspots, most: int) -> list[Block]:
    """Return what s_nop keep apart."""
    total = found.totals.stall
    matrix = [one for one in found.padding if one.needed is not None]
    others = [one for one in found.padding if one.needed is None and one.stall]
    shown = [*matrix, *others[: most or None]]
    if not shown:
        return []
    rows = [
        (one.producer or "(not found)", one.consumer, f"{len(one.rows):,}", f"{one.hit:,}",
         f"{one.wait_states}", "" if one.needed is None else f"{one.needed}", f"{one.stall:,}",
         share(one.stall, total))
        for one in shown
    ]  # fmt: skip
    columns = (
        Column("s_nop after", is_number=False, is_name=True),
        Column("before", is_number=False, is_name=True, width=24, drop=1),
        Column("places", drop=3),
        Column("executed", drop=2), Column("states", drop=4),
        Column("needed", note=_NOP_NOTE if any(row[5] for row in rows) else ""), Column("stall"),
        Column("%"),
    )  # fmt: skip
    left = len(others) - len(shown) + len(matrix)
    of = f" ({left} more not shown)" if left else ""
    return [
        Line((f"s_nop that keep results apart from their use{of}:",)),
        Table(columns, tuple(rows)),
    ]


def line_details(found: Hotspots, most: int) -> Iterator[Block]:
    """Yield what is around the lines with the most stall."""
    lines = [one for one in found.by_source if one.sums.stall and not one.artefact]
    for one in lines[: most or None]:
        yield from _detail(one)


def instruction_details(found: Hotspots, most: int, context: int) -> Iterator[Block]:
    """Yield the instructions around those with the most stall, as they lie in the code."""
    index_by_row = {one.row: index for index, one in enumerate(found.listing)}
    columns = (
        Column("", is_number=False), Column("instruction", is_number=False, is_name=True, width=44),
        Column("stall"), Column("idle"), Column("executed", drop=2), Column("address", drop=1),
        Column("source line", is_number=False, is_name=True, width=WIDE, drop=3),
    )  # fmt: skip
    stalled = [one for one in found.by_instruction if one.sums.stall]
    for one in stalled[: most or None]:
        index = index_by_row[one.row]
        near = found.listing[max(0, index - context) : index + context + 1]
        rows = [
            (">" if row is found.listing[index] else "", *_row(row), place_of(row)) for row in near
        ]
        yield Heading((f"0x{one.address:x}: {one.sums.stall:,} cycles of stall",))
        yield Table(columns, tuple(rows))


def _detail(one: SourceRow) -> Iterator[Block]:
    yield Heading((Name(one.frame.text), f": {one.sums.stall:,} cycles of stall"))
    for caller in one.inlined_into:
        yield Line(("inlined into ", Name(caller.text)))
    for number, text in one.snippet:
        mark = ">" if number == one.frame.line else " "
        yield Line((f"{mark} {number:5} ", Name(text.rstrip() or " ")))
    if not one.snippet:
        yield Line((f"the bundle does not hold the text of {short_source(one.frame)}",))
    yield Table(
        (
            Column("instruction", is_number=False, is_name=True, width=44), Column("stall"),
            Column("idle"), Column("executed"), Column("address", drop=1),
        ),
        tuple(_row(row) for row in one.worst),
    )  # fmt: skip


def _row(row: InstructionRow) -> tuple[str, ...]:
    sums = row.sums
    return row.text, f"{sums.stall:,}", f"{sums.idle:,}", f"{sums.hit:,}", f"0x{row.address:x}"
