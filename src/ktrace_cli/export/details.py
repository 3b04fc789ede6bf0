"""Which details a viewer shows of slices, waves and dispatches, and what it calls them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntFlag

from ktrace_cli.model import SliceFlag, WaveFlag
from ktrace_cli.trace_file.layout import DispatchFlag

SLICE_FLAGS: Mapping[IntFlag, str] = {
    SliceFlag.UNCLOSED: "unclosed",
    SliceFlag.TRUNCATED: "truncated",
    SliceFlag.CLAMPED: "clamped",
    SliceFlag.LONG_GAP: "length_uncertain",
    SliceFlag.RUNNING: "unfinished",
}
WAVE_FLAGS: Mapping[IntFlag, str] = {
    WaveFlag.UNFINISHED: "unfinished",
    WaveFlag.PARTIAL: "inactive_lanes_at_begin",
    WaveFlag.CLAMPED: "clamped",
    WaveFlag.MOVED: "moved",
    WaveFlag.LEFT_EARLY: "lanes_left_early",
    WaveFlag.OVERWRITTEN: "first_words_overwritten",
    WaveFlag.UNREADABLE: "words_unreadable",
}
DISPATCH_FLAGS: Mapping[IntFlag, str] = {
    DispatchFlag.FILTERED: "filtered",
    DispatchFlag.UNFINISHED: "unfinished",
}
WAVE_NUMBERS = ("wave", "xcc", "se", "cu", "simd", "hardware_slot", "words")
WAVE_COUNTS = ("dropped", "overwritten", "side_words")
"""Shown where they are not 0."""
DISPATCH_NUMBERS = ("number", "launch", "device", "stream", "thread", "shared_bytes", "waves")
