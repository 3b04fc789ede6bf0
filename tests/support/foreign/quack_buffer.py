"""A buffer as QuACK's kernels leave it: per warp 40 bytes of metadata, then a ring of events."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

BEGIN, END, MARK = range(3)


@dataclass
class QuackWarp:
    """One warp; clocks are 64-bit, of which an event keeps the low half."""

    init_ns: int = 1_000_000
    init_clock: int = 5_000_000
    final_ns: int = 1_002_000
    final_clock: int = 5_004_000
    sm: int = 0
    events: list[tuple[int, int, int]] = field(default_factory=list)
    """Clock, region, type."""
    is_flushed: bool = True
    info: int | None = None
    """None: what its slot says."""

    def slot(self, block: int, warp: int, capacity: int) -> bytes:
        """Return its slot."""
        info = (block | (warp & 0x3F | (self.sm & 0x3FF) << 6) << 16) & 0xFFFFFFFF
        final = (self.final_ns, self.final_clock) if self.is_flushed else (0, 0)
        count = len(self.events) if self.is_flushed else 0
        out = struct.pack(
            "<QQQQII", self.init_ns, self.init_clock, *final,
            info if self.info is None else self.info, count,
        )  # fmt: skip
        ring = [bytes(8)] * capacity
        for number, (clock, region, type_) in enumerate(self.events):
            ring[number % capacity] = struct.pack("<IHH", clock & 0xFFFFFFFF, region, type_)
        return out + b"".join(ring)


def quack_buffer(
    blocks: int, warps: int, capacity: int, recorded: dict[tuple[int, int], QuackWarp]
) -> bytes:
    """The whole buffer; warps that are not recorded are zeros.

    Args:
        blocks: of the grid.
        warps: of a block.
        capacity: events that a ring holds.
        recorded: by block and warp.
    """
    size = 40 + 8 * capacity
    out = bytearray(blocks * warps * size)
    for (block, warp), one in recorded.items():
        at = (block * warps + warp) * size
        out[at : at + size] = one.slot(block, warp, capacity)
    return bytes(out)
