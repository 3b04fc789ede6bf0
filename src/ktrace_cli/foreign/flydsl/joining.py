"""Which of the process's launches each dispatch in FlyDSL's buffer is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from ktrace_cli.model import Columns
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.trace_file import layout

_MOST_QUEUES = 5
NONE = -1


@dataclass(frozen=True)
class Dispatches:
    """What waves tell of the dispatches of one copy, in order of queue and dispatch id."""

    queue: Ints
    waves: Ints
    blocks: Ints
    """One more than the highest block index, shape (n, 3)."""
    waves_per_block: Ints
    """One more than the highest wave number."""
    first_tick: Ints

    def __len__(self) -> int:
        return len(self.queue)


def join(dispatches: Dispatches, launches: Sequence[np.void]) -> tuple[list[int], bool]:
    """Return of each dispatch the number of its launch, or NONE, and whether that is certain.

    Dispatches of a queue are in the order of their launches. Where streams have queues of their
    own, a stream's queue is one that has as many dispatches as the stream has launches, none of
    them contradicting its launch.

    Args:
        dispatches: of one copy.
        launches: layout.DISPATCH of the launches that wrote to it, in their order.
    """
    fits = _fits(dispatches, launches)
    queues = list(dict.fromkeys(dispatches.queue.tolist()))
    if len(queues) <= 1:
        return _in_order(fits, range(len(dispatches)), range(len(launches))), True
    rows_by_stream: dict[int, list[int]] = {}
    for row, launch in enumerate(launches):
        rows_by_stream.setdefault(int(launch["stream"]), []).append(row)
    found = [NONE] * len(dispatches)
    if len(rows_by_stream) != len(queues) or len(queues) > _MOST_QUEUES:
        return found, True
    rows_by_queue = {queue: np.flatnonzero(dispatches.queue == queue).tolist() for queue in queues}
    possible = [
        order
        for order in permutations(queues)
        if all(
            len(rows) == len(rows_by_queue[queue])
            and all(fits[d][row] for d, row in zip(rows_by_queue[queue], rows, strict=True))
            for rows, queue in zip(rows_by_stream.values(), order, strict=True)
        )
    ]
    if not possible:
        return found, True
    first = {queue: dispatches.first_tick[rows].min() for queue, rows in rows_by_queue.items()}
    # Streams are listed in order of their first launch.
    best = min(possible, key=lambda order: _disorder([int(first[queue]) for queue in order]))
    for rows, queue in zip(rows_by_stream.values(), best, strict=True):
        for dispatch, row in zip(rows_by_queue[queue], rows, strict=True):
            found[dispatch] = row
    return found, len(possible) == 1


def _fits(dispatches: Dispatches, launches: Sequence[np.void]) -> list[list[bool]]:
    """Tell of each dispatch which launches it does not contradict."""
    rows = np.array(launches, layout.DISPATCH)
    threads = rows["block"].astype(np.int64).prod(axis=1)
    waves = -(-threads // layout.WAVE_SIZE)
    fits = (dispatches.blocks[:, None, :] <= rows["grid"].astype(np.int64)[None]).all(axis=2)
    fits &= dispatches.waves_per_block[:, None] <= waves[None]
    fits &= dispatches.waves[:, None] <= rows["expected"].astype(np.int64)[None]
    return [list(map(bool, row)) for row in fits]


def _in_order(fits: list[list[bool]], dispatches: range, launches: range) -> list[int]:
    """Join dispatches to launches in order, where that is possible in one way only.

    Launches may have left no wave; each dispatch is of one launch. The earliest launch that every
    dispatch can have, and the latest, are the same then.
    """
    early = _greedy(fits, dispatches, launches)
    late = _greedy(fits, dispatches[::-1], launches[::-1])
    return [a if a == b else NONE for a, b in zip(early, late[::-1], strict=True)]


def _greedy(fits: list[list[bool]], dispatches: range, launches: range) -> list[int]:
    rest, found = iter(launches), []
    for dispatch in dispatches:
        row = next((row for row in rest if fits[dispatch][row]), NONE)
        if row == NONE:
            return [NONE] * len(dispatches)
        found.append(row)
    return found


def _disorder(times: list[int]) -> int:
    return sum(b < a for i, a in enumerate(times) for b in times[i + 1 :])


def describe(waves: Columns, headers: Columns, first_tick: Ints) -> tuple[Ints, Dispatches]:
    """Return of each wave its dispatch, and what waves tell of these.

    Args:
        waves: model.WAVE of one copy.
        headers: WAVE_HEADER of the same.
        first_tick: of each; 0: it has no event.
    """
    keys = np.zeros(len(headers), [("queue", "<u8"), ("dispatch", "<u8")])
    keys["queue"], keys["dispatch"] = headers["queue"], headers["dispatch"]
    launches, of_wave = np.unique(keys, return_inverse=True)
    of = of_wave.reshape(-1).astype(np.int64)
    count = len(launches)
    blocks, per_block = np.zeros((count, 3), np.int64), np.zeros(count, np.int64)
    np.maximum.at(blocks, of, waves["block"].astype(np.int64) + 1)
    np.maximum.at(per_block, of, waves["wave"].astype(np.int64) + 1)
    first = np.full(count, np.iinfo(np.int64).max)
    has_tick = first_tick > 0
    np.minimum.at(first, of[has_tick], first_tick[has_tick])
    _, queue = np.unique(launches["queue"], return_inverse=True)
    waves_of = np.bincount(of, minlength=count)
    return of, Dispatches(queue.reshape(-1), waves_of, blocks, per_block, first)
