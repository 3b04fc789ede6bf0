"""Reads a recording while its process still writes it: each time what is new."""

from __future__ import annotations

from pathlib import Path

from ktrace_cli.errors import TraceFileError
from ktrace_cli.trace_file.chunks import Scan, scan_chunks
from ktrace_cli.trace_file.layout import CHUNK_HEADER
from ktrace_cli.trace_file.mapping import map_file
from ktrace_cli.trace_file.reader import Contents, read_file_header
from ktrace_cli.trace_file.recording import Damage, Recording


class Follower:
    """Knows how far a recording was read, and what its dispatches refer to."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._contents = Contents(path)
        self._offset = 0
        self._next_number = 0

    def read(self) -> Recording:
        """Return the dispatches that are new since the last time, and all else that is known.

        What is no whole chunk at the file's end is being written: it is no damage.

        Raises:
            TraceFileError: the file is no recording, or of a version that this ktrace does not
                read.
        """
        data = map_file(self._path, TraceFileError)
        version, begin = read_file_header(data, self._path)
        scan = scan_chunks(data, self._offset or begin)
        contents = self._contents
        contents.dispatches.clear()
        before = (contents.damaged_chunks, contents.unreadable_dispatches)
        for chunk in scan.chunks:
            contents.add(chunk)
        damage = self._damage(scan, *before)
        if scan.chunks:
            last = max(scan.chunks, key=lambda chunk: chunk.offset)
            self._offset = last.offset + CHUNK_HEADER.itemsize + len(last.payload)
            self._next_number = scan.chunks[-1].number + 1
        return contents.recording(version, damage, data)

    def _damage(self, scan: Scan, damaged_chunks: int, unreadable_dispatches: int) -> Damage:
        contents = self._contents
        return Damage(
            skipped_bytes=scan.skipped_bytes,
            damaged_chunks=scan.damaged_chunks + contents.damaged_chunks - damaged_chunks,
            missing_chunks=max(scan.missing_chunks - self._next_number, 0),
            unknown_chunks=contents.unknown_chunks,
            unreadable_dispatches=contents.unreadable_dispatches - unreadable_dispatches,
        )
