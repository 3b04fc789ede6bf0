"""Words of waves that kept their last ones (`--full ring`): their order, numbers and remnants."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.model import Columns, WaveFlag
from ktrace_cli.timeline.headers import Headers
from ktrace_cli.timeline.segments import Ints, run_starts, run_stops
from ktrace_cli.trace_file import layout


def oldest_first(raw: NDArray[Any], main: Ints, wave: Ints, headers: Headers) -> Ints:
    """Return the rows `main` of `raw`, which are by wave and address, in order of writing."""
    if not np.any(headers.is_ring):
        return main
    of = wave[main]
    starts = run_starts(of)
    for begin, end in zip(starts.tolist(), run_stops(starts, len(main)).tolist(), strict=True):
        number = int(of[begin])
        if headers.is_ring[number]:
            first = _oldest(raw[main[begin:end]], number, headers)
            main[begin:end] = np.roll(main[begin:end], -first)
    return main


def _oldest(words: NDArray[Any], wave: int, headers: Headers) -> int:
    """Return the place of the oldest of the main words of `wave`, which are in order of address."""
    size = int(headers.region_words[wave]) // 2
    end = int(headers.raw["main_cursor"][wave]) // 8
    if end:
        return end % size if len(words) == size else 0
    # The wave has not ended and its cursor is not known: time goes back where the ring begins.
    step = np.diff(words["clock"], append=words["clock"][:1]).astype(np.int32)
    return (int(np.argmin(step)) + 1) % len(words) if len(words) == size else 0


def number_rings(events: Columns, stream: Ints, headers: Headers) -> None:
    """Give the main words of rings the numbers that STOPs know: counted on, in 26 bits."""
    if not np.any(headers.is_ring):
        return
    rows = np.flatnonzero(headers.is_ring[stream >> 1] & (stream % 2 == 0))
    starts = run_starts(stream[rows])
    stops = run_stops(starts, len(rows))
    of = stream[rows] >> 1
    # The last word's number is known; where the wave has not ended it does not matter.
    end = headers.raw["main_cursor"][of].astype(np.int64) // 8
    behind = np.repeat(stops, stops - starts) - np.arange(len(rows))
    events["number"][rows] = (end - behind) & layout.TAG_ID_MASK


def find_remnants(is_value: NDArray[np.bool_], stream: Ints, headers: Headers) -> NDArray[np.bool_]:
    """Tell which words begin a ring and are payload, the first part of which may be gone."""
    is_overwritten = (headers.waves["flags"] & WaveFlag.OVERWRITTEN) != 0
    in_ring = is_overwritten[stream >> 1] & (stream % 2 == 0)
    if not np.any(in_ring):
        return np.zeros(len(stream), np.bool_)
    starts = run_starts(stream)
    before = np.cumsum(~is_value)
    at_start: Ints = before[starts] - ~is_value[starts]
    counts = run_stops(starts, len(stream)) - starts
    return np.asarray(in_ring & is_value & (before == np.repeat(at_start, counts)))
