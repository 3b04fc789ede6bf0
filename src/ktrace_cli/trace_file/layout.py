"""Every struct, enumeration and constant of `ktrace/format.h`, as numpy dtypes and Python enums.

Names follow the header by rule, and tests/format/test_layout.py holds them to it:
`struct ktrace_wave_header` is WAVE_HEADER (a trailing `_record` is dropped), `enum ktrace_kind` is
Kind and its `KTRACE_KIND_PUSH` is Kind.PUSH, `#define KTRACE_TAG_SPAN` is TAG_SPAN.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Any, Final

import numpy as np

Dtype = np.dtype[Any]

# ---- ELF notes

NOTE_OWNER: Final = b"KTRACE"
ABI_VERSION: Final = 1
LAST_ARGUMENT: Final = 0xFFFFFFFF
LANE_SIZE: Final = 16


class NoteType(IntEnum):
    """What a note of owner KTRACE tells."""

    KERNEL = 1
    EVENT = 2
    EDGE = 3


class KernelFlag(IntFlag):
    """What is special about an annotated kernel."""

    PLACEHOLDER = 1
    RING = 2


class RecordFormat(IntEnum):
    """How words are packed."""

    AMDGCN = 1


KERNEL_NOTE: Final = np.dtype(
    [
        ("abi_version", "<u4"),
        ("flags", "<u4"),
        ("unit_key", "<u8"),
        ("pc", "<i8"),
        ("arg_index", "<u4"),
        ("kernarg_offset", "<u4"),
        ("record_format", "<u4"),
        ("reserved", "<u4"),
    ]
)

EVENT_NOTE: Final = np.dtype(
    [
        ("unit_key", "<u8"),
        ("pc", "<i8"),
        ("event_id", "<u4"),
        ("kind", "<u2"),
        ("flags", "<u2"),
        ("line", "<u4"),
        ("reserved", "<u4"),
        ("lane", f"S{LANE_SIZE}"),
    ]
)

EDGE_NOTE: Final = np.dtype([("unit_key", "<u8")])

# ---- words


class Kind(IntEnum):
    """What a word means."""

    RANGE = 1
    PUSH = 2
    POP = 3
    START = 4
    STOP = 5
    PHASE = 6
    PHASE_END = 7
    MARK = 8
    GROUP = 9
    VALUE = 10
    LONG_BEGIN = 11
    LONG_END = 12
    ANCHOR = 13


class ValueType(IntEnum):
    """The type of a VALUE word's bits; HIGH is or-ed to a 64-bit type."""

    BOOL = 0
    I32 = 1
    U32 = 2
    F32 = 3
    I64 = 4
    U64 = 5
    F64 = 6
    HIGH = 8
    UNIT = 15


TAG_KIND_SHIFT: Final = 27
TAG_SIDE: Final = 0x04000000
TAG_ID_MASK: Final = 0x03FFFFFF
TAG_SPAN: Final = 0x80000000
SPAN_ID_SHIFT: Final = 20
SPAN_IDS: Final = 2048
SPAN_LIMIT: Final = 0x00100000

WORD: Final = np.dtype([("clock", "<u4"), ("tag", "<u4")])

# ---- the trace buffer of one dispatch

CONTROL_MAGIC: Final = 0x4352544B
CONTROL_SIZE: Final = 256
REGION_HEADER: Final = 128
WAVE_SIZE: Final = 64


class Mode(IntEnum):
    """How a wave finds its slot."""

    DIRECT = 0
    CLAIM = 1


class ControlFlag(IntFlag):
    """How waves are to write."""

    EAGER = 1
    RING = 2


CONTROL: Final = np.dtype(
    [
        ("magic", "<u4"),
        ("abi_version", "<u4"),
        ("mode", "<u4"),
        ("dispatch", "<u4"),
        ("regions", "<u8"),
        ("region_log2", "<u4"),
        ("wave_slots", "<u4"),
        ("grid", "<u4", 3),
        ("block", "<u4", 3),
        ("waves_per_block", "<u4"),
        ("wave_mask", "<u4"),
        ("block_lo", "<u4", 3),
        ("block_hi", "<u4", 3),
        ("block_stride_mask", "<u4", 3),
        ("xcc_mask", "<u4"),
        ("flags", "<u4"),
        ("reserved0", "<u4", 5),
        ("claimed", "<u4"),
        ("reserved1", "<u4", 31),
    ]
)


class WaveState(IntEnum):
    """How far a wave came."""

    ABSENT = 0
    BEGUN = 1
    ENDED = 2


WAVE_HEADER: Final = np.dtype(
    [
        ("state", "<u4"),
        ("side_cursor", "<u4"),
        ("main_cursor", "<u4"),
        ("dispatch", "<u4"),
        ("block", "<u4", 3),
        ("wave", "<u4"),
        ("hw_id_begin", "<u4"),
        ("xcc_id_begin", "<u4"),
        ("hw_id_end", "<u4"),
        ("xcc_id_end", "<u4"),
        ("memtime_begin", "<u8"),
        ("realtime_begin", "<u8"),
        ("memtime_end", "<u8"),
        ("realtime_end", "<u8"),
        ("exec_begin", "<u8"),
        ("exec_end", "<u8"),
        ("reserved", "<u4", 8),
    ]
)

# ---- the recording file

FILE_MAGIC: Final = b"KTRACE\x1a\n"
FILE_MAJOR: Final = 1
FILE_MINOR: Final = 1
CHUNK_SYNC: Final = 0x4B43544B

FILE_HEADER: Final = np.dtype(
    [
        ("magic", "S8"),
        ("major", "<u2"),
        ("minor", "<u2"),
        ("header_size", "<u4"),
        ("reserved", "<u4"),
        ("crc", "<u4"),
    ]
)


class ChunkType(IntEnum):
    """What a chunk's payload is."""

    PROCESS = 1
    DEVICE = 2
    CODE_OBJECT = 3
    KERNEL = 4
    DISPATCH = 5
    CLOCK = 6
    LOSS = 7
    END = 8
    FOREIGN_BUFFER = 9
    FOREIGN_LAUNCH = 10
    FOREIGN_NAMES = 11


class ChunkFlag(IntFlag):
    """What a reader may do with a chunk."""

    SKIPPABLE = 1


CHUNK_HEADER: Final = np.dtype(
    [
        ("sync", "<u4"),
        ("type", "<u2"),
        ("flags", "<u2"),
        ("length", "<u8"),
        ("number", "<u4"),
        ("payload_crc", "<u4"),
        ("reserved", "<u4"),
        ("header_crc", "<u4"),
    ]
)

PROCESS: Final = np.dtype(
    [
        ("pid", "<u4"),
        ("parent_pid", "<u4"),
        ("boottime_ns", "<u8"),
        ("monotonic_ns", "<u8"),
        ("realtime_ns", "<u8"),
        ("strings_size", "<u4"),
        ("reserved", "<u4"),
    ]
)


class DeviceFlag(IntFlag):
    """What is special about a device."""

    SOFTWARE = 1


DEVICE: Final = np.dtype(
    [
        ("device", "<u4"),
        ("flags", "<u4"),
        ("realtime_hz", "<u4"),
        ("compute_units", "<u4"),
        ("xcc_count", "<u4"),
        ("core_khz", "<u4"),
        ("uuid", "u1", 16),
        ("strings_size", "<u4"),
        ("reserved", "<u4"),
    ]
)

CODE_OBJECT: Final = np.dtype(
    [
        ("sha256", "u1", 32),
        ("size", "<u8"),
        ("code_object", "<u4"),
        ("reserved", "<u4"),
    ]
)

KERNEL: Final = np.dtype(
    [
        ("kernel", "<u4"),
        ("code_object", "<u4"),
        ("record_format", "<u4"),
        ("kernarg_offset", "<u4"),
        ("unit_key", "<u8"),
        ("strings_size", "<u4"),
        ("reserved", "<u4"),
    ]
)

DISPATCH: Final = np.dtype(
    [
        ("dispatch", "<u8"),
        ("launch", "<u8"),
        ("kernel", "<u4"),
        ("device", "<u4"),
        ("stream", "<u8"),
        ("grid", "<u4", 3),
        ("block", "<u4", 3),
        ("shared_bytes", "<u4"),
        ("thread_id", "<u4"),
        ("launched_ns", "<u8"),
        ("submitted_ns", "<u8"),
        ("completed_ns", "<u8"),
        ("mode", "<u4"),
        ("region_log2", "<u4"),
        ("wave_slots", "<u4"),
        ("waves", "<u4"),
        ("expected", "<u4"),
        ("claimed", "<u4"),
        ("status", "<u4"),
        ("flags", "<u4"),
    ]
)


class DispatchFlag(IntFlag):
    """What is special about a dispatch."""

    FILTERED = 1
    UNFINISHED = 2
    EAGER = 4
    RING = 8
    GRAPH = 16


WAVE_EXTENT: Final = np.dtype(
    [("slot", "<u4"), ("main_words", "<u4"), ("side_words", "<u4"), ("reserved", "<u4")]
)


class ClockMethod(IntEnum):
    """How a pair of readings was taken."""

    SOFTWARE = 1
    HSA = 2
    KFD = 3
    BOUNDS = 4


CLOCK: Final = np.dtype(
    [
        ("device", "<u4"),
        ("method", "<u4"),
        ("realtime", "<u8"),
        ("host_ns", "<u8"),
        ("uncertainty_ns", "<u8"),
    ]
)


class LossReason(IntEnum):
    """Why a launch of an annotated kernel is not in the file."""

    NO_MEMORY = 1
    POOL_EXHAUSTED = 2
    CAPTURE = 3
    ENTRY_POINT = 4
    ARGUMENT = 5
    CODE_OBJECT = 6
    LAUNCH_FAILED = 7
    COPY_FAILED = 8
    WRITE_FAILED = 9
    NOT_FINISHED = 10
    RECORD_FORMAT = 11
    UNIT_KEY = 12
    FORKED = 13
    FAULTED = 14


LOSS: Final = np.dtype(
    [
        ("reason", "<u4"),
        ("reserved0", "<u4"),
        ("count", "<u8"),
        ("strings_size", "<u4"),
        ("reserved1", "<u4"),
    ]
)


class ForeignTool(IntEnum):
    """Whose in-kernel tracer wrote a buffer that is not ours."""

    FLYDSL = 1


class ForeignFlag(IntFlag):
    """What is special about another tool's buffer."""

    OF_ONE_LAUNCH = 1


FOREIGN_BUFFER: Final = np.dtype(
    [
        ("tool", "<u4"),
        ("flags", "<u4"),
        ("number", "<u8"),
        ("size", "<u8"),
        ("length", "<u8"),
        ("device", "<u4"),
        ("replays", "<u4"),
    ]
)

FOREIGN_LAUNCH: Final = np.dtype([("number", "<u8"), ("launch", DISPATCH)])

FOREIGN_NAMES: Final = np.dtype([("tool", "<u4"), ("strings_size", "<u4")])

END: Final = np.dtype(
    [
        ("code_objects", "<u8"),
        ("annotated_code_objects", "<u8"),
        ("annotated_kernels", "<u8"),
        ("launches", "<u8"),
        ("annotated_launches", "<u8"),
        ("dispatches", "<u8"),
        ("host_ns", "<u8"),
    ]
)

# ---- the session status

STATUS_MAGIC: Final = 0x5453544B
LOSS_REASONS: Final = 16


class StatusFlag(IntFlag):
    """What became of a process that calls HIP."""

    SOFTWARE_DEVICE = 1
    CLOSED = 2
    OUTPUT_FAILED = 4
    REFUSED = 8
    BYSTANDER = 16


STATUS: Final = np.dtype(
    [
        ("magic", "<u4"),
        ("size", "<u4"),
        ("pid", "<u4"),
        ("flags", "<u4"),
        ("counts", END),
        ("bytes", "<u8"),
        ("losses", "<u8", LOSS_REASONS),
        ("unselected_launches", "<u8"),
        ("unseen_launches", "<u8"),
        ("unread_fat_binaries", "<u8"),
        ("claim_launches", "<u8"),
        ("grown_launches", "<u8"),
        ("dropped_words", "<u8"),
        ("skipped_launches", "<u8"),
        ("waited_launches", "<u8"),
        ("waited_ns", "<u8"),
        ("unfinished_dispatches", "<u8"),
        ("saturated_launches", "<u8"),
        ("graph_launches", "<u8"),
        ("untraced_children", "<u8"),
        ("unbound_libraries", "<u8"),
        ("unhooked_copies", "<u8"),
        ("replaced_dispatches", "<u8"),
        ("program", "S256"),
        ("output", "S4096"),
        ("message", "S1024"),
    ]
)
