"""TileOPs' trace buffer: a slot of 16-byte records for each group of each block."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from ktrace_cli.errors import UsageError
from ktrace_cli.foreign.buffer import Buffer
from ktrace_cli.foreign.events import (
    CLOCK_LIMIT,
    EVENT,
    NO_START,
    NO_VALUE,
    EventBatch,
    hold_clocks,
    rows_of,
)
from ktrace_cli.foreign.found import Found, Launches, Lines, TimeBase
from ktrace_cli.foreign.naming import Naming
from ktrace_cli.foreign.shape import Shape, axes_of
from ktrace_cli.foreign.side_car import SideCar
from ktrace_cli.model import WAVE, Columns, Device, Flags, WaveFlag
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.trace_file.layout import Kind, ValueType
from ktrace_cli.units import counted

RECORD = np.dtype([("clock", "<i8"), ("tag", "<u4"), ("payload", "<u4")])
_ID_MASK, _KIND_SHIFT, _LANE_SHIFT = 0xFFFFFF, 24, 28
_KINDS = np.array([Kind.LONG_BEGIN, Kind.LONG_END, Kind.MARK], np.uint8)
_USUAL_CAPACITY = 768
_OWN_LANE = "main"
_READ_SLOTS = 256
_CLOCK = "each block's clock from its first event on"
_NO_CYCLES = "the rate of its clock was told, so that times are nanoseconds"


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
    kinds = tags[is_there] >> np.uint32(_KIND_SHIFT) & np.uint32(0xF)
    return bool(is_there.any()) and not slots.is_torn.any() and bool(np.all(kinds < len(_KINDS)))


@dataclass(frozen=True)
class TileopsReader:
    """An EventReader, whose slots are those of the buffer."""

    slots: Slots
    keys: Ints
    """Ids with their lanes, ascending: an event's number is its place here."""
    is_named: Flags
    """Which of them have names."""
    group_ids: Ints
    """The number of the event that names each group, from 0."""

    def __call__(self, slots: Ints) -> EventBatch:
        """Read the events of some slots."""
        counts = self.slots.counts[slots]
        place = slots * (self.slots.capacity + 1) + 1
        raw = self.slots.records.reshape(-1)[rows_of(place, counts)]
        # In front, each says whose it is.
        has_any = counts > 0
        own = counts + has_any
        at = np.cumsum(own) - own
        is_event = np.ones(int(own.sum()), np.bool_)
        is_event[at[has_any]] = False
        events = np.zeros(len(is_event), EVENT)
        events["start"], events["type"] = NO_START, NO_VALUE
        losses = self._put(events, np.flatnonzero(is_event), raw)
        held = raw["clock"].copy()
        losses["clamped_words"] = hold_clocks(held, counts)
        ticks = np.zeros(len(events), np.int64)
        ticks[is_event] = held
        first = at[has_any]
        ticks[first] = ticks[first + 1]
        events["ticks"] = ticks
        events["kind"][first] = Kind.GROUP
        events["id"][first] = self.group_ids[slots[has_any] % self.slots.groups]
        return EventBatch(own, events, np.zeros(len(slots), np.int64), losses)

    def _put(self, events: Columns, rows: Ints, raw: Columns) -> Counter[str]:
        kinds = raw["tag"] >> np.uint32(_KIND_SHIFT) & np.uint32(0xF)
        is_known = kinds < len(_KINDS)
        kind = np.where(is_known, _KINDS[np.where(is_known, kinds, 0)], np.uint8(Kind.MARK))
        number = np.searchsorted(self.keys, _keys(raw))
        events["kind"][rows], events["id"][rows] = kind, number
        has_payload = raw["payload"] != 0
        events["type"][rows] = np.where(has_payload, np.uint8(ValueType.U32), np.uint8(NO_VALUE))
        events["bits"][rows] = raw["payload"]
        unnamed = ~self.is_named[number] & (kind != Kind.LONG_END)
        return Counter(
            unknown_kinds=int(np.count_nonzero(~is_known)),
            unnamed_events=int(np.count_nonzero(unnamed)),
        )


def _keys(raw: Columns) -> Ints:
    tag = raw["tag"].astype(np.int64)
    return np.asarray((tag & _ID_MASK) << 4 | tag >> _LANE_SHIFT, np.int64)


def find_tileops(buffer: Buffer, side_car: SideCar) -> tuple[Found, tuple[str, ...]]:
    """Return what a buffer holds, and what is assumed of it.

    Raises:
        UsageError: its shape is not known.
    """
    slots = guess_slots(buffer, side_car)
    keys, zero = _look(slots)
    blocks = np.arange(len(slots.records)) // slots.groups
    naming, reader = _naming(slots, keys, side_car)
    waves = _waves(slots, blocks, zero, side_car.shape)
    hertz = side_car.shape.clock
    slope = np.full(len(waves), 1e9 / hertz if hertz else 1.0)
    found = Found(
        waves=waves,
        launches=Launches(np.zeros(len(waves), np.int64), np.zeros(min(len(waves), 1), np.int64)),
        read=reader,
        device=Device(0, naming.target, "NVIDIA GPU", False, 0, 1 if len(waves) else 0, 0),
        naming=naming,
        lines=Lines(zero[blocks], np.zeros(len(waves), np.int64), slope),
        lanes_per_wave=128,
        base=TimeBase(_CLOCK, no_cycles=_NO_CYCLES) if hertz else TimeBase(_CLOCK, "cycles"),
        is_paired_by_id=True,
        losses=Counter(cut_bytes=len(buffer) % RECORD.itemsize),
    )
    return found, _tell(slots, found, hertz)


def _look(slots: Slots) -> tuple[Ints, Ints]:
    """Return all ids with their lanes, and when the first event of each block was."""
    found, blocks = [np.zeros(0, np.int64)], -(-len(slots.records) // slots.groups)
    late = np.iinfo(np.int64).max
    zero = np.full(blocks, late)
    counts = slots.counts
    place = np.arange(slots.capacity)
    for first in range(0, len(counts), _READ_SLOTS):
        some = slice(first, first + _READ_SLOTS)
        is_there = place < counts[some, None]
        raw = slots.records[some, 1:]
        found.append(np.unique(_keys(raw[is_there])))
        is_there &= (raw["clock"] >= 0) & (raw["clock"] < CLOCK_LIMIT)
        earliest = np.where(is_there, raw["clock"], late).min(axis=1)
        np.minimum.at(zero, np.arange(first, first + len(earliest)) // slots.groups, earliest)
    zero[zero == late] = 0
    return np.unique(np.concatenate(found)), zero


def _naming(slots: Slots, keys: Ints, side_car: SideCar) -> tuple[Naming, TileopsReader]:
    names, lanes = {}, {}
    for number, key in enumerate(keys.tolist()):
        event, lane = key >> 4, key & 0xF
        names[number] = side_car.names.get(event, f"event_{event}")
        called = side_car.lanes.get(lane, f"lane {lane}" if lane else _OWN_LANE)
        lanes[number] = "" if called == _OWN_LANE else called
    group_ids = len(keys) + np.arange(slots.groups)
    for group, number in enumerate(group_ids.tolist()):
        names[number] = side_car.groups.get(group, f"group {group}")
    is_named = np.array([key >> 4 in side_car.names for key in keys.tolist()] or [False])
    kernel = side_car.kernel or "tileops_kernel"
    naming = Naming(
        kernel, side_car.target, names, lanes, edges=side_car.edges, has_joint_clock=True
    )
    return naming, TileopsReader(slots, keys, is_named, group_ids)


def _waves(slots: Slots, blocks: Ints, zero: Ints, shape: Shape) -> Columns:
    waves = np.zeros(len(blocks), WAVE)
    waves["slot"] = np.arange(len(blocks))
    waves["block"], waves["wave"] = axes_of(blocks, shape), waves["slot"] % slots.groups
    is_empty = slots.counts == 0
    for name in ("begin_ticks", "end_ticks"):
        waves[name][is_empty] = zero[blocks[is_empty]]
    waves["flags"] = np.where(slots.is_torn, WaveFlag.TORN, 0)
    is_full = slots.told == slots.capacity
    waves["flags"] |= np.where(is_full, WaveFlag.DROPPED, 0).astype(np.uint16)
    return waves


def _tell(slots: Slots, found: Found, hertz: int) -> tuple[str, ...]:
    blocks = -(-len(slots.records) // slots.groups)
    full = int(np.count_nonzero(slots.told == slots.capacity))
    told = [
        f"read as TileOPs' buffer: {counted(blocks, 'block')} of {counted(slots.groups, 'group')},"
        f" {counted(slots.capacity, 'event')} each",
        "each block's times count from its first event, as clocks of different SMs are not aligned;"
        + (
            f" a cycle is taken as {1e9 / hertz:.4g} ns, as told"
            if hertz
            else " they are cycles, as nothing tells a cycle's length (`--shape clock=1.755GHz`)"
        ),
    ]
    if full:
        groups = counted(full, "group has", "groups have")
        told.append(f"{groups} as many events as fit: TileOPs does not count what it drops then")
    return tuple(told)
