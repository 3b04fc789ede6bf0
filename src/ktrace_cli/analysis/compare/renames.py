"""Which new name may stand for which vanished one: suggestions, never assumptions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from ktrace_cli.analysis.compare.profile import PhaseId
from ktrace_cli.analysis.compare.results import Renamed
from ktrace_cli.analysis.compare.sides import KernelSide, Pair

_NEAR_LINES = 3
_SIMILAR = 0.1


def renamed_phases(
    base: KernelSide, new: KernelSide, gone: Sequence[PhaseId], came: Sequence[PhaseId]
) -> tuple[Renamed, ...]:
    """Return which of the phases that came look like one that is gone."""
    found, left = [], list(came)
    for old in gone:
        for candidate in left:
            if why := _likeness(base, new, old, candidate):
                found.append(Renamed(old.name, candidate.name, why))
                left.remove(candidate)
                break
    return tuple(found)


def renamed_kernels(
    pairs: Sequence[Pair], gone: Sequence[str], came: Sequence[str]
) -> tuple[Renamed, ...]:
    """Return which of the kernels that came have the very phases of one that is gone."""
    tables = {
        pair.name: frozenset(side.table)
        for pair in pairs
        for side in (pair.base, pair.new)
        if side is not None
    }
    found, left = [], [name for name in came if tables[name]]
    for old in gone:
        same = [name for name in left if tables[name] == tables[old]]
        if same:
            found.append(Renamed(old, same[0], "the same phases"))
            left.remove(same[0])
    return tuple(found)


def _likeness(base: KernelSide, new: KernelSide, old: PhaseId, candidate: PhaseId) -> str:
    """Say what two phases have in common; "" if that is not enough."""
    if old.kind != candidate.kind:
        return ""
    here, there = base.table[old], new.table[candidate]
    is_same_file = here.file and PurePath(here.file).name == PurePath(there.file).name
    if is_same_file and abs(here.line - there.line) <= _NEAR_LINES:
        return f"the same place in the source, {PurePath(there.file).name}:{there.line}"
    one, other = base.phase(old), new.phase(candidate)
    if not (one.count and other.count):
        return ""
    is_as_frequent = _similar(one.count / base.waves, other.count / new.waves)
    if is_as_frequent and _similar(one.total_ns / one.count, other.total_ns / other.count):
        return "as often and about as long"
    return ""


def _similar(one: float, other: float) -> bool:
    return abs(one - other) <= _SIMILAR * max(one, other)
