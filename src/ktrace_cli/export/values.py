"""Payloads as Python values."""

from __future__ import annotations

import numpy as np

from ktrace_cli.model import Columns
from ktrace_cli.trace_file.layout import ValueType

Value = bool | int | float


def to_python(values: Columns) -> list[Value]:
    """Return the value of each row of model.VALUE; 32-bit floats as their shortest decimals."""
    return [_value(int(row["type"]), int(row["bits"])) for row in values]


def as_doubles(values: Columns) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the F32 and F64 rows of model.VALUE as doubles."""
    bits = np.ascontiguousarray(values["bits"])
    is_single = values["type"] == ValueType.F32
    single = bits.astype(np.uint32).view(np.float32).astype(np.float64)
    return np.where(is_single, single, bits.view(np.float64))


def _value(value_type: int, bits: int) -> Value:
    match value_type:
        case ValueType.BOOL:
            return bool(bits)
        case ValueType.I32:
            return (bits ^ 1 << 31) - (1 << 31)
        case ValueType.I64:
            return (bits ^ 1 << 63) - (1 << 63)
        case ValueType.F32:
            return float(str(np.uint32(bits).view(np.float32)))
        case ValueType.F64:
            return float(np.uint64(bits).view(np.float64))
        case _:
            return bits
