"""Payloads as Python values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.model import Columns
from ktrace_cli.trace_file.layout import ValueType

Value = bool | int | float
Bits = NDArray[np.uint64]


def to_python(values: Columns) -> list[Value]:
    """Return the value of each row of model.VALUE; 32-bit floats as their shortest decimals."""
    bits = np.ascontiguousarray(values["bits"])
    found: list[Value] = bits.tolist()
    for value_type, read in _READERS.items():
        rows = np.flatnonzero(values["type"] == value_type)
        for row, value in zip(rows.tolist(), read(bits[rows]), strict=True):
            found[row] = value
    return found


def as_doubles(values: Columns) -> NDArray[np.float64]:
    """Return the F32 and F64 rows of model.VALUE as doubles."""
    bits = np.ascontiguousarray(values["bits"])
    is_single = values["type"] == ValueType.F32
    return np.where(is_single, _singles(bits).astype(np.float64), bits.view(np.float64))


def show(value: Value) -> str:
    """Return a value as text: `true`, `-7`, `0.1`, `nan`."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def payloads(rows: Columns, values: Columns) -> dict[int, list[Value]]:
    """Return the payload of each of `rows` that has one, by its place among them.

    Args:
        rows: with the columns `first_value` and `values`.
        values: model.VALUE.
    """
    owners = np.flatnonzero(rows["values"])
    counts = rows["values"][owners].astype(np.int64)
    ends = np.cumsum(counts)
    within = np.arange(int(counts.sum())) - np.repeat(ends - counts, counts)
    found = to_python(values[np.repeat(rows["first_value"][owners], counts) + within])
    begins = (ends - counts).tolist()
    return {
        owner: found[begin:end]
        for owner, begin, end in zip(owners.tolist(), begins, ends.tolist(), strict=True)
    }


def _singles(bits: Bits) -> NDArray[np.float32]:
    return bits.astype(np.uint32).view(np.float32)


_READERS: Mapping[ValueType, Callable[[Bits], list[Any]]] = {
    ValueType.BOOL: lambda bits: (bits != 0).tolist(),
    ValueType.I32: lambda bits: bits.astype(np.uint32).view(np.int32).tolist(),
    ValueType.I64: lambda bits: bits.view(np.int64).tolist(),
    ValueType.F32: lambda bits: [float(str(single)) for single in _singles(bits)],
    ValueType.F64: lambda bits: bits.view(np.float64).tolist(),
}
