"""The middle of a sample, and how much runs differ."""

import numpy as np
import pytest

from ktrace_cli.analysis.compare.center import Spread, center, centers, find_spread, noise_of


def test_the_middle_of_launches_is_the_mean_of_their_middle_half() -> None:
    assert center(np.array([100.0] * 6 + [900.0] * 2), "launch") == 100.0
    assert center(np.array([0.0, 10.0, 20.0, 90.0]), "launch") == 15.0
    assert center(np.arange(100.0), "launch") == 49.5
    assert center(np.array([4.0, 8.0]), "launch") == 6.0
    assert center(np.zeros(0), "launch") == 0.0


@pytest.mark.parametrize("level", ["workgroup", "wave"])
def test_a_change_in_a_third_of_the_workgroups_moves_their_middle(level: str) -> None:
    before, after = np.full(9, 100.0), np.array([100.0] * 6 + [200.0] * 3)

    middles = center(before, level), center(after, level)
    assert middles == (100.0, pytest.approx(128.57, abs=0.01))


def test_a_phase_that_few_units_have_is_compared_by_plain_means() -> None:
    rare = np.array([0.0] * 19 + [40.0])

    assert centers(rare, 2 * rare, "workgroup") == (2.0, 4.0)
    assert centers(np.full(5, 8.0), np.full(5, 9.0), "workgroup") == (8.0, 9.0)
    assert centers(np.zeros(0), np.full(5, 9.0), "workgroup") == (0.0, 9.0)


def test_a_single_run_on_each_side_tells_nothing_of_noise() -> None:
    assert find_spread([100.0], [110.0]) is None
    assert find_spread([], [100.0, 110.0]) is None
    assert find_spread([0.0, 0.0], [1.0, 2.0]) is None


def test_the_spread_of_runs_is_the_variance_within_both_sides() -> None:
    base = [100 * np.exp(x) for x in (-0.01, 0.01, 0.0)]
    new = [300 * np.exp(x) for x in (-0.02, 0.02)]

    spread = find_spread(base, new)

    assert spread is not None
    # 0.0001 + 0.0001 + 0.0004 + 0.0004 of three degrees of freedom.
    assert spread.variance == pytest.approx(0.001 / 3)
    assert (spread.freedom, spread.scale) == (3, pytest.approx(1 / 3 + 1 / 2))


@pytest.mark.parametrize(
    ("runs", "tests", "deviations"),
    # Student's t in tables, two-sided: 5 % with 8 and 5 degrees of freedom, 5 % / 25 with 13.
    [(5, 1, 2.306), (2, 1, 2.571), (10, 25, 3.852)],
)
def test_noise_is_students_t_times_the_deviation_of_the_difference(
    runs: int, tests: int, deviations: float
) -> None:
    spread = Spread(variance=0.0001, freedom=runs - 1, scale=1 / runs + 1)

    noise = noise_of(spread, [spread], tests)

    expected = np.exp(deviations * 0.01 * np.sqrt(1 / runs + 1)) - 1
    assert noise == pytest.approx(expected, rel=2e-3)


def test_a_phase_whose_few_runs_happened_to_agree_gets_noise_from_others() -> None:
    quiet, loud = Spread(0.0, 1, 1.5), Spread(0.0004, 1, 1.5)

    # Four fifths of the mean variance of both, 0.0002, and Student's t of 5 degrees: 2.571.
    assert noise_of(quiet, [quiet, loud], 1) == pytest.approx(
        np.exp(2.571 * np.sqrt(0.8 * 0.0002 * 1.5)) - 1, rel=2e-3
    )


def test_runs_that_do_not_differ_have_no_noise() -> None:
    spread = find_spread([100.0, 100.0], [100.0])

    assert spread is not None
    assert noise_of(spread, [spread], 10) == 0.0
