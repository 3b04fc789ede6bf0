"""`ktrace diff`: which kernels and phases are the same, and what is said of the others."""

from pathlib import Path

import pytest

from ktrace_cli.errors import UsageError
from support.code_object import EventSource
from support.comparing import On, Run, event, ktrace, record_run, verdict
from support.timelines import INNER, LOAD, MMA, OUTER, TILE

OURS = [event(OUTER), event(TILE), event(INNER)]
PASSED = "PASSED: none of 5 phases became slower than allowed (`*>5%`)"


def pair(
    folder: Path, new_events: list[EventSource], *, new: str = "_Z4gemmPfiN6ktrace4sinkE"
) -> tuple[Path, Path]:
    base = record_run(folder / "base.bin", Run(noise=0), On(events=OURS))
    other = record_run(folder / "new.bin", Run(noise=0), On(mangled=new, events=new_events))
    return base, other


def said(*arguments: object) -> list[str]:
    return [line.rstrip() for line in ktrace("diff", *arguments).stdout.splitlines()]


def test_a_kernel_is_the_same_with_and_without_the_sink_and_whatever_its_file(
    tmp_path: Path,
) -> None:
    base, other = pair(tmp_path, OURS, new="_Z4gemmPfi")

    assert verdict(base, other) == (0, PASSED)


def test_a_kernel_whose_parameters_changed_is_the_same(tmp_path: Path) -> None:
    base, other = pair(tmp_path, OURS, new="_Z4gemmPfiiN6ktrace4sinkE")

    assert verdict(base, other) == (0, PASSED)


def test_other_template_arguments_are_another_kernel(tmp_path: Path) -> None:
    base, other = pair(tmp_path, OURS, new="_Z4gemmILi4EEvPfiN6ktrace4sinkE")

    status, line = verdict(base, other)

    assert (status, line) == (4, "NOT COMPARABLE: kernel `gemm` did not run on the new side")
    assert said(base, other)[4:] == [
        "kernel `gemm` ran on the base side only; maybe it is `gemm<4>` now: the same phases",
        "kernel `gemm<4>` ran on the new side only",
    ]
    # Nothing is left to compare.
    assert verdict(base, other, "--allow-different", "kernels") == (
        4,
        "NOT COMPARABLE: the sides have no kernel in common",
    )


def test_another_event_table_is_not_comparable_and_what_changed_is_said(tmp_path: Path) -> None:
    base, other = pair(tmp_path, [event(OUTER), event(TILE), event(INNER, "compute"), event(LOAD)])

    status, line = verdict(base, other)

    assert (status, line) == (
        4,
        "NOT COMPARABLE: the code of kernel `gemm` has other phases: `inner` in the base's only,"
        " `compute`, `load` in the new one only",
    )
    shown = said(base, other)
    assert shown[1] == (
        "  try: make a new baseline, or `--allow-different events` to compare the others"
    )
    assert shown[-3:] == [
        "vanished: `inner` is not in the new code; maybe it is `compute` now: the same place in the"
        " source, gemm.hip:20",
        "new: `compute` is not in the base's code",
        "new: `load` on lane `vmem` is not in the base's code",
    ]


def test_the_phases_that_both_have_are_compared_if_that_is_allowed(tmp_path: Path) -> None:
    base, other = pair(tmp_path, [event(OUTER), event(TILE), event(INNER, "compute")])

    assert verdict(base, other, "--allow-different", "events") == (
        0,
        "PASSED: none of 4 phases became slower than allowed (`*>5%`)",
    )


def test_a_renamed_phase_that_moved_is_known_by_how_long_it_takes(tmp_path: Path) -> None:
    base, other = pair(tmp_path, [event(OUTER), event(TILE), event(INNER, "compute", line=500)])

    assert (
        "vanished: `inner` is not in the new code; maybe it is `compute` now: as often and about"
        " as long" in said(base, other)
    )


def test_a_phase_of_another_kind_is_no_new_name(tmp_path: Path) -> None:
    base, other = pair(tmp_path, [event(OUTER), event(TILE), event(INNER), event(MMA)])
    base_of_mma, _ = base, other

    shown = said(base_of_mma, other)

    assert shown[-1] == "new: `mma` is not in the base's code"
    assert not [line for line in shown if "maybe" in line]


def test_lines_that_moved_are_no_difference(tmp_path: Path) -> None:
    moved = [event(OUTER, line=70), event(TILE, line=71), event(INNER, line=72)]

    assert verdict(*pair(tmp_path, moved)) == (0, PASSED)


def test_a_phase_that_did_not_run_is_in_the_code_and_no_difference_of_it(tmp_path: Path) -> None:
    base = record_run(tmp_path / "base.bin", Run(noise=0), On(events=OURS))
    without = record_run(
        tmp_path / "new.bin", Run(noise=0, times={OUTER: 4_200, TILE: 2_100}), On(events=OURS)
    )

    shown = said(base, without)

    assert shown[0] == f"{PASSED}; 3 phases became faster"
    assert "`inner` did not run on the new side; its code is there" in shown
    status, line = verdict(without, base)
    assert status == 3
    assert "first of all `inner` of `gemm` from nothing (0 ns -> 4 us per wave)" in line
    assert "`inner` did not run on the base side; its code is there" in said(without, base)


def test_only_chosen_kernels_are_compared(tmp_path: Path) -> None:
    base, other = pair(tmp_path, OURS)

    assert verdict(base, other, "--kernel", "g*") == (0, PASSED)
    with pytest.raises(UsageError, match="`--kernel x` selects nothing"):
        ktrace("diff", base, other, "--kernel", "x")
