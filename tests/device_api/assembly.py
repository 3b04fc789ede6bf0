"""Count the instructions of a path through compiler output (.s), markers' slow paths apart.

`Listing` parses one kernel. `longest_cycle` follows its control flow once around a loop; where a
marker branches, `Way` says which: the wave is recorded, not recorded, or partly active.
"""

import re
from collections import Counter
from dataclasses import dataclass
from enum import Enum

_INSTRUCTION = re.compile(r"\s+((?:s|v|ds|global|buffer|flat|scratch)_\w+)\s*(.*)$")
_LABEL = re.compile(r"^\s*(\.?\w[\w.$]*):")


class Way(Enum):
    """How a marker finds the wave."""

    RECORDED = "recorded"
    NOT_RECORDED = "not recorded"
    PARTLY_ACTIVE = "partly active"
    EAGER = "eager"


@dataclass(frozen=True)
class Instruction:
    opcode: str
    operands: str

    @property
    def kind(self) -> str:
        for kind, pattern in _KINDS:
            if re.match(pattern, self.opcode):
                return kind
        return "salu" if self.opcode.startswith("s_") else "valu"

    @property
    def target(self) -> str:
        return self.operands.split()[-1] if "branch" in self.opcode else ""


_KINDS = (
    ("mfma", r"v_(s)?mfma"),
    ("lds", r"ds_"),
    ("vmem", r"(global|buffer|flat|scratch)_"),
    ("wait", r"s_waitcnt"),
    ("nop", r"s_nop"),
    ("smem", r"s_(load|store|buffer|memtime|memrealtime|dcache)"),
)


class Listing:
    """The instructions of one kernel and where its labels point."""

    def __init__(self, text: str, kernel: str) -> None:
        self.instructions: list[Instruction] = []
        self.labels: dict[str, int] = {}
        self._slow: list[tuple[str, Instruction | None]] = []  # a label, or an instruction
        for line in _without_directives(_lines_of(text, kernel)):
            self._take(line)
        self.main_size = len(self.instructions)
        for label, instruction in self._slow:
            if instruction is None:
                self.labels[label] = len(self.instructions)
            else:
                self.instructions.append(instruction)

    def _take(self, line: tuple[bool, str]) -> None:
        is_slow, text = line
        if label := _LABEL.match(text):
            if is_slow:
                self._slow.append((label[1], None))
            else:
                self.labels[label[1]] = len(self.instructions)
        elif found := _INSTRUCTION.match(text):
            instruction = Instruction(found[1], found[2].strip())
            if is_slow:
                self._slow.append(("", instruction))
            else:
                self.instructions.append(instruction)

    @property
    def main(self) -> list[Instruction]:
        """All but the markers' slow paths, in the order of the file."""
        return self.instructions[: self.main_size]

    def find(self, opcode: str, operands: str = "") -> int:
        """Find the one instruction, or the first of its kind."""
        for index, one in enumerate(self.main):
            if one.opcode.startswith(opcode) and one.operands.startswith(operands):
                return index
        raise AssertionError(f"no {opcode} {operands}")

    def longest_cycle(self, start: int, way_taken: Way = Way.RECORDED) -> list[Instruction]:
        """The longest way from instruction `start` around a loop back to it."""
        best = self._longest(start, start, frozenset(), way_taken)
        assert best is not None, "a loop"
        return [self.instructions[index] for index in best]

    def _longest(
        self, index: int, goal: int, seen: frozenset[int], way_taken: Way
    ) -> list[int] | None:
        way: list[int] = []
        while True:
            if index in seen or index >= len(self.instructions):
                return None
            way.append(index)
            seen |= {index}
            ways = self._next(index, way_taken)
            if goal in ways:
                return way
            if len(ways) == 1:
                (index,) = ways
                continue
            rest = [self._longest(after, goal, seen, way_taken) for after in ways]
            found = [one for one in rest if one]
            return way + max(found, key=len) if found else None

    def _next(self, index: int, way_taken: Way) -> list[int]:
        instruction = self.instructions[index]
        if instruction.opcode == "s_endpgm":
            return []
        if not instruction.target:
            return [index + 1]
        to = self.labels[instruction.target]
        if instruction.opcode == "s_branch":
            return [to]
        if ".Lktrace_" not in instruction.target:
            return [index + 1, to]
        return [to if _is_taken(instruction, way_taken) else index + 1]


def _is_taken(branch: Instruction, way_taken: Way) -> bool:
    """Whether a marker's own branch is taken: never to a long span, nor to poll the clock again."""
    if "cold" in branch.target:
        return way_taken is not Way.RECORDED
    if "eager" in branch.target:
        return way_taken is Way.EAGER
    if branch.opcode == "s_cbranch_scc0":  # past the write-back
        return way_taken is not Way.EAGER
    return "done" in branch.target and way_taken is Way.NOT_RECORDED


def kinds(instructions: list[Instruction]) -> Counter[str]:
    return Counter(one.kind for one in instructions)


def lgkm_waits(instructions: list[Instruction]) -> tuple[int, int]:
    """Count the waits for LDS and scalar memory: full ones and partial ones."""
    counts = [
        int(found[1])
        for one in instructions
        if one.kind == "wait" and (found := re.search(r"lgkmcnt\((\d+)\)", one.operands))
    ]
    return counts.count(0), len(counts) - counts.count(0)


def metadata(text: str, kernel: str) -> dict[str, int]:
    """Registers of `kernel` as its metadata says, and its occupancy in waves per SIMD."""
    body = text[text.index(f"\n{kernel}:") :]
    entry = next(
        part
        for part in text.split("  - .agpr_count:")[1:]
        if f".name:           {kernel}\n" in part
    )
    numbers = {
        name: int(found[1])
        for name in ("sgpr_count", "vgpr_count")
        if (found := re.search(rf"\.{name}:\s+(\d+)", entry))
    }
    occupancy = re.search(r"; Occupancy: (\d+)", body)
    assert occupancy
    agpr = re.match(r"\s*(\d+)", entry)
    assert agpr
    return {
        "sgpr": numbers["sgpr_count"],
        "vgpr": numbers["vgpr_count"],
        "agpr": int(agpr[1]),
        "occupancy": int(occupancy[1]),
    }


def _lines_of(text: str, kernel: str) -> list[str]:
    begin = text.index(f"\n{kernel}:")
    return text[begin : text.index(".Lfunc_end", begin)].split("\n")


def _without_directives(lines: list[str]) -> list[tuple[bool, str]]:
    """Drop notes, evaluate what the markers ask the assembler, and tell the slow paths apart."""
    reader = _Directives()
    bare = (line.split(";")[0].split("//")[0].rstrip() for line in lines)
    return [(reader.is_slow, line) for line in bare if reader.keeps(line)]


@dataclass
class _Directives:
    """Where in the assembler's conditions and sections a line is."""

    is_slow: bool = False  # in the subsection of slow paths
    is_note: bool = False
    in_letters: bool = False  # of the loop over the letters of an operand
    in_vector: bool = False  # of the code for an operand in a vector register
    in_scalar: bool = False
    operand: str = ""

    def keeps(self, line: str) -> bool:
        """Take in one line; false if it assembles to nothing."""
        word = next(iter(line.split()), "")
        if word in (".pushsection", ".popsection"):
            self.is_note = word == ".pushsection"
        elif word in (".subsection", ".previous"):
            self.is_slow = word == ".subsection"
        elif word in (".irpc", ".endr"):
            self.in_letters = word == ".irpc"
            self.operand = line.split(",")[1].strip() if self.in_letters else self.operand
        elif word in (".if", ".else", ".endif") and not self.in_letters:
            self.in_vector, self.in_scalar = word == ".if", word == ".else"
        is_vector = self.operand.startswith("v")
        is_other_case = (self.in_vector and not is_vector) or (self.in_scalar and is_vector)
        return not (self.is_note or self.in_letters or is_other_case)
