"""The instructions that begin a wave's record: filters, slot, header, handle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ktrace_cli.annotate.registers import (
    DONE,
    HW_ID,
    UID,
    WRITE_BACK,
    field,
    header,
    read_xcc,
    scratch,
)
from ktrace_cli.trace_file import layout


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


def _control(name: str, axis: int = 0) -> str:
    """Return the register that holds a field of the control block, once it is loaded."""
    return scratch(field(layout.CONTROL, name) // 4 + axis)


def begin(target: str, at: BeginOperands) -> str:
    """Return what begins a wave's record: its slot, its header, its handle."""
    wave, xcc, one, other = scratch(32), scratch(33), scratch(34), scratch(35)
    lines = [
        f"s_mov_b64 {at.base}, 0",
        f"s_mov_b32 {at.size}, 0",
        f"s_cmp_eq_u64 {at.sink}, 0",
        f"s_cbranch_scc1 {DONE}",
        f"s_load_dwordx16 {scratch(0, 16)}, {at.sink}, 0x0",
        f"s_load_dwordx16 {scratch(16, 16)}, {at.sink}, 0x40",
        "s_waitcnt lgkmcnt(0)",
        *_leave_if("s_cmp_lg_u32", _control("magic"), f"{layout.CONTROL_MAGIC:#x}"),
        *_leave_if("s_cmp_lg_u32", _control("abi_version"), f"{layout.ABI_VERSION}"),
        *_wave_in_block(at.item, wave, one, other),
        read_xcc(target, xcc),
        f"s_min_u32 {one}, {wave}, 31",
        f"s_lshr_b32 {one}, {_control('wave_mask')}, {one}",
        f"s_lshr_b32 {other}, {_control('xcc_mask')}, {xcc}",
        f"s_and_b32 {one}, {one}, {other}",
        *_leave_if("s_bitcmp0_b32", one, "0"),
    ]
    for axis in range(3):
        lines += _filter_blocks(axis, at.block[axis], one)
    lines += _take_slot(target, at, wave, one)
    lines += _write_header(at, wave, xcc)
    return "\n".join([*lines, f"{DONE}:\n"])


def _leave_if(compare: str, left: str, right: str) -> list[str]:
    return [f"{compare} {left}, {right}", f"s_cbranch_scc1 {DONE}"]


def _wave_in_block(items: Sequence[str], wave: str, total: str, other: str) -> list[str]:
    lines = [f"v_readfirstlane_b32 {wave}, {items[0]}"]
    if len(items) > 1:
        y, z = items[1:]
        lines += [
            f"v_readfirstlane_b32 {total}, {z}",
            f"s_mul_i32 {total}, {total}, {_control('block', 1)}",
            f"v_readfirstlane_b32 {other}, {y}",
            f"s_add_u32 {total}, {total}, {other}",
            f"s_mul_i32 {total}, {total}, {_control('block', 0)}",
            f"s_add_u32 {wave}, {wave}, {total}",
        ]
    return [*lines, f"s_lshr_b32 {wave}, {wave}, 6"]


def _filter_blocks(axis: int, block: str, offset: str) -> list[str]:
    return [
        *_leave_if("s_cmp_lt_u32", block, _control("block_lo", axis)),
        *_leave_if("s_cmp_ge_u32", block, _control("block_hi", axis)),
        f"s_sub_u32 {offset}, {block}, {_control('block_lo', axis)}",
        f"s_and_b32 {offset}, {offset}, {_control('block_stride_mask', axis)}",
        f"s_cbranch_scc1 {DONE}",
    ]


def _take_slot(target: str, at: BeginOperands, wave: str, slot: str) -> list[str]:
    """Leave the region's address in the pair that begins with `slot`, its size for region_log2."""
    x, y, z = at.block
    pair, high = scratch(34, 2), scratch(35)
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
        f"s_cbranch_scc1 .Lktrace_direct{UID}",
        # Two lanes of one wave must not claim two slots, so one asks for all.
        "s_mov_b64 vcc, exec",
        f"s_ff1_i32_b64 {slot}, exec",
        f"s_lshl_b64 exec, 1, {slot}",
        f"v_mov_b32 {at.claimed}, 0",
        f"v_mov_b32 {at.one}, 1",
        f"global_atomic_add {at.claimed}, {at.claimed}, {at.one}, {at.sink} "
        f"offset:{field(layout.CONTROL, 'claimed')} {returned}",
        "s_waitcnt vmcnt(0)",
        f"v_readfirstlane_b32 {slot}, {at.claimed}",
        "s_mov_b64 exec, vcc",
        f".Lktrace_direct{UID}:",
        *_leave_if("s_cmp_ge_u32", slot, _control("wave_slots")),
        f"s_mov_b32 {high}, 0",
        f"s_lshl_b64 {pair}, {pair}, {size}",
        f"s_add_u32 {slot}, {slot}, {_control('regions')}",
        f"s_addc_u32 {high}, {high}, {_control('regions', 1)}",
        f"s_lshl_b32 {size}, 1, {size}",
    ]


def _write_header(at: BeginOperands, wave: str, xcc: str) -> list[str]:
    base, size, dispatch = scratch(34, 2), _control("region_log2"), _control("dispatch")
    state, side, main, seen = (scratch(8 + n) for n in range(4))
    begun, ended = int(layout.WaveState.BEGUN), int(layout.WaveState.ENDED)
    eager = f"s_bitcmp1_b32 {_control('flags')}, {int(layout.ControlFlag.EAGER).bit_length() - 1}"
    return [
        f"s_load_dwordx4 {scratch(8, 4)}, {base}, {header('state')}",
        "s_waitcnt lgkmcnt(0)",
        # A wave that ended may begin again: it goes on where it was.
        f"s_cmp_lg_u32 {state}, {ended}",
        f"s_cbranch_scc1 .Lktrace_new{UID}",
        f"s_cmp_lg_u32 {seen}, {dispatch}",
        f"s_cbranch_scc1 .Lktrace_new{UID}",
        f"s_mov_b32 {state}, {begun}",
        f"s_store_dword {state}, {base}, {header('state')}",
        f"s_branch .Lktrace_begun{UID}",
        f".Lktrace_new{UID}:",
        f"s_mov_b32 {state}, {begun}",
        f"s_sub_u32 {side}, {size}, 8",
        f"s_mov_b32 {main}, {layout.REGION_HEADER}",
        f"s_mov_b32 {seen}, {dispatch}",
        f"s_store_dwordx4 {scratch(8, 4)}, {base}, {header('state')}",
        *(f"s_mov_b32 {scratch(12 + axis)}, {block}" for axis, block in enumerate(at.block)),
        f"s_mov_b32 {scratch(15)}, {wave}",
        f"s_store_dwordx4 {scratch(12, 4)}, {base}, {header('block')}",
        f"s_getreg_b32 {scratch(16)}, hwreg({HW_ID})",
        f"s_mov_b32 {scratch(17)}, {xcc}",
        f"s_store_dwordx2 {scratch(16, 2)}, {base}, {header('hw_id_begin')}",
        f"s_mov_b64 {scratch(20, 2)}, exec",
        # The end may lie behind a branch at which lanes part: who left early, it cannot tell.
        f"s_mov_b64 {scratch(22, 2)}, exec",
        f"s_store_dwordx4 {scratch(20, 4)}, {base}, {header('exec_begin')}",
        "s_waitcnt lgkmcnt(0)",
        f"s_memtime {scratch(28, 2)}",
        f"s_memrealtime {scratch(30, 2)}",
        "s_waitcnt lgkmcnt(0)",
        f"s_store_dwordx4 {scratch(28, 4)}, {base}, {header('memtime_begin')}",
        f".Lktrace_begun{UID}:",
        "s_waitcnt lgkmcnt(0)",
        f"s_mov_b64 {at.base}, {base}",
        f"s_mov_b32 {at.size}, {size}",
        eager,
        f"s_cbranch_scc0 {DONE}",
        f"s_bitset1_b32 {at.size}, 31",
        *WRITE_BACK,
    ]
