"""The middle of a sample, and how much runs differ."""

import numpy as np
import pytest

from ktrace_cli.analysis.compare.center import center, centers, noise_between, noise_of


def test_the_middle_leaves_out_the_fastest_and_the_slowest_tenth() -> None:
    assert center(np.array([100.0] * 7 + [900.0])) == 100.0
    assert center(np.array([0.0, 10.0, 20.0, 90.0])) == 15.0
    assert center(np.arange(100.0)) == 49.5
    assert center(np.array([4.0, 8.0])) == 6.0
    assert center(np.zeros(0)) == 0.0


def test_a_change_in_a_third_of_the_units_moves_the_middle() -> None:
    before, after = np.full(9, 100.0), np.array([100.0] * 6 + [200.0] * 3)

    assert (center(before), center(after)) == (100.0, pytest.approx(128.57, abs=0.01))


def test_a_phase_that_few_units_have_is_compared_by_plain_means() -> None:
    rare = np.array([0.0] * 19 + [40.0])

    assert centers(rare, 2 * rare) == (2.0, 4.0)
    assert centers(np.full(5, 8.0), np.full(5, 9.0)) == (8.0, 9.0)
    assert centers(np.zeros(0), np.full(5, 9.0)) == (0.0, 9.0)


def test_a_single_run_on_each_side_tells_nothing_of_noise() -> None:
    assert noise_between([100.0], [110.0]) is None
    assert noise_between([], [100.0, 110.0]) is None
    assert noise_between([0.0, 0.0], [1.0, 2.0]) is None
    assert noise_of([100.0]) is None


def test_noise_is_three_deviations_of_the_difference_enlarged_for_few_runs() -> None:
    # Deviation 1 % in logarithms; of five runs 0.94 of it is seen; sqrt(1/5 + 1) for one more run.
    runs = [100 * np.exp(0.01 * x) for x in (-1.0, 1.0, -1.0, 1.0, 0.0)]

    assert noise_between(runs, [103.0]) == pytest.approx(0.03558, abs=1e-5)
    assert noise_of(runs) == pytest.approx(noise_between(runs, [100.0]))
    # Two runs show 0.8 of what runs differ by.
    assert noise_between(runs[:2], [100.0]) == pytest.approx(
        0.06729, abs=1e-5
    )


def test_runs_that_do_not_differ_have_no_noise() -> None:
    assert noise_between([100.0, 100.0], [100.0]) == 0.0
