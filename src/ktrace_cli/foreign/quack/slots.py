"""Where things are in QuACK's buffer, and what its bytes tell of its shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ktrace_cli.errors import UsageError
from ktrace_cli.foreign.buffer import Buffer
from ktrace_cli.foreign.shape import Shape
from ktrace_cli.model import Columns, Flags
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.units import counted

META = np.dtype(
    [
        ("init_ns", "<u8"),  # globaltimer
        ("init_clock", "<u8"),  # clock64
        ("final_ns", "<u8"),  # 0: the warp never flushed
        ("final_clock", "<u8"),
        ("info", "<u4"),  # block, 16 bits | warp, 6 bits | SM, 10 bits
        ("count", "<u4"),  # events attempted, known once it flushed
    ]
)
RECORD = np.dtype([("clock", "<u4"), ("region", "<u2"), ("type", "<u2")])
BLOCK_BITS = 16
TYPES = 3
_MOST_WARPS = 32
_MOST_POWER = 24
_LOOKED_AT = 4096


@dataclass(frozen=True)
class Slots:
    """The slots of a buffer, one for each warp."""

    data: memoryview
    capacity: int
    warps: int
    """Of a block."""

    @property
    def size(self) -> int:
        """Bytes of a slot."""
        return META.itemsize + self.capacity * RECORD.itemsize

    @property
    def count(self) -> int:
        """How many slots there are."""
        return len(self.data) // self.size

    @property
    def metas(self) -> Columns:
        """META of each slot."""
        return self._table(META, 0, ())

    @property
    def records(self) -> Columns:
        """RECORD, shape (slots, capacity)."""
        return self._table(RECORD, META.itemsize, (self.capacity,))

    def _table(self, dtype: np.dtype[Any], offset: int, inner: tuple[int, ...]) -> Columns:
        steps = (self.size, *(RECORD.itemsize for _ in inner))
        shape = (self.count, *inner)
        if not self.count:
            return np.zeros(shape, dtype)
        table: Columns = np.ndarray(shape, dtype, self.data, offset, steps)
        return table


def guess_slots(buffer: Buffer, shape: Shape) -> tuple[Slots, bool]:
    """Return the slots of a buffer, and whether its bytes alone leave no doubt.

    Raises:
        UsageError: several shapes are possible, and the user tells none.
    """
    data = memoryview(buffer.data)
    known = [shape.capacity] if shape.capacity else _capacities(len(data))
    fitting = []
    for capacity in known:
        warps, is_sound = _warps(Slots(data, capacity, 1), shape)
        fitting.append((is_sound, Slots(data, capacity, warps)))
    sound = [slots for is_sound, slots in fitting if is_sound]
    if len(sound) == 1:
        return sound[0], True
    if len(fitting) == 1:
        return fitting[0][1], False
    raise UsageError(
        f"the shape of QuACK's buffer in {buffer.path} is not known",
        why=f"of {counted(len(known), 'possible capacity', 'possible capacities')},"
        f" {len(sound)} fit its {len(data):,} bytes",
        fix="tell it: `--shape blocks=132,warps=8,capacity=4096`",
    )


def is_quack(buffer: Buffer, shape: Shape) -> bool:
    """Tell whether a file can only be a buffer of QuACK's."""
    try:
        return guess_slots(buffer, shape)[1]
    except UsageError:
        return False


def _capacities(size: int) -> list[int]:
    sizes = [(1 << n, META.itemsize + (RECORD.itemsize << n)) for n in range(_MOST_POWER + 1)]
    return [capacity for capacity, slot in sizes if size >= slot and size % slot == 0]


def _warps(slots: Slots, shape: Shape) -> tuple[int, bool]:
    """Return how many warps a block has, and whether all that was looked at fits that."""
    number = np.arange(min(slots.count, _LOOKED_AT))
    metas = slots.metas[: len(number)]
    is_used = metas["init_ns"] != 0
    blank = metas.copy()
    for name in META.names or ():
        blank[name][is_used] = 0
    is_sound = bool(is_used.any()) and not blank.tobytes().strip(b"\0")
    used = metas[is_used]
    is_flushed = used["final_ns"] != 0
    for name in ("ns", "clock"):
        is_sound &= bool(np.all(~is_flushed | (used[f"final_{name}"] >= used[f"init_{name}"])))
    is_sound = is_sound and _are_events_sound(slots, number[is_used])
    told = [shape.warps] if shape.warps else list(range(1, _MOST_WARPS + 1))
    fitting = [n for n in told if np.all(is_at_home(used["info"], number[is_used], n))]
    most = int((used["info"] >> np.uint32(BLOCK_BITS) & np.uint32(0x3F)).max(initial=0)) + 1
    # Of one block only, all numbers from that of its warps on would do.
    return (fitting[0] if fitting else (shape.warps or most)), is_sound and bool(fitting)


def is_at_home(info: Columns, slot: Ints, warps: int) -> Flags:
    """Tell which headers name the block and warp of their slot.

    Blocks from 65,536 on spill into the bits of warp and SM.
    """
    block, warp = slot // warps, slot % warps
    named = info.astype(np.int64)
    is_block = (named & 0xFFFF) == (block & 0xFFFF)
    is_warp = (named >> BLOCK_BITS & 0x3F) == ((warp | block >> BLOCK_BITS) & 0x3F)
    return np.asarray(is_block & is_warp, np.bool_)


def _are_events_sound(slots: Slots, used: Ints) -> bool:
    some = used[:64]
    records, counts = slots.records[some], slots.metas["count"][some].astype(np.int64)
    place = np.arange(slots.capacity)
    is_there = place < np.minimum(counts, slots.capacity)[:, None]
    is_flushed = (slots.metas["final_ns"][some] != 0)[:, None]
    raw = np.ascontiguousarray(records).view("<u8")
    is_known = bool(np.all(records["type"][is_there] < TYPES))
    return is_known and not np.any(raw[~is_there & is_flushed])
