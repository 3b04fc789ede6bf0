"""The test of Mann and Whitney, and Holm's correction, against what they are defined as."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktrace_cli.analysis.compare.rank_test import adjust, can_show, p_value


def by_definition(one: list[float], other: list[float]) -> float:
    """The share of all ways to choose the first sample whose rank sum is as far from the middle."""
    both = [*one, *other]
    ranks = [sum(x < y for x in both) + (sum(x == y for x in both) + 1) / 2 for y in both]
    middle = len(one) * (len(both) + 1) / 2
    found = abs(sum(ranks[: len(one)]) - middle)
    sums = [sum(chosen) for chosen in combinations(ranks, len(one))]
    return sum(abs(each - middle) >= found for each in sums) / len(sums)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (range(8), range(8, 16), 2 / 12_870),
        (range(3), range(3, 6), 0.1),
        ([1, 2], [3], 2 / 3),
        ([5] * 9, [5] * 9, 1.0),
        ([1] * 4, [2] * 4, 2 / 70),
        ([], [1, 2, 3], 1.0),
        ([1, 2, 3], [], 1.0),
    ],
)
def test_p_of_small_samples_is_counted_out(
    one: list[float], other: list[float], expected: float
) -> None:
    found = p_value(np.array(list(one), float), np.array(list(other), float))

    assert found == pytest.approx(expected, rel=1e-12)


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=6),
    st.lists(st.integers(0, 4), min_size=1, max_size=6),
)
def test_p_is_what_its_definition_says_also_with_ties(one: list[int], other: list[int]) -> None:
    found = p_value(np.array(one, float), np.array(other, float))

    assert found == pytest.approx(by_definition(list(map(float, one)), list(map(float, other))))


def test_p_of_large_samples_is_that_of_the_normal_distribution() -> None:
    # 30 and 30 values, interleaved but for a shift of ten: the sum of the first one's ranks is 765,
    # 150 below its mean of 915; the deviation is 67.64, so z is 149.5 / 67.64 = 2.21.
    one = np.arange(0.0, 60.0, 2.0)

    assert p_value(one, one + 11) == pytest.approx(0.0271, abs=5e-4)


def test_ties_make_large_samples_less_uneven() -> None:
    # Ranks of 15.5 and 45.5, a sum of 765 again; the deviation is 58.58, so z is 149.5 / 58.58.
    one, other = np.repeat([0.0, 1.0], [20, 10]), np.repeat([0.0, 1.0], [10, 20])

    assert p_value(one, other) == pytest.approx(0.01072, abs=1e-5)


def test_both_ways_to_find_p_agree_where_they_meet() -> None:
    rng = np.random.default_rng(1)
    one, other = np.round(rng.normal(0, 1, 25), 1), np.round(rng.normal(0.6, 1, 25), 1)

    exact = p_value(one, other)
    # The same numbers, once more than can be counted out.
    normal = p_value(np.append(one, 0.3), other)

    assert exact == pytest.approx(normal, abs=0.02)


def test_holm_multiplies_by_the_number_of_tests_that_are_left() -> None:
    assert adjust([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert adjust([0.9, 0.8]) == [1.0, 1.0]
    assert adjust([]) == []


def test_small_samples_cannot_show_anything_among_many_tests() -> None:
    assert can_show((8, 8), tests=1)
    assert not can_show((7, 1_000), tests=1)
    # The least p of 8 and 8 values is 1 in 6,435: times 321 it is below 5 %, times 322 above.
    assert can_show((8, 8), tests=321)
    assert not can_show((8, 8), tests=322)
