"""Which instructions may follow which: branches, long jumps, calls that return, ends."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from ktrace_cli.kernel_code.machine_code import Instruction, MachineCode

State = TypeVar("State")

_NUMBER: Final = re.compile(r"^\S+ (-?(?:0x[0-9a-f]+|\d+))\b")
_GETPC: Final = re.compile(r"^s_getpc_b64 s\[(\d+):\d+\]")
_ADD_LOW: Final = re.compile(r"^s_add_u32 s(\d+), s\1, (0x[0-9a-f]+|-?\d+)$")
_SETPC: Final = re.compile(r"^s_setpc_b64 s\[(\d+):\d+\]")
_LOOK_BACK: Final = 6
_WORD: Final = 4


def branch_target(instruction: Instruction) -> int | None:
    """Return where a relative branch goes; None for other instructions."""
    if not instruction.mnemonic.startswith(("s_branch", "s_cbranch")):
        return None
    found = _NUMBER.match(instruction.text)
    if not found:
        return None
    words = int(found[1], 0) & 0xFFFF
    return instruction.end + _WORD * (words - 0x10000 if words & 0x8000 else words)


def successors(code: MachineCode, index: int) -> list[int]:
    """Return the indices of the instructions that may follow one; a call returns to the next."""
    instruction = code.instructions[index]
    mnemonic = instruction.mnemonic
    if mnemonic.startswith(("s_endpgm", "s_rfe")):
        return []
    if mnemonic.startswith("s_setpc"):
        target = _long_jump(code, index)
        return _indices(code, [] if target is None else [target])
    target = branch_target(instruction)
    places = [] if target is None else [target]
    if not mnemonic.startswith("s_branch"):
        places.append(instruction.end)
    return _indices(code, places)


def is_unknown_jump(code: MachineCode, index: int) -> bool:
    """Return whether control goes from here to where nothing tells."""
    instruction = code.instructions[index]
    if instruction.mnemonic.startswith("s_setpc"):
        return _long_jump(code, index) is None
    target = branch_target(instruction)
    return target is not None and target not in code.index_by_address


def _indices(code: MachineCode, addresses: Iterable[int]) -> list[int]:
    found = (code.index_by_address.get(address) for address in addresses)
    return list(dict.fromkeys(index for index in found if index is not None))


def _long_jump(code: MachineCode, index: int) -> int | None:
    """Follow what LLVM writes for a branch that is too far: s_getpc, s_add_u32, s_addc_u32."""
    jump = _SETPC.match(code.instructions[index].text)
    before = code.instructions[max(0, index - _LOOK_BACK) : index]
    offset: int | None = None
    for instruction in reversed(before):
        added = _ADD_LOW.match(instruction.text)
        if jump and added and added[1] == jump[1]:
            offset = int(added[2], 0)
        start = _GETPC.match(instruction.text)
        if jump and start and start[1] == jump[1]:
            if offset is None:
                return None
            offset &= 0xFFFF_FFFF
            return instruction.end + (offset - (1 << 32) if offset >> 31 else offset)
    return None


def spread(
    start: dict[int, State],
    following: Callable[[int, State], Iterable[tuple[int, State]]],
    join: Callable[[State, State], State],
) -> dict[int, State]:
    """Carry states along the control flow until nothing changes.

    Args:
        start: the states to begin with, by index of the instruction.
        following: given an index and the state before it, the states before those that follow.
        join: what is known where two states meet; must grow only finitely often.
    """
    before = dict(start)
    waiting = list(start)
    while waiting:
        index = waiting.pop()
        for next_index, state in following(index, before[index]):
            known = before.get(next_index)
            joined = state if known is None else join(known, state)
            if joined != known:
                before[next_index] = joined
                waiting.append(next_index)
    return before
