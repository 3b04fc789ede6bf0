"""The instructions that begin a wave's record, write its events and end it, as assembler text.

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

from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import Kind, ValueType

_UID: Final = "${:uid}"
_DONE: Final = f".Lktrace_done{_UID}"
_HW_ID, _XCC_ID = 4, 20
_FIRST: Final = 40  # the scratch registers begin here, above what most kernels need
CLOBBERS: Final = "~{vcc},~{scc},~{memory}"
SCRATCH: Final = ",".join(f"~{{s{n}}}" for n in range(_FIRST, _FIRST + 36))
_IF_FIRST_LANE: Final = ["s_bitcmp0_b32 exec_lo, 0", f"s_cbranch_scc1 {_DONE}"]
_WRITE_BACK: Final = ["s_waitcnt lgkmcnt(0)", "s_dcache_wb", "s_waitcnt lgkmcnt(0)"]


@dataclass(frozen=True)
class BeginOperands:
    """What the beginning of a record takes and gives, each as the assembler names it."""

    base: str
    size: str
    claimed: str
    """A vector register of scratch."""
    one: str
    """Another one."""
    sink: str
    block: tuple[str, str, str]
    item: tuple[str, ...]
    """Number of the work-item on each axis, in vector registers."""


def _field(dtype: layout.Dtype, name: str) -> int:
    assert dtype.fields is not None
    return int(dtype.fields[name][1])


def _header(name: str) -> int:
    return _field(layout.WAVE_HEADER, name)


def _s(number: int, count: int = 1) -> str:
    first = _FIRST + number
    return f"s{first}" if count == 1 else f"s[{first}:{first + count - 1}]"


def _control(name: str, axis: int = 0) -> str:
    """Return the register that holds a field of the control block, once it is loaded."""
    return _s(_field(layout.CONTROL, name) // 4 + axis)


def begin(target: str, at: BeginOperands) -> str:
    """Return what begins a wave's record: its slot, its header, its handle."""
    wave, xcc, scratch, other = _s(32), _s(33), _s(34), _s(35)
    lines = [
        f"s_mov_b64 {at.base}, 0",
        f"s_mov_b32 {at.size}, 0",
        f"s_cmp_eq_u64 {at.sink}, 0",
        f"s_cbranch_scc1 {_DONE}",
        f"s_load_dwordx16 {_s(0, 16)}, {at.sink}, 0x0",
        f"s_load_dwordx16 {_s(16, 16)}, {at.sink}, 0x40",
        "s_waitcnt lgkmcnt(0)",
        *_leave_unless("s_cmp_lg_u32", _control("magic"), f"{layout.CONTROL_MAGIC:#x}"),
        *_leave_unless("s_cmp_lg_u32", _control("abi_version"), f"{layout.ABI_VERSION}"),
        *_wave_in_block(at.item, wave, scratch, other),
        f"s_mov_b32 {xcc}, 0" if target == "gfx90a" else f"s_getreg_b32 {xcc}, hwreg({_XCC_ID})",
        f"s_min_u32 {scratch}, {wave}, 31",
        f"s_lshr_b32 {scratch}, {_control('wave_mask')}, {scratch}",
        f"s_lshr_b32 {other}, {_control('xcc_mask')}, {xcc}",
        f"s_and_b32 {scratch}, {scratch}, {other}",
        *_leave_unless("s_bitcmp0_b32", scratch, "0"),
    ]
    for axis in range(3):
        lines += _filter_blocks(axis, at.block[axis], scratch)
    lines += _take_slot(target, at, wave, scratch)
    lines += _write_header(at, wave, xcc)
    return _text([*lines, f"{_DONE}:"])


def _leave_unless(compare: str, left: str, right: str) -> list[str]:
    return [f"{compare} {left}, {right}", f"s_cbranch_scc1 {_DONE}"]


def _wave_in_block(items: Sequence[str], wave: str, scratch: str, other: str) -> list[str]:
    lines = [f"v_readfirstlane_b32 {wave}, {items[0]}"]
    if len(items) > 1:
        y, z = items[1:]
        lines += [
            f"v_readfirstlane_b32 {scratch}, {z}",
            f"s_mul_i32 {scratch}, {scratch}, {_control('block', 1)}",
            f"v_readfirstlane_b32 {other}, {y}",
            f"s_add_u32 {scratch}, {scratch}, {other}",
            f"s_mul_i32 {scratch}, {scratch}, {_control('block', 0)}",
            f"s_add_u32 {wave}, {wave}, {scratch}",
        ]
    return [*lines, f"s_lshr_b32 {wave}, {wave}, 6"]


def _filter_blocks(axis: int, block: str, scratch: str) -> list[str]:
    return [
        *_leave_unless("s_cmp_lt_u32", block, _control("block_lo", axis)),
        *_leave_unless("s_cmp_ge_u32", block, _control("block_hi", axis)),
        f"s_sub_u32 {scratch}, {block}, {_control('block_lo', axis)}",
        f"s_and_b32 {scratch}, {scratch}, {_control('block_stride_mask', axis)}",
        f"s_cbranch_scc1 {_DONE}",
    ]


def _take_slot(target: str, at: BeginOperands, wave: str, slot: str) -> list[str]:
    """Leave the region's address in the pair that begins with `slot`, its size for region_log2."""
    x, y, z = at.block
    pair, high = _s(34, 2), _s(35)
    returned = "glc" if target == "gfx90a" else "sc0"
    size = _control("region_log2")
    return [
        f"s_mul_i32 {slot}, {z}, {_control('grid', 1)}",
        f"s_add_u32 {slot}, {slot}, {y}",
        f"s_mul_i32 {slot}, {slot}, {_control('grid', 0)}",
        f"s_add_u32 {slot}, {slot}, {x}",
        f"s_mul_i32 {slot}, {slot}, {_control('waves_per_block')}",
        f"s_add_u32 {slot}, {slot}, {wave}",
        f"s_cmp_lg_u32 {_control('mode')}, {int(layout.Mode.CLAIM)}",
        f"s_cbranch_scc1 .Lktrace_direct{_UID}",
        # Two lanes of one wave must not claim two slots, so one asks for all.
        "s_mov_b64 vcc, exec",
        f"s_ff1_i32_b64 {slot}, exec",
        f"s_lshl_b64 exec, 1, {slot}",
        f"v_mov_b32 {at.claimed}, 0",
        f"v_mov_b32 {at.one}, 1",
        f"global_atomic_add {at.claimed}, {at.claimed}, {at.one}, {at.sink} "
        f"offset:{_field(layout.CONTROL, 'claimed')} {returned}",
        "s_waitcnt vmcnt(0)",
        f"v_readfirstlane_b32 {slot}, {at.claimed}",
        "s_mov_b64 exec, vcc",
        f".Lktrace_direct{_UID}:",
        *_leave_unless("s_cmp_ge_u32", slot, _control("wave_slots")),
        f"s_mov_b32 {high}, 0",
        f"s_lshl_b64 {pair}, {pair}, {size}",
        f"s_add_u32 {slot}, {slot}, {_control('regions')}",
        f"s_addc_u32 {high}, {high}, {_control('regions', 1)}",
        f"s_lshl_b32 {size}, 1, {size}",
    ]


def _write_header(at: BeginOperands, wave: str, xcc: str) -> list[str]:
    base, size, dispatch = _s(34, 2), _control("region_log2"), _control("dispatch")
    state, side, main, seen = (_s(8 + n) for n in range(4))
    begun, ended = int(layout.WaveState.BEGUN), int(layout.WaveState.ENDED)
    eager = f"s_bitcmp1_b32 {_control('flags')}, {int(layout.ControlFlag.EAGER).bit_length() - 1}"
    return [
        f"s_load_dwordx4 {_s(8, 4)}, {base}, {_header('state'):#x}",
        "s_waitcnt lgkmcnt(0)",
        # A wave that ended may begin again: it goes on where it was.
        f"s_cmp_lg_u32 {state}, {ended}",
        f"s_cbranch_scc1 .Lktrace_new{_UID}",
        f"s_cmp_lg_u32 {seen}, {dispatch}",
        f"s_cbranch_scc1 .Lktrace_new{_UID}",
        f"s_mov_b32 {state}, {begun}",
        f"s_store_dword {state}, {base}, {_header('state'):#x}",
        f"s_branch .Lktrace_begun{_UID}",
        f".Lktrace_new{_UID}:",
        f"s_mov_b32 {state}, {begun}",
        f"s_sub_u32 {side}, {size}, 8",
        f"s_mov_b32 {main}, {layout.REGION_HEADER}",
        f"s_mov_b32 {seen}, {dispatch}",
        f"s_store_dwordx4 {_s(8, 4)}, {base}, {_header('state'):#x}",
        *(f"s_mov_b32 {_s(12 + axis)}, {block}" for axis, block in enumerate(at.block)),
        f"s_mov_b32 {_s(15)}, {wave}",
        f"s_store_dwordx4 {_s(12, 4)}, {base}, {_header('block'):#x}",
        f"s_getreg_b32 {_s(16)}, hwreg({_HW_ID})",
        f"s_mov_b32 {_s(17)}, {xcc}",
        f"s_store_dwordx2 {_s(16, 2)}, {base}, {_header('hw_id_begin'):#x}",
        f"s_mov_b64 {_s(20, 2)}, exec",
        f"s_store_dwordx2 {_s(20, 2)}, {base}, {_header('exec_begin'):#x}",
        "s_waitcnt lgkmcnt(0)",
        f"s_memtime {_s(28, 2)}",
        f"s_memrealtime {_s(30, 2)}",
        "s_waitcnt lgkmcnt(0)",
        f"s_store_dwordx4 {_s(28, 4)}, {base}, {_header('memtime_begin'):#x}",
        f".Lktrace_begun{_UID}:",
        "s_waitcnt lgkmcnt(0)",
        f"s_mov_b64 {at.base}, {base}",
        f"s_mov_b32 {at.size}, {size}",
        eager,
        f"s_cbranch_scc0 {_DONE}",
        f"s_bitset1_b32 {at.size}, 31",
        *_WRITE_BACK,
    ]


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
    cold, full = f".Lktrace_cold{_UID}", f".Lktrace_full{_UID}"
    cursor = f"{_header('main_cursor'):#x}"
    lines = [
        *_IF_FIRST_LANE,
        f"s_cmp_le_i32 {size}, 0",
        f"s_cbranch_scc1 {cold}",
        "s_waitcnt lgkmcnt(0)",  # the cursor of the event before must have arrived
        f"s_load_dword {slot}, {base}, {cursor}",
    ]
    if payload:
        lines += ["s_waitcnt lgkmcnt(0)"]
    for number, word in enumerate(payload):
        lines += [
            f"v_readfirstlane_b32 vcc_lo, {word.register}",
            f"s_mov_b32 vcc_hi, {_value_tag(word.type):#x}",
            f"s_cmp_ge_u32 {slot}, {size}",
            f"s_cbranch_scc1 {full}_{number}",
            f"s_store_dwordx2 vcc, {base}, {slot}",
            f"{full}_{number}:",
            f"s_add_u32 {slot}, {slot}, 8",
            "s_waitcnt lgkmcnt(0)",
        ]
    lines += [
        "s_memtime vcc",
        "s_waitcnt lgkmcnt(0)",
        f"s_mov_b32 vcc_hi, {tag:#x}",
        f"s_cmp_ge_u32 {slot}, {size}",
        f"s_cbranch_scc1 {full}",
        f"s_store_dwordx2 vcc, {base}, {slot}",
        f"{full}:",
        f"s_add_u32 {slot}, {slot}, 8",
        f"s_store_dword {slot}, {base}, {cursor}",
        ".subsection 1",
        f"{cold}:",
        f"s_cmp_eq_u32 {size}, 0",
        f"s_cbranch_scc1 {_DONE}",
    ]
    for number, word in enumerate(payload):
        read = [f"v_readfirstlane_b32 vcc_lo, {word.register}"]
        lines += _side_word(slot, base, read, _value_tag(word.type), number)
    read = ["s_memtime vcc", "s_waitcnt lgkmcnt(0)"]
    lines += _side_word(slot, base, read, tag, len(payload))
    return _text([*lines, *_WRITE_BACK, f"s_branch {_DONE}", ".previous", f"{_DONE}:"])


def _side_word(slot: str, base: str, read: Sequence[str], tag: int, number: int) -> list[str]:
    cursor, skip = f"{_header('side_cursor'):#x}", f".Lktrace_side{_UID}_{number}"
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
    xcc = (
        f"s_mov_b32 {_s(5)}, 0" if target == "gfx90a" else f"s_getreg_b32 {_s(5)}, hwreg({_XCC_ID})"
    )
    return _text(
        [
            *_IF_FIRST_LANE,
            f"s_cmp_eq_u32 {size}, 0",
            f"s_cbranch_scc1 {_DONE}",
            "s_waitcnt lgkmcnt(0)",
            f"s_memtime {_s(0, 2)}",
            f"s_memrealtime {_s(2, 2)}",
            f"s_getreg_b32 {_s(4)}, hwreg({_HW_ID})",
            xcc,
            f"s_mov_b64 {_s(6, 2)}, exec",
            f"s_mov_b32 {_s(8)}, {int(layout.WaveState.ENDED)}",
            "s_waitcnt lgkmcnt(0)",
            f"s_store_dwordx4 {_s(0, 4)}, {base}, {_header('memtime_end'):#x}",
            f"s_store_dwordx2 {_s(4, 2)}, {base}, {_header('hw_id_end'):#x}",
            f"s_store_dwordx2 {_s(6, 2)}, {base}, {_header('exec_end'):#x}",
            f"s_store_dword {_s(8)}, {base}, {_header('state'):#x}",
            *_WRITE_BACK,
            f"{_DONE}:",
        ]
    )


def event_tag(kind: Kind, event_id: int) -> int:
    """Return the second half of an event word."""
    return int(kind) << layout.TAG_KIND_SHIFT | event_id


def _value_tag(kind: int) -> int:
    return event_tag(Kind.VALUE, kind)


def halves_of(kind: ValueType, bits: int) -> list[int]:
    """Return the types of a payload's words."""
    return [int(kind)] if bits == 32 else [int(kind), int(kind) | int(ValueType.HIGH)]


def _text(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"
