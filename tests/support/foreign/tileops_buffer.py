"""A buffer as TileOPs' kernels leave it: a slot of 16-byte records for each group of each block."""

from __future__ import annotations

import struct

BEGIN, END, INSTANT, DAG = range(4)
GARBAGE = 0x5A5A5A5A5A5A5A5A
Event = tuple[int, int, int, int, int]
"""Clock, id, kind, lane, payload."""


def tileops_slot(events: list[Event], capacity: int, count: int | None = None) -> bytes:
    """One slot; what was never written holds whatever was there before."""
    told = min(len(events), capacity) if count is None else count
    out = struct.pack("<qQ", told, GARBAGE)
    for clock, ident, kind, lane, payload in events[:capacity]:
        out += struct.pack("<qII", clock, ident | kind << 24 | lane << 28, payload)
    rest = capacity + 1 - len(out) // 16
    return out + struct.pack("<QQ", GARBAGE, GARBAGE) * rest


def tileops_buffer(blocks: list[list[list[Event]]], capacity: int) -> bytes:
    """The whole buffer: events by block and group."""
    return b"".join(tileops_slot(events, capacity) for block in blocks for events in block)
