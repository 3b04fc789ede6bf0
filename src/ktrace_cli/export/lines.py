"""Many lines at once: columns of pieces, most of which occur again and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import orjson

from ktrace_cli.model import Columns

Pieces = Sequence[bytes]
"""One for each line."""


class Cached(dict[int, bytes]):
    """Makes the piece for a number when it is first asked for."""

    def __init__(self, make: Callable[[int], bytes]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, number: int) -> bytes:
        """Make it."""
        self[number] = made = self._make(number)
        return made

    def pieces(self, numbers: Columns) -> list[bytes]:
        """Return the piece of each number."""
        return [self[number] for number in numbers.tolist()]


def number_pieces(*columns: Columns) -> list[bytes]:
    """Return the numbers of each line, with commas between them."""
    if not len(columns[0]):
        return []
    if len(columns) == 1:
        return _dump(columns[0])[1:-1].split(b",")
    return _dump(np.column_stack(columns))[2:-2].split(b"],[")


def _dump(numbers: Columns) -> bytes:
    # As JSON, numpy's numbers become text without becoming objects first.
    return orjson.dumps(np.ascontiguousarray(numbers), option=orjson.OPT_SERIALIZE_NUMPY)


def join_lines(count: int, *columns: Pieces | bytes) -> bytes:
    """Return `count` lines of a piece from each column; a single piece is that of all lines."""
    pieces: list[bytes] = [b""] * (count * len(columns))
    for number, column in enumerate(columns):
        own = [column] * count if isinstance(column, bytes) else column
        pieces[number :: len(columns)] = own
    return b"".join(pieces)
