"""Reads a recording file into records, and counts what it cannot read."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

from ktrace_cli.errors import TraceFileError
from ktrace_cli.progress import Advance, unwatched
from ktrace_cli.trace_file import layout, records
from ktrace_cli.trace_file.chunks import Chunk, Scan, scan_chunks
from ktrace_cli.trace_file.file_kind import HEAD_SIZE, FileKind, identify
from ktrace_cli.trace_file.layout import ChunkFlag, ChunkType
from ktrace_cli.trace_file.mapping import Bytes, forget, map_file
from ktrace_cli.trace_file.recording import (
    CodeObjectRecord,
    Damage,
    DeviceRecord,
    DispatchRecord,
    ForeignBufferRecord,
    ForeignRecords,
    KernelRecord,
    LossRecord,
    ProcessRecord,
    Recording,
)
from ktrace_cli.trace_file.records import MalformedRecordError

_T = TypeVar("_T")
_OTHER_RELEASE = "read it with the ktrace release that recorded it"
_FIX_BY_KIND = {
    FileKind.EMPTY: "record again: the program was killed, or the disk was full, at its start",
    FileKind.ELF: "`ktrace inspect` reads code objects, shared libraries and programs",
    FileKind.BUNDLE: "`ktrace inspect` reads code objects and bundles of them",
    FileKind.COMPRESSED_BUNDLE: "`ktrace inspect` reads code objects and bundles of them",
    FileKind.LFS_POINTER: "fetch the content with `git lfs pull`",
    FileKind.GZIP: "give the recording (.bin) itself, not a trace made from it; "
    "a recording that you compressed: `gunzip` it",
    FileKind.ZSTANDARD: "decompress it with `unzstd`",
}
_DEFAULT_FIX = (
    "give a file that `ktrace run` wrote, or say with `--from` whose buffer it is: FlyDSL's,"
    " QuACK's or TileOPs'"
)


def read_recording(path: Path, advance: Advance = unwatched) -> Recording:
    """Read a recording; its words stay in the file until they are looked at.

    Raises:
        TraceFileError: the file is no recording, or of a version that this ktrace does not read.
    """
    return parse_recording(map_file(path, TraceFileError), path, advance)


def parse_recording(data: Bytes, path: Path, advance: Advance = unwatched) -> Recording:
    """Read a recording from its bytes; `path` is its name in messages.

    Raises:
        TraceFileError: as read_recording.
    """
    version, begin = read_file_header(data, path)
    scan = scan_chunks(data, begin, advance)
    contents = Contents(path)
    for chunk in scan.chunks:
        contents.add(chunk)
    forget(data)
    return contents.recording(version, _damage(scan, contents), data)


@dataclass
class Contents:
    """The records of a file while its chunks are read."""

    path: Path
    process: dict[int, ProcessRecord] = field(default_factory=dict)
    devices: dict[int, DeviceRecord] = field(default_factory=dict)
    code_objects: dict[int, CodeObjectRecord] = field(default_factory=dict)
    kernels: dict[int, KernelRecord] = field(default_factory=dict)
    dispatches: dict[int, DispatchRecord] = field(default_factory=dict)
    clocks: list[np.void] = field(default_factory=list)
    losses: list[LossRecord] = field(default_factory=list)
    end: dict[int, np.void] = field(default_factory=dict)
    foreign_buffers: dict[int, ForeignBufferRecord] = field(default_factory=dict)
    foreign_launches: list[np.void] = field(default_factory=list)
    foreign_names: list[str] = field(default_factory=list)
    damaged_chunks: int = 0
    unknown_chunks: int = 0
    unreadable_dispatches: int = 0

    def add(self, chunk: Chunk) -> None:
        """Read a chunk's payload, or count that it cannot be read."""
        reader = _READER_BY_TYPE.get(chunk.type)
        if reader is None:
            self._skip_unknown(chunk)
            return
        try:
            reader(self, chunk.payload)
        except MalformedRecordError:
            if chunk.type == ChunkType.DISPATCH:
                self.unreadable_dispatches += 1
            else:
                self.damaged_chunks += 1

    def recording(self, version: tuple[int, int], damage: Damage, data: Bytes) -> Recording:
        """Return all that was read."""
        return Recording(
            path=self.path,
            version=version,
            process=self.process.get(0),
            devices=self.devices,
            code_objects=self.code_objects,
            kernels=self.kernels,
            dispatches=tuple(self.dispatches[n] for n in sorted(self.dispatches)),
            clocks=np.array(self.clocks, layout.CLOCK),
            losses=tuple(self.losses),
            end=self.end.get(0),
            damage=damage,
            data=data,
            foreign=ForeignRecords(
                tuple(self.foreign_buffers.values()),
                tuple(self.foreign_launches),
                tuple(self.foreign_names),
            ),
        )

    def _skip_unknown(self, chunk: Chunk) -> None:
        if not chunk.flags & ChunkFlag.SKIPPABLE:
            raise TraceFileError(
                f"cannot read {self.path}",
                why=f"the chunk at offset {chunk.offset} is of type {chunk.type}, "
                "which this ktrace does not know and may not skip",
                fix=_OTHER_RELEASE,
            )
        self.unknown_chunks += 1

    def _read_process(self, payload: memoryview) -> None:
        _add_once(self.process, 0, records.parse_process(payload))

    def _read_device(self, payload: memoryview) -> None:
        device = records.parse_device(payload)
        _add_once(self.devices, device.device, device)

    def _read_code_object(self, payload: memoryview) -> None:
        code_object = records.parse_code_object(payload)
        _add_once(self.code_objects, code_object.code_object, code_object)

    def _read_kernel(self, payload: memoryview) -> None:
        kernel = records.parse_kernel(payload)
        _add_once(self.kernels, kernel.kernel, kernel)

    def _read_dispatch(self, payload: memoryview) -> None:
        dispatch = records.parse_dispatch(payload)
        before = self.dispatches.get(dispatch.number)
        if before is not None and before.is_unfinished:
            del self.dispatches[dispatch.number]  # what was written later knows more
        _add_once(self.dispatches, dispatch.number, dispatch)

    def _read_clock(self, payload: memoryview) -> None:
        self.clocks.append(records.parse_clock(payload))

    def _read_loss(self, payload: memoryview) -> None:
        self.losses.append(records.parse_loss(payload))

    def _read_foreign_buffer(self, payload: memoryview) -> None:
        buffer = records.parse_foreign_buffer(payload)
        _add_once(self.foreign_buffers, buffer.number, buffer)

    def _read_foreign_launch(self, payload: memoryview) -> None:
        self.foreign_launches.append(records.parse_foreign_launch(payload))

    def _read_foreign_names(self, payload: memoryview) -> None:
        self.foreign_names.append(records.parse_foreign_names(payload))

    def _read_end(self, payload: memoryview) -> None:
        _add_once(self.end, 0, records.parse_end(payload))


_READER_BY_TYPE: dict[int, Callable[[Contents, memoryview], None]] = {
    ChunkType.PROCESS: Contents._read_process,
    ChunkType.DEVICE: Contents._read_device,
    ChunkType.CODE_OBJECT: Contents._read_code_object,
    ChunkType.KERNEL: Contents._read_kernel,
    ChunkType.DISPATCH: Contents._read_dispatch,
    ChunkType.CLOCK: Contents._read_clock,
    ChunkType.LOSS: Contents._read_loss,
    ChunkType.END: Contents._read_end,
    ChunkType.FOREIGN_BUFFER: Contents._read_foreign_buffer,
    ChunkType.FOREIGN_LAUNCH: Contents._read_foreign_launch,
    ChunkType.FOREIGN_NAMES: Contents._read_foreign_names,
}


def _add_once(record_by_index: dict[int, _T], index: int, record: _T) -> None:
    if index in record_by_index:
        raise MalformedRecordError(f"number {index} is there twice")
    record_by_index[index] = record


def _damage(scan: Scan, contents: Contents) -> Damage:
    return Damage(
        torn_bytes=scan.torn_bytes,
        skipped_bytes=scan.skipped_bytes,
        damaged_chunks=scan.damaged_chunks + contents.damaged_chunks,
        missing_chunks=scan.missing_chunks,
        unknown_chunks=contents.unknown_chunks,
        not_closed=0 if contents.end else 1,
        unreadable_dispatches=contents.unreadable_dispatches,
    )


def read_file_header(data: Bytes, path: Path) -> tuple[tuple[int, int], int]:
    """Return the version and the offset of the first chunk.

    Raises:
        TraceFileError: as read_recording.
    """
    magic = data[: len(layout.FILE_MAGIC)]
    if magic != layout.FILE_MAGIC:
        raise _no_recording(data, path)
    if len(data) < layout.FILE_HEADER.itemsize:
        raise TraceFileError(
            f"cannot read {path}",
            why=f"it ends at offset {len(data)}, inside the file header of "
            f"{layout.FILE_HEADER.itemsize} bytes",
            fix=_FIX_BY_KIND[FileKind.EMPTY],
        )
    header = np.frombuffer(data, layout.FILE_HEADER, 1)[0]
    crc_offset = layout.FILE_HEADER.itemsize - 4
    crc = zlib.crc32(data[:crc_offset])
    if crc != header["crc"]:
        raise TraceFileError(
            f"cannot read {path}",
            why=f"its file header is damaged: the checksum at offset {crc_offset} is "
            f"{int(header['crc']):08x}, its bytes give {crc:08x}",
            fix="copy or record it again",
        )
    major, minor, size = (int(header[name]) for name in ("major", "minor", "header_size"))
    if major != layout.FILE_MAJOR:
        raise TraceFileError(
            f"cannot read {path}",
            why=f"its format is version {major} (offset 8); "
            f"this ktrace reads version {layout.FILE_MAJOR}",
            fix=_OTHER_RELEASE,
        )
    if not layout.FILE_HEADER.itemsize <= size <= len(data):
        raise TraceFileError(
            f"cannot read {path}",
            why=f"its header size (offset 12) is {size}; it must be at least "
            f"{layout.FILE_HEADER.itemsize} and within the {len(data)} bytes of the file",
            fix="copy or record it again",
        )
    return (major, minor), size


def _no_recording(data: Bytes, path: Path) -> TraceFileError:
    head = data[:HEAD_SIZE]
    kind = identify(head)
    fix = _FIX_BY_KIND.get(kind, _DEFAULT_FIX)
    if kind is FileKind.EMPTY:
        why = "it is empty (offset 0); a recording begins with 'KTRACE'"
    elif layout.FILE_MAGIC.startswith(head):
        why = f"it ends at offset {len(head)}, inside the file header"
        fix = _FIX_BY_KIND[FileKind.EMPTY]
    else:
        found = head[: len(layout.FILE_MAGIC)].hex(" ")
        why = (
            f"it is {kind.value}: it begins (offset 0) with {found}, "
            f"a recording with {layout.FILE_MAGIC.hex(' ')}"
        )
    return TraceFileError(f"cannot read {path}: it is no ktrace recording", why=why, fix=fix)
