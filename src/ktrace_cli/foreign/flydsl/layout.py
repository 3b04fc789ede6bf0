"""Where things are in FlyDSL's buffer: counters in front, then one region of 256 slots per wave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ktrace_cli.timeline.segments import Ints

SLOT = 32
"""Bytes."""
REGION_SLOTS = 256
LEAST_BYTES = 4096
"""Of a whole buffer."""
TICK_NS = 10.0
"""The clock, s_memrealtime, runs at 100 MHz."""

WAVE_HEADER = np.dtype(
    [
        ("attempted", "<u4"),  # events; 0 until the wave ends
        ("wave", "<u4"),  # in its workgroup; block_z from bit 8 on
        ("dispatch", "<u8"),
        ("queue", "<u8"),
        ("block_x", "<u4"),
        ("block_y", "<u4"),
    ]
)
RECORD = np.dtype(
    [
        ("ts", "<u8"),  # 0: never written
        ("payload", "<u8"),
        ("hw_id", "<u4"),
        ("xcc_id", "<u4"),
        ("packed", "<u4"),
        ("start", "<u4"),  # slot of the range_start that a range_stop ends
    ]
)
ID_MASK = 0xFFFFFF
KIND_SHIFT, KIND_MASK = 24, 7
TYPE_SHIFT, TYPE_MASK = 27, 7
UNUSED_BIT = 1 << 30
HAS_PAYLOAD = 1 << 31

_LAUNCHES_AT = 4
_CURSOR_STRIDE = 256
_MOST_PARTITIONS = 256
_LEAST_WAVES = 96


@dataclass(frozen=True)
class Layout:
    """Where the waves of a buffer are: wave k of partition p has region k * partitions + p."""

    partitions: int
    """0: there are no counters in front."""
    header_slots: int
    """Slots in front of the first region, in this file."""
    slots: int
    """Behind them."""
    is_whole: bool = True
    """Whether these are all regions of the device's buffer, so that it is known what it holds."""

    @property
    def regions(self) -> int:
        """How many waves there may be; the last region may be short."""
        return -(-self.slots // REGION_SLOTS)

    def holds(self, regions: Ints) -> Ints:
        """Return how many events fit each region."""
        left = self.slots - regions * REGION_SLOTS
        return np.minimum(left, REGION_SLOTS) - 1

    @property
    def capacities(self) -> Ints:
        """How many waves fit each partition."""
        numbers = np.arange(self.partitions)
        return np.maximum(-(-(self.regions - numbers) // self.partitions), 0)


def header_slots(partitions: int) -> int:
    """Return how many slots the counters take."""
    return _CURSOR_STRIDE // SLOT * (partitions + 1)


def whole_layout(size: int) -> Layout:
    """Return the layout of a whole buffer of this size in bytes."""
    slots = size // SLOT
    partitions = _MOST_PARTITIONS
    while partitions > 1:
        found = _with(partitions, slots)
        if found.slots > 0 and found.capacities[-1] >= _LEAST_WAVES:
            return found
        partitions //= 2
    return _with(1, slots)


def prefix_layout(partitions: int, size: int) -> Layout:
    """Return the layout of the first bytes of a buffer with so many partitions."""
    found = _with(partitions, size // SLOT)
    return Layout(found.partitions, found.header_slots, found.slots, is_whole=False)


def bare_layout(size: int) -> Layout:
    """Return the layout of regions without the counters in front."""
    return Layout(0, 0, size // SLOT, is_whole=False)


def all_partitions() -> list[int]:
    """Return all numbers of partitions that a buffer may have."""
    return [1 << power for power in range(_MOST_PARTITIONS.bit_length())]


def read_counters(data: bytes | memoryview, layout: Layout) -> tuple[int, Ints]:
    """Return how many launches there were, and how many waves each partition has numbered.

    Args:
        data: all slots in front of the first region.
        layout: with counters.
    """
    words = np.frombuffer(data, "<u4", layout.header_slots * SLOT // 4)
    stride = _CURSOR_STRIDE // 4
    return int(words[_LAUNCHES_AT // 4]), words[stride::stride].astype(np.int64)


def count_strays(data: bytes | memoryview, layout: Layout) -> int:
    """Count words in front of the first region that should be 0, and are not."""
    words = np.frombuffer(data, "<u4", layout.header_slots * SLOT // 4).copy()
    words[_LAUNCHES_AT // 4] = 0
    words[_CURSOR_STRIDE // 4 :: _CURSOR_STRIDE // 4] = 0
    return int(np.count_nonzero(words))


def _with(partitions: int, slots: int) -> Layout:
    front = header_slots(partitions)
    return Layout(partitions, front, max(slots - front, 0))
