"""What statements share: scratch registers, fields in memory, what each of them changes."""

from __future__ import annotations

from typing import Final

from ktrace_cli.trace_file import layout

UID: Final = "${:uid}"
"""A number that the compiler makes another one for each copy of a statement."""
DONE: Final = f".Lktrace_done{UID}"
HW_ID: Final = 4
_XCC_ID: Final = 20
_FIRST: Final = 40  # above what most kernels need
CLOBBERS: Final = "~{vcc},~{scc},~{memory}"
SCRATCH: Final = ",".join(f"~{{s{number}}}" for number in range(_FIRST, _FIRST + 36))
WRITE_BACK: Final = ["s_waitcnt lgkmcnt(0)", "s_dcache_wb", "s_waitcnt lgkmcnt(0)"]
IF_FIRST_LANE: Final = ["s_bitcmp0_b32 exec_lo, 0", f"s_cbranch_scc1 {DONE}"]


def scratch(number: int, count: int = 1) -> str:
    """Name scratch registers; a group of 2 or 4 begins at a multiple of its size."""
    first = _FIRST + number
    return f"s{first}" if count == 1 else f"s[{first}:{first + count - 1}]"


def read_xcc(target: str, register: str) -> str:
    """Return what reads XCC_ID, or 0 where there is none."""
    if target == "gfx90a":
        return f"s_mov_b32 {register}, 0"
    return f"s_getreg_b32 {register}, hwreg({_XCC_ID})"


def field(dtype: layout.Dtype, name: str) -> int:
    """Return where a field lies in its struct."""
    assert dtype.fields is not None
    return int(dtype.fields[name][1])


def header(name: str) -> str:
    """Return where a field lies in a wave's region."""
    return f"{field(layout.WAVE_HEADER, name):#x}"
