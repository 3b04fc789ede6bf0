"""Wave headers to the model's wave columns. Knows which headers can be believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.model import NONE, WAVE, Columns, WaveFlag
from ktrace_cli.timeline.segments import join_rows
from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import DispatchFlag
from ktrace_cli.trace_file.recording import DispatchRecord

HEADER_WORDS = layout.REGION_HEADER // layout.WORD.itemsize
# 2**58 cycles are years: a clock beyond it is no clock (and anchor words hold 58 bits).
_CLOCK_LIMIT = np.uint64(1 << 58)
_ALL_LANES = np.uint64(0xFFFFFFFFFFFFFFFF)
# Wave slot, SIMD, CU, shader array and SE, as `_read_place` takes them apart.
_HW_ID_PLACE = np.uint32(0xFF3F)


@dataclass(frozen=True)
class Headers:
    """The waves of some dispatches, as the device wrote them, and as the model wants them."""

    waves: Columns
    """model.WAVE; without nanoseconds and groups."""
    raw: NDArray[Any]
    """layout.WAVE_HEADER, one per row of `waves`."""
    extents: NDArray[Any]
    """layout.WAVE_EXTENT, one per row of `waves`."""
    region_words: NDArray[np.int64]
    """Words of each wave's region, its header included."""
    is_eager: NDArray[np.bool_]
    """Waves all of whose words are side words."""
    is_ring: NDArray[np.bool_]
    """Waves whose main words have the upper half of the region, again and again."""

    @property
    def side_end(self) -> NDArray[np.int64]:
        """Number of the word behind the side words."""
        return np.where(self.is_ring, self.region_words // 2, self.region_words)

    @property
    def is_torn(self) -> NDArray[np.bool_]:
        """Waves whose header contradicts itself."""
        return np.asarray((self.waves["flags"] & WaveFlag.TORN) != 0)

    @property
    def is_ended(self) -> NDArray[np.bool_]:
        """Waves that wrote their end."""
        return np.asarray((self.waves["flags"] & (WaveFlag.TORN | WaveFlag.UNFINISHED)) == 0)


def read_headers(dispatches: Sequence[DispatchRecord], first: int) -> Headers:
    """Read the wave headers of `dispatches`.

    Args:
        dispatches: what Timeline.dispatches holds from row `first` on.
        first: that row.
    """
    counts = [len(dispatch.headers) for dispatch in dispatches]
    raw = join_rows(layout.WAVE_HEADER, (d.headers for d in dispatches))
    extents = join_rows(layout.WAVE_EXTENT, (d.extents for d in dispatches))
    of = np.repeat(np.arange(len(dispatches)), counts)
    records = np.array([d.record for d in dispatches], layout.DISPATCH)
    region_words = (np.int64(1) << records["region_log2"].astype(np.int64)) // 8

    waves = np.zeros(len(raw), WAVE)
    waves["dispatch"] = of + first
    waves["slot"] = extents["slot"]
    waves["block"] = raw["block"]
    waves["wave"] = raw["wave"]
    waves["group"] = NONE
    waves["begin_ticks"] = raw["memtime_begin"].astype(np.int64)
    waves["end_ticks"] = raw["memtime_end"].astype(np.int64)
    _read_place(waves, raw)

    is_torn = _is_torn(raw, records[of], region_words[of])
    is_begun = ~is_torn & (raw["state"] == layout.WaveState.BEGUN)
    waves["end_ticks"][is_begun] = waves["begin_ticks"][is_begun]
    waves["begin_ticks"][is_torn] = 0
    waves["end_ticks"][is_torn] = 0
    is_ring = (records["flags"][of] & DispatchFlag.RING) != 0
    main, side = _attempted_words(raw, region_words[of], is_ring)
    room = np.where(is_ring, region_words[of] // 2, region_words[of]) - HEADER_WORDS
    dropped = np.maximum(np.where(is_ring, 0, main) + side - room, 0)
    waves["dropped"] = np.where(is_torn, 0, dropped)
    overwritten = np.maximum(main - region_words[of] // 2, 0)
    waves["overwritten"] = np.where(is_ring & ~is_torn, overwritten, 0)
    flags = waves["flags"]
    flags[is_torn] |= np.uint16(WaveFlag.TORN)
    flags[is_begun] |= np.uint16(WaveFlag.UNFINISHED)
    flags[waves["dropped"] > 0] |= np.uint16(WaveFlag.DROPPED)
    flags[waves["overwritten"] > 0] |= np.uint16(WaveFlag.OVERWRITTEN)
    flags[~is_torn & (raw["exec_begin"] != _ALL_LANES)] |= np.uint16(WaveFlag.PARTIAL)
    is_ended = ~is_torn & ~is_begun
    flags[is_ended & (raw["exec_end"] != raw["exec_begin"])] |= np.uint16(WaveFlag.LEFT_EARLY)
    flags[is_ended & _is_moved(raw)] |= np.uint16(WaveFlag.MOVED)
    is_eager = (records["flags"][of] & DispatchFlag.EAGER) != 0
    return Headers(waves, raw, extents, region_words[of], is_eager, is_ring)


def _read_place(waves: Columns, raw: NDArray[Any]) -> None:
    """Take apart HW_ID of gfx9: wave[3:0] simd[5:4] pipe[7:6] cu[11:8] sh[12] se[15:13]."""
    hw_id = raw["hw_id_begin"]
    waves["xcc"] = raw["xcc_id_begin"] & 0xF
    waves["hardware_slot"] = hw_id & 0xF
    waves["simd"] = (hw_id >> 4) & 3
    # A CU's number counts within its shader array, so the array makes it unique in its SE.
    waves["cu"] = (hw_id >> 8) & 0x1F
    waves["se"] = (hw_id >> 13) & 7


def _is_moved(raw: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which waves ended elsewhere, as after a preemption: on another SE, CU, SIMD or slot."""
    hw_id = (raw["hw_id_begin"] ^ raw["hw_id_end"]) & _HW_ID_PLACE
    xcc = (raw["xcc_id_begin"] ^ raw["xcc_id_end"]) & 0xF
    return np.asarray((hw_id | xcc) != 0, np.bool_)


def _is_torn(
    raw: NDArray[Any], records: NDArray[Any], region_words: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Tell which headers contradict themselves, their dispatch or what a clock can show."""
    state = raw["state"]
    is_ended = state == layout.WaveState.ENDED
    region_bytes = region_words * 8
    side = raw["side_cursor"].astype(np.int32).astype(np.int64)
    main = raw["main_cursor"].astype(np.int64)
    waves_per_block = -(-np.prod(records["block"].astype(np.int64), axis=1) // layout.WAVE_SIZE)
    wrong = (state != layout.WaveState.BEGUN) & ~is_ended
    wrong |= raw["dispatch"] != (records["dispatch"] & 0xFFFFFFFF)
    wrong |= np.any(raw["block"] >= records["grid"], axis=1)
    wrong |= raw["wave"] >= waves_per_block
    wrong |= (side % 8 != 0) | (side > region_bytes - 8)
    wrong |= (main % 8 != 0) | (is_ended & (main < layout.REGION_HEADER))
    for name in ("memtime_begin", "realtime_begin"):
        wrong |= (raw[name] == 0) | (raw[name] >= _CLOCK_LIMIT)
    for name in ("memtime_end", "realtime_end"):
        wrong |= is_ended & ((raw[name] == 0) | (raw[name] >= _CLOCK_LIMIT))
    return np.asarray(wrong, np.bool_)


def _attempted_words(
    raw: NDArray[Any], region_words: NDArray[np.int64], is_ring: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many main and side words each wave attempted."""
    half = region_words // 2
    begin = np.where(is_ring, half, HEADER_WORDS)
    end = np.where(is_ring, half, region_words)
    main = np.maximum(raw["main_cursor"].astype(np.int64) // 8 - begin, 0)
    side = (end * 8 - 8 - raw["side_cursor"].astype(np.int32).astype(np.int64)) // 8
    return main, side
