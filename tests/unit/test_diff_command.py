"""`ktrace diff`: its verdict, and when there is none."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from ktrace_cli.errors import UsageError
from support.comparing import (
    HARDWARE,
    US,
    On,
    Run,
    begin_recording,
    fill,
    ktrace,
    record_run,
    verdict,
)
from support.recording import Wave
from support.timelines import INNER, OUTER, TILE
from support.words import pop, push, span

PASSED = "PASSED: none of 5 phases became slower than allowed (`*>5%`)"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return record_run(tmp_path / "base.bin", Run(seed=1))


def lines(*arguments: object) -> list[str]:
    return [line.rstrip() for line in ktrace("diff", *arguments).stdout.splitlines()]


def row(shown: list[str], phase: str) -> list[str]:
    """Return the cells of a phase's row."""
    found = next(line for line in shown if line.strip().startswith(f"{phase} "))
    return [cell.strip() for cell in found.split("   ") if cell.strip()]


def test_a_run_compared_with_itself_passes(base: Path) -> None:
    assert verdict(base, base) == (0, PASSED)
    assert row(lines(base, base), "tile")[3:5] == ["0.0 %", "same"]


def test_twenty_pairs_of_equal_runs_pass(tmp_path: Path) -> None:
    verdicts = []
    for pair in range(20):
        one = record_run(tmp_path / "one.bin", Run(seed=100 + pair))
        other = record_run(tmp_path / "other.bin", Run(seed=200 + pair))
        verdicts.append(verdict(one, other))

    assert verdicts == [(0, PASSED)] * 20


def test_twenty_regressions_of_ten_percent_fail(tmp_path: Path, base: Path) -> None:
    verdicts = []
    for seed in range(20):
        run = Run(seed=300 + seed, scale={TILE: 1.1})
        verdicts.append(verdict(base, record_run(tmp_path / "slow.bin", run)))

    assert {status for status, _ in verdicts} == {3}
    assert all("1 of 5 phases became slower than allowed: `tile` of `gemm` +" in line
               for _, line in verdicts)  # fmt: skip


def test_the_first_line_tells_what_became_slower_and_by_how_much(tmp_path: Path) -> None:
    base = record_run(tmp_path / "base.bin", Run(noise=0))
    slow = record_run(tmp_path / "slow.bin", Run(noise=0, scale={TILE: 1.5, INNER: 0.5}))

    status, line = verdict(base, slow)

    assert (status, line) == (
        3,
        "REGRESSED: 1 of 5 phases became slower than allowed: `tile` of `gemm` +50.0 % (1 us ->"
        " 1.50 us per wave); 3 phases became faster",
    )


def test_a_faster_phase_is_shown_and_passes(tmp_path: Path, base: Path) -> None:
    fast = record_run(tmp_path / "fast.bin", Run(seed=2, scale={INNER: 0.9}))

    assert verdict(base, fast) == (0, f"{PASSED}; 3 phases became faster")
    shown = lines(base, fast)
    assert row(shown, "inner")[4] == "faster"
    assert row(shown, "tile")[4] == "same"


def test_a_change_below_two_ticks_of_the_clock_is_below_the_floor(tmp_path: Path) -> None:
    times = {OUTER: 84, INNER: 400 * US}  # 40 ns, 400 us
    base = record_run(tmp_path / "base.bin", Run(noise=0, times=times))
    new = record_run(tmp_path / "new.bin", Run(noise=0, times={OUTER: 126, INNER: 600 * US}))

    status, line = verdict(base, new)

    assert status == 3
    assert "`inner` of `gemm` +50.0 % (400 us -> 600 us per wave)" in line
    shown = lines(base, new)
    assert row(shown, "outer")[:5] == ["outer", "40 ns", "60 ns", "+50.0 %", "below the floor"]
    assert "below the floor: the change is shorter than two ticks of the clock tell" in shown
    assert verdict(base, new, "--floor", "0", "--fail-on", "outer>5%")[0] == 3
    assert verdict(base, new, "--floor", "300us")[0] == 0


def test_the_floor_is_for_each_occurrence(tmp_path: Path) -> None:
    paths = []
    for cycles in (84, 126):
        made, kernel = begin_recording(On())
        words = [span(TILE, 2_100 * n, 2_100 * n + cycles) for n in range(1, 9)]
        waves = [Wave(begin=2_100, end=42_000, main=words, block=(b, 0, 0)) for b in range(10)]
        made.add_dispatch(kernel, waves, grid=(10, 1, 1))
        paths.append(made.write(tmp_path / f"{cycles}.bin"))

    assert verdict(*paths)[0] == 0
    assert row(lines(*paths), "tile")[1:5] == ["320 ns", "480 ns", "+50.0 %", "below the floor"]


def test_a_phase_that_runs_more_often_is_a_regression_though_each_is_as_long(
    tmp_path: Path,
) -> None:
    paths = []
    for often in (8, 16):
        made, kernel = begin_recording(On())
        words = [span(TILE, 2_100 * n, 2_100 * n + 420) for n in range(1, often + 1)]
        waves = [Wave(begin=2_100, end=42_000, main=words, block=(b, 0, 0)) for b in range(10)]
        made.add_dispatch(kernel, waves, grid=(10, 1, 1))
        paths.append(made.write(tmp_path / f"{often}.bin"))

    status, line = verdict(*paths)

    assert status == 3
    assert "`tile` of `gemm` +100.0 % (1.60 us -> 3.20 us per wave)" in line
    assert row(lines(*paths), "tile")[5:7] == ["8 -> 16", "200 ns"]


def test_time_outside_of_phases_counts_as_the_waves(tmp_path: Path) -> None:
    base = record_run(tmp_path / "base.bin", Run(noise=0, times={INNER: US}))
    paths = [base]
    made, kernel = begin_recording(On())
    for launch in range(10):
        begin = 21_000 * (launch + 1)
        words = [push(INNER, begin + 210), pop(begin + 2_310)]
        waves = [
            Wave(begin=begin, end=begin + 8_400, main=words, block=(b, 0, 0), wave=w)
            for b in range(4)
            for w in range(2)
        ]
        made.add_dispatch(kernel, waves, grid=(4, 1, 1), block=(128, 1, 1))
    paths.append(made.write(tmp_path / "new.bin"))

    status, line = verdict(*paths)

    assert status == 3
    assert "2 of 3 phases became slower than allowed, first of all `(launch)`" in line


@pytest.mark.parametrize(
    ("rule", "status"),
    [
        ("tile>5%", 3),
        ("tile>15%", 0),
        ("tile>50ns", 3),
        ("tile>200ns", 0),
        ("tile>5%,200ns", 0),
        ("gemm:t*>5%", 3),
        ("inner>5%", 0),
    ],
)
def test_rules_say_what_fails(tmp_path: Path, rule: str, status: int) -> None:
    base = record_run(tmp_path / "base.bin", Run(noise=0))
    new = record_run(tmp_path / "new.bin", Run(noise=0, scale={TILE: 1.1}))

    assert verdict(base, new, "--fail-on", rule)[0] == status


def test_what_no_rule_is_about_is_shown_as_slower(tmp_path: Path) -> None:
    base = record_run(tmp_path / "base.bin", Run(noise=0))
    new = record_run(tmp_path / "new.bin", Run(noise=0, scale={TILE: 1.1}))

    shown = lines(base, new, "--fail-on", "inner>5%")

    assert row(shown, "tile")[3:5] == ["+10.0 %", "slower"]
    assert "slower: no `--fail-on` is about it" in shown


def test_a_rule_about_nothing_is_a_usage_error(base: Path) -> None:
    with pytest.raises(UsageError, match="`--fail-on 'mainlop>5%'` matches no phase"):
        ktrace("diff", base, base, "--fail-on", "mainlop>5%")


def test_a_rule_about_launches_needs_launches(tmp_path: Path) -> None:
    few = record_run(tmp_path / "few.bin", Run(launches=3))

    with pytest.raises(UsageError, match=r"--fail-on '\(launch\)>5%'` has nothing to compare"):
        ktrace("diff", few, few, "--fail-on", "(launch)>5%")


@pytest.mark.parametrize(
    ("launches", "workgroups", "waves", "compared"),
    [
        (8, 4, 2, "gemm: compared 8 launches with 8"),
        (3, 4, 2, "gemm: compared 12 workgroups with 12, as launches are too few (3 and 3)"),
        (1, 4, 2, "gemm: compared 8 waves with 8, as launches are too few (1 and 1)"),
        (1, 2_000, 1, "gemm: compared 1,000 workgroups with 1,000, drawn from 2,000 and 2,000, as"
         " launches are too few (1 and 1)"),
    ],
)  # fmt: skip
def test_what_is_compared_is_as_independent_as_there_is_enough_of(
    tmp_path: Path, launches: int, workgroups: int, waves: int, compared: str
) -> None:
    run = Run(launches=launches, workgroups=workgroups, waves=waves)
    path = record_run(tmp_path / "run.bin", run)

    assert compared in lines(path, path)


def test_too_few_measured_waves_to_tell_are_no_pass(tmp_path: Path) -> None:
    few = Run(noise=0, launches=1, workgroups=1, waves=2)
    base = record_run(tmp_path / "base.bin", few, HARDWARE)
    new = Run(noise=0, launches=1, workgroups=1, waves=2, scale={TILE: 1.5})

    status, line = verdict(base, record_run(tmp_path / "new.bin", new, HARDWARE))

    assert status == 4
    assert line == (
        "NOT DECIDED: `tile` of `gemm` took longer than allowed, but 2 and 2 waves are"
        " too few to tell that from chance"
    )
    assert verdict(base, base)[0] == 0


def test_modelled_times_of_few_waves_need_no_test(tmp_path: Path) -> None:
    few = Run(noise=0, launches=1, workgroups=1, waves=2)
    base = record_run(tmp_path / "base.bin", few)
    new = Run(noise=0, launches=1, workgroups=1, waves=2, scale={TILE: 1.5})

    assert verdict(base, record_run(tmp_path / "new.bin", new))[0] == 3


def record_uneven(path: Path, scale: float, on: On) -> Path:
    """Workgroup n works n times as long as the first: a causal mask, for example."""
    made, kernel = begin_recording(on)
    for begin in (100 * US, 200 * US):
        waves = []
        for block in range(16):
            end = begin + 420 + round((block + 1) * US * scale)
            words = [push(INNER, begin + 210), pop(end - 210)]
            waves.append(Wave(main=words, block=(block, 0, 0), begin=begin, end=end))
        made.add_dispatch(kernel, waves, grid=(16, 1, 1), block=(64, 1, 1))
    return made.write(path)


@pytest.mark.parametrize(
    ("on", "status", "first"),
    [
        (On(), 3, "REGRESSED: 2 of 2 phases became slower than allowed, first of all `inner`"),
        (HARDWARE, 4, "NOT DECIDED: `inner` of `gemm` and 1 more took longer than allowed, but"),
    ],
)
def test_unequal_work_of_few_launches_hides_no_regression(
    tmp_path: Path, on: On, status: int, first: str
) -> None:
    base = record_uneven(tmp_path / "base.bin", 1.0, on)

    found, line = verdict(base, record_uneven(tmp_path / "new.bin", 1.1, on))

    assert found == status
    assert line.startswith(first)
    assert verdict(base, base)[0] == 0


def test_a_cold_first_launch_hides_no_regression(tmp_path: Path) -> None:
    def record(name: str, scale: float) -> Path:
        made, kernel = begin_recording(HARDWARE)
        for number in range(8):
            part = Run(seed=number, noise=0.002, launches=1, scale={TILE: scale, INNER: scale})
            cold = {event: 5 * cycles for event, cycles in part.times.items()}
            fill(made, kernel, replace(part, times=cold if number == 0 else part.times))
        return made.write(tmp_path / name)

    shown = lines(record("base.bin", 1.0), record("new.bin", 1.06))

    assert shown[0].startswith("REGRESSED: 2 of 5 phases")
    assert row(shown, "inner")[-1] == "0.003"


def test_a_phase_that_few_launches_have_is_compared_in_these(tmp_path: Path) -> None:
    def record(name: str, scale: float) -> Path:
        made, kernel = begin_recording(HARDWARE)
        for number in range(16):
            times = {INNER: 4 * US, **({OUTER: 2 * US} if number % 2 else {})}
            part = Run(seed=number, noise=0.01, launches=1, times=times, scale={OUTER: scale})
            fill(made, kernel, part)
        return made.write(tmp_path / name)

    base = record("base.bin", 1.0)

    status, line = verdict(base, record("new.bin", 2.0), "--fail-on", "outer>5%")

    assert status == 3
    assert line.startswith("REGRESSED: 1 of 4 phases became slower than allowed: `outer` of `gemm`")


def test_a_difference_that_chance_makes_is_no_regression(tmp_path: Path) -> None:
    wild = [
        record_run(
            tmp_path / f"{seed}.bin",
            Run(seed=seed, noise=0.6, drift=0, times={INNER: 4 * US}, waves=1, workgroups=1),
            HARDWARE,
        )
        for seed in (1, 3)
    ]

    shown = lines(*wild)

    assert shown[0].startswith("PASSED")
    assert [line for line in shown if "not significant" in line]


def test_runs_that_differ_among_themselves_set_the_noise(tmp_path: Path) -> None:
    sides = {
        name: [
            record_run(tmp_path / f"{name}{n}.bin", Run(seed=n, noise=0.001, scale={TILE: scale}))
            for n, scale in enumerate(scales)
        ]
        for name, scales in {"base": (0.95, 1.0, 1.05), "new": (1.1,)}.items()
    }
    bases = [part for path in sides["base"] for part in ("--base", path)]

    single = verdict(sides["base"][1], sides["new"][0])
    several = ktrace("diff", *bases, "--new", sides["new"][0])

    assert single[0] == 3
    assert several.exit_code == 0
    cells = row(several.stdout.splitlines(), "tile")
    assert (cells[4], cells[-2]) == ("within the noise", "15.7 %")
    assert "; 3 runs, modelled times (software device)" in several.stdout
    assert several.stdout.startswith(f"{PASSED}; 1 phase looks slower, which chance or noise")


def test_a_folder_stands_for_its_recordings(tmp_path: Path, base: Path) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    for number in range(6):
        record_run(folder / f"{number}.bin", Run(seed=number))

    shown = lines(folder, base)

    assert shown[0] == PASSED
    assert shown[1].endswith(" and 2 more; 6 runs, modelled times (software device)")


def test_sides_must_be_two(base: Path) -> None:
    for arguments in ((base,), (base, base, base), (base, "--base", base, base)):
        with pytest.raises(UsageError, match="two sides are compared"):
            ktrace("diff", *arguments)


def test_the_largest_change_of_a_waves_own_time_comes_first(tmp_path: Path) -> None:
    base = record_run(tmp_path / "base.bin", Run(noise=0))
    slow = record_run(tmp_path / "slow.bin", Run(noise=0, scale={TILE: 1.6, OUTER: 1.35}))

    shown = lines(base, slow)

    assert shown[0].endswith("first of all `tile` of `gemm` +60.0 % (1 us -> 1.60 us per wave)")
    names = [line.split()[0] for line in shown if line.startswith(" ") and "%" in line]
    assert names == ["tile", "outer", "(launch)", "(wave)", "inner"]


def test_that_a_file_cannot_be_read_is_no_usage_error(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # what root is never told

    assert ktrace("diff", base, base).exit_code == 0
    assert ktrace("diff", "--base", base, "--new", base).exit_code == 0
    assert ktrace("baseline", base, "-o", tmp_path / "base.json").exit_code == 0
    assert ktrace("report", base, "--baseline", base, "-o", tmp_path / "site").exit_code == 0
