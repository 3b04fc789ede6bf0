"""Which part of FlyDSL's buffer a file holds, and all that is in it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from ktrace_cli.errors import TraceFileError
from ktrace_cli.foreign.buffer import Buffer
from ktrace_cli.foreign.flydsl.layout import (
    LEAST_BYTES,
    REGION_SLOTS,
    SLOT,
    TICK_NS,
    Layout,
    all_partitions,
    bare_layout,
    count_strays,
    header_slots,
    prefix_layout,
    read_counters,
    whole_layout,
)
from ktrace_cli.foreign.flydsl.reader import FlydslReader, list_waves
from ktrace_cli.foreign.flydsl.regions import Regions, look_like_waves, survey
from ktrace_cli.foreign.found import Found, Launches, TimeBase
from ktrace_cli.foreign.side_car import SideCar, name_kernel, tell_kernel
from ktrace_cli.model import Device, Flags
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.trace_file.mapping import Bytes
from ktrace_cli.units import counted, format_bytes

_HZ = 100_000_000
_FEW_STRAYS = 4
_LOOKED_AT = 4096
_STOP, _START = 4, 3
NO_CYCLES = "FlyDSL records the 100 MHz reference clock only, not the core clock"


@dataclass(frozen=True)
class Guess:
    """What a file seems to hold."""

    layout: Layout
    waves: int
    """How many of the regions looked at could be waves."""
    others: int
    """How many are neither that nor empty."""
    strays: int
    """How many words are where counters leave nothing but 0."""

    @property
    def is_certain(self) -> bool:
        """Whether all that was looked at fits, and something was there."""
        is_cut = self.layout.partitions == 0 and self.layout.slots % REGION_SLOTS != 0
        return self.strays == 0 and self.waves > 0 and self.others == 0 and not is_cut

    @property
    def likelihood(self) -> tuple[bool, bool, int, bool]:
        """What says most that it is so comes first."""
        has_counters = self.layout.partitions > 0
        has_front = has_counters and self.strays <= _FEW_STRAYS
        return self.is_certain, has_front, self.waves, not has_counters


def guess_layout(data: Bytes | memoryview, size: int = 0) -> Guess:
    """Return the layout that fits best.

    Args:
        data: the file.
        size: of the device's buffer, in bytes; 0 if the user does not tell.
    """
    slots = len(data) // SLOT
    candidates = [bare_layout(len(data))]
    if size:
        candidates = [_of_size(size, len(data))]
    elif len(data) >= LEAST_BYTES:
        whole = whole_layout(len(data))
        fitting = [p for p in all_partitions() if header_slots(p) < slots]
        others = [prefix_layout(p, len(data)) for p in fitting if p != whole.partitions]
        candidates = [whole, *candidates, *others]
    guesses = [_judge(data, layout) for layout in candidates if layout.slots > 0]
    if not guesses:
        return Guess(bare_layout(len(data)), 0, 0, 0)
    # The first of equals: a whole buffer.
    return max(guesses, key=lambda guess: guess.likelihood)


def _of_size(size: int, there: int) -> Layout:
    told = whole_layout(size)
    slots = min(there // SLOT - told.header_slots, told.slots)
    return Layout(told.partitions, told.header_slots, slots, is_whole=slots == told.slots)


def _judge(data: Bytes | memoryview, layout: Layout) -> Guess:
    regions = Regions(data, layout)
    if layout.partitions:
        front = data[: layout.header_slots * SLOT]
        strays = count_strays(front, layout)
        _, cursors = read_counters(front, layout)
        numbers = np.arange(min(layout.regions, _LOOKED_AT))
        numbers = numbers[numbers // layout.partitions < cursors[numbers % layout.partitions]]
    else:
        strays = 0
        numbers = np.arange(min(layout.regions, _LOOKED_AT))
    is_wave = look_like_waves(regions, numbers)
    headers = regions.headers[numbers]
    is_empty = headers.view(f"V{SLOT}") == np.void(bytes(SLOT))
    others = int(np.count_nonzero(~is_wave & ~is_empty))
    return Guess(layout, int(np.count_nonzero(is_wave)), others, strays)


def find_flydsl(buffer: Buffer, side_car: SideCar) -> tuple[Found, tuple[str, ...]]:
    """Return what a buffer holds, and what is assumed of it.

    Raises:
        TraceFileError: it has not even one event.
    """
    data = buffer.data
    guess = guess_layout(data, side_car.shape.bytes)
    layout = guess.layout
    if layout.slots < 2:
        raise TraceFileError(
            f"cannot read {buffer.path} as FlyDSL's buffer",
            why=f"it has {counted(len(data), 'byte')}; a wave with one event takes 64",
            fix="give the whole buffer, as it is on the device",
        )
    regions = Regions(data, layout)
    seen = survey(regions)
    waves, headers = list_waves(regions, seen)
    losses, launched = _count(data, layout, seen.is_wave)
    first_slot, told = _first_slot(regions)
    keys = np.zeros(len(headers), [("queue", "<u8"), ("dispatch", "<u8")])
    keys["queue"], keys["dispatch"] = headers["queue"], headers["dispatch"]
    launches, of_wave = np.unique(keys, return_inverse=True)
    _, streams = np.unique(launches["queue"], return_inverse=True)
    naming = name_kernel(side_car, "flydsl_kernel")
    found = Found(
        waves=waves,
        launches=Launches(of_wave.astype(np.int64), streams.astype(np.int64), launched),
        read=FlydslReader(regions, seen, first_slot),
        device=Device(0, naming.target, "AMD GPU", False, 0, _xccs(waves["xcc"]), _HZ),
        naming=naming,
        lines=None,
        tick_ns=TICK_NS,
        base=TimeBase("the 100 MHz clock of the GPU", no_cycles=NO_CYCLES),
        losses=losses,
        data=data if not isinstance(data, memoryview) else b"",
    )
    told = (_describe(guess, len(data)), *told, *_tell_launches(launched, len(launches)))
    return found, (*told, *tell_kernel(side_car, naming))


def _xccs(xcc: Ints) -> int:
    return int(xcc.max()) + 1 if len(xcc) else 0


def _count(data: Bytes | memoryview, layout: Layout, is_wave: Flags) -> tuple[Counter[str], int]:
    """Count waves that have no region, and those that no counter knows; return launches, too."""
    losses = Counter(cut_bytes=len(data) % SLOT)
    if not layout.partitions:
        return losses, 0
    launched, cursors = read_counters(data[: layout.header_slots * SLOT], layout)
    numbers = np.arange(layout.regions)
    is_claimed = numbers // layout.partitions < cursors[numbers % layout.partitions]
    losses["missing_waves"] = int(np.maximum(cursors - layout.capacities, 0).sum())
    losses["missing_waves"] += int(np.count_nonzero(is_claimed & ~is_wave))
    losses["unclaimed_waves"] = int(np.count_nonzero(is_wave & ~is_claimed))
    return losses, launched


def _first_slot(regions: Regions) -> tuple[int, tuple[str, ...]]:
    """Return the number that the device gave the first slot behind the counters.

    Where there are no counters in front, the one with which most stops find their start.
    """
    layout = regions.layout
    if layout.partitions:
        return layout.header_slots, ()
    best, most = 0, 0
    records = regions.records[: _LOOKED_AT * REGION_SLOTS]
    kinds = records["packed"] >> np.uint32(24) & np.uint32(7)
    stops = np.flatnonzero((kinds == _STOP) & (records["ts"] != 0))
    stops = stops[stops % REGION_SLOTS > 0]
    for front in (0, 1, *map(header_slots, all_partitions())):
        start = records["start"][stops].astype(np.int64) - front
        is_own = (start // REGION_SLOTS == stops // REGION_SLOTS) & (start < stops) & (start >= 0)
        found = int(np.count_nonzero(kinds[start[is_own]] == _START))
        if found > most:
            best, most = front, found
    if not len(stops):
        return 0, ()
    return best, (f"slots are taken as numbered from {best}, with which {most:,} of {len(stops):,}"
                  " range_stop find their range_start",)  # fmt: skip


def _describe(guess: Guess, size: int) -> str:
    layout = guess.layout
    regions = counted(layout.regions, "wave region")
    if not layout.partitions:
        return f"read as {regions} of FlyDSL without the counters in front of them"
    parts = counted(layout.partitions, "partition")
    if layout.is_whole:
        return f"read as FlyDSL's buffer of {format_bytes(size)}: {parts}, {regions}"
    return (
        f"read as the begin of a buffer of FlyDSL: {parts}, {regions};"
        " how many waves its end held is not known"
    )


def _tell_launches(launched: int, recorded: int) -> tuple[str, ...]:
    if launched <= recorded:
        return ()
    return (
        f"{counted(launched, 'launch', 'launches')} of instrumented kernels counted,"
        f" {recorded:,} of them with waves",
    )
