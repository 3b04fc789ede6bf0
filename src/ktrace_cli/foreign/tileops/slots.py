"""Where things are in TileOPs' buffer, and what its bytes tell of its shape."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ktrace_cli.errors import UsageError
from ktrace_cli.foreign.buffer import Buffer
from ktrace_cli.foreign.shape import Shape
from ktrace_cli.foreign.side_car import SideCar
from ktrace_cli.model import Columns, Flags
from ktrace_cli.timeline.segments import Ints

RECORD = np.dtype([("clock", "<i8"), ("tag", "<u4"), ("payload", "<u4")])
ID_MASK, KIND_SHIFT, LANE_SHIFT = 0xFFFFFF, 24, 28
KINDS = 3
"""Begin, end and mark: others are not known."""
_USUAL_CAPACITY = 768


@dataclass(frozen=True)
class Slots:
    """The slots of a buffer: record 0 of each holds how many others there are."""

    records: Columns
    """RECORD, shape (slots, capacity + 1)."""
    groups: int

    @property
    def capacity(self) -> int:
        """Events that fit a slot."""
        return int(self.records.shape[1]) - 1

    @property
    def told(self) -> Ints:
        """What each slot says that it has."""
        return np.ascontiguousarray(self.records["clock"][:, 0])

    @property
    def is_torn(self) -> Flags:
        """Slots that say what cannot be."""
        return np.asarray((self.told < 0) | (self.told > self.capacity), np.bool_)

    @property
    def counts(self) -> Ints:
        """How many events of each slot are to be read."""
        return np.where(self.is_torn, 0, self.told)


def guess_slots(buffer: Buffer, side_car: SideCar) -> Slots:
    """Return the slots of a buffer.

    Raises:
        UsageError: nothing tells its shape, or it does not fit the file.
    """
    shape, axes = side_car.shape, buffer.shape
    capacity, groups = shape.capacity, shape.groups or len(side_car.groups)
    if len(axes) == 3 and axes[2] % 2 == 0:
        capacity, groups = capacity or axes[2] // 2 - 1, groups or axes[1]
    size = len(buffer) // RECORD.itemsize
    if not groups and shape.blocks and capacity:
        groups = size // (shape.blocks * (capacity + 1))
    capacity = capacity or _USUAL_CAPACITY
    if not groups or size % (capacity + 1) or not size:
        raise UsageError(
            f"the shape of TileOPs' buffer in {buffer.path} is not known",
            why=f"{len(buffer):,} bytes are no whole number of slots of {capacity} events"
            if groups
            else "nothing tells how many groups a block has",
            fix="tell it: `--shape groups=2,capacity=768`, or write it with `numpy.save`",
        )
    records = np.frombuffer(buffer.data, RECORD, size).reshape(-1, capacity + 1)
    return Slots(records, groups)


def is_tileops(buffer: Buffer, shape: Shape) -> bool:
    """Tell whether a file can only be a buffer of TileOPs': an array of three axes that fits."""
    if len(buffer.shape) != 3 or buffer.shape[2] % 2 or len(buffer) % RECORD.itemsize:
        return False
    slot = buffer.shape[2] * 8
    if buffer.shape[2] < 4 or not len(buffer) or len(buffer) % slot:
        return False
    slots = guess_slots(buffer, SideCar(shape=Shape()))
    tags = slots.records["tag"][:, 1:]
    is_there = np.arange(slots.capacity) < slots.counts[:, None]
    kinds = tags[is_there] >> np.uint32(KIND_SHIFT) & np.uint32(0xF)
    return bool(is_there.any()) and not slots.is_torn.any() and bool(np.all(kinds < KINDS))
