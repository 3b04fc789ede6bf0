"""QuACK's trace buffer, as `quack.trace` of quack-kernels up to 0.5.0 writes it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

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
from ktrace_cli.foreign.names_file import SideCar, name_kernel
from ktrace_cli.foreign.shape import Shape, axes_of
from ktrace_cli.model import WAVE, ClockFit, Columns, Device, Flags, WaveFlag
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.trace_file.layout import Kind
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
_KINDS = np.array([Kind.LONG_BEGIN, Kind.LONG_END, Kind.MARK], np.uint8)
_MOST_WARPS = 32
_MOST_POWER = 24
_LOOKED_AT = 4096
_BLOCK_BITS = 16
_RANGE = 1 << 32
_LANES = 32
_MOST_NS = 1 << 61
_UNUSUAL = 8.0


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
    fitting = [n for n in told if np.all(_is_at_home(used["info"], number[is_used], n))]
    most = int((used["info"] >> np.uint32(_BLOCK_BITS) & np.uint32(0x3F)).max(initial=0)) + 1
    # Of one block only, all numbers from that of its warps on would do.
    return (fitting[0] if fitting else (shape.warps or most)), is_sound and bool(fitting)


def _is_at_home(info: Columns, slot: Ints, warps: int) -> Flags:
    """Tell which headers name the block and warp of their slot.

    Blocks from 65,536 on spill into the bits of warp and SM.
    """
    block, warp = slot // warps, slot % warps
    named = info.astype(np.int64)
    is_block = (named & 0xFFFF) == (block & 0xFFFF)
    is_warp = (named >> _BLOCK_BITS & 0x3F) == ((warp | block >> _BLOCK_BITS) & 0x3F)
    return np.asarray(is_block & is_warp, np.bool_)


def _are_events_sound(slots: Slots, used: Ints) -> bool:
    some = used[:64]
    records, counts = slots.records[some], slots.metas["count"][some].astype(np.int64)
    place = np.arange(slots.capacity)
    is_there = place < np.minimum(counts, slots.capacity)[:, None]
    is_flushed = (slots.metas["final_ns"][some] != 0)[:, None]
    raw = np.ascontiguousarray(records).view("<u8")
    is_known = bool(np.all(records["type"][is_there] < len(_KINDS)))
    return is_known and not np.any(raw[~is_there & is_flushed])


@dataclass(frozen=True)
class State:
    """What can be believed of each warp's clocks."""

    is_torn: Flags
    """Not even its begin."""
    has_end: Flags
    ns: Columns
    """How long it ran, where it has an end."""
    clocks: Columns

    def of(self, rows: Ints) -> State:
        """Return that of some warps."""
        return State(self.is_torn[rows], self.has_end[rows], self.ns[rows], self.clocks[rows])


@dataclass(frozen=True)
class QuackReader:
    """An EventReader, whose slots are those of the buffer."""

    slots: Slots
    state: State
    """Of every slot."""

    def __call__(self, slots: Ints) -> EventBatch:
        """Read the events of some warps, oldest first."""
        metas, capacity = self.slots.metas[slots], self.slots.capacity
        counts = _kept(self.slots, slots, metas)
        total = metas["count"].astype(np.int64)
        first = np.where(total > capacity, total % capacity, 0)
        wave = np.repeat(np.arange(len(slots)), counts)
        place = (first[wave] + rows_of(np.zeros_like(counts), counts)) % capacity
        raw = self.slots.records[slots[wave], place]
        events = np.zeros(len(raw), EVENT)
        events["id"], events["start"], events["type"] = raw["region"], NO_START, NO_VALUE
        is_known = raw["type"] < len(_KINDS)
        events["kind"] = np.where(is_known, _KINDS[np.where(is_known, raw["type"], 0)], Kind.MARK)
        losses = Counter(unknown_kinds=int(np.count_nonzero(~is_known)))
        ticks, long = _ticks(raw["clock"], counts, metas, self.state.of(slots))
        losses["long_gaps"] = long
        losses["clamped_words"] = hold_clocks(ticks, counts)
        events["ticks"] = ticks
        return EventBatch(counts, events, np.zeros(len(slots), np.int64), losses)


def _kept(slots: Slots, numbers: Ints, metas: Columns) -> Ints:
    """Return how many events each warp has; of one that did not flush, those that are not 0."""
    counts = np.minimum(metas["count"].astype(np.int64), slots.capacity)
    for row in np.flatnonzero((metas["final_ns"] == 0) & (metas["init_ns"] != 0)).tolist():
        raw = np.ascontiguousarray(slots.records[numbers[row]]).view("<u8")
        empty = np.flatnonzero(raw == 0)
        counts[row] = empty[0] if len(empty) else slots.capacity
    counts[metas["init_ns"] == 0] = 0
    return counts


def _ticks(clock: Columns, counts: Ints, metas: Columns, state: State) -> tuple[Ints, int]:
    """Return 64-bit clocks, and how many warps ran so long that 32 bits do not tell them.

    Clocks count from the warp's begin. Of a long warp a step back is taken as one more turn; of
    one whose begin is lost, the last turn that its end allows.
    """
    wave = np.repeat(np.arange(len(counts)), counts)
    low = (metas["init_clock"] & np.uint64(_RANGE - 1)).astype(np.int64)
    since = (clock.astype(np.int64) - low[wave]) % _RANGE
    span = metas["final_clock"].astype(np.int64) - metas["init_clock"].astype(np.int64)
    is_long = (span >= _RANGE) & state.has_end & (counts > 0)
    ends = np.cumsum(counts)
    for row in np.flatnonzero(is_long).tolist():
        own = since[ends[row] - counts[row] : ends[row]]
        own[1:] += np.cumsum(np.diff(own) < 0) * _RANGE
        if int(metas["count"][row]) > counts[row]:
            own += max(int(span[row]) - int(own[-1]), 0) // _RANGE * _RANGE
    begin = np.where(state.is_torn, 0, metas["init_clock"].astype(np.int64))
    return begin[wave] + since, int(np.count_nonzero(is_long))


def find_quack(buffer: Buffer, side_car: SideCar) -> tuple[Found, tuple[str, ...]]:
    """Return what a buffer holds, and what is assumed of it.

    Raises:
        UsageError: its shape is not known.
    """
    slots, _ = guess_slots(buffer, side_car.shape)
    numbers = np.flatnonzero(slots.metas["init_ns"] != 0)
    metas = slots.metas[numbers]
    everywhere = _judge(slots.metas)
    state = everywhere.of(numbers)
    waves = _waves(slots, numbers, state, side_car.shape)
    lines, uncalibrated, hertz = _lines(metas, state)
    is_home = _is_at_home(metas["info"], numbers, slots.warps)
    losses = Counter(
        cut_bytes=len(slots.data) % slots.size,
        misplaced_waves=int(np.count_nonzero(~is_home)),
        uncalibrated_waves=uncalibrated,
    )
    naming = name_kernel(side_car, "quack_kernel")
    found = Found(
        waves=waves,
        launches=Launches(np.zeros(len(waves), np.int64), np.zeros(min(len(waves), 1), np.int64)),
        read=QuackReader(slots, everywhere),
        device=Device(0, naming.target, "NVIDIA GPU", False, 0, 1 if len(waves) else 0, 10**9),
        naming=naming,
        lines=lines,
        lanes_per_wave=_LANES,
        base=TimeBase("the GPU's globaltimer"),
        clocks=(ClockFit(0, "globaltimer", hertz, 0.0),) if len(waves) else (),
        is_paired_by_id=True,
        losses=losses,
    )
    return found, _tell(slots, len(numbers), found)


def _waves(slots: Slots, numbers: Ints, state: State, shape: Shape) -> Columns:
    metas = slots.metas[numbers]
    waves = np.zeros(len(numbers), WAVE)
    waves["slot"] = numbers
    block = numbers // slots.warps
    waves["block"] = axes_of(block, shape)
    waves["wave"] = numbers % slots.warps
    # Each SM has a clock of its own, as a shader engine has: so that is where it is shown.
    waves["se"] = metas["info"] >> np.uint32(22)
    waves["begin_ticks"] = np.where(state.is_torn, 0, metas["init_clock"].astype(np.int64))
    is_flushed = metas["final_ns"] != 0
    waves["end_ticks"] = np.where(state.has_end, metas["final_clock"].astype(np.int64), 0)
    over = np.maximum(metas["count"].astype(np.int64) - slots.capacity, 0)
    waves["overwritten"] = over
    waves["flags"] = np.where(is_flushed, 0, WaveFlag.UNFINISHED)
    for is_so, flag in (
        (over > 0, WaveFlag.OVERWRITTEN),
        (state.is_torn, WaveFlag.TORN),
        (is_flushed & ~state.has_end & ~state.is_torn, WaveFlag.CLAMPED),
    ):
        waves["flags"] |= np.where(is_so, flag, 0).astype(np.uint16)
    return waves


def _judge(metas: Columns) -> State:
    """A warp whose cycle is eight times as long or short as usual has a wrong reading."""
    limits = (np.uint64(CLOCK_LIMIT), np.uint64(_MOST_NS))
    is_torn = (metas["init_clock"] >= limits[0]) | (metas["init_ns"] >= limits[1])
    has_end = ~is_torn & (metas["final_ns"] != 0)
    has_end &= (metas["final_clock"] < limits[0]) & (metas["final_ns"] < limits[1])
    has_end &= (metas["final_clock"] >= metas["init_clock"]) & (
        metas["final_ns"] >= metas["init_ns"]
    )
    ns = np.where(has_end, metas["final_ns"] - metas["init_ns"], 0).astype(np.float64)
    clocks = np.where(has_end, metas["final_clock"] - metas["init_clock"], 0).astype(np.float64)
    is_known = has_end & (ns > 0) & (clocks > 0)
    if is_known.any():
        rate = np.divide(ns, clocks, out=np.ones(len(metas)), where=is_known)
        usual = float(np.median(rate[is_known]))
        has_end &= ~is_known | ((rate < _UNUSUAL * usual) & (rate * _UNUSUAL > usual))
    return State(np.asarray(is_torn, np.bool_), np.asarray(has_end, np.bool_), ns, clocks)


def _lines(metas: Columns, state: State) -> tuple[Lines, int, float]:
    """Return the line of each warp, how many have only one point, and the mean rate in hertz."""
    ns, clocks = state.ns, state.clocks
    is_known = state.has_end & (clocks > 0) & (ns > 0)
    total = float(clocks[is_known].sum())
    usual = float(ns[is_known].sum()) / total if total else 1.0
    slope = np.divide(ns, clocks, out=np.full(len(metas), usual), where=is_known)
    begins = (
        np.where(state.is_torn, 0, metas[name].astype(np.int64))
        for name in ("init_clock", "init_ns")
    )
    lines = Lines(*begins, slope)
    uncalibrated = int(np.count_nonzero(~is_known & ~state.is_torn))
    return lines, uncalibrated, 1e9 / usual if total else 0.0


def _tell(slots: Slots, used: int, found: Found) -> tuple[str, ...]:
    blocks = -(-slots.count // slots.warps)
    told = [
        f"read as QuACK's buffer: {counted(blocks, 'block')} of {counted(slots.warps, 'warp')},"
        f" {counted(slots.capacity, 'event')} each",
        f"its kernel is called {found.naming.kernel}; an SM is shown as an SE with one CU",
    ]
    if used < slots.count:
        told.append(
            f"{slots.count - used:,} of {slots.count:,} warps recorded nothing: they were not"
            " sampled, or never began"
        )
    if blocks > 1 << _BLOCK_BITS:
        told.append(
            "the buffer names blocks by 16 bits, which mean several of these each: their numbers"
            " are those of their slots"
        )
    return tuple(told)
