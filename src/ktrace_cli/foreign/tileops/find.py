"""All that is in a buffer of TileOPs'."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ktrace_cli.foreign.buffer import Buffer
from ktrace_cli.foreign.events import CLOCK_LIMIT
from ktrace_cli.foreign.found import Found, Launches, Lines, TimeBase
from ktrace_cli.foreign.naming import Naming
from ktrace_cli.foreign.shape import Shape, axes_of
from ktrace_cli.foreign.side_car import SideCar
from ktrace_cli.foreign.tileops.reader import TileopsReader, keys_of
from ktrace_cli.foreign.tileops.slots import RECORD, Slots, guess_slots
from ktrace_cli.model import WAVE, Columns, Device, WaveFlag
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.units import counted

_OWN_LANE = "main"
_READ_SLOTS = 256
_CLOCK = "each block's clock from its first event on"
_NO_CYCLES = "the rate of its clock was told, so that times are nanoseconds"


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
        found.append(np.unique(keys_of(raw[is_there])))
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
