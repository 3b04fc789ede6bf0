"""Finds the whole chunks of a recording's bytes. Knows what a chunk is, not what is in it."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from ktrace_cli.progress import Advance, unwatched
from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.mapping import Bytes, forget

_HEADER_SIZE = layout.CHUNK_HEADER.itemsize
_HEADER_CRC_OFFSET = _HEADER_SIZE - 4
_PIECE = 1 << 25
_SYNC_BYTES = layout.CHUNK_SYNC.to_bytes(4, "little")


@dataclass(frozen=True)
class Chunk:
    """A chunk whose header and payload passed their checksums."""

    offset: int
    type: int
    flags: int
    number: int
    payload: memoryview


@dataclass
class Scan:
    """The chunks of a file by their number, and what lay between them."""

    chunks: list[Chunk]
    torn_bytes: int = 0
    skipped_bytes: int = 0
    damaged_chunks: int = 0
    missing_chunks: int = 0


def scan_chunks(data: Bytes, begin: int, advance: Advance = unwatched) -> Scan:
    """Find every whole chunk from offset `begin` on, whatever lies between them.

    Chunks come in the order of their numbers, not of the file: a number seen before is damage.
    """
    scan = Scan([])
    numbers: set[int] = set()
    chunk_by_number: dict[int, Chunk] = {}
    position = forgotten = begin
    while position < len(data):
        if position - forgotten > _PIECE:
            forget(data)
            forgotten = position
        header = _header_at(data, position)
        if header is None:
            position = _resync(data, position, position + 1, scan)
            continue
        end = position + _HEADER_SIZE + int(header["length"])
        if end > len(data):
            position = _resync(data, position, position + _HEADER_SIZE, scan)
            continue
        number = int(header["number"])
        numbers.add(number)
        payload = memoryview(data)[position + _HEADER_SIZE : end]
        if _checksum(data, payload, advance) != header["payload_crc"]:
            scan.damaged_chunks += 1
            position = _after_damaged_payload(data, position, end, scan)
            continue
        if number in chunk_by_number:
            scan.damaged_chunks += 1
        else:
            kind, flags = int(header["type"]), int(header["flags"])
            chunk_by_number[number] = Chunk(position, kind, flags, number, payload)
        position = end
    scan.chunks = [chunk_by_number[number] for number in sorted(chunk_by_number)]
    scan.missing_chunks = max(numbers, default=-1) + 1 - len(numbers)
    return scan


def _checksum(data: Bytes, payload: memoryview, advance: Advance) -> int:
    """Return the CRC-32 of a payload, of which no more than a piece stays in memory."""
    crc = 0
    for begin in range(0, len(payload), _PIECE):
        piece = payload[begin : begin + _PIECE]
        crc = zlib.crc32(piece, crc)
        advance(len(piece) / len(data))
        if len(payload) > _PIECE:
            forget(data)
    return crc


def _header_at(data: Bytes, position: int) -> np.void | None:
    content = data[position : position + _HEADER_SIZE]
    if len(content) < _HEADER_SIZE or not content.startswith(_SYNC_BYTES):
        return None
    header: np.void = np.frombuffer(content, layout.CHUNK_HEADER)[0]
    is_intact = zlib.crc32(content[:_HEADER_CRC_OFFSET]) == header["header_crc"]
    return header if is_intact else None


def _find_header(data: Bytes, begin: int) -> int | None:
    position = data.find(_SYNC_BYTES, begin)
    while position >= 0:
        if _header_at(data, position) is not None:
            return position
        position = data.find(_SYNC_BYTES, position + 1)
    return None


def _resync(data: Bytes, position: int, begin: int, scan: Scan) -> int:
    """Return where the next intact header is, and count what lies before it."""
    following = _find_header(data, begin)
    if following is None:
        scan.torn_bytes += len(data) - position
        return len(data)
    scan.skipped_bytes += following - position
    return following


def _after_damaged_payload(data: Bytes, position: int, end: int, scan: Scan) -> int:
    # Where bytes were lost rather than changed, the next chunk begins before this one's end.
    if end == len(data) or _header_at(data, end) is not None:
        return end
    following = _find_header(data, position + _HEADER_SIZE)
    if following is None or following >= end:
        return end
    scan.skipped_bytes += following - position
    return following
