"""What the kernels of kernels/markers.hip must record, word by word: a model on the host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import Kind, ValueType

SEED = 0x5EED1234
FIRST_WORD = layout.REGION_HEADER // layout.WORD.itemsize
_SPREAD = 2654435761
_FACTOR = 4294967311

Ids = Mapping[str, int]
"""Event ids by name."""
Words = NDArray[Any]


@dataclass(frozen=True)
class Expected:
    """Words of some waves: one row for each wave, or one row for all where they are the same."""

    tags: NDArray[np.uint32]
    """Shape (words,); of a span word without its duration."""
    bits: NDArray[np.uint32]
    """Payloads, shape (waves, words); 0 where the word holds a clock."""

    @property
    def holds_clock(self) -> NDArray[np.bool_]:
        """Which words hold a clock, shape (words,)."""
        kinds = self.tags >> layout.TAG_KIND_SHIFT
        return np.asarray(self.is_span | (kinds != Kind.VALUE))

    @property
    def is_span(self) -> NDArray[np.bool_]:
        """Which words are span words, shape (words,)."""
        return np.asarray((self.tags & layout.TAG_SPAN) != 0)

    def __getitem__(self, words: slice) -> Expected:
        return Expected(self.tags[words], self.bits[:, words])


class _Stream:
    """Collects the words of one stream of all waves."""

    def __init__(self, keys: NDArray[np.uint32], *, is_side: bool = False) -> None:
        self._keys = keys
        self._side = layout.TAG_SIDE if is_side else 0
        self._tags: list[int] = []
        self._bits: list[NDArray[np.uint32]] = []

    def __len__(self) -> int:
        return len(self._tags)

    def event(self, kind: Kind, number: int = 0) -> None:
        self._add(kind << layout.TAG_KIND_SHIFT | self._side | number, 0)

    def span(self, number: int) -> None:
        self._add(layout.TAG_SPAN | number << layout.SPAN_ID_SHIFT, 0)

    def value(self, kind: ValueType | int, bits: NDArray[np.uint32] | int) -> None:
        self._add(Kind.VALUE << layout.TAG_KIND_SHIFT | self._side | kind, bits)

    def _add(self, tag: int, bits: NDArray[np.uint32] | int) -> None:
        self._tags.append(tag)
        self._bits.append(np.broadcast_to(np.asarray(bits, np.uint32), self._keys.shape))

    def expected(self) -> Expected:
        tags = np.array(self._tags, np.uint32)
        bits = np.column_stack(self._bits) if self._bits else np.zeros((len(self._keys), 0))
        return Expected(tags, bits.astype(np.uint32))


def keys_of(waves: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Return `key_of_wave` of the kernels for linear numbers of waves."""
    return np.asarray((SEED ^ (waves * _SPREAD)) & 0xFFFFFFFF, np.uint32)


def pattern_words(ids: Ids, waves: NDArray[np.int64], rounds: int) -> tuple[Expected, Expected]:
    """Return the main and the side words that selftest_pattern writes, each in order of time."""
    keys = keys_of(waves)
    main, side = _Stream(keys), _Stream(keys, is_side=True)
    main.event(Kind.GROUP, ids["pattern"])
    main.value(ValueType.U32, keys)
    main.event(Kind.PUSH, ids["push"])
    product = keys.astype(np.uint64) * np.uint64(_FACTOR)
    for i in range(rounds):
        main.value(ValueType.U32, i)
        main.value(ValueType.F32, int(np.float32(i * 0.5).view(np.uint32)))
        main.value(ValueType.U64, (product & np.uint64(0xFFFFFFFF)).astype(np.uint32))
        main.value(ValueType.U64 | ValueType.HIGH, (product >> np.uint64(32)).astype(np.uint32))
        main.event(Kind.MARK, ids["mark"])
        main.value(ValueType.U32, keys + np.uint32(i))
        main.span(ids["range"])
        side.value(ValueType.U32, keys ^ np.uint32(i))
        side.event(Kind.MARK, ids["side"])
        main.event(Kind.PHASE, ids["phase"])
        started = FIRST_WORD + len(main)
        main.event(Kind.START, ids["token"])
        main.event(Kind.STOP, started)
    main.event(Kind.PHASE_END)
    main.event(Kind.POP)
    return main.expected(), side.expected()


def overflow_words(
    ids: Ids, waves: NDArray[np.int64], main_marks: int, side_marks: int
) -> tuple[Expected, Expected]:
    """Return the main and the side words that selftest_overflow tries to write."""
    keys = keys_of(waves)
    main, side = _Stream(keys), _Stream(keys, is_side=True)
    main.event(Kind.GROUP, ids["overflow"])
    for stream, name, marks in ((main, "main", main_marks), (side, "side", side_marks)):
        for i in range(marks):
            stream.value(ValueType.U32, keys + np.uint32(i))
            stream.event(Kind.MARK, ids[name])
    return main.expected(), side.expected()


def differing_words(found: Words, expected: Expected, begin: Words, end: Words) -> int:
    """Count the words that are not as expected.

    Args:
        found: layout.WORD in order of time, shape (waves, words), as many as are expected.
        expected: of these waves.
        begin: `memtime_begin` of each wave.
        end: its `memtime_end`.
    """
    mask = np.where(expected.is_span, ~np.uint32(layout.SPAN_LIMIT - 1), ~np.uint32(0))
    is_wrong = (found["tag"] & mask) != expected.tags
    holds_clock = expected.holds_clock
    is_wrong |= ~holds_clock & (found["clock"] != expected.bits)
    # Modulo 2^32, as the words hold the lower half of a clock.
    since_begin = found["clock"] - begin[:, None].astype(np.uint32)
    length = (end - begin)[:, None].astype(np.uint32)
    is_wrong |= holds_clock & (since_begin > length)
    if holds_clock.any():
        clocks = since_begin[:, holds_clock].astype(np.int64)
        is_wrong[:, np.flatnonzero(holds_clock)[1:]] |= np.diff(clocks, axis=1) < 0
    return int(is_wrong.sum())
