"""Wave headers to the model's wave columns. Knows which headers can be believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.model import NONE, WAVE, Columns, Flags, WaveFlag
from ktrace_cli.timeline import native
from ktrace_cli.timeline.native import ReaderFlag
from ktrace_cli.timeline.segments import Ints, join_rows
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
    """The waves of some dispatches: by dispatch, workgroup in order of launch, wave."""

    waves: Columns
    """model.WAVE; without nanoseconds, groups and what words tell."""
    words: Columns
    """native.WAVE: where each wave's words are, and what its reader must know."""
    realtime: NDArray[np.int64]
    """Begin and end of each wave on the reference clock, shape (waves, 2)."""

    @property
    def is_torn(self) -> Flags:
        """Waves whose header contradicts itself."""
        return np.asarray((self.waves["flags"] & WaveFlag.TORN) != 0)

    @property
    def is_ended(self) -> Flags:
        """Waves that wrote their end."""
        return np.asarray((self.waves["flags"] & (WaveFlag.TORN | WaveFlag.UNFINISHED)) == 0)


def read_headers(dispatches: Sequence[DispatchRecord], kernels: Sequence[int]) -> Headers:
    """Read the wave headers of `dispatches`; `kernels` are the rows of their kernels."""
    parts = [
        _read_dispatch(row, dispatch, kernel)
        for row, (dispatch, kernel) in enumerate(zip(dispatches, kernels, strict=True))
    ]
    words = join_rows(native.WAVE, (part.words for part in parts))
    words["row"] = np.arange(len(words))
    return Headers(
        waves=join_rows(WAVE, (part.waves for part in parts)),
        words=words,
        realtime=np.concatenate([np.zeros((0, 2), np.int64), *(part.realtime for part in parts)]),
    )


def _read_dispatch(row: int, dispatch: DispatchRecord, kernel: int) -> Headers:
    raw, extents, record = dispatch.headers, dispatch.extents, dispatch.record
    block = raw["block"]
    # In direct mode this is the order of slots; claimed ones tell who came first.
    order = np.lexsort((extents["slot"], raw["wave"], block[:, 0], block[:, 1], block[:, 2]))
    raw, kept = raw[order], _kept_words(extents)
    first = int(dispatch.words.ctypes.data)
    extents, offsets = extents[order], (np.cumsum(kept) - kept)[order]

    waves = np.zeros(len(raw), WAVE)
    waves["dispatch"], waves["group"] = row, NONE
    waves["slot"], waves["block"], waves["wave"] = extents["slot"], raw["block"], raw["wave"]
    is_torn = _is_torn(raw, record) | _is_too_large(extents, record)
    _set_clocks(waves, raw, is_torn)
    _read_place(waves, raw)
    _count_lost_words(waves, raw, record, is_torn)
    _set_flags(waves, raw, is_torn)

    words = np.zeros(len(raw), native.WAVE)
    words["words"] = first + offsets * layout.WORD.itemsize
    words["main_words"], words["side_words"] = extents["main_words"], extents["side_words"]
    words["region_words"] = _region_words(record)
    words["main_cursor"], words["kernel"] = raw["main_cursor"], kernel
    words["begin_ticks"], words["end_ticks"] = waves["begin_ticks"], waves["end_ticks"]
    is_eager = bool(record["flags"] & DispatchFlag.EAGER)
    words["flags"] = waves["flags"]
    words["flags"] |= ReaderFlag.EAGER * is_eager | ReaderFlag.RING * dispatch.is_ring
    if dispatch.is_unfinished:
        is_running = (waves["flags"] & WaveFlag.UNFINISHED) != 0
        words["flags"][is_running] |= np.uint32(ReaderFlag.RUNNING)
    names = ("realtime_begin", "realtime_end")
    realtime = np.column_stack([raw[name].astype(np.int64) for name in names])
    words["begin_realtime"], words["end_realtime"] = realtime.T
    return Headers(waves, words, realtime)


def _kept_words(extents: NDArray[Any]) -> Ints:
    return np.asarray(extents["main_words"].astype(np.int64) + extents["side_words"])


def _region_words(record: np.void) -> int:
    return (1 << int(record["region_log2"])) // layout.WORD.itemsize


def _room(record: np.void) -> int:
    """Return how many words fit a region, or the lower half of a ring's."""
    words = _region_words(record)
    return (words // 2 if record["flags"] & DispatchFlag.RING else words) - HEADER_WORDS


def _set_clocks(waves: Columns, raw: NDArray[Any], is_torn: Flags) -> None:
    is_ended = raw["state"] == layout.WaveState.ENDED
    begin = np.where(is_torn, 0, raw["memtime_begin"].astype(np.int64))
    end = np.where(is_torn, 0, raw["memtime_end"].astype(np.int64))
    waves["begin_ticks"], waves["end_ticks"] = begin, np.where(is_ended, end, begin)


def _count_lost_words(waves: Columns, raw: NDArray[Any], record: np.void, is_torn: Flags) -> None:
    """Count words that did not fit, and those in whose place later ones are."""
    is_ring = bool(record["flags"] & DispatchFlag.RING)
    half = _region_words(record) // 2
    begin = half if is_ring else HEADER_WORDS
    side_end = half if is_ring else 2 * half
    main = np.maximum(raw["main_cursor"].astype(np.int64) // 8 - begin, 0)
    side = (side_end * 8 - 8 - raw["side_cursor"].astype(np.int32).astype(np.int64)) // 8
    dropped = np.maximum((0 if is_ring else main) + side - _room(record), 0)
    waves["dropped"] = np.where(is_torn, 0, dropped)
    waves["overwritten"] = np.where(is_torn, 0, np.maximum(main - half, 0)) if is_ring else 0


def _set_flags(waves: Columns, raw: NDArray[Any], is_torn: Flags) -> None:
    is_begun = ~is_torn & (raw["state"] == layout.WaveState.BEGUN)
    is_ended = ~is_torn & ~is_begun
    goes_back = (raw["realtime_end"] < raw["realtime_begin"]) | (
        raw["memtime_end"] < raw["memtime_begin"]
    )
    for flag, rows in (
        (WaveFlag.TORN, is_torn),
        (WaveFlag.UNFINISHED, is_begun),
        (WaveFlag.DROPPED, waves["dropped"] > 0),
        (WaveFlag.OVERWRITTEN, waves["overwritten"] > 0),
        (WaveFlag.PARTIAL, ~is_torn & (raw["exec_begin"] != _ALL_LANES)),
        (WaveFlag.LEFT_EARLY, is_ended & (raw["exec_end"] != raw["exec_begin"])),
        (WaveFlag.MOVED, is_ended & _is_moved(raw)),
        (WaveFlag.CLAMPED, is_ended & goes_back),
    ):
        waves["flags"][rows] |= np.uint16(flag)


def _read_place(waves: Columns, raw: NDArray[Any]) -> None:
    """Take apart HW_ID of gfx9: wave[3:0] simd[5:4] pipe[7:6] cu[11:8] sh[12] se[15:13]."""
    hw_id = raw["hw_id_begin"]
    waves["xcc"] = raw["xcc_id_begin"] & 0xF
    waves["hardware_slot"] = hw_id & 0xF
    waves["simd"] = (hw_id >> 4) & 3
    # A CU's number counts within its shader array, so the array makes it unique in its SE.
    waves["cu"] = (hw_id >> 8) & 0x1F
    waves["se"] = (hw_id >> 13) & 7


def _is_moved(raw: NDArray[Any]) -> Flags:
    """Tell which waves ended elsewhere, as after a preemption: on another SE, CU, SIMD or slot."""
    hw_id = (raw["hw_id_begin"] ^ raw["hw_id_end"]) & _HW_ID_PLACE
    xcc = (raw["xcc_id_begin"] ^ raw["xcc_id_end"]) & 0xF
    return np.asarray((hw_id | xcc) != 0, np.bool_)


def _is_torn(raw: NDArray[Any], record: np.void) -> Flags:
    """Tell which headers contradict themselves, their dispatch or what a clock can show."""
    state = raw["state"]
    is_ended = state == layout.WaveState.ENDED
    region_bytes = _region_words(record) * layout.WORD.itemsize
    side = raw["side_cursor"].astype(np.int32).astype(np.int64)
    main = raw["main_cursor"].astype(np.int64)
    waves_per_block = -(-np.prod(record["block"].astype(np.int64)) // layout.WAVE_SIZE)
    wrong = (state != layout.WaveState.BEGUN) & ~is_ended
    wrong |= raw["dispatch"] != (record["dispatch"] & 0xFFFFFFFF)
    wrong |= np.any(raw["block"] >= record["grid"], axis=1)
    wrong |= raw["wave"] >= waves_per_block
    wrong |= (side % 8 != 0) | (side > region_bytes - 8)
    wrong |= (main % 8 != 0) | (is_ended & (main < layout.REGION_HEADER))
    for name in ("memtime_begin", "realtime_begin"):
        wrong |= (raw[name] == 0) | (raw[name] >= _CLOCK_LIMIT)
    for name in ("memtime_end", "realtime_end"):
        wrong |= is_ended & ((raw[name] == 0) | (raw[name] >= _CLOCK_LIMIT))
    return np.asarray(wrong, np.bool_)


def _is_too_large(extents: NDArray[Any], record: np.void) -> Flags:
    """Tell which waves have more words than there are in a region."""
    return _kept_words(extents) > _region_words(record) - HEADER_WORDS
