"""What rules on a thread trace look at: instructions by address, and figures of the whole."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ktrace_cli.errors import KtraceError
from ktrace_cli.kernel_code.control_flow import branch_target
from ktrace_cli.kernel_code.instructions import InstructionClass, classify
from ktrace_cli.kernel_code.machine_code import Instruction as Code

Record = Mapping[str, Any]
_WRONG = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError)
_BRANCH_SIZE = 4
_MOST_VGPRS = 1024  # more than any instruction can name
_REGISTERS = re.compile(r"(?P<file>[va])\[?(?P<first>\d{1,4})(?::(?P<last>\d{1,4}))?\]?", re.ASCII)


@dataclass(frozen=True)
class Instruction:
    """One that some wave executed. Cycles are those of all traced waves."""

    address: int
    text: str
    kind: InstructionClass
    hit: int
    latency: int
    stall: int
    idle: int
    place: str
    """`gemm.py:7`; "" if it has no source line."""
    phase: str

    @property
    def writes(self) -> tuple[int, int] | None:
        """The first and the last VGPR that it writes, as far as its first operand tells."""
        return registers(self.text.partition(" ")[2].partition(",")[0])


def registers(operand: str) -> tuple[int, int] | None:
    """Read `v7`, `v[4:7]` or `a[4:7]`; AGPRs follow after all VGPRs."""
    found = _REGISTERS.fullmatch(operand.strip())
    if found is None:
        return None
    begin = 0 if found["file"] == "v" else _MOST_VGPRS
    first, last = found["first"], found["last"] or found["first"]
    return begin + int(first), begin + int(last)


@dataclass(frozen=True)
class SetAside:
    """A source line that does not mean what it says."""

    place: str
    stall: int
    why: str


@dataclass(frozen=True)
class Padding:
    """Instructions that only let time pass until a result is there."""

    after: str
    before: str
    stall: int


@dataclass(frozen=True)
class NextStep:
    """The occupancy above a kernel's own."""

    waves: int
    now: int
    needs: tuple[tuple[str, int, int], ...]
    """What must be freed: name, what is used, the most that the step allows."""
    unknown: tuple[str, ...]
    origin: str = ""
    """What it is known of, in words; "" of a thread trace."""


@dataclass(frozen=True)
class Stalls:
    """A thread trace of one kernel."""

    kernel: str
    target: str
    origin: str
    """What it comes from."""
    latency: int
    stall: int
    idle: int
    by_class: tuple[tuple[str, int, int], ...]
    """Class, stall, idle; the most stall first."""
    instructions: tuple[Instruction, ...]
    """By address."""
    set_aside: tuple[SetAside, ...]
    padding: tuple[Padding, ...]
    next_step: NextStep | None

    def class_stall(self, kind: InstructionClass) -> int:
        """Return the stall of a class of instructions."""
        return sum(stall for name, stall, _ in self.by_class if name == kind.value)

    @cached_property
    def loops(self) -> tuple[Sequence[Instruction], ...]:
        """The innermost loops: from where a branch goes back to, to the branch."""
        at = {one.address: number for number, one in enumerate(self.instructions)}
        spans = []
        for number, one in enumerate(self.instructions):
            target = branch_target(Code(one.address, _BRANCH_SIZE, one.text))
            begin = at.get(target) if target is not None else None
            if begin is not None and begin <= number:
                spans.append((begin, number))
        inner = [
            a for a in spans if not any(b != a and a[0] <= b[0] <= b[1] <= a[1] for b in spans)
        ]
        return tuple(self.instructions[begin : end + 1] for begin, end in inner)

    @cached_property
    def straight(self) -> tuple[Sequence[Instruction], ...]:
        """All instructions, cut where a branch ends a sequence."""
        pieces: list[list[Instruction]] = [[]]
        for one in self.instructions:
            pieces[-1].append(one)
            if one.kind is InstructionClass.BRANCH:
                pieces.append([])
        return tuple(piece for piece in pieces if piece)


def read_stalls(document: Record, path: Path) -> Stalls:
    """Read what `ktrace hotspots --json` wrote.

    Raises:
        KtraceError: it is none, or something in it is not as it writes it.
    """
    try:
        return _stalls(document, path)
    except _WRONG as problem:
        raise KtraceError(
            f"cannot read {path}",
            why=f"it is not made as `ktrace hotspots --json` makes it: {problem!r}",
            fix="write it again with this ktrace, or name the folder of the thread trace",
        ) from problem


def _stalls(document: Record, path: Path) -> Stalls:
    totals = document["totals"]
    classes = [
        (str(one["class"]), int(one["stall"]), int(one["idle"])) for one in document["by_class"]
    ]
    instructions = sorted(map(_instruction, document["by_instruction"]), key=lambda i: i.address)
    return Stalls(
        kernel=str(document["kernel"]),
        target=str(document["arch"] or ""),
        origin=str(path),
        latency=int(totals["latency"]),
        stall=int(totals["stall"]),
        idle=int(totals["idle"]),
        by_class=tuple(sorted(classes, key=lambda one: -one[1])),
        instructions=tuple(instructions),
        set_aside=tuple(_set_aside(document["by_source"])),
        padding=tuple(
            Padding(str(one["after"] or ""), str(one["before"] or ""), int(one["stall"]))
            for one in document["padding"]
        ),
        next_step=_next_step(document["occupancy"]),
    )


def _instruction(record: Record) -> Instruction:
    text = str(record["text"])
    return Instruction(
        address=int(record["address"]),
        text=text,
        kind=classify(text),
        hit=int(record["hit"]),
        latency=int(record["latency"]),
        stall=int(record["stall"]),
        idle=int(record["idle"]),
        place=Path(str(record["source"][0])).name if record["source"] else "",
        phase=str(record["phase"] or ""),
    )


def _set_aside(sources: Sequence[Record]) -> Iterator[SetAside]:
    for one in sources:
        if one["set_aside"]:
            place = f"{Path(str(one['path'])).name}:{one['line'] or '?'}"
            yield SetAside(place, int(one["stall"]), str(one["set_aside"]))


def _next_step(occupancy: Record) -> NextStep | None:
    step, now = occupancy["next_step"], occupancy["waves_per_simd"]
    if step is None or not now:  # no workgroup fits: there is nothing to compare with
        return None
    needs = tuple((str(n["name"]), int(n["used"]), int(n["most"])) for n in step["needs"])
    unknown = tuple(str(name) for name in occupancy["unknown"])
    return NextStep(int(step["waves_per_simd"]), int(now), needs, unknown)
