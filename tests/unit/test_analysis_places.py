"""Which units are slow, which wave took longest, how launches differ, and phases by unit."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ktrace_cli.analysis.document import to_document
from ktrace_cli.analysis.grouping import By
from ktrace_cli.analysis.imbalance import LaunchTimes, Spread
from ktrace_cli.analysis.longest import PhasePart
from ktrace_cli.analysis.places import WaveRef
from ktrace_cli.analysis.results import KernelSummary, Request
from ktrace_cli.analysis.summary import summarize
from ktrace_cli.errors import UsageError
from ktrace_cli.model import NONE, Flags, Part, Timeline
from ktrace_cli.trace_file.layout import DispatchFlag, WaveState
from support.recording import Wave
from support.timelines import CONSUMER, INNER, LOAD, OUTER, PRODUCER, TILE, build, builder, decode
from support.words import Word, group, pop, push, span, start, stop

CYCLES_PER_US = 2_100


def us(time: float) -> int:
    return 21_000 + round(time * CYCLES_PER_US)


def wave(begin: float, end: float, *words: list[Word], **place: int | tuple[int, int, int]) -> Wave:
    return Wave(begin=us(begin), end=us(end), main=words, **place)  # type: ignore[arg-type]


def hw_id(*, se: int = 0, cu: int = 0, simd: int = 0) -> int:
    return simd << 4 | cu << 8 | se << 13


def only_kernel(timeline: Timeline, by: By | None = None) -> KernelSummary:
    (kernel,) = summarize(timeline, Request(by)).kernels
    return kernel


@pytest.fixture
def uneven(tmp_path: Path) -> Timeline:
    """Three dispatches of two workgroups of two waves; workgroup 1,0,0 is on XCD 3 and slow."""
    made, kernel = builder()
    for dispatch, factor in enumerate((2, 1, 1)):
        first = 100 * dispatch
        waves = []
        for number in (0, 1):
            fast = wave(first, first + 10 * factor, block=(0, 0, 0), wave=number)
            words = [
                group(PRODUCER if number else CONSUMER, us(first)),
                push(OUTER, us(first + 1)),
                push(INNER, us(first + 2)),
                pop(us(first + 5)),
                pop(us(first + 7)),
                span(TILE, us(first + 8), us(first + 8 + factor)),
            ]
            slow = wave(
                first + 1,
                first + 1 + 30 * factor - number,
                *words,
                block=(1, 0, 0),
                wave=number,
                xcc=3,
                hw_id=hw_id(se=1, cu=5, simd=number),
            )
            waves += [fast, slow]
        order = sorted(waves, key=lambda w: (w.block, w.wave))
        made.add_dispatch(kernel, order, grid=(2, 1, 1), block=(128, 1, 1))
    return build(made, tmp_path)


def test_the_slowest_unit_is_compared_to_the_mean(uneven: Timeline) -> None:
    levels = {level.level: level for level in only_kernel(uneven).imbalance}

    assert list(levels) == ["xcd", "se", "cu", "workgroup", "wave"]
    # 2 * (20 + 10 + 10) us on XCD 0; 60 + 30 + 30 and one us less for each second wave on XCD 3.
    assert levels["xcd"].units == 2
    assert levels["xcd"].max_ns == pytest.approx(237_000, abs=10)
    assert levels["xcd"].mean_ns == pytest.approx((237_000 + 80_000) / 2, abs=10)
    assert levels["xcd"].ratio == pytest.approx(237 / 158.5, abs=0.001)
    assert levels["xcd"].slowest.xcd == 3
    assert levels["workgroup"].units == 6
    assert levels["workgroup"].max_ns == pytest.approx(60_000, abs=10)
    assert levels["wave"].units == 12
    assert levels["wave"].slowest == WaveRef(
        dispatch=1,
        workgroup=(1, 0, 0),
        wave=0,
        group="consumer",
        device=0,
        xcd=3,
        se=1,
        cu=5,
        simd=0,
    )


def test_a_launch_has_a_skew_of_its_starts_and_a_tail(uneven: Timeline) -> None:
    kernel = only_kernel(uneven)

    assert kernel.wave_starts == Spread(
        mean_ns=pytest.approx(1_000, abs=5),
        max_ns=pytest.approx(1_000, abs=5),
        dispatch=pytest.approx(2, abs=1),
        share=pytest.approx(3 / (61 + 31 + 31), abs=1e-3),
    )
    # Ends at 20, 20, 60, 61 us, then twice at 10, 10, 30, 31: the lower of two middle ones counts.
    assert kernel.tail is not None
    assert kernel.tail.dispatch == 1
    assert kernel.tail.max_ns == pytest.approx(41_000, abs=5)
    assert kernel.tail.mean_ns == pytest.approx((41_000 + 21_000 + 21_000) / 3, abs=5)


def test_launches_are_compared_with_each_other_and_the_first_with_the_rest(
    uneven: Timeline,
) -> None:
    times = only_kernel(uneven).launch_times

    assert times == LaunchTimes(
        count=3,
        mean_ns=pytest.approx(41_000, abs=5),
        cv=pytest.approx(0.345, abs=0.001),
        min_ns=pytest.approx(31_000, abs=5),
        max_ns=pytest.approx(61_000, abs=5),
        slowest_dispatch=1,
        first_dispatch=1,
        first_ns=pytest.approx(61_000, abs=5),
        first_ratio=pytest.approx(61 / 31, abs=0.001),
    )


def test_one_launch_of_one_wave_has_nothing_to_compare(tmp_path: Path) -> None:
    kernel = only_kernel(decode([wave(0, 10)], tmp_path))

    assert kernel.launch_times is not None
    assert (kernel.launch_times.count, kernel.launch_times.first_ratio) == (1, None)
    assert (kernel.wave_starts, kernel.tail) == (None, None)
    assert {level.units for level in kernel.imbalance} == {1}


def test_the_longest_wave_is_told_with_what_it_did(uneven: Timeline) -> None:
    longest = only_kernel(uneven).longest_wave

    assert longest is not None
    assert (longest.place.dispatch, longest.place.workgroup, longest.place.wave) == (
        1,
        (1, 0, 0),
        0,
    )
    assert longest.duration_ns == pytest.approx(60_000, abs=5)
    assert longest.outside_ns == pytest.approx(60_000 - 6_000 - 2_000, abs=5)
    assert longest.phases == (
        PhasePart("inner", "push", "", 1, pytest.approx(3_000, abs=3), pytest.approx(3_000, abs=3),
                  pytest.approx(0.05, abs=1e-3)),
        PhasePart("outer", "push", "", 1, pytest.approx(6_000, abs=3), pytest.approx(3_000, abs=3),
                  pytest.approx(0.1, abs=1e-3)),
        PhasePart("tile", "range", "", 1, pytest.approx(2_000, abs=3), pytest.approx(2_000, abs=3),
                  pytest.approx(0.0333, abs=1e-3)),
    )  # fmt: skip


def test_phases_that_overlap_count_once_in_the_longest_wave(tmp_path: Path) -> None:
    crossing = Wave(
        main=[push(OUTER, us(1)), pop(us(5)), span(TILE, us(4), us(8))], begin=us(0), end=us(9)
    )

    longest = only_kernel(decode([crossing], tmp_path)).longest_wave

    assert longest is not None
    assert longest.duration_ns == pytest.approx(9_000, abs=5)
    assert longest.outside_ns == pytest.approx(2_000, abs=5)


def test_a_wave_that_never_ended_is_not_the_longest(tmp_path: Path) -> None:
    running = Wave(main=[push(OUTER, us(1))], wave=1, begin=us(0), end=us(0), state=WaveState.BEGUN)
    flags = DispatchFlag.EAGER | DispatchFlag.UNFINISHED

    kernel = only_kernel(decode([wave(0, 10), running], tmp_path, flags=flags))

    assert kernel.longest_wave is not None
    assert kernel.longest_wave.place.wave == 0
    assert (kernel.unfinished_waves, kernel.launch_times) == (1, None)
    assert {level.units for level in kernel.imbalance} == {1}


@pytest.mark.parametrize(
    ("by", "columns", "units"),
    [
        (By.XCD, ("xcd",), [(3,)]),
        (By.SE, ("xcd", "se"), [(3, 1)]),
        (By.CU, ("xcd", "se", "cu"), [(3, 1, 5)]),
        (By.GROUP, ("group",), [("consumer",), ("producer",)]),
        (By.LANE, ("lane",), [("",)]),
        (By.BLOCK, ("block",), [((1, 0, 0),)]),
        (By.DISPATCH, ("dispatch",), [(1,), (2,), (3,)]),
    ],
)
def test_phases_are_told_apart_by_unit(
    uneven: Timeline, by: By, columns: tuple[str, ...], units: list[tuple[object, ...]]
) -> None:
    summary = summarize(uneven, Request(by))

    (kernel,) = summary.kernels
    assert summary.unit_columns == columns
    assert sorted({row.unit for row in kernel.units}) == units
    for phase in kernel.phases:
        own = [row.phase.times for row in kernel.units if row.phase.name == phase.name]
        assert sum(times.count for times in own) == phase.times.count == 6
        assert sum(times.total_ns for times in own) == phase.times.total_ns
        assert sum(times.self_ns for times in own) == phase.times.self_ns
    totals = [row.phase.times.total_ns for row in kernel.units]
    assert totals == sorted(totals, reverse=True)


def test_a_share_is_of_the_waves_of_the_unit(uneven: Timeline) -> None:
    kernel = only_kernel(uneven, By.DISPATCH)

    shares = {row.unit: row.phase.share for row in kernel.units if row.phase.name == "outer"}
    # 12 us of the 20 + 20 + 60 + 59 us of the first launch, of 10 + 10 + 30 + 29 us of others.
    assert shares == {
        (1,): pytest.approx(12 / 159, abs=1e-3),
        (2,): pytest.approx(12 / 79, abs=1e-3),
        (3,): pytest.approx(12 / 79, abs=1e-3),
    }


def test_lanes_that_ranges_share_are_units(tmp_path: Path) -> None:
    words = [
        start(LOAD, us(1), token="a"),
        start(LOAD, us(2), token="b"),
        stop("a", us(4)),
        stop("b", us(5)),
    ]

    kernel = only_kernel(decode([wave(0, 10, *words)], tmp_path), By.LANE)

    assert [(row.unit, row.phase.name, row.phase.times.count) for row in kernel.units] == [
        (("vmem",), "load", 1),
        (("vmem 2",), "load", 1),
    ]


def test_devices_are_told_where_there_are_several(tmp_path: Path) -> None:
    made, kernel = builder()
    made.add_device(1)
    for device in (0, 1):
        made.add_dispatch(kernel, [wave(0, 10, span(TILE, us(1), us(2)))], device=device)

    summary = summarize(build(made, tmp_path), Request(By.XCD))

    assert summary.unit_columns == ("device", "xcd")
    assert sorted(row.unit for row in summary.kernels[0].units) == [(0, 0), (1, 0)]
    assert [level.units for level in summary.kernels[0].imbalance] == [2, 2, 2, 2, 2]


def test_too_many_units_are_refused_with_what_to_do(
    uneven: Timeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ktrace_cli.analysis.phase_times.MOST_UNIT_ROWS", 5)
    monkeypatch.setattr("ktrace_cli.analysis.durations._ROWS_BETWEEN_MERGES", 0)

    with pytest.raises(UsageError, match="`--by dispatch` has too many rows") as caught:
        summarize(in_parts(uneven), Request(By.DISPATCH))

    assert "3 of them" in caught.value.why


def in_parts(timeline: Timeline) -> Timeline:
    """The same timeline in parts of one workgroup each."""
    whole = timeline.whole
    block = timeline.waves[["dispatch", "block"]]

    def source(wanted: Flags | None) -> Iterator[Part]:
        for key in np.unique(block):
            rows = np.flatnonzero(block == key)
            of_part = np.isin(whole.slices["wave"], rows)
            slices = whole.slices[of_part].copy()
            place = np.cumsum(of_part) - 1
            has_parent = slices["parent"] != NONE
            slices["parent"][has_parent] = place[slices["parent"][has_parent]]
            instants = whole.instants[np.isin(whole.instants["wave"], rows)]
            yield Part(rows, slices, instants, whole.values, whole.flows[:0])

    return replace(timeline, source=source)


@pytest.mark.parametrize("by", [None, By.BLOCK, By.LANE, By.XCD])
def test_what_is_said_does_not_depend_on_parts(uneven: Timeline, by: By | None) -> None:
    split = in_parts(uneven)
    assert len(list(split.parts())) == 6

    assert to_document(summarize(split, Request(by))) == to_document(summarize(uneven, Request(by)))


def test_no_recording_is_gathered_into_one_table(uneven: Timeline) -> None:
    summarize(uneven, Request(By.BLOCK))

    assert "whole" not in vars(uneven)
