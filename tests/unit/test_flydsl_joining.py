"""Dispatches of FlyDSL's buffer find their launches, or it is said that they cannot."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ktrace_cli.foreign.flydsl.joining import NONE, Dispatches, join
from ktrace_cli.trace_file import layout


def launch(grid: int, *, stream: int = 0, block: int = 64) -> np.void:
    row = np.zeros(1, layout.DISPATCH)[0]
    row["grid"], row["block"], row["stream"] = (grid, 1, 1), (block, 1, 1), stream
    row["expected"] = grid * -(-block // 64)
    return row


def dispatches(
    *grids: int, queues: tuple[int, ...] = (), ticks: tuple[int, ...] = ()
) -> Dispatches:
    count = len(grids)
    blocks = np.ones((count, 3), np.int64)
    blocks[:, 0] = grids
    return Dispatches(
        queue=np.array(queues or [0] * count),
        waves=np.array(grids),
        blocks=blocks,
        waves_per_block=np.ones(count, np.int64),
        first_tick=np.array(ticks or range(1, count + 1)),
    )


def test_one_queue_is_in_the_order_of_the_launches_whatever_their_streams() -> None:
    launches = [launch(2), launch(3, stream=1), launch(2)]

    assert join(dispatches(2, 3, 2), launches) == ([0, 1, 2], True)


def test_launches_without_waves_are_passed_over_where_only_one_way_is_possible() -> None:
    assert join(dispatches(5), [launch(2), launch(5), launch(3)]) == ([1], True)
    assert join(dispatches(2, 9), [launch(2), launch(4), launch(9)])[0] == [NONE, 1 + 1]


def test_more_dispatches_than_launches_stay_alone() -> None:
    assert join(dispatches(2, 2), [launch(2)]) == ([NONE, NONE], True)


def test_a_dispatch_that_contradicts_its_launch_is_not_joined() -> None:
    assert join(dispatches(4), [launch(3)]) == ([NONE], True)


def test_streams_with_queues_of_their_own_are_told_by_what_was_launched() -> None:
    launches = [launch(2, stream=1), launch(7, stream=2), launch(3, stream=1)]

    found = join(dispatches(7, 2, 3, queues=(0, 1, 1)), launches)

    assert found == ([1, 0, 2], True)


def test_streams_that_launched_the_same_are_told_by_time_and_that_is_said() -> None:
    launches = [launch(2, stream=1), launch(2, stream=2)]

    found = join(dispatches(2, 2, queues=(0, 1), ticks=(20, 10)), launches)

    assert found == ([1, 0], False)


@given(
    st.lists(st.integers(1, 3), max_size=6),
    st.lists(st.integers(0, 2), min_size=6, max_size=6),
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 2)), max_size=6),
)
def test_whatever_is_joined_is_joined_once_and_does_not_contradict(
    grids: list[int], queues: list[int], launched: list[tuple[int, int]]
) -> None:
    launches = [launch(grid, stream=stream) for grid, stream in launched]

    found, _ = join(dispatches(*grids, queues=tuple(sorted(queues[: len(grids)]))), launches)

    joined = [row for row in found if row != NONE]
    assert len(found) == len(grids)
    assert len(set(joined)) == len(joined)
    assert all(launched[row][0] >= grid for row, grid in zip(found, grids, strict=True) if row >= 0)
