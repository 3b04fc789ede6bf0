"""Finds instructions that the compiler moved out of the phase whose source lines they are of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ktrace_cli.code_object.contents import Event
from ktrace_cli.kernel_code.instructions import InstructionClass
from ktrace_cli.kernel_code.machine_code import Instruction
from ktrace_cli.kernel_code.phases import PhaseMap
from ktrace_cli.trace_file.layout import Kind

_ON_THE_PATH: Final = (Kind.RANGE, Kind.PUSH, Kind.PHASE)


@dataclass(frozen=True)
class Moved:
    """Instructions of one source line that lie outside of the line's phase."""

    phase: str
    """The name of the phase that the line lies in."""
    file: str
    line: int
    found_in: str
    """The label of the phase that the instructions lie in; "" outside of all."""
    instructions: int


@dataclass(frozen=True)
class _Home:
    """The source lines of one phase."""

    name: str
    file: str
    lines: range


def find_moved(
    instructions: Iterable[Instruction], phases: PhaseMap, events: Sequence[Event]
) -> tuple[Moved, ...]:
    """Return what lies outside of its phase, by phase, line and place.

    A phase's lines are those from its marker to the next one of its kind, as far as most of the
    instructions of a line lie in the phase. Where it is ambiguous what is open, nothing is said.
    """
    placed = [
        (instruction, place)
        for instruction in instructions
        if instruction.line
        and instruction.kind is not InstructionClass.MESSAGE
        and (place := phases.place_by_address.get(instruction.address))
    ]
    inside: Counter[tuple[str, int, str]] = Counter()
    total: Counter[tuple[str, int]] = Counter()
    for instruction, place in placed:
        total[instruction.file, instruction.line] += 1
        for name in () if place.is_ambiguous else set(place.path):
            inside[instruction.file, instruction.line, name] += 1
    homes = _homes(events, inside, total)
    moved: Counter[tuple[str, str, int, str]] = Counter()
    for instruction, place in placed:
        home = _home_of(homes, instruction.file, instruction.line)
        if home and not place.is_ambiguous and home.name not in place.path:
            moved[home.name, instruction.file, instruction.line, place.label] += 1
    return tuple(Moved(*key, number) for key, number in sorted(moved.items()))


def _homes(
    events: Sequence[Event],
    inside: Counter[tuple[str, int, str]],
    total: Counter[tuple[str, int]],
) -> list[_Home]:
    homes = []
    for file in sorted({file for file, _ in total}):
        markers = [e for e in events if e.kind in _ON_THE_PATH and _is_same_file(e.file, file)]
        for marker in markers:
            # What is nested lies in the phase, too; what is of the same kind ends it.
            later = [e.line for e in markers if e.line > marker.line and e.kind == marker.kind]
            limit = min(later, default=1 << 32)
            lines = [
                line
                for (place, line, name), number in inside.items()
                if place == file and name == marker.name and marker.line <= line < limit
                if 2 * number > total[place, line]
            ]
            if lines:
                homes.append(_Home(marker.name, file, range(marker.line, max(lines) + 1)))
    return homes


def _home_of(homes: Sequence[_Home], file: str, line: int) -> _Home | None:
    """Return the innermost phase that has a line."""
    having = [home for home in homes if home.file == file and line in home.lines]
    return max(having, key=lambda home: home.lines.start, default=None)


def _is_same_file(noted: str, debugged: str) -> bool:
    # Notes have the path that the compiler was given, debug information an absolute one.
    return bool(noted) and (debugged == noted or debugged.endswith(f"/{noted.removeprefix('./')}"))
