"""Sums over a kernel's instructions: by class, line, instruction and phase."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from ktrace_cli.att.code_table import CodeTable, Ints
from ktrace_cli.att.results import (
    ClassRow,
    InstructionRow,
    SourceCoverage,
    SourceRow,
    Sums,
)
from ktrace_cli.att.source_lines import (
    Frame,
    LineUse,
    SourceTexts,
    find_artefacts,
    split_chain,
)
from ktrace_cli.kernel_code.instructions import InstructionClass

Key = TypeVar("Key", bound=Hashable)

_WORST = 6


@dataclass(frozen=True)
class Code:
    """The table, and what is known of each of its rows."""

    table: CodeTable
    kinds: Sequence[InstructionClass]
    chains: Sequence[tuple[Frame, ...]]
    phases: Sequence[str]

    def instruction(self, row: int) -> InstructionRow:
        """Return all that is known of a row."""
        table = self.table
        return InstructionRow(
            row=row,
            text=table.text[row],
            address=int(table.address[row]),
            kind=self.kinds[row],
            chain=self.chains[row],
            phase=self.phases[row],
            sums=sums_of(table, np.array([row])),
        )


def sums_of(table: CodeTable, rows: Ints) -> Sums:
    """Add up rows."""
    columns = (table.hit, table.latency, table.stall, table.idle)
    return Sums(*(int(column[rows].sum()) for column in columns))


def group(rows: Ints, key: Callable[[int], Key]) -> dict[Key, Ints]:
    """Group rows by what `key` returns, in the order of its first row."""
    found: dict[Key, list[int]] = {}
    for row in rows.tolist():
        found.setdefault(key(row), []).append(row)
    return {name: np.array(members, np.int64) for name, members in found.items()}


def by_class(code: Code, rows: Ints) -> tuple[ClassRow, ...]:
    """Return the classes that were executed, the greatest stall first."""
    groups = group(rows, lambda row: code.kinds[row])
    made = [ClassRow(kind, sums_of(code.table, members)) for kind, members in groups.items()]
    kept = [one for one in made if one.sums.hit or one.sums.latency]
    return tuple(sorted(kept, key=lambda one: (-one.sums.stall, -one.sums.idle, one.kind.value)))


def by_instruction(code: Code, rows: Iterable[int]) -> tuple[InstructionRow, ...]:
    """Return the instructions that were executed, the greatest stall first."""
    table = code.table
    kept = [row for row in rows if table.hit[row] or table.latency[row]]
    order = sorted(kept, key=lambda row: (-table.stall[row], -table.idle[row], row))
    return tuple(code.instruction(row) for row in order)


def by_source(code: Code, rows: Ints, texts: SourceTexts, context: int) -> tuple[SourceRow, ...]:
    """Return the lines whose instructions were executed, the greatest stall first."""
    with_line = np.array([row for row in rows.tolist() if code.chains[row]], np.int64)
    groups = group(with_line, lambda row: code.chains[row][0])
    uses = [
        LineUse(frame, frozenset(code.kinds[r] for r in members.tolist()), members[0], members[-1])
        for frame, members in groups.items()
        if frame.line
    ]
    artefacts = find_artefacts(uses, texts, len(rows))
    made = [
        _source_row(code, frame, members, (texts, context, artefacts.get(frame, "")))
        for frame, members in groups.items()
    ]
    kept = [one for one in made if one.sums.hit or one.sums.latency]
    return tuple(sorted(kept, key=lambda one: (-one.sums.stall, -one.sums.idle, one.frame.text)))


def _source_row(
    code: Code, frame: Frame, rows: Ints, shown: tuple[SourceTexts, int, str]
) -> SourceRow:
    texts, context, artefact = shown
    stall = code.table.stall
    chains = group(rows, lambda row: code.chains[row])
    heaviest = max(chains, key=lambda chain: int(stall[chains[chain]].sum()))
    classes = by_class(code, rows)
    worst = sorted(rows.tolist(), key=lambda row: (-stall[row], -code.table.idle[row], row))
    return SourceRow(
        frame=frame,
        sums=sums_of(code.table, rows),
        kind=classes[0].kind if classes else code.kinds[int(rows[0])],
        instructions=len(rows),
        artefact=artefact,
        inlined_into=heaviest[1:],
        worst=tuple(code.instruction(row) for row in worst[:_WORST]),
        snippet=tuple(texts.around(frame, context)),
    )


def source_coverage(code: Code, rows: Ints, sources: Sequence[SourceRow]) -> SourceCoverage:
    """Tell how much of a kernel has source lines."""
    table = code.table
    has_line = np.array([bool(code.chains[row]) for row in rows.tolist()], np.bool_)
    executed = table.hit[rows] > 0
    stall = table.stall[rows]
    aside = sum(one.sums.stall for one in sources if one.artefact)
    return SourceCoverage(
        rows=_share(int(has_line.sum()), len(rows)),
        executed=_share(int((has_line & executed).sum()), int(executed.sum())),
        stall=_share(int(stall[has_line].sum()), int(stall.sum())),
        stall_set_aside=_share(aside, int(stall.sum())),
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def chains_of(table: CodeTable) -> list[tuple[Frame, ...]]:
    """Split the source of each row; many rows share one."""
    known = {source: split_chain(source) for source in set(table.source)}
    return [
        () if text.startswith(";") else known[source]
        for text, source in zip(table.text, table.source, strict=True)
    ]
