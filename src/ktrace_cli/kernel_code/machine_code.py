"""What every disassembler gives: instructions in the order of their addresses."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ktrace_cli.kernel_code.instructions import InstructionClass, classify


@dataclass(frozen=True)
class Instruction:
    """One machine instruction."""

    address: int
    """As symbols and notes count: of the loaded code object."""
    size: int
    """In bytes; 4, 8 or more."""
    text: str
    """`ds_read_b64 v[0:1], v2`"""
    file: str = ""
    """Of the source; "" where there is no debug information."""
    line: int = 0
    function: str = ""
    """The function whose source this is, also where it was inlined; "" if not known."""

    @property
    def end(self) -> int:
        """Where the next instruction begins."""
        return self.address + self.size

    @property
    def kind(self) -> InstructionClass:
        """Its class."""
        return classify(self.text)

    @property
    def mnemonic(self) -> str:
        """The first word."""
        return self.text.partition(" ")[0]


@dataclass(frozen=True)
class MachineCode:
    """The instructions of a code object."""

    tool: str
    """Who disassembled it: `llvm-objdump-19`."""
    instructions: tuple[Instruction, ...]
    """Of all functions, ascending, each address once."""
    notices: tuple[str, ...] = ()
    """What could not be read, in words."""

    @cached_property
    def has_lines(self) -> bool:
        """Whether there is debug information."""
        return any(instruction.line for instruction in self.instructions)

    @cached_property
    def index_by_address(self) -> dict[int, int]:
        """Where each instruction stands."""
        return {one.address: index for index, one in enumerate(self.instructions)}

    def within(self, addresses: range) -> Sequence[Instruction]:
        """Return the instructions that begin in a range of addresses."""
        begin = bisect_left(self._addresses, addresses.start)
        return self.instructions[begin : bisect_left(self._addresses, addresses.stop)]

    @cached_property
    def _addresses(self) -> list[int]:
        return [instruction.address for instruction in self.instructions]
