"""Recordings made from Python, for tests of everything that reads them.

    recording = RecordingBuilder()
    code_object = recording.add_code_object(image)    # support.code_object makes images
    kernel = recording.add_kernel("saxpy", code_object=code_object, unit_key=0x11)
    recording.add_dispatch(
        kernel,
        [
            Wave(block=(0, 0, 0), wave=0, main=[push(1, 1100), pop(1500)]),
            Wave(block=(0, 0, 0), wave=1, main=[span(2, 1100, 1200)], side=[mark(3, 1150)]),
        ],
    )
    path = recording.write(tmp_path / "run.bin")      # adds END; `closed=False` leaves it out

A process and one software device (number 0) are there from the start; RecordingBuilder(empty=True)
begins without them. `main` and `side` are lists of what support.words constructs, each in the order
of time. Everything that the device would have written follows from them: cursors, word numbers of
tokens, extents. Core and reference clock run at 2.1 GHz and 100 MHz, and both read 0 at host time
HOST_EPOCH_NS, unless a Wave names its own readings.
"""

import hashlib
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import ChunkType, WaveState
from support.code_object import struct_bytes as struct
from support.words import Word

TARGET = "gfx942:sramecc+:xnack-"
REALTIME_HZ = 100_000_000
CORE_CYCLES_PER_TICK = 21
HOST_EPOCH_NS = 1_700_000_000_000_000_000
FIRST_WORD = layout.REGION_HEADER // layout.WORD.itemsize


@dataclass(frozen=True)
class Wave:
    """One wave of a dispatch, as the device leaves it behind."""

    main: Sequence[Sequence[Word]] = ()
    side: Sequence[Sequence[Word]] = ()
    block: tuple[int, int, int] = (0, 0, 0)
    wave: int = 0
    slot: int | None = None  # None: the next one
    begin: int = 1_000  # s_memtime
    end: int = 10_000
    realtime_begin: int | None = None  # None: follows from s_memtime
    realtime_end: int | None = None
    state: int = WaveState.ENDED
    hw_id: int = 0
    xcc: int = 0
    exec_begin: int = 0xFFFFFFFFFFFFFFFF
    dropped_main: int = 0  # words that were attempted past the region's end
    dropped_side: int = 0
    header: dict[str, Any] = field(default_factory=dict)  # fields to overwrite, for torn headers


@dataclass(frozen=True)
class _Region:
    """The bytes of one wave's region that come back."""

    header: np.ndarray
    main: list[tuple[int, int]]
    side: list[tuple[int, int]]


class RecordingBuilder:
    """Collects chunks; see the module's docstring."""

    def __init__(self, *, empty: bool = False, version: tuple[int, int] = (1, 0)) -> None:
        self._version = version
        self._chunks: list[bytes] = []
        self._counts = dict.fromkeys(layout.END.names or (), 0)
        if not empty:
            self.add_process()
            self.add_device()

    def add_chunk(self, chunk_type: int, payload: bytes, *, flags: int = 0) -> None:
        """Add any payload under the next chunk number."""
        payload += bytes(-len(payload) % 8)
        self._chunks.append(chunk(chunk_type, payload, number=len(self._chunks), flags=flags))

    def add_process(
        self,
        *,
        pid: int = 4242,
        parent_pid: int = 4241,
        strings: Sequence[str] = ("host", "/home/user", "/usr/bin/app", "app", "--size", "64"),
        boottime_ns: int = HOST_EPOCH_NS,
        monotonic_ns: int = HOST_EPOCH_NS - 5_000,
        realtime_ns: int = HOST_EPOCH_NS + 7_000,
    ) -> None:
        fields = {
            "pid": pid,
            "parent_pid": parent_pid,
            "boottime_ns": boottime_ns,
            "monotonic_ns": monotonic_ns,
            "realtime_ns": realtime_ns,
        }
        self.add_chunk(ChunkType.PROCESS, with_strings(layout.PROCESS, fields, strings))

    def add_device(
        self,
        device: int = 0,
        *,
        target: str = TARGET,
        name: str = "Virtual Instinct",
        flags: int = layout.DeviceFlag.SOFTWARE,
        realtime_hz: int = REALTIME_HZ,
        compute_units: int = 304,
        xcc_count: int = 8,
        core_khz: int = 2_100_000,
    ) -> int:
        fields = {
            "device": device,
            "flags": flags,
            "realtime_hz": realtime_hz,
            "compute_units": compute_units,
            "xcc_count": xcc_count,
            "core_khz": core_khz,
        }
        self.add_chunk(ChunkType.DEVICE, with_strings(layout.DEVICE, fields, (target, name)))
        return device

    def add_code_object(self, image: bytes, *, sha256: bytes | None = None) -> int:
        index = self._counts["code_objects"]
        self._counts["code_objects"] += 1
        self._counts["annotated_code_objects"] += 1
        record = struct(
            layout.CODE_OBJECT,
            sha256=np.frombuffer(sha256 or hashlib.sha256(image).digest(), "u1"),
            size=len(image),
            code_object=index,
        )
        self.add_chunk(ChunkType.CODE_OBJECT, record + image)
        return index

    def add_kernel(
        self,
        name: str,
        *,
        code_object: int,
        unit_key: int,
        symbol: str = "",
        record_format: int = layout.RecordFormat.AMDGCN,
        kernarg_offset: int = 24,
    ) -> int:
        index = self._counts["annotated_kernels"]
        self._counts["annotated_kernels"] += 1
        fields = {
            "kernel": index,
            "code_object": code_object,
            "record_format": record_format,
            "kernarg_offset": kernarg_offset,
            "unit_key": unit_key,
        }
        strings = (name, symbol or f"{name}.kd")
        self.add_chunk(ChunkType.KERNEL, with_strings(layout.KERNEL, fields, strings))
        return index

    def add_dispatch(
        self,
        kernel: int,
        waves: Sequence[Wave],
        *,
        region_log2: int = 10,
        grid: tuple[int, int, int] = (1, 1, 1),
        block: tuple[int, int, int] = (64, 1, 1),
        **fields: int,
    ) -> int:
        """Add a dispatch; `fields` are those of layout.DISPATCH. Returns its number."""
        number = fields.get("dispatch", self._counts["dispatches"] + 1)
        self._counts["launches"] += 1
        self._counts["annotated_launches"] += 1
        self._counts["dispatches"] += 1
        slots = [i if w.slot is None else w.slot for i, w in enumerate(waves)]
        regions = [_region(wave, number, region_log2) for wave in waves]
        known: dict[str, Any] = {
            "dispatch": number,
            "launch": self._counts["launches"],
            "kernel": kernel,
            "grid": grid,
            "block": block,
            "region_log2": region_log2,
            "wave_slots": max(slots, default=0) + 1,
            "waves": len(waves),
            "expected": len(waves),
            **self._host_times(waves),
        }
        payload = struct(layout.DISPATCH, **{**known, **fields})
        payload += b"".join(region.header.tobytes() for region in regions)
        for slot, region in zip(slots, regions, strict=True):
            sizes = {"main_words": len(region.main), "side_words": len(region.side)}
            payload += struct(layout.WAVE_EXTENT, slot=slot, **sizes)
        for region in regions:
            payload += np.array(region.main + region.side, layout.WORD).tobytes()
        self.add_chunk(ChunkType.DISPATCH, payload)
        return number

    def add_clock(
        self,
        *,
        device: int = 0,
        method: int = layout.ClockMethod.SOFTWARE,
        realtime: int,
        host_ns: int | None = None,
        uncertainty_ns: int = 0,
    ) -> None:
        """Add a clock sample; without `host_ns`, one on the builder's own line."""
        host_ns = host_time(realtime) if host_ns is None else host_ns
        fields = {"realtime": realtime, "host_ns": host_ns, "uncertainty_ns": uncertainty_ns}
        self.add_chunk(
            ChunkType.CLOCK, struct(layout.CLOCK, device=device, method=method, **fields)
        )

    def add_loss(
        self, reason: int, *, count: int = 1, kernel: str = "", explanation: str = "why"
    ) -> None:
        fields = {"reason": reason, "count": count}
        self.add_chunk(ChunkType.LOSS, with_strings(layout.LOSS, fields, (kernel, explanation)))

    def to_bytes(self, *, closed: bool = True, **end: int) -> bytes:
        """Return the file; `end` overwrites fields of layout.END."""
        chunks = list(self._chunks)
        if closed:
            record = struct(layout.END, **{**self._counts, "host_ns": HOST_EPOCH_NS, **end})
            chunks.append(chunk(ChunkType.END, record, number=len(chunks)))
        return file_header(self._version) + b"".join(chunks)

    def write(self, path: Path, *, closed: bool = True, **end: int) -> Path:
        path.write_bytes(self.to_bytes(closed=closed, **end))
        return path

    @staticmethod
    def _host_times(waves: Sequence[Wave]) -> dict[str, int]:
        first = min((wave.begin for wave in waves), default=0) // CORE_CYCLES_PER_TICK
        last = max((wave.end for wave in waves), default=0) // CORE_CYCLES_PER_TICK
        return {
            "launched_ns": host_time(first) - 200,
            "submitted_ns": host_time(first) - 100,
            "completed_ns": host_time(last) + 100,
        }


def host_time(realtime: int) -> int:
    """Host nanoseconds of a reading of the reference clock."""
    return HOST_EPOCH_NS + realtime * 1_000_000_000 // REALTIME_HZ


def file_header(version: tuple[int, int] = (1, 0), *, header_size: int = 24) -> bytes:
    fields = {"major": version[0], "minor": version[1], "header_size": header_size}
    before_crc = struct(layout.FILE_HEADER, magic=layout.FILE_MAGIC, **fields)[:-4]
    header = before_crc + zlib.crc32(before_crc).to_bytes(4, "little")
    return header + bytes(header_size - len(header))


def chunk(chunk_type: int, payload: bytes, *, number: int, flags: int = 0) -> bytes:
    before_crc = struct(
        layout.CHUNK_HEADER,
        sync=layout.CHUNK_SYNC,
        type=chunk_type,
        flags=flags,
        length=len(payload),
        number=number,
        payload_crc=zlib.crc32(payload),
    )[:-4]
    return before_crc + zlib.crc32(before_crc).to_bytes(4, "little") + payload


def with_strings(dtype: np.dtype[Any], fields: dict[str, Any], strings: Iterable[str]) -> bytes:
    """Return a struct with its NUL-terminated strings behind it, padded."""
    text = b"".join(string.encode() + b"\0" for string in strings)
    payload = struct(dtype, **fields, strings_size=len(text)) + text
    return payload + bytes(-len(payload) % 8)


def _region(wave: Wave, dispatch: int, region_log2: int) -> _Region:
    size = 1 << region_log2
    last_word = size // layout.WORD.itemsize - 1
    main = [(FIRST_WORD + i, w) for i, w in enumerate(w for words in wave.main for w in words)]
    side = [(last_word - i, w) for i, w in enumerate(w for words in wave.side for w in words)]
    if len(main) + len(side) > last_word + 1 - FIRST_WORD:
        raise ValueError(f"{len(main) + len(side)} words do not fit a region of {size} bytes")
    number_by_token = {w.opens: number for number, w in main + side if w.opens}
    encode = [
        [(w.clock, _tag(w, number_by_token, is_side=is_side)) for _, w in words]
        for is_side, words in ((False, main), (True, side))
    ]
    header = np.zeros((), layout.WAVE_HEADER)
    for name, value in (_header(wave, dispatch, size, len(main), len(side)) | wave.header).items():
        header[name] = value
    met = len(main) + len(side) == last_word + 1 - FIRST_WORD and len(side) > 0
    newest_first = encode[1][::-1]
    if met:
        return _Region(header, encode[0] + newest_first, [])
    return _Region(header, encode[0], newest_first)


def _tag(word: Word, number_by_token: dict[str, int], *, is_side: bool) -> int:
    if word.closes:
        word = Word(word.clock, word.kind, number_by_token[word.closes])
    return word.tag(is_side=is_side)


def _header(wave: Wave, dispatch: int, size: int, main: int, side: int) -> dict[str, Any]:
    ended = wave.state == WaveState.ENDED

    def reading(given: int | None, memtime: int) -> int:
        return memtime // CORE_CYCLES_PER_TICK if given is None else given

    header: dict[str, Any] = {
        "state": wave.state,
        "side_cursor": (size - 8 * (side + 1 + wave.dropped_side)) & 0xFFFFFFFF,
        "dispatch": dispatch & 0xFFFFFFFF,
        "block": wave.block,
        "wave": wave.wave,
        "hw_id_begin": wave.hw_id,
        "xcc_id_begin": wave.xcc,
        "memtime_begin": wave.begin,
        "realtime_begin": reading(wave.realtime_begin, wave.begin),
        "exec_begin": wave.exec_begin,
    }
    if ended:
        header |= {
            "main_cursor": layout.REGION_HEADER + 8 * (main + wave.dropped_main),
            "hw_id_end": wave.hw_id,
            "xcc_id_end": wave.xcc,
            "memtime_end": wave.end,
            "realtime_end": reading(wave.realtime_end, wave.end),
            "exec_end": wave.exec_begin,
        }
    return header
