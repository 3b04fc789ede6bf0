"""All that is in a buffer of QuACK's."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ktrace_cli.foreign.buffer import Buffer
from ktrace_cli.foreign.found import Found, Launches, TimeBase
from ktrace_cli.foreign.quack.clocks import State, fit_lines, judge
from ktrace_cli.foreign.quack.reader import QuackReader
from ktrace_cli.foreign.quack.slots import BLOCK_BITS, Slots, guess_slots, is_at_home
from ktrace_cli.foreign.shape import Shape, axes_of
from ktrace_cli.foreign.side_car import SideCar, name_kernel
from ktrace_cli.model import WAVE, ClockFit, Columns, Device, WaveFlag
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.units import counted

_LANES = 32


def find_quack(buffer: Buffer, side_car: SideCar) -> tuple[Found, tuple[str, ...]]:
    """Return what a buffer holds, and what is assumed of it.

    Raises:
        UsageError: its shape is not known.
    """
    slots, _ = guess_slots(buffer, side_car.shape)
    numbers = np.flatnonzero(slots.metas["init_ns"] != 0)
    metas = slots.metas[numbers]
    everywhere = judge(slots.metas)
    state = everywhere.of(numbers)
    waves = _waves(slots, numbers, state, side_car.shape)
    lines, uncalibrated, hertz = fit_lines(metas, state)
    is_home = is_at_home(metas["info"], numbers, slots.warps)
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
    if blocks > 1 << BLOCK_BITS:
        told.append(
            "the buffer names blocks by 16 bits, which mean several of these each: their numbers"
            " are those of their slots"
        )
    return tuple(told)
