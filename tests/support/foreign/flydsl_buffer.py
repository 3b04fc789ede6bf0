"""A buffer as FlyDSL's kernels leave it, built event by event with `struct`.

Whole buffer: slots of 32 bytes. In front, a launch count at byte 4 and one wave counter for each
of P partitions, 256 bytes apart; then regions of 256 slots. Wave k of partition p has region
k * P + p: a header in slot 0, events in slots 1 to 255.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

SLOT = 32
MARK, PUSH, POP, START, STOP = range(5)
U64, I64, F32, F64, BOOL = range(5)


def partitions_of(size: int) -> int:
    """The most partitions of a power of two, up to 256, whose last one holds 96 waves."""
    for partitions in (256, 128, 64, 32, 16, 8, 4, 2):
        slots = size // SLOT - 8 * (partitions + 1)
        regions = -(-slots // 256)
        if -(-(regions - partitions + 1) // partitions) >= 96:
            return partitions
    return 1


@dataclass
class FlyWave:
    """One wave; its events are written in order."""

    block: tuple[int, int, int] = (0, 0, 0)
    wave: int = 0
    dispatch: int = 1
    queue: int = 0x7F00
    xcc: int = 0
    hw_id: int = 0
    attempted: int | None = None
    """None: as many as it has events."""
    events: list[tuple[int, int, int, int, int, int | None]] = field(default_factory=list)
    """ts, kind, id, payload type, payload bits or -1, number of the start."""

    def event(
        self,
        ts: int,
        kind: int,
        ident: int = 0,
        payload: tuple[int, int] | None = None,
        start: int | None = None,
    ) -> FlyWave:
        """Add an event; payload: type and bits; start: a STOP's START among the events, from 0."""
        kind_of, bits = payload if payload is not None else (0, -1)
        self.events.append((ts, kind, ident, kind_of, bits, start))
        return self

    def region(self, first_slot: int, slots: int = 256) -> bytes:
        """Return its region, whose slot 0 has this number on the device."""
        count = len(self.events) if self.attempted is None else self.attempted
        x, y, z = self.block
        out = struct.pack("<IIQQII", count, self.wave | z << 8, self.dispatch, self.queue, x, y)
        for ts, kind, ident, type_, bits, start in self.events[: slots - 1]:
            packed = ident | kind << 24 | type_ << 27 | (bits >= 0) << 31
            token = 0 if start is None else first_slot + 1 + start
            out += struct.pack("<QQIIII", ts, max(bits, 0), self.hw_id, self.xcc, packed, token)
        return out.ljust(slots * SLOT, b"\0")


def bare_buffer(waves: list[FlyWave], first_slot: int = 0) -> bytes:
    """The regions alone, whose first slot has this number on the device."""
    return b"".join(wave.region(first_slot + 256 * row) for row, wave in enumerate(waves))


def whole_buffer(
    size: int, waves: dict[tuple[int, int], FlyWave], cursors: dict[int, int], launches: int = 1
) -> bytes:
    """The whole buffer.

    Args:
        size: in bytes.
        waves: by partition and number in it.
        cursors: how many waves each partition has numbered; others none.
        launches: of instrumented kernels.
    """
    partitions = partitions_of(size)
    front = 8 * (partitions + 1)
    out = bytearray(size // SLOT * SLOT)
    struct.pack_into("<I", out, 4, launches)
    for partition, count in cursors.items():
        struct.pack_into("<I", out, (partition + 1) * 256, count)
    for (partition, number), wave in waves.items():
        slot = front + 256 * (number * partitions + partition)
        region = wave.region(slot, min(256, size // SLOT - slot))
        out[slot * SLOT : slot * SLOT + len(region)] = region
    return bytes(out)
