"""Finds the instructions that markers consist of, and what each marker does.

A marker is one block: it asks whether it may write at once, and branches to a slow path if not,
which begins by asking whether the wave is recorded at all. The device API compares EXEC with the
lanes of the wave, annotations in Python the size of its region with 0. In either case both
questions name the same register, and the second branch tells where the block ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ktrace_cli.kernel_code.control_flow import branch_target, successors
from ktrace_cli.kernel_code.machine_code import Instruction, MachineCode
from ktrace_cli.trace_file.layout import Kind

SPAN: Final = 0x8000_0000
_SPAN_ID_SHIFT: Final = 20
_KIND_SHIFT: Final = 27
_ID_MASK: Final = 0x03FF_FFFF
_LONGEST: Final = 80
_LOOK_BACK: Final = 96

# The question of each kind of block, and that of its slow path.
_CHECKS: Final = (
    (re.compile(r"^s_cmp_lg_u64 exec, (s\[\d+:\d+\])$"), "s_cmp_eq_u64 {}, 0"),
    (re.compile(r"^s_cmp_le_i32 (s\d+), 0$"), "s_cmp_eq_u32 {}, 0"),
)
_REF_CHECK: Final = re.compile(r"^s_cmp_eq_u32 (s\d+|vcc_lo|vcc_hi|ttmp\d+), 0$")
_SET_TAG: Final = re.compile(r"^(?:s_mov_b32|v_readfirstlane_b32) vcc_hi, (\S+)$")
_LONGEST_OF_WAVE: Final = 200
_BEGIN_OF_WAVE: Final = ("s_mov_b64", "s_mov_b32", "s_cmp_eq_u64", "s_cbranch_scc1") + (
    "s_load_dwordx16",
) * 2
_NOT_RECORDED: Final = re.compile(r"^s_cmp_eq_u(?:32|64) (?:s\d+|s\[\d+:\d+\]|vcc), 0$")
_FIRST_LANE: Final = "s_bitcmp0_b32 exec_lo, 0"
_STORES: Final = ("s_buffer_store", "s_store")
_OR_SPAN: Final = re.compile(r"^s_or_b32 vcc_hi, vcc_hi, (0x[0-9a-f]+)$")
_OR: Final = re.compile(r"^[sv]_or_b32(?:_e32|_e64)? (\w+), (\S+), (\S+)$")


WAVE: Final = -1
"""The kind of blocks that begin or end a wave's record."""


@dataclass(frozen=True)
class MarkerBlock:
    """The instructions of one word that a marker writes."""

    begin: int
    """Index of its first instruction."""
    end: int
    """Index of the first instruction after it."""
    slow: frozenset[int]
    """Indices of its slow path, wherever that lies."""
    kind: int
    """layout.Kind; RANGE where a range begins, LONG_END where one ends; WAVE; 0 where nobody can
    tell."""
    id: int
    """Of the event, where the kind has one."""


def find_marker_blocks(code: MachineCode, inside: range) -> list[MarkerBlock]:
    """Find the blocks that begin in a range of addresses, ascending."""
    found = []
    end = len(code.instructions) - 2
    for instruction in code.within(inside):
        index = code.index_by_address[instruction.address]
        if index >= end:
            break
        block = _main_block(code, index) or _side_block(code, index) or _wave_block(code, index)
        if block:
            found.append(_with_first_question(code, block))
    return found


def _with_first_question(code: MachineCode, block: MarkerBlock) -> MarkerBlock:
    """Add what annotations in Python ask first: whether this is the wave's first lane."""
    lines = code.instructions
    begin = block.begin - 2
    if begin < 0 or lines[begin].text != _FIRST_LANE:
        return block
    skips = code.index_by_address.get(branch_target(lines[begin + 1]) or 0) == block.end
    return replace(block, begin=begin) if skips else block


def _main_block(code: MachineCode, index: int) -> MarkerBlock | None:
    lines = code.instructions
    wanted = _question_of_slow_path(lines[index].text)
    if not wanted or lines[index + 1].mnemonic != "s_cbranch_scc1":
        return None
    slow_begin = code.index_by_address.get(branch_target(lines[index + 1]) or 0)
    if slow_begin is None or slow_begin + 1 >= len(lines):
        return None
    if lines[slow_begin].text != wanted:
        return None
    end = code.index_by_address.get(branch_target(lines[slow_begin + 1]) or 0)
    if end is None or not index + 2 < end <= index + _LONGEST:
        return None
    fast = range(index, end)
    slow = frozenset(_walk(code, fast, end)) - set(fast)
    kind, event_id = _meaning(code, fast, slow)
    return MarkerBlock(index, end, slow, kind, event_id)


def _question_of_slow_path(question: str) -> str:
    for check, wanted in _CHECKS:
        found = check.match(question)
        if found:
            return wanted.format(found[1])
    return ""


def _side_block(code: MachineCode, index: int) -> MarkerBlock | None:
    """Read the form that functions which are not inlined have."""
    lines = code.instructions
    if not _REF_CHECK.match(lines[index].text) or lines[index + 1].mnemonic != "s_cbranch_scc1":
        return None
    end = code.index_by_address.get(branch_target(lines[index + 1]) or 0)
    if end is None or not index + 2 < end <= index + _LONGEST:
        return None
    block = range(index, end)
    if lines[index + 2].mnemonic == "s_memtime":  # what a range that begins keeps, without a word
        is_whole = end == index + 5 and lines[end - 1].text.endswith(", vcc_lo")
        return MarkerBlock(index, end, frozenset(), 0, 0) if is_whole else None
    takes_slot = any(lines[i].text.startswith("s_sub_u32 vcc_lo, ") for i in block)
    if lines[index + 2].mnemonic != "s_buffer_load_dword" or not takes_slot:
        return None
    kind, event_id = _meaning(code, block, frozenset())
    return MarkerBlock(index, end, frozenset(), kind, event_id)


def _wave_block(code: MachineCode, index: int) -> MarkerBlock | None:
    """Read what begins a wave's record in Python's annotations, or ends it in any.

    The compiler mixes what the device API's KTRACE_WAVE does with the kernel's own code.
    """
    lines = code.instructions[index : index + len(_BEGIN_OF_WAVE)]
    if tuple(line.mnemonic for line in lines) == _BEGIN_OF_WAVE:
        branch = index + 3
    elif _NOT_RECORDED.match(lines[0].text) and _reads_both_clocks(lines):
        branch = index + 1
    else:
        return None
    end = code.index_by_address.get(branch_target(code.instructions[branch]) or 0)
    if end is None or not branch < end <= index + _LONGEST_OF_WAVE:
        return None
    last = [line.mnemonic for line in code.instructions[end - 2 : end]]
    # The end is written back in any case, the beginning where a hang must be seen.
    return (
        MarkerBlock(index, end, frozenset(), WAVE, 0)
        if last == ["s_dcache_wb", "s_waitcnt"]
        else None
    )


def _reads_both_clocks(lines: Sequence[Instruction]) -> bool:
    mnemonics = [line.mnemonic for line in lines]
    return mnemonics[1:2] == ["s_cbranch_scc1"] and {"s_memtime", "s_memrealtime"} <= set(mnemonics)


def _walk(code: MachineCode, begins: Iterable[int], end: int) -> Iterator[int]:
    """Yield what can be reached without passing the block's end."""
    waiting, seen = list(begins), {end}
    while waiting:
        index = waiting.pop()
        if index not in seen:
            seen.add(index)
            yield index
            waiting += successors(code, index)


def _meaning(code: MachineCode, fast: range, slow: frozenset[int]) -> tuple[int, int]:
    """Return kind and id of what a block writes."""
    lines = [code.instructions[index] for index in fast]
    for line in lines:
        span = _OR_SPAN.match(line.text)
        if span and int(span[1], 16) & SPAN:
            return Kind.LONG_END, int(span[1], 16) >> _SPAN_ID_SHIFT & 0x7FF
    if not any(line.mnemonic.startswith(_STORES) for line in lines):
        others = (code.instructions[index] for index in sorted(slow))
        tag = next(_constants(others), 0)
        return Kind.RANGE, tag & _ID_MASK
    # A payload's words come first, each with a tag of its own.
    tags = list(_constants(lines))
    if not tags:
        return _meaning_of_register(code, fast)
    return tags[-1] >> _KIND_SHIFT & 0xF, tags[-1] & _ID_MASK


def _constants(lines: Iterable[Instruction]) -> Iterator[int]:
    for line in lines:
        found = _SET_TAG.match(line.text)
        if found and found[1][:1].isdigit():
            yield int(found[1], 0)


def _meaning_of_register(code: MachineCode, fast: range) -> tuple[int, int]:
    """Look for where a tag that is no constant was made: only STOP and ANCHOR have such."""
    sources = {
        found[1] for index in fast if (found := _SET_TAG.match(code.instructions[index].text))
    }
    for index in range(fast.start - 1, max(-1, fast.start - _LOOK_BACK), -1):
        found = _OR.match(code.instructions[index].text)
        if found and found[1] in sources:
            for operand in found.groups()[1:]:
                if operand.startswith("0x"):
                    return int(operand, 16) >> _KIND_SHIFT & 0xF, 0
    return 0, 0
