"""Turns one chunk's payload into a record, checking every size before it is used."""

from __future__ import annotations

import hashlib

import numpy as np

from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import Dtype
from ktrace_cli.trace_file.recording import (
    CodeObjectRecord,
    DeviceRecord,
    DispatchRecord,
    ForeignBufferRecord,
    KernelRecord,
    LossRecord,
    ProcessRecord,
)

# A region holds its header and some words, and its offsets are 32 bits wide.
_REGION_LOG2 = range(8, 32)


class MalformedRecordError(Exception):
    """A payload that passed its checksum contradicts itself; the reader counts it."""


def parse_process(payload: memoryview) -> ProcessRecord:
    """Read a PROCESS payload."""
    record = _record(payload, layout.PROCESS)
    host, directory, executable, *arguments = _strings(payload, layout.PROCESS, record, 3)
    return ProcessRecord(
        pid=int(record["pid"]),
        parent_pid=int(record["parent_pid"]),
        host=host,
        directory=directory,
        executable=executable,
        arguments=tuple(arguments),
        boottime_ns=int(record["boottime_ns"]),
        monotonic_ns=int(record["monotonic_ns"]),
        realtime_ns=int(record["realtime_ns"]),
    )


def parse_device(payload: memoryview) -> DeviceRecord:
    """Read a DEVICE payload."""
    record = _record(payload, layout.DEVICE)
    target, name = _strings(payload, layout.DEVICE, record, 2)[:2]
    return DeviceRecord(
        device=int(record["device"]),
        target=target,
        name=name,
        flags=int(record["flags"]),
        realtime_hz=int(record["realtime_hz"]),
        compute_units=int(record["compute_units"]),
        xcc_count=int(record["xcc_count"]),
        core_khz=int(record["core_khz"]),
        uuid=record["uuid"].tobytes(),
    )


def parse_code_object(payload: memoryview) -> CodeObjectRecord:
    """Read a CODE_OBJECT payload."""
    record = _record(payload, layout.CODE_OBJECT)
    size = int(record["size"])
    _expect_length(payload, layout.CODE_OBJECT.itemsize + size)
    begin = layout.CODE_OBJECT.itemsize
    image = bytes(payload[begin : begin + size])
    sha256 = record["sha256"].tobytes()
    if hashlib.sha256(image).digest() != sha256:
        raise MalformedRecordError("the code object's SHA-256 is another one")
    return CodeObjectRecord(int(record["code_object"]), sha256.hex(), image)


def parse_kernel(payload: memoryview) -> KernelRecord:
    """Read a KERNEL payload."""
    record = _record(payload, layout.KERNEL)
    name, symbol = _strings(payload, layout.KERNEL, record, 2)[:2]
    return KernelRecord(
        kernel=int(record["kernel"]),
        code_object=int(record["code_object"]),
        name=name,
        symbol=symbol,
        record_format=int(record["record_format"]),
        kernarg_offset=int(record["kernarg_offset"]),
        unit_key=int(record["unit_key"]),
    )


def parse_dispatch(payload: memoryview) -> DispatchRecord:
    """Read a DISPATCH payload; headers, extents and words stay where they are."""
    dispatch = DispatchRecord(_record(payload, layout.DISPATCH), payload)
    record = dispatch.record
    waves = int(record["waves"])
    per_wave = layout.WAVE_HEADER.itemsize + layout.WAVE_EXTENT.itemsize
    words_offset = layout.DISPATCH.itemsize + waves * per_wave
    if words_offset > len(payload):
        raise MalformedRecordError(f"{waves} wave headers do not fit {len(payload)} bytes")
    extents = dispatch.extents
    # In 64 bits: two 32-bit counts of each of 2**32 waves cannot overflow.
    words = int(extents["main_words"].sum(dtype=np.uint64))
    words += int(extents["side_words"].sum(dtype=np.uint64))
    _expect_length(payload, words_offset + words * layout.WORD.itemsize)
    if record["region_log2"] not in _REGION_LOG2:
        raise MalformedRecordError(f"its regions have 2**{record['region_log2']} bytes")
    slots = extents["slot"]
    if np.any(slots[1:] <= slots[:-1]) or np.any(slots >= record["wave_slots"]):
        raise MalformedRecordError("its waves are not in the order of their slots")
    return dispatch


def parse_clock(payload: memoryview) -> np.void:
    """Read a CLOCK payload: layout.CLOCK."""
    _expect_length(payload, layout.CLOCK.itemsize)
    return _record(payload, layout.CLOCK)


def parse_loss(payload: memoryview) -> LossRecord:
    """Read a LOSS payload."""
    record = _record(payload, layout.LOSS)
    kernel, explanation = _strings(payload, layout.LOSS, record, 2)[:2]
    return LossRecord(int(record["reason"]), int(record["count"]), kernel, explanation)


def parse_foreign_buffer(payload: memoryview) -> ForeignBufferRecord:
    """Read a FOREIGN_BUFFER payload."""
    record = _record(payload, layout.FOREIGN_BUFFER)
    length, begin = int(record["length"]), layout.FOREIGN_BUFFER.itemsize
    _expect_length(payload, begin + length)
    if length > int(record["size"]):
        raise MalformedRecordError(f"{length} bytes of a buffer of {int(record['size'])}")
    return ForeignBufferRecord(record, payload[begin : begin + length])


def parse_foreign_launch(payload: memoryview) -> np.void:
    """Read a FOREIGN_LAUNCH payload: layout.FOREIGN_LAUNCH."""
    _expect_length(payload, layout.FOREIGN_LAUNCH.itemsize)
    return _record(payload, layout.FOREIGN_LAUNCH)


def parse_foreign_names(payload: memoryview) -> str:
    """Read a FOREIGN_NAMES payload."""
    record = _record(payload, layout.FOREIGN_NAMES)
    return _strings(payload, layout.FOREIGN_NAMES, record, 1)[0]


def parse_end(payload: memoryview) -> np.void:
    """Read an END payload: layout.END."""
    _expect_length(payload, layout.END.itemsize)
    return _record(payload, layout.END)


def _record(payload: memoryview, dtype: Dtype) -> np.void:
    if len(payload) < dtype.itemsize:
        raise MalformedRecordError(f"{len(payload)} bytes; {dtype.itemsize} are needed")
    record: np.void = np.frombuffer(payload, dtype, 1)[0]
    return record


def _expect_length(payload: memoryview, size: int) -> None:
    padded = -(-size // 8) * 8
    if len(payload) != padded:
        raise MalformedRecordError(f"{len(payload)} bytes; its sizes add up to {padded}")


def _strings(payload: memoryview, dtype: Dtype, record: np.void, at_least: int) -> list[str]:
    size = int(record["strings_size"])
    _expect_length(payload, dtype.itemsize + size)
    text = bytes(payload[dtype.itemsize : dtype.itemsize + size])
    if not text.endswith(b"\0"):
        raise MalformedRecordError("its strings do not end with a NUL")
    # Linux paths are bytes: what is no UTF-8 stays readable, and distinct, as \xNN.
    strings = [part.decode("utf-8", "backslashreplace") for part in text[:-1].split(b"\0")]
    if len(strings) < at_least:
        raise MalformedRecordError(f"{len(strings)} strings; {at_least} are needed")
    return strings
