"""libktrace_reader.so, which reads words: its structs as numpy dtypes, and how it is loaded.

Names follow preload/reader/reader.h by rule: `struct ktrace_reader_wave` is WAVE. Its slices,
instants and values are the model's. tests/format/test_reader_layout.py compares them.
"""

from __future__ import annotations

import ctypes
from enum import IntEnum, IntFlag
from functools import cache

import numpy as np

from ktrace_cli.errors import KtraceError
from ktrace_cli.libraries import native_library

LIBRARY = "libktrace_reader.so"
ABI = 3
OVERLAP = 0xFFFFFFFF
"""The base of lanes for what crosses on a wave's own lane."""

LOW_HALF = 0xFFFFFFFF
"""Of a unit key: what words and the model tell of the unit that numbered an event."""

OTHER_ID = 0xFFFFFFFF
"""The id of a kernel's events without a name if there are too many for each to be one."""


class Status(IntEnum):
    """What a call returns."""

    DONE = 0
    NO_MEMORY = 1
    CHANGED = 2


class ReaderFlag(IntFlag):
    """What WAVE.flags tells besides model.WaveFlag."""

    EAGER = 1 << 16
    RING = 1 << 17
    RUNNING = 1 << 18


class EventFlag(IntFlag):
    """What is special about an event."""

    LANE = 1
    USED = 2


EVENT = np.dtype([(name, "<u4") for name in ("kernel", "unit", "id", "kind", "base", "flags")])
LANE = np.dtype([("base", "<u4"), ("number", "<u4")])
WAVE = np.dtype(
    [
        ("words", "<u8"),
        ("main_words", "<u4"),
        ("side_words", "<u4"),
        ("region_words", "<u4"),
        ("main_cursor", "<u4"),
        ("flags", "<u4"),
        ("kernel", "<u4"),
        ("begin_ticks", "<i8"),
        ("end_ticks", "<i8"),
        ("begin_realtime", "<i8"),
        ("end_realtime", "<i8"),
        ("row", "<i4"),
        ("first_piece", "<u4"),
        ("pieces", "<u4"),
        ("reserved", "<u4"),
    ]
)
SCANNED = np.dtype(
    [
        ("end_ticks", "<i8"),
        ("group", "<i4"),
        ("flags", "<u4"),
        ("words", "<u4"),
        ("side_words", "<u4"),
        ("slices", "<u4"),
        ("unclosed", "<u4"),
        ("instants", "<u4"),
        ("reserved", "<u4"),
        ("slice_values", "<u8"),
        ("instant_values", "<u8"),
    ]
)
ANCHOR = np.dtype([("row", "<i8"), ("ticks", "<i8"), ("realtime", "<i8")])
LOSSES = np.dtype(
    [
        (name, "<u8")
        for name in (
            "torn_words",
            "clamped_words",
            "overwritten_words",
            "overwritten_begins",
            "stray_ends",
            "stray_values",
            "long_gaps",
            "clamped_slices",
            "unnamed_events",
            "deep_slices",
        )
    ]
)
CLOCK = np.dtype([(name, "<u8") for name in ("ticks", "ns", "slope", "pieces")])
ROWS = np.dtype(
    [
        (name, "<u8")
        for name in (
            "slices",
            "instants",
            "values",
            "slice_count",
            "instant_count",
            "slice_values",
            "instant_values",
        )
    ]
)

_CALLS = {
    "abi": (ctypes.c_uint32, 0),
    "open": (ctypes.c_void_p, 5),
    "close": (None, 1),
    "scan": (ctypes.c_int32, 5),
    "anchors": (ctypes.c_void_p, 2),
    "events": (ctypes.c_void_p, 2),
    "lanes": (ctypes.c_void_p, 2),
    "arrange": (ctypes.c_int32, 5),
    "decode": (ctypes.c_int32, 5),
}


@cache
def load_reader() -> ctypes.CDLL:
    """Return the library, of which this module sets the types of its own calls only.

    Raises:
        KtraceError: it is not there, or is another version's.
    """
    path = native_library(LIBRARY)
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise KtraceError(
            f"cannot load {path}",
            why=str(error),
            fix="build ktrace on this machine: `pip install --force-reinstall .` in a clone",
        ) from error
    for name, (result, arguments) in _CALLS.items():
        function = getattr(library, f"ktrace_reader_{name}")
        function.restype = result
        function.argtypes = [ctypes.c_uint64] * arguments
    if (abi := library.ktrace_reader_abi()) != ABI:
        raise KtraceError(
            f"cannot use {path}",
            why=f"its interface is version {abi}; this ktrace needs version {ABI}",
            fix="build and install both together: `pip install --force-reinstall .` in a clone",
        )
    return library
