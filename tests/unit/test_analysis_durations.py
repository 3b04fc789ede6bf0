"""Sums, variances, percentiles and histograms of durations, exact and in buckets."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktrace_cli.analysis import buckets, durations
from ktrace_cli.analysis.buckets import Bucket
from ktrace_cli.analysis.durations import PERCENTS, Durations, Times

NS = st.one_of(st.integers(0, 40), st.integers(0, 5_000), st.integers(0, 1 << 45))


def collect(
    parts: list[list[tuple[int, int]]], *, keys: int = 8, most_kept: int = 10**6
) -> Durations:
    found = Durations(keys, most_kept)
    for part in parts:
        rows = np.array(part, np.int64).reshape(-1, 2)
        found.add(rows[:, 0], rows[:, 1], rows[:, 1])
    return found


def times_of(ns: list[int], *, most_kept: int = 10**6) -> Times:
    ((_, times),) = collect([[(0, n) for n in ns]], most_kept=most_kept).times()
    return times


def nearest_rank(ns: list[int], percent: int) -> int:
    return sorted(ns)[math.ceil(len(ns) * percent / 100) - 1]


@given(st.lists(st.lists(st.tuples(st.integers(0, 7), NS), max_size=30), max_size=5))
def test_whatever_the_parts_all_that_is_said_of_a_key_is_exact(
    parts: list[list[tuple[int, int]]],
) -> None:
    found = dict(collect(parts).times())

    by_key: dict[int, list[int]] = {}
    for key, ns in (row for part in parts for row in part):
        by_key.setdefault(key, []).append(ns)
    assert set(found) == set(by_key)
    for key, ns in by_key.items():
        times = found[key]
        assert (times.count, times.total_ns) == (len(ns), sum(ns))
        assert (times.min_ns, times.max_ns) == (min(ns), max(ns))
        assert times.zero_length == ns.count(0)
        assert times.percentiles == tuple(nearest_rank(ns, percent) for percent in PERCENTS)
        assert times.variance_population == pytest.approx(
            statistics.pvariance(ns), rel=1e-9, abs=1e-3
        )
        assert times.histogram is not None
        assert sum(bucket.count for bucket in times.histogram) == len(ns)
        for bucket in times.histogram:
            inside = [n for n in ns if bucket.from_ns <= n < bucket.below_ns]
            assert bucket.count == len(inside)


@given(st.lists(st.lists(st.tuples(st.integers(0, 2), NS), max_size=30), min_size=2, max_size=5))
def test_past_the_limit_percentiles_are_within_their_error_and_the_rest_is_exact(
    parts: list[list[tuple[int, int]]],
) -> None:
    exact, bucketed = collect(parts), collect(parts, most_kept=10)

    by_key = dict(exact.times())
    for key, times in bucketed.times():
        same = by_key[key]
        assert times.percentiles is not None
        assert same.percentiles is not None
        for told, true in zip(times.percentiles, same.percentiles, strict=True):
            assert abs(told - true) <= true * buckets.LARGEST_ERROR
        assert times.histogram == same.histogram
        assert (times.count, times.total_ns, times.cv) == (same.count, same.total_ns, same.cv)
        assert (times.min_ns, times.max_ns) == (same.min_ns, same.max_ns)


def test_the_error_is_told_once_there_is_one() -> None:
    assert collect([[(0, 300)] * 10], most_kept=10).largest_error == 0
    assert collect([[(0, 300)] * 11], most_kept=10).largest_error == 1 / 256


def test_variance_is_that_of_the_population_and_of_a_sample() -> None:
    times = times_of([2, 4, 4, 4, 5, 5, 7, 9])

    assert times.mean_ns == 5.0
    assert times.variance_population == 4.0
    assert times.variance_sample == 4.571
    assert times.cv == 0.4


def test_what_one_duration_does_not_tell_is_none() -> None:
    times = times_of([7])

    assert (times.variance_population, times.variance_sample, times.cv) == (0.0, None, 0.0)
    assert times_of([0, 0]).cv is None


def test_squares_of_long_durations_near_each_other_do_not_cancel() -> None:
    times = times_of([10**15, 10**15 + 2])

    assert (times.variance_population, times.variance_sample) == (1.0, 2.0)


def test_histograms_go_from_the_first_bucket_that_holds_anything_to_the_last() -> None:
    assert times_of([0, 1, 9, 15, 16]).histogram == (
        Bucket(0, 1, 1),
        Bucket(1, 2, 1),
        Bucket(2, 4, 0),
        Bucket(4, 8, 0),
        Bucket(8, 16, 2),
        Bucket(16, 32, 1),
    )


def test_short_durations_have_fine_buckets_of_their_own() -> None:
    ns = np.arange(256)

    assert [buckets.middle(int(bucket)) for bucket in buckets.fine(ns)] == ns.tolist()


@given(st.integers(0, 1 << 52))
def test_the_middle_of_a_fine_bucket_is_near_all_that_is_in_it(ns: int) -> None:
    (bucket,) = buckets.fine(np.array([ns])).tolist()

    assert abs(buckets.middle(bucket) - ns) <= ns * buckets.LARGEST_ERROR
    assert buckets.fine_to_coarse(np.array([bucket])) == buckets.coarse(np.array([ns]))


def test_with_too_many_keys_there_are_sums_and_no_percentiles() -> None:
    found = collect([[(0, 5), (10_000, 7)], [(10_000, 9)]], keys=durations.MOST_KEYS + 1)

    by_key = dict(found.times())
    assert (by_key[10_000].count, by_key[10_000].total_ns) == (2, 16)
    assert by_key[10_000].percentiles is None
    assert by_key[10_000].histogram is None


def test_self_times_are_added_up_by_key() -> None:
    found = Durations(2)
    found.add(np.array([1, 0, 1]), np.array([10, 20, 30]), np.array([1, 20, 3]))

    assert {key: times.self_ns for key, times in found.times()} == {0: 20, 1: 4}
