"""Trace buffers of the selftest's own: regions among canaries, and how many words fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import Mode

GUARD = 4096
"""Bytes in front of the first region and behind the last one."""
REGION_LOG2 = 9
GRID, BLOCK = 2, 256
WAVES_PER_BLOCK = BLOCK // layout.WAVE_SIZE
SLOTS = GRID * WAVES_PER_BLOCK
RECORDED = np.arange(0, SLOTS, 2)
"""Slots whose waves are recorded; each has a neighbour on both sides that is not."""
CAPACITY = (1 << REGION_LOG2) // layout.WORD.itemsize - layout.REGION_HEADER // layout.WORD.itemsize
"""Words that fit."""
OVERFLOWS = {"main": (100, 0), "side": (0, 100), "both": (10, 100)}
"""Marks in the main and in the side stream, of which more than fit."""

_WAVE_MASK = 0b0101
_EVERYWHERE = 0xFFFFFFFF
_DISPATCH = 77


def canaries() -> NDArray[np.uint8]:
    """Return what the whole buffer is filled with before the kernel: no byte of it is 0."""
    size = 2 * GUARD + (SLOTS << REGION_LOG2)
    return np.asarray(np.arange(size) * 167 % 255 + 1, np.uint8)


def control_block(regions: int) -> NDArray[Any]:
    """Return the control block of regions that begin at a device address, shape (1,)."""
    control = np.zeros(1, layout.CONTROL)
    values = {
        "magic": layout.CONTROL_MAGIC,
        "abi_version": layout.ABI_VERSION,
        "mode": Mode.DIRECT,
        "dispatch": _DISPATCH,
        "regions": regions,
        "region_log2": REGION_LOG2,
        "wave_slots": SLOTS,
        "grid": (GRID, 1, 1),
        "block": (BLOCK, 1, 1),
        "waves_per_block": WAVES_PER_BLOCK,
        "wave_mask": _WAVE_MASK,
        "block_hi": _EVERYWHERE,
        "xcc_mask": _EVERYWHERE,
    }
    for name, value in values.items():
        control[name] = value
    return control
