"""Rows that use something in turn: which of them share a track, and in which order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ktrace_cli.model import Columns
from ktrace_cli.timeline.lanes import first_fit
from ktrace_cli.timeline.segments import Ints, bisect, run_numbers, run_starts, run_stops

_LARGEST_KEY = 1 << 62


@dataclass(frozen=True)
class Slots:
    """Tracks, in order of their keys, and which one each row is on."""

    keys: list[tuple[int, ...]]
    numbers: list[int]
    """From 0: the second track of a key takes what does not fit on its first."""
    of_row: Ints

    def __iter__(self) -> Iterator[tuple[tuple[int, ...], int]]:
        """Yield key and number of each track."""
        return iter(zip(self.keys, self.numbers, strict=True))


def fit_slots(keys: Sequence[Columns], rows: Columns) -> Slots:
    """Put rows with equal keys on one track, and what overlaps there on a second one, and so on.

    A track's rows are in order of time, and those that follow each other without a gap are in order
    of their numbers: in that order they are written, and a viewer takes what happens at one time
    as it comes.

    Args:
        keys: columns, not negative.
        rows: of what has `begin_ns` and `end_ns`.
    """
    key = _one_key(keys)
    begin, end = rows["begin_ns"], rows["end_ns"]
    order = np.lexsort((end, begin, key))
    own, begin, end = key[order], begin[order], end[order]
    track = _fit(own, begin, end)
    if _is_against_order(track, begin, end, order):
        track = _fit(own, begin, end + _is_before_its_time(own, begin, end, order))
    _, first, place = np.unique(track, return_index=True, return_inverse=True)
    of_row = np.empty(len(order), np.int64)
    of_row[order] = place.ravel()
    numbers = numbers_in_runs(own[first])
    columns = [np.asarray(column)[order[first]].tolist() for column in keys]
    return Slots(list(zip(*columns, strict=True)), numbers.tolist(), of_row)


def numbers_in_runs(labels: Ints) -> Ints:
    """Return how many rows of the same run, of equal labels, are before each row."""
    starts = run_starts(labels)
    return np.arange(len(labels)) - starts[run_numbers(starts, len(labels))]


def _fit(key: Ints, begin: Ints, end: Ints) -> Ints:
    """Return a number for each row's track: by key, then from the first track that is free."""
    number = first_fit(key, begin, end)
    if not number.any():
        return _dense(key)
    # Keys are made dense, so that no product is too large.
    return _dense(key) * (int(number.max()) + 1) + number


def _dense(key: Ints) -> Ints:
    return run_numbers(run_starts(key), len(key))


def _is_against_order(track: Ints, begin: Ints, end: Ints, row: Ints) -> bool:
    """Tell whether something follows on its track at once what has a larger number."""
    order = np.argsort(track, kind="stable")
    track, begin, end, row = (column[order] for column in (track, begin, end, row))
    follows = (track[1:] == track[:-1]) & (begin[1:] == end[:-1])
    return bool(np.any(follows & (row[1:] < row[:-1])))


def _is_before_its_time(key: Ints, begin: Ints, end: Ints, row: Ints) -> Ints:
    """Return 1 for what ends when something begins that has a smaller number, else 0."""
    starts = run_starts(key)
    stops = run_stops(starts, len(key))
    first, stop = (np.repeat(at, stops - starts) for at in (starts, stops))
    low, high = bisect(begin, first, stop, end), bisect(begin, first, stop, end + 1)
    result = np.zeros(len(key), np.int64)
    at = np.flatnonzero(low < high)
    bounds = np.column_stack([low[at], high[at]]).ravel()
    earliest = np.minimum.reduceat(np.append(row, len(row)), bounds)[::2]
    result[at] = earliest < row[at]
    return result


def _one_key(columns: Sequence[Columns]) -> Ints:
    """Return a number for each row that orders rows as all columns do."""
    key = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        values = np.asarray(column, np.int64)
        size = int(values.max(initial=0)) + 1
        if (int(key.max(initial=0)) + 1) * size >= _LARGEST_KEY:
            key = np.unique(key, return_inverse=True)[1].ravel().astype(np.int64)
            if (int(key.max(initial=0)) + 1) * size >= _LARGEST_KEY:
                values = np.unique(values, return_inverse=True)[1].ravel().astype(np.int64)
                size = int(values.max(initial=0)) + 1
        key = key * size + values
    return key
