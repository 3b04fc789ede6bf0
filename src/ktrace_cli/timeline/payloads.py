"""Value words to values, each with the word that it belongs to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.model import VALUE, Columns
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import ValueType


def read_values(
    words: NDArray[Any], stream: Ints, is_value: NDArray[np.bool_]
) -> tuple[Ints, Columns, tuple[Ints, Ints], int]:
    """Read the value words.

    Returns:
        The row that each value belongs to, the values, the rows that have a unit and its key's low
        half, and how many value words belong to nothing.
    """
    rows = np.flatnonzero(is_value)
    type_ = (words["tag"][rows] & layout.TAG_ID_MASK).astype(np.int64)
    bits = words["clock"][rows].astype(np.uint64)
    others = np.flatnonzero(~is_value)
    # An extra row in no stream stands behind the last word.
    behind = np.append(others, len(words))[np.searchsorted(others, rows)]
    is_owned = np.append(stream, -1)[behind] == stream[rows]
    wide = (type_ >= ValueType.I64) & (type_ <= ValueType.F64)

    # The high half is the next word, of the same type.
    has_high = np.zeros(len(rows), np.bool_)
    has_high[:-1] = wide[:-1] & (rows[1:] == rows[:-1] + 1) & is_owned[:-1] & is_owned[1:]
    has_high[:-1] &= type_[1:] == (type_[:-1] | ValueType.HIGH)
    is_high = np.zeros(len(rows), np.bool_)
    is_high[1:] = has_high[:-1]
    bits[has_high] |= bits[is_high] << np.uint64(32)

    is_unit = is_owned & (type_ == ValueType.UNIT)
    is_good = is_owned & ((type_ <= ValueType.F32) | has_high)
    values = np.zeros(int(np.count_nonzero(is_good)), VALUE)
    values["type"] = type_[is_good]
    values["bits"] = bits[is_good]
    units = (behind[is_unit], bits[is_unit].astype(np.int64))
    stray = int(np.count_nonzero(~(is_good | is_unit | is_high)))
    return behind[is_good], values, units, stray
