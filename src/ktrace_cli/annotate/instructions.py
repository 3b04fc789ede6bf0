"""The instructions that write a wave's events and end its record, as assembler text.

The device API keeps a wave's cursor in a scalar register; here it is in the wave's header, because
nothing ties the assembler statements of a Python compiler together: a handle that never changes is
right in every control flow, inlined or not. An event loads the cursor while it reads the clock, so
that it waits once for both.

A Python compiler cannot say that a statement is convergent, so LLVM may copy it to both sides of a
branch at which lanes part (seen: an event between two stores that one lane makes ran twice). Lane 0
takes one of the sides, and there the event is recorded.

The handle is the address of the wave's region, 64 bits, and its size, 32 bits: 0 in a wave that is
not recorded; with bit 31 in one whose words must be in memory at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ktrace_cli.annotate.registers import (
    DONE,
    HW_ID,
    IF_FIRST_LANE,
    UID,
    WRITE_BACK,
    header,
    read_xcc,
    scratch,
)
from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import Kind, ValueType

_READ_CLOCK: Final = ["s_memtime vcc", "s_waitcnt lgkmcnt(0)"]


@dataclass(frozen=True)
class Payload:
    """A word before its event: a vector register, and the type of what is in it."""

    register: str
    type: int


def event(slot: str, base: str, size: str, tag: int, payload: Sequence[Payload] = ()) -> str:
    """Return what writes an event and its payload.

    Args:
        slot: a scalar register of scratch.
        base: of the handle.
        size: of the handle.
        tag: of the event's word.
        payload: the words before it, in their order.
    """
    cold = f".Lktrace_cold{UID}"
    lines = [
        f"s_cmp_le_i32 {size}, 0",
        f"s_cbranch_scc1 {cold}",
        *IF_FIRST_LANE,
        "s_waitcnt lgkmcnt(0)",  # the cursor of the event before must have arrived
        f"s_load_dword {slot}, {base}, {header('main_cursor')}",
        *(["s_waitcnt lgkmcnt(0)"] if payload else []),
    ]
    for number, word in enumerate(payload):
        read = [f"v_readfirstlane_b32 vcc_lo, {word.register}"]
        lines += _main_word((slot, base, size), read, _value_tag(word.type), number)
        lines += ["s_waitcnt lgkmcnt(0)"]
    lines += _main_word((slot, base, size), _READ_CLOCK, tag, len(payload))
    lines += [f"s_store_dword {slot}, {base}, {header('main_cursor')}", ".subsection 1"]
    lines += [f"{cold}:", f"s_cmp_eq_u32 {size}, 0", f"s_cbranch_scc1 {DONE}", *IF_FIRST_LANE]
    for number, word in enumerate(payload):
        read = [f"v_readfirstlane_b32 vcc_lo, {word.register}"]
        lines += _side_word(slot, base, read, _value_tag(word.type), number)
    lines += _side_word(slot, base, _READ_CLOCK, tag, len(payload))
    return _text([*lines, *WRITE_BACK, f"s_branch {DONE}", ".previous", f"{DONE}:"])


def _main_word(
    place: tuple[str, str, str], read: Sequence[str], tag: int, number: int
) -> list[str]:
    slot, base, size = place
    full = f".Lktrace_full{UID}_{number}"
    return [
        *read,
        f"s_mov_b32 vcc_hi, {tag:#x}",
        f"s_cmp_ge_u32 {slot}, {size}",
        f"s_cbranch_scc1 {full}",
        f"s_store_dwordx2 vcc, {base}, {slot}",
        f"{full}:",
        f"s_add_u32 {slot}, {slot}, 8",
    ]


def _side_word(slot: str, base: str, read: Sequence[str], tag: int, number: int) -> list[str]:
    cursor, skip = header("side_cursor"), f".Lktrace_side{UID}_{number}"
    return [
        "s_waitcnt lgkmcnt(0)",
        f"s_load_dword {slot}, {base}, {cursor}",
        "s_waitcnt lgkmcnt(0)",
        f"s_sub_u32 vcc_lo, {slot}, 8",
        f"s_store_dword vcc_lo, {base}, {cursor}",
        "s_waitcnt lgkmcnt(0)",
        f"s_cmp_lt_i32 {slot}, {layout.REGION_HEADER}",
        f"s_cbranch_scc1 {skip}",
        *read,
        f"s_mov_b32 vcc_hi, {tag | layout.TAG_SIDE:#x}",
        f"s_store_dwordx2 vcc, {base}, {slot}",
        f"{skip}:",
    ]


def end(target: str, base: str, size: str) -> str:
    """Return what ends a wave's record and writes it back: the end of a kernel does not."""
    return _text(
        [
            f"s_cmp_eq_u32 {size}, 0",
            f"s_cbranch_scc1 {DONE}",
            *IF_FIRST_LANE,
            "s_waitcnt lgkmcnt(0)",
            f"s_memtime {scratch(0, 2)}",
            f"s_memrealtime {scratch(2, 2)}",
            f"s_getreg_b32 {scratch(4)}, hwreg({HW_ID})",
            read_xcc(target, scratch(5)),
            f"s_mov_b32 {scratch(8)}, {int(layout.WaveState.ENDED)}",
            "s_waitcnt lgkmcnt(0)",
            f"s_store_dwordx4 {scratch(0, 4)}, {base}, {header('memtime_end')}",
            f"s_store_dwordx2 {scratch(4, 2)}, {base}, {header('hw_id_end')}",
            f"s_store_dword {scratch(8)}, {base}, {header('state')}",
            *WRITE_BACK,
            f"{DONE}:",
        ]
    )


def event_tag(kind: Kind, event_id: int) -> int:
    """Return the second half of an event word."""
    return int(kind) << layout.TAG_KIND_SHIFT | event_id


def _value_tag(kind: int) -> int:
    return event_tag(Kind.VALUE, kind)


def halves_of(kind: ValueType) -> list[int]:
    """Return the types of the two words of a payload of 64 bits."""
    return [int(kind), int(kind) | int(ValueType.HIGH)]


def _text(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"
