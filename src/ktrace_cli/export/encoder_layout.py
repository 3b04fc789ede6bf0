"""What the native encoder takes and answers: the structs and numbers of preload/reader/encode.h."""

from __future__ import annotations

import ctypes
from enum import IntEnum
from typing import ClassVar

import numpy as np

NUMBER, FLAG = 0, 1


class Status(IntEnum):
    """What a call answers: enum ktrace_encoder_status."""

    DONE = 0
    MORE = 1
    NO_MEMORY = 2
    BAD_ROWS = 3
    OUT_OF_ORDER = 4


SLICE_FLAGS = 16

SPAN = np.dtype(
    [
        ("row", "<i8"),  # Timeline.waves, ascending
        ("begin_ns", "<i8"),
        ("end_ns", "<i8"),
        ("track", "<u8"),  # 0: not shown
        ("name", "<u8"),  # iid
    ]
)
COLUMN = np.dtype([("name", "<u4"), ("kind", "<u4")])
ARROW_END = np.dtype([("id", "<u8"), ("end", "<u8")])
BEGINS, ENDS_AT_BEGIN, ENDS_AT_END = 0, 1, 2


class Setup(ctypes.Structure):
    """What all batches share: struct ktrace_encoder_setup."""

    _fields_: ClassVar = [
        ("event_names", ctypes.c_void_p),
        ("running_names", ctypes.c_void_p),
        ("events", ctypes.c_uint64),
        ("reset", ctypes.c_void_p),
        ("reset_size", ctypes.c_uint64),
        ("zero_ns", ctypes.c_int64),
        ("first_track", ctypes.c_uint64),
        ("tracks", ctypes.c_uint64),
        ("lanes", ctypes.c_uint32),
        ("sequence", ctypes.c_uint32),
        ("running_flag", ctypes.c_uint32),
        ("first_value_name", ctypes.c_uint32),
        ("flag_names", ctypes.c_uint32 * SLICE_FLAGS),
    ]


class Rows(ctypes.Structure):
    """A batch: struct ktrace_encoder_batch."""

    _fields_: ClassVar = [
        ("spans", ctypes.c_void_p),
        ("numbers", ctypes.c_void_p),
        ("columns", ctypes.c_void_p),
        ("slices", ctypes.c_void_p),
        ("instants", ctypes.c_void_p),
        ("values", ctypes.c_void_p),
        ("first_flow", ctypes.c_void_p),
        ("flows", ctypes.c_void_p),
        ("span_count", ctypes.c_uint64),
        ("column_count", ctypes.c_uint64),
        ("slice_count", ctypes.c_uint64),
        ("instant_count", ctypes.c_uint64),
        ("value_count", ctypes.c_uint64),
        ("flow_count", ctypes.c_uint64),
    ]
