"""The bytes of a buffer, in a file of their own or in one that numpy wrote."""

from __future__ import annotations

import io
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

from ktrace_cli.errors import TraceFileError
from ktrace_cli.trace_file.mapping import Bytes, map_file

_NUMPY = b"\x93NUMPY"
_MOST_HEADER = 1 << 16
_WORD = 8


@dataclass(frozen=True)
class Buffer:
    """What a device's buffer held."""

    path: Path
    data: Bytes | memoryview
    shape: tuple[int, ...] = ()
    """Of numpy's array of 8-byte words; () if it was none."""

    def __len__(self) -> int:
        return len(self.data)


def read_buffer(path: Path) -> Buffer:
    """Map a file; the header of a numpy file is read and left out.

    Raises:
        TraceFileError: it cannot be read, or numpy's header means nothing.
    """
    data = map_file(path, TraceFileError)
    if data[: len(_NUMPY)] != _NUMPY:
        return Buffer(path, data)
    head = io.BytesIO(data[:_MOST_HEADER])
    try:
        version = np.lib.format.read_magic(head)
        read = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        shape, is_fortran, dtype = read(head)
    except (ValueError, SyntaxError, TypeError, KeyError) as problem:
        raise _refuse(path, str(problem)) from problem
    if is_fortran and len(shape) > 1:
        raise _refuse(path, "its array is in Fortran order")
    if dtype.hasobject:
        raise _refuse(path, "its array holds Python objects")
    size = prod(shape) * dtype.itemsize
    whole = memoryview(data)[head.tell() :]
    axes = tuple(int(axis) for axis in shape) if dtype.itemsize == _WORD else ()
    return Buffer(path, whole[:size], axes)


def _refuse(path: Path, why: str) -> TraceFileError:
    return TraceFileError(
        f"cannot read {path}",
        why=f"it begins like a file of numpy, but {why}",
        fix="write the buffer with `numpy.save`, or its bytes with `ndarray.tofile`",
    )
