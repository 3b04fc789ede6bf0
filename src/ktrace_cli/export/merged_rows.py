"""Millions of protocol buffer messages at once, as columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]


def varint_sizes(values: NDArray[Any]) -> Ints:
    """Return how many bytes each value takes."""
    sizes = np.ones(len(values), np.int64)
    largest = int(values.max(initial=0))
    for bits in range(7, 64, 7):
        if largest < 1 << bits:
            break
        sizes += values >= np.uint64(1 << bits)
    return sizes


class Rows:
    """Rows of bytes of different lengths, built column by column, read as one run of bytes.

    A row is what its cells hold, one after the other; a column may be absent from some rows.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._cells: list[Bytes] = []
        self._used: list[NDArray[np.bool_]] = []

    def constant(self, content: bytes, where: NDArray[np.bool_] | None = None) -> None:
        """Add the same bytes to each row, or to those of `where`."""
        used = np.ones(self._count, np.bool_) if where is None else where
        for byte in content:
            self._cells.append(np.full(self._count, byte, np.uint8))
            self._used.append(used)

    def varint(self, values: NDArray[Any], where: NDArray[np.bool_] | None = None) -> None:
        """Add a number to each row, or to those of `where`."""
        rest = values.astype(np.uint64)
        used = np.ones(self._count, np.bool_) if where is None else where
        while True:
            is_longer = rest > np.uint64(0x7F)
            byte = (rest & np.uint64(0x7F)).astype(np.uint8)
            self._cells.append(np.where(is_longer, byte | np.uint8(0x80), byte))
            self._used.append(used)
            used = used & is_longer
            if not used.any():
                return
            rest = rest >> np.uint64(7)

    def fixed64(self, values: NDArray[Any], where: NDArray[np.bool_] | None = None) -> None:
        """Add eight bytes to each row, or to those of `where`."""
        used = np.ones(self._count, np.bool_) if where is None else where
        cells = values.astype("<u8").view(np.uint8).reshape(-1, 8)
        for byte in range(8):
            self._cells.append(cells[:, byte])
            self._used.append(used)

    def flatten(self) -> tuple[Bytes, Ints]:
        """Return the bytes of all rows, and the length of each row."""
        used = np.stack(self._used, axis=1)
        return np.stack(self._cells, axis=1)[used], used.sum(axis=1)


def interleave(heads: Bytes, head_sizes: Ints, tails: Bytes, tail_sizes: Ints) -> Bytes:
    """Return each row's head followed by its tail."""
    if not len(tails):
        return heads
    sizes = head_sizes + tail_sizes
    begins = np.cumsum(sizes) - sizes
    out = np.empty(len(heads) + len(tails), np.uint8)
    out[_spread(begins, head_sizes)] = heads
    out[_spread(begins + head_sizes, tail_sizes)] = tails
    return out


def _spread(begins: Ints, sizes: Ints) -> Ints:
    """Return the indexes begin, begin + 1, … of each row."""
    before = np.cumsum(sizes) - sizes
    return np.repeat(begins - before, sizes) + np.arange(int(sizes.sum()))
