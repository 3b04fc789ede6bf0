"""Which dispatches of a recording have no wave, from their records alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ktrace_cli.errors import TraceFileError
from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.mapping import Bytes, map_file


def dispatches_without_waves(path: Path) -> int:
    """Count the dispatches of a new recording that hold no wave; words and headers stay unread.

    What comes after damage is not counted: `decode` and `summary` deal with that.
    """
    try:
        data = map_file(path, TraceFileError)
    except TraceFileError:
        return 0  # it may be a pipe, or gone
    if len(data) < layout.FILE_HEADER.itemsize:
        return 0
    return _count(data, int(np.frombuffer(data, layout.FILE_HEADER, 1)[0]["header_size"]))


def _count(data: Bytes, position: int) -> int:
    count = 0
    size = layout.CHUNK_HEADER.itemsize
    while position + size <= len(data):
        header = np.frombuffer(data, layout.CHUNK_HEADER, 1, position)[0]
        begin, length = position + size, int(header["length"])
        position = begin + length
        if header["sync"] != layout.CHUNK_SYNC or position > len(data):
            break
        if header["type"] == layout.ChunkType.DISPATCH and length >= layout.DISPATCH.itemsize:
            count += int(np.frombuffer(data, layout.DISPATCH, 1, begin)[0]["waves"]) == 0
    return count
