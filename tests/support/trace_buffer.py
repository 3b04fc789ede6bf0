"""Trace buffers made and read by hand: what the interposer does around a launch, without it.

`control_block` fills in what a kernel reads, `read_wave` turns one region into events. Reading is
strict: it asserts whatever the format promises about a region, so that every test checks it.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import ControlFlag, Kind, Mode, ValueType, WaveState

WORD = layout.WORD.itemsize
FIRST_WORD = layout.REGION_HEADER // WORD
EVERYWHERE = (0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF)
NO_FLAGS = ControlFlag(0)

Triple = tuple[int, int, int]
Value = bool | int | float


@dataclass(frozen=True)
class Choice:
    """Which waves are recorded, and how much of each."""

    region_log2: int = 13
    mode: Mode = Mode.DIRECT
    wave_slots: int | None = None  # None: one per wave of the grid
    wave_mask: int = 0xFFFFFFFF
    xcc_mask: int = 0xFFFFFFFF
    block_lo: Triple = (0, 0, 0)
    block_hi: Triple = EVERYWHERE
    block_stride_mask: Triple = (0, 0, 0)
    dispatch: int = 77
    flags: ControlFlag = NO_FLAGS
    magic: int = layout.CONTROL_MAGIC
    abi_version: int = layout.ABI_VERSION


@dataclass(frozen=True)
class Event:
    """One event of a wave; a long range is two."""

    kind: Kind
    id: int
    values: tuple[Value, ...]
    clock: int
    number: int  # of its word in the region; of a ring's main words, counted on
    is_side: bool
    begin: int | None = None  # of a span word
    unit: int | None = None


@dataclass(frozen=True)
class WaveTrace:
    """What one wave left behind."""

    header: Any  # layout.WAVE_HEADER
    main: list[Event]
    side: list[Event]  # in the order of time
    main_attempted: int  # words
    side_attempted: int
    capacity: int

    @property
    def lost(self) -> int:
        return max(0, self.main_attempted + self.side_attempted - self.capacity)

    def merged(self) -> list[Event]:
        """Both streams in the order of their clocks."""
        start = int(self.header["memtime_begin"])
        return sorted([*self.main, *self.side], key=lambda event: (event.clock - start) % 2**32)


def waves_per_block(block: Triple) -> int:
    return -(-int(np.prod(block)) // layout.WAVE_SIZE)


def waves_of(grid: Triple, block: Triple) -> int:
    return int(np.prod(grid)) * waves_per_block(block)


def control_block(regions: int, grid: Triple, block: Triple, choice: Choice) -> Any:
    """Make the control block of a launch whose regions begin at device address `regions`."""
    control = np.zeros((), layout.CONTROL)
    control["regions"] = regions
    control["grid"], control["block"] = grid, block
    control["waves_per_block"] = waves_per_block(block)
    slots = waves_of(grid, block) if choice.wave_slots is None else choice.wave_slots
    control["wave_slots"] = slots
    for name in vars(choice):
        if name != "wave_slots":
            control[name] = getattr(choice, name)
    return control


def read_wave(region: bytes, flags: ControlFlag = NO_FLAGS) -> WaveTrace | None:
    """Read one region; None if no wave began in it."""
    if flags & ControlFlag.RING and np.frombuffer(region, layout.WAVE_HEADER, 1)[0]["state"]:
        return _read_ring(region)
    header = np.frombuffer(region, layout.WAVE_HEADER, 1)[0]
    words = np.frombuffer(region, layout.WORD)
    if header["state"] == WaveState.ABSENT:
        assert not any(region), "a wave that is not recorded left nothing"
        return None
    assert header["state"] == WaveState.ENDED
    assert not header["reserved"].any()
    capacity = len(words) - FIRST_WORD
    main_attempted = int(header["main_cursor"]) // WORD - FIRST_WORD
    side_cursor = int(header["side_cursor"].astype(np.int32))
    side_attempted = (len(region) - WORD - side_cursor) // WORD
    main_end = min(FIRST_WORD + main_attempted, len(words))
    side_begin = max(len(words) - side_attempted, main_end)  # main words win where both met
    assert not words[main_end:side_begin]["tag"].any(), "nothing between the streams was written"
    main = _events(words, range(FIRST_WORD, main_end), is_side=False)
    side = _events(words, range(len(words) - 1, side_begin - 1, -1), is_side=True)
    return WaveTrace(header, main, side, main_attempted, side_attempted, capacity)


def _read_ring(region: bytes) -> WaveTrace:
    """Read a region whose upper half is a ring of main words, its last ones."""
    header = np.frombuffer(region, layout.WAVE_HEADER, 1)[0]
    half = len(region) // 2
    ring = np.frombuffer(region, layout.WORD, offset=half)
    side = np.frombuffer(region[:half], layout.WORD)
    assert header["state"] == WaveState.ENDED
    end = int(header["main_cursor"]) // WORD
    attempted = end - len(ring)
    kept = min(attempted, len(ring))
    assert not ring[kept:]["tag"].any(), "nothing behind the words of a ring that is not full"
    unrolled = np.zeros(end, layout.WORD)
    unrolled[end - kept :] = np.roll(ring, -(end % len(ring)) if kept == len(ring) else 0)[:kept]
    side_cursor = int(header["side_cursor"].astype(np.int32))
    side_attempted = (half - WORD - side_cursor) // WORD
    side_begin = max(len(side) - side_attempted, FIRST_WORD)
    assert not side[FIRST_WORD:side_begin]["tag"].any(), "no word in front of the side words"
    return WaveTrace(
        header,
        _events(unrolled, range(end - kept, end), is_side=False),
        _events(side, range(len(side) - 1, side_begin - 1, -1), is_side=True),
        attempted,
        side_attempted,
        len(ring) + len(side) - FIRST_WORD,
    )


def _events(words: Any, numbers: Sequence[int], *, is_side: bool) -> list[Event]:
    events: list[Event] = []
    pending: list[tuple[int, int]] = []  # value words: type, bits
    for number in numbers:
        clock, tag = int(words[number]["clock"]), int(words[number]["tag"])
        assert tag, f"word {number} was written"
        if tag & layout.TAG_SPAN:
            assert not is_side
            length = tag & (layout.SPAN_LIMIT - 1)
            ident = (tag & ~layout.TAG_SPAN) >> layout.SPAN_ID_SHIFT
            begin = (clock - length) % 2**32
            events.append(Event(Kind.RANGE, ident, _values(pending), clock, number, is_side, begin))
            pending = []
            continue
        assert bool(tag & layout.TAG_SIDE) == is_side, f"word {number} is of its own stream"
        kind, ident = Kind(tag >> layout.TAG_KIND_SHIFT), tag & layout.TAG_ID_MASK
        if kind == Kind.VALUE:
            pending.append((ident, clock))
            continue
        unit = next((bits for value, bits in pending if value == ValueType.UNIT), None)
        events.append(Event(kind, ident, _values(pending), clock, number, is_side, unit=unit))
        pending = []
    return events


def _values(pending: list[tuple[int, int]]) -> tuple[Value, ...]:
    values: list[Value] = []
    low = 0
    for value_type, bits in pending:
        if value_type == ValueType.UNIT:
            continue
        if value_type in (ValueType.I64, ValueType.U64, ValueType.F64):
            low = bits
            continue
        wide = bits << 32 | low
        values.append(
            _value(ValueType(value_type & ~ValueType.HIGH), wide if value_type & 8 else bits)
        )
    return tuple(values)


_FORMATS = {
    ValueType.I32: ("<I", "<i"),
    ValueType.I64: ("<Q", "<q"),
    ValueType.F32: ("<I", "<f"),
    ValueType.F64: ("<Q", "<d"),
}


def _value(value_type: ValueType, bits: int) -> Value:
    if value_type == ValueType.BOOL:
        assert bits in (0, 1)
        return bool(bits)
    if value_type not in _FORMATS:
        return bits
    raw, real = _FORMATS[value_type]
    (value,) = struct.unpack(real, struct.pack(raw, bits))
    return value  # type: ignore[no-any-return]  # of the type that `real` says
