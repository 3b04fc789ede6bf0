"""What the machine code of a kernel tells: the mix of each phase, and what tracing added."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from ktrace_cli.code_object.contents import CodeObject, Kernel
from ktrace_cli.kernel_code.instructions import InstructionClass
from ktrace_cli.kernel_code.machine_code import Instruction, MachineCode
from ktrace_cli.kernel_code.moved import Moved, find_moved
from ktrace_cli.kernel_code.phases import Marker, PhaseMap, map_phases
from ktrace_cli.units import counted

Mix = Mapping[InstructionClass, int]

_HEADERS: Final = re.compile(r"(^|/)ktrace/(ktrace\.hpp|format\.h|detail/\w+\.hpp)$")


@dataclass(frozen=True)
class PhaseMix:
    """The instructions of one phase, as they stand in the code: none is counted twice."""

    label: str
    """`mma > k_tile`; "" is outside of all phases."""
    is_ambiguous: bool
    """Control comes here with different things open; the label names them all."""
    mix: Mix

    @property
    def instructions(self) -> int:
        """How many there are."""
        return sum(self.mix.values())

    @property
    def waits(self) -> int:
        """How many of them wait for counters."""
        return sum(number for kind, number in self.mix.items() if kind.is_wait)


@dataclass(frozen=True)
class MarkerCost:
    """The instructions that one marker put into a kernel."""

    name: str
    kind: str
    blocks: int
    """Words that its copies write, values and ends too."""
    instructions: int
    """Of the usual path, all copies together."""
    waits: int
    """How many of these wait for counters."""
    slow_instructions: int
    """Of the path that a wave takes whose lanes diverged, or that is not recorded."""


@dataclass(frozen=True)
class KernelInspection:
    """What the machine code of one kernel tells."""

    tool: str
    """What disassembled it."""
    mix: Mix
    """Of the whole kernel without its markers' instructions."""
    phases: tuple[PhaseMix, ...]
    """In the order of their first addresses; empty without annotations."""
    overlapping: tuple[PhaseMix, ...]
    """What lies between a KTRACE_START and its STOP whichever way control went. It is in `phases`,
    too."""
    markers: tuple[MarkerCost, ...]
    setup_instructions: int | None
    """That are KTRACE_WAVE's by their source lines; None where no line is of ktrace's headers."""
    moved: tuple[Moved, ...] | None
    """None where there is no debug information."""
    notices: tuple[str, ...]
    """What is not sure, in words."""

    @property
    def instructions(self) -> int:
        """How many there are, without those of markers."""
        return sum(self.mix.values())

    @property
    def marker_instructions(self) -> int:
        """Of the usual path of all markers."""
        return sum(marker.instructions for marker in self.markers)

    @property
    def slow_instructions(self) -> int:
        """Of the other path of all markers."""
        return sum(marker.slow_instructions for marker in self.markers)


def inspect_kernel(code: MachineCode, code_object: CodeObject, kernel: Kernel) -> KernelInspection:
    """Count the instructions of a kernel by phase and class."""
    phases = map_phases(code, code_object, kernel)
    unreached = set(phases.unreached)
    own = [
        one
        for one in code.within(kernel.code or range(0))
        if one.address in phases.place_by_address or one.address in unreached
    ]
    events = code_object.events_in(kernel)
    has_lines = any(one.line for one in own)
    return KernelInspection(
        tool=code.tool,
        mix=_mix(own),
        phases=_phase_mixes(own, phases) if kernel.is_annotated else (),
        overlapping=_overlapping(own, phases),
        markers=tuple(_cost(code, marker) for marker in phases.markers),
        setup_instructions=sum(bool(_HEADERS.search(one.file)) for one in own) or None,
        moved=find_moved(own, phases, events) if has_lines else None,
        notices=(*code.notices, *_notices(kernel, own, phases)),
    )


def _mix(instructions: Iterable[Instruction]) -> Mix:
    found = Counter(instruction.kind for instruction in instructions)
    return {kind: found[kind] for kind in InstructionClass if found[kind]}


def _phase_mixes(own: Iterable[Instruction], phases: PhaseMap) -> tuple[PhaseMix, ...]:
    found: dict[tuple[str, bool], list[Instruction]] = {}
    for instruction in own:
        place = phases.place_by_address.get(instruction.address)
        if place:
            found.setdefault((place.label, place.is_ambiguous), []).append(instruction)
    return tuple(PhaseMix(*key, _mix(lines)) for key, lines in found.items())


def _overlapping(own: Iterable[Instruction], phases: PhaseMap) -> tuple[PhaseMix, ...]:
    found: dict[str, list[Instruction]] = {}
    for instruction in own:
        for name in dict.fromkeys(phases.open_by_address.get(instruction.address, ())):
            found.setdefault(name, []).append(instruction)
    return tuple(PhaseMix(name, is_ambiguous=False, mix=_mix(of)) for name, of in found.items())


def _cost(code: MachineCode, marker: Marker) -> MarkerCost:
    lines = code.instructions
    fast = [lines[i] for block in marker.blocks for i in range(block.begin, block.end)]
    return MarkerCost(
        name=marker.name,
        kind=marker.kind,
        blocks=len(marker.blocks),
        instructions=len(fast),
        waits=sum(line.kind.is_wait for line in fast),
        slow_instructions=sum(len(block.slow) for block in marker.blocks),
    )


def _notices(kernel: Kernel, own: list[Instruction], phases: PhaseMap) -> list[str]:
    if kernel.code is None or not own:
        return ["its code is not in this file, or was not disassembled"]
    notices: list[str] = []
    if not kernel.is_annotated:
        return notices
    ambiguous = sum(place.is_ambiguous for place in phases.place_by_address.values())
    if ambiguous:
        what = counted(ambiguous, "instruction is", "instructions are")
        notices.append(f"{what} reached with different phases open")
    if phases.unreached:
        what = counted(len(phases.unreached), "instruction is", "instructions are")
        notices.append(f"{what} reached by no branch and in no phase")
    if phases.unknown_jumps:
        what = counted(len(phases.unknown_jumps), "jump goes", "jumps go")
        notices.append(f"{what} where nothing tells, and is not followed")
    if phases.unrecognized:
        names = ", ".join(phases.unrecognized)
        notices.append(
            f"the markers of {names} were not recognized: they begin at their notes, their ends "
            "are not known, and their instructions count as the kernel's"
        )
    return notices
