"""Payloads as Python values, as text and as JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.export.lines import number_pieces
from ktrace_cli.model import Columns
from ktrace_cli.trace_file.layout import ValueType

Value = bool | int | float
Bits = NDArray[np.uint64]

_MOST_EXACT = (1 << 53) - 1  # readers of JSON have doubles


def to_python(values: Columns) -> list[Value]:
    """Return the value of each row of model.VALUE; 32-bit floats as their shortest decimals."""
    return _read(values, lambda bits: bits.tolist(), _PYTHON)


def value_texts(values: Columns) -> list[bytes]:
    """Return each row of model.VALUE as text: `true`, `-7`, `0.1`, `nan`."""
    return _read(values, number_pieces, _TEXT)


def value_jsons(values: Columns) -> list[bytes]:
    """Return each row of model.VALUE as JSON; a string for what no double holds, or JSON lacks."""
    return _read(values, _json_integers, _JSON)


def payloads(rows: Columns, shown: list[bytes]) -> dict[int, list[bytes]]:
    """Return the payload of each of `rows` that has one, by its place among them.

    Args:
        rows: with the column `values`.
        shown: what value_texts or value_jsons says of `owned_values(rows, …)`.
    """
    owners, counts = _owners(rows)
    ends = np.cumsum(counts).tolist()
    return {
        owner: shown[end - count : end]
        for owner, count, end in zip(owners.tolist(), counts.tolist(), ends, strict=True)
    }


def payload_texts(rows: Columns, values: Columns, between: bytes) -> dict[int, bytes]:
    """Return the payload of each of `rows` that has one as text, by its place among them.

    Args:
        rows: with the columns `first_value` and `values`.
        values: model.VALUE.
        between: what stands between the values of one payload.
    """
    texts = value_texts(owned_values(rows, values))
    if rows["values"].max(initial=0) <= 1:
        return dict(zip(np.flatnonzero(rows["values"]).tolist(), texts, strict=True))
    return {owner: between.join(own) for owner, own in payloads(rows, texts).items()}


def owned_values(rows: Columns, values: Columns) -> Columns:
    """Return the values of all rows, one row after the other.

    Args:
        rows: with the columns `first_value` and `values`.
        values: model.VALUE.
    """
    owners, counts = _owners(rows)
    before = np.cumsum(counts) - counts
    first = np.repeat(rows["first_value"][owners] - before, counts)
    return values[first + np.arange(len(first))]


def _owners(rows: Columns) -> tuple[Columns, Columns]:
    owners = np.flatnonzero(rows["values"])
    return owners, rows["values"][owners].astype(np.int64)


def _read(
    values: Columns,
    otherwise: Callable[[Bits], list[Any]],
    readers: Mapping[ValueType, Callable[[Bits], list[Any]]],
) -> list[Any]:
    """Read the values of each type together; those of no type in `readers` are unsigned."""
    bits = np.ascontiguousarray(values["bits"])
    types = np.unique(values["type"]).tolist()
    if len(types) == 1:
        return readers.get(types[0], otherwise)(bits)
    found: list[Any] = [None] * len(bits)
    for value_type in types:
        rows = np.flatnonzero(values["type"] == value_type)
        read = readers.get(value_type, otherwise)
        for row, value in zip(rows.tolist(), read(bits[rows]), strict=True):
            found[row] = value
    return found


def _i32(bits: Bits) -> NDArray[np.int32]:
    return bits.astype(np.uint32).view(np.int32)


def _i64(bits: Bits) -> NDArray[np.int64]:
    return bits.view(np.int64)


def _singles(bits: Bits) -> list[float]:
    return [float(str(single)) for single in bits.astype(np.uint32).view(np.float32)]


def _doubles(bits: Bits) -> list[float]:
    doubles: list[float] = bits.view(np.float64).tolist()
    return doubles


def _json_integers(numbers: Columns) -> list[bytes]:
    pieces = number_pieces(numbers)
    too_large = (numbers > _MOST_EXACT) | (numbers < -_MOST_EXACT)
    for row in np.flatnonzero(too_large).tolist():
        pieces[row] = b'"%s"' % pieces[row]
    return pieces


def _json_floats(floats: list[float]) -> list[bytes]:
    column = np.array(floats, np.float64)
    pieces = number_pieces(column)
    for row in np.flatnonzero(~np.isfinite(column)).tolist():
        value = floats[row]
        pieces[row] = (
            b'"NaN"' if math.isnan(value) else b'"Infinity"' if value > 0 else b'"-Infinity"'
        )
    return pieces


def _booleans(bits: Bits) -> list[bytes]:
    return [b"true" if bit else b"false" for bit in bits.tolist()]


def _texts(floats: list[float]) -> list[bytes]:
    return [str(value).encode() for value in floats]


_PYTHON: Mapping[ValueType, Callable[[Bits], list[Any]]] = {
    ValueType.BOOL: lambda bits: (bits != 0).tolist(),
    ValueType.I32: lambda bits: _i32(bits).tolist(),
    ValueType.I64: lambda bits: _i64(bits).tolist(),
    ValueType.F32: _singles,
    ValueType.F64: _doubles,
}
_TEXT: Mapping[ValueType, Callable[[Bits], list[Any]]] = {
    ValueType.BOOL: _booleans,
    ValueType.I32: lambda bits: number_pieces(_i32(bits)),
    ValueType.I64: lambda bits: number_pieces(_i64(bits)),
    ValueType.F32: lambda bits: _texts(_singles(bits)),
    ValueType.F64: lambda bits: _texts(_doubles(bits)),
}
_JSON: Mapping[ValueType, Callable[[Bits], list[Any]]] = {
    ValueType.BOOL: _booleans,
    ValueType.I32: lambda bits: number_pieces(_i32(bits)),
    ValueType.I64: lambda bits: _json_integers(_i64(bits)),
    ValueType.F32: lambda bits: _json_floats(_singles(bits)),
    ValueType.F64: lambda bits: _json_floats(_doubles(bits)),
}
