"""Integer columns as bytes that compress well: each byte of all rows, one behind the other.

A block is `u32 columns`, then `u32 rows, u32 mode` for each of them, then their planes: first the
lowest byte of every row, then the next one. Highest bytes that are 0 in all rows are left out.
docs/reference/html.md describes it, data.js reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.timeline.segments import Ints

PLANES = 0x0F  # of a mode: bytes per row
ZIGZAG = 0x80  # the value n is stored as 2n, or as -2n - 1 if it is negative

_HEAD = np.dtype("<u4")


def encode_block(columns: Sequence[NDArray[Any]]) -> bytes:
    """Return a block of these columns, whose rows may differ in number."""
    modes, planes = [], []
    for column in columns:
        mode, data = _encode(column)
        modes += [len(column), mode]
        planes.append(data)
    return np.array([len(columns), *modes], _HEAD).tobytes() + b"".join(planes)


def decode_block(block: bytes) -> list[Ints]:
    """Return the columns of a block; unsigned 64-bit values come as their bits."""
    count = int(np.frombuffer(block, _HEAD, 1)[0])
    heads = np.frombuffer(block, _HEAD, 2 * count, offset=4).reshape(count, 2).tolist()
    at = 4 + 8 * count
    columns = []
    for rows, mode in heads:
        size = rows * (mode & PLANES)
        planes = np.frombuffer(block, np.uint8, size, offset=at).reshape(mode & PLANES, rows)
        columns.append(_decode(planes, mode))
        at += size
    return columns


def delta(column: Ints) -> Ints:
    """Return the difference of each row to the one before, and to 0 for the first."""
    return np.diff(column, prepend=np.int64(0))


def _encode(column: NDArray[Any]) -> tuple[int, bytes]:
    mode = 0
    if len(column) and column.dtype.kind == "i":
        column = column.astype(np.int64)
        if int(column.min()) < 0:
            mode = ZIGZAG
            column = (column << 1) ^ (column >> 63)
    bits = np.ascontiguousarray(column).astype("<u8")
    planes = (int(bits.max(initial=0)).bit_length() + 7) // 8
    data = bits.view(np.uint8).reshape(len(bits), 8)[:, :planes]
    return mode | planes, data.T.tobytes()


def _decode(planes: NDArray[np.uint8], mode: int) -> Ints:
    wide = np.zeros((planes.shape[1], 8), np.uint8)
    wide[:, : planes.shape[0]] = planes.T
    bits = wide.view("<u8").ravel()
    if mode & ZIGZAG:
        bits = (bits >> np.uint64(1)) ^ (np.uint64(0) - (bits & np.uint64(1)))
    return bits.view(np.int64)
