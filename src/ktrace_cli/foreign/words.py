"""Events of other tracers as words of ours, so that one reader pairs and places both."""

from __future__ import annotations

import numpy as np

from ktrace_cli.foreign.events import NO_VALUE, EventBatch
from ktrace_cli.model import Columns
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.trace_file.layout import (
    REGION_HEADER,
    TAG_ID_MASK,
    TAG_KIND_SHIFT,
    WORD,
    Kind,
    ValueType,
)

_HEADER_WORDS = REGION_HEADER // WORD.itemsize
_LOW = np.uint64(0xFFFFFFFF)
# A word's clock has 32 bits; the reader doubts a step of more than half of that.
_LONGEST_STEP = 1 << 31


def count_words(batch: EventBatch) -> Ints:
    """Return how many words each wave needs."""
    words = np.concatenate(([0], np.cumsum(_words_of(batch, _is_far(batch)))))
    counts: Ints = words[batch.starts + batch.counts] - words[batch.starts]
    return counts


def encode(batch: EventBatch) -> tuple[Columns, Ints]:
    """Return the words of all waves one behind the other, and where each wave's begin.

    Numbers of words are those of main words of a region; a STOP names its START's.
    """
    events, is_far = batch.events, _is_far(batch)
    sizes = _words_of(batch, is_far)
    behind = np.cumsum(sizes)
    first = np.concatenate(([0], behind))[batch.starts]
    words = np.zeros(int(behind[-1]) if len(behind) else 0, WORD)
    place = behind - 1
    ticks = events["ticks"].astype(np.uint64)
    words["clock"][place] = (ticks & _LOW).astype(np.uint32)
    words["tag"][place] = _tags(batch, place, first)
    far = np.flatnonzero(is_far)
    anchors = behind[far] - sizes[far]
    words["clock"][anchors] = (ticks[far] & _LOW).astype(np.uint32)
    high = (ticks[far] >> np.uint64(32)).astype(np.uint32)
    words["tag"][anchors] = np.uint32(Kind.ANCHOR << TAG_KIND_SHIFT) | high
    _put_values(words, events, place)
    return words, first


def _is_far(batch: EventBatch) -> Columns:
    """Tell which events come so long after the one before that a word must tell all of the time."""
    ticks = batch.events["ticks"]
    is_far = np.zeros(len(ticks), np.bool_)
    is_far[1:] = ticks[1:] - ticks[:-1] >= _LONGEST_STEP
    is_far[batch.starts[batch.counts > 0]] = False
    return is_far


def _words_of(batch: EventBatch, is_far: Columns) -> Ints:
    types = batch.events["type"]
    is_wide = (types >= ValueType.I64) & (types <= ValueType.F64)
    return np.asarray(1 + is_far.astype(np.int64) + (types != NO_VALUE) + is_wide, np.int64)


def _tags(batch: EventBatch, place: Ints, first: Ints) -> Columns:
    events = batch.events
    ids = events["id"] & np.uint32(TAG_ID_MASK)
    is_pop = events["kind"] == Kind.POP
    ids[is_pop] = 0
    stops = np.flatnonzero(events["kind"] == Kind.STOP)
    if len(stops):
        wave = np.searchsorted(np.cumsum(batch.counts), stops, "right")
        start = events["start"][stops].astype(np.int64)
        has_start = (start >= 0) & (start < batch.counts[wave])
        begun = place[np.where(has_start, batch.starts[wave] + start, 0)]
        # No word has a number within the header: such a STOP stops nothing.
        number = np.where(has_start, begun - first[wave] + _HEADER_WORDS, 0)
        ids[stops] = number.astype(np.uint32)
    tags: Columns = events["kind"].astype(np.uint32) << np.uint32(TAG_KIND_SHIFT) | ids
    return tags


def _put_values(words: Columns, events: Columns, place: Ints) -> None:
    rows = np.flatnonzero(events["type"] != NO_VALUE)
    types, bits = events["type"][rows].astype(np.uint32), events["bits"][rows]
    bits = np.where(types == ValueType.BOOL, (bits != 0).astype(np.uint64), bits)
    is_wide = types >= ValueType.I64
    at = place[rows] - 1 - is_wide
    tag = np.uint32(Kind.VALUE << TAG_KIND_SHIFT) | types
    words["clock"][at] = (bits & _LOW).astype(np.uint32)
    words["tag"][at] = tag
    wide = np.flatnonzero(is_wide)
    words["clock"][at[wide] + 1] = (bits[wide] >> np.uint64(32)).astype(np.uint32)
    words["tag"][at[wide] + 1] = tag[wide] | np.uint32(ValueType.HIGH)
