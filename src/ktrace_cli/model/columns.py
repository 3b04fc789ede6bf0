"""The columns of waves, slices and what else there are many of.

Times are integers. `*_ticks` columns are core clock cycles counted from the start of the wave's own
clock (s_memtime, 64 bits); `*_ns` columns are nanoseconds of the recording's host clock.
Indexes point into the tables named in their comments; NONE (-1) means "no such row".
"""

from __future__ import annotations

from enum import IntFlag
from typing import Any

import numpy as np
from numpy.typing import NDArray

Columns = NDArray[Any]

NONE = -1

DISPATCH = np.dtype(
    [
        ("number", "<u8"),  # of the traced launch in its process, from 1
        ("launch", "<u8"),  # among all launches of its process, from 1
        ("kernel", "<i4"),  # Timeline.kernels
        ("device", "<i4"),  # HIP device index
        ("stream", "<u8"),  # in order of first use; 0 is the null stream
        ("thread", "<u4"),  # in order of first launch
        ("grid", "<u4", 3),  # workgroups
        ("block", "<u4", 3),  # work-items
        ("shared_bytes", "<u4"),
        ("launched_ns", "<i8"),  # host: HIP was called
        ("completed_ns", "<i8"),  # host: known to be done
        ("begin_ns", "<i8"),  # of its first wave; launched_ns if it has none
        ("end_ns", "<i8"),  # of its last wave
        ("first_wave", "<i8"),  # Timeline.waves; a dispatch's waves are neighbours
        ("waves", "<i8"),
        ("expected", "<u4"),  # waves that should have been recorded; 0: not known
        ("flags", "<u4"),  # layout.DispatchFlag
        ("status", "<u4"),  # HIP's error code; 0
    ]
)


class WaveFlag(IntFlag):
    """What is special about a wave."""

    UNFINISHED = 1  # it never wrote its end
    TORN = 2  # its header contradicts itself; its words were not read
    DROPPED = 4  # its region was full
    PARTIAL = 8  # it began with inactive lanes
    CLAMPED = 16  # its end was before its begin or its last word
    MOVED = 32  # it ended on other hardware than it began on, maybe with another clock
    LEFT_EARLY = 64  # lanes that were active at its begin were not at its end
    OVERWRITTEN = 128  # its region kept its last words: those before them are gone
    UNREADABLE = 256  # some of its words mean nothing


WAVE = np.dtype(
    [
        ("dispatch", "<i4"),  # Timeline.dispatches
        ("slot", "<u4"),
        ("block", "<u4", 3),
        ("wave", "<u4"),  # in its workgroup
        ("xcc", "<u2"),
        ("se", "<u2"),
        ("cu", "<u2"),
        ("simd", "<u2"),
        ("hardware_slot", "<u2"),  # wave slot of the SIMD
        ("flags", "<u2"),  # WaveFlag
        ("group", "<i4"),  # Timeline.events: its role, or NONE
        ("begin_ticks", "<i8"),
        ("end_ticks", "<i8"),
        ("begin_ns", "<i8"),
        ("end_ns", "<i8"),
        ("words", "<u4"),  # kept
        ("side_words", "<u4"),  # of these, from partly active waves
        ("dropped", "<u4"),  # words that did not fit
        ("overwritten", "<u4"),  # words in whose place later ones are
        ("slices", "<u4"),  # of Part.slices
        ("instants", "<u4"),  # of Part.instants
    ]
)


class SliceFlag(IntFlag):
    """What is special about a slice or an instant."""

    UNCLOSED = 1  # no end was recorded: it is shown up to the wave's last record
    TRUNCATED = 2  # unclosed in a wave that dropped words
    CLAMPED = 4  # its end was before its begin
    LONG_GAP = 8  # its length is known up to a multiple of 2**32 cycles only
    RUNNING = 16  # unclosed, because its dispatch was still running: its end is the last known time


SLICE = np.dtype(
    [
        ("wave", "<i4"),  # Timeline.waves
        ("event", "<i4"),  # Timeline.events
        ("lane", "<i4"),  # Timeline.lanes; 0 is the wave's own, where slices nest
        ("depth", "<u2"),  # on its lane, from 0
        ("flags", "<u2"),  # SliceFlag
        ("begin_ticks", "<i8"),
        ("ticks", "<i8"),
        ("begin_ns", "<i8"),
        ("ns", "<i8"),
        ("first_value", "<i8"),  # Part.values
        ("values", "<u4"),
        ("parent", "<i4"),  # Part.slices: the slice around it on its lane, or NONE
    ]
)

INSTANT = np.dtype(
    [
        ("wave", "<i4"),  # Timeline.waves
        ("event", "<i4"),  # Timeline.events
        ("ticks", "<i8"),
        ("ns", "<i8"),
        ("first_value", "<i8"),  # Part.values
        ("values", "<u4"),
        ("reserved", "<u4"),
    ]
)

VALUE = np.dtype([("type", "<u4"), ("reserved", "<u4"), ("bits", "<u8")])  # layout.ValueType
FLOW = np.dtype([("source", "<i8"), ("destination", "<i8"), ("edge", "<i4"), ("reserved", "<u4")])

Flags = NDArray[np.bool_]
