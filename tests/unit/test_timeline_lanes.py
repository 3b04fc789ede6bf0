"""Ranges with a lane of their own, as KTRACE_LANE asks for."""

from itertools import pairwise
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from support.recording import Wave
from support.timelines import (
    COPY,
    FETCH,
    INNER,
    LOAD,
    MMA,
    OUTER,
    STAGE,
    TILE,
    decode,
    losses,
    slices,
)
from support.words import long_begin, long_end, phase, phase_end, pop, push, span, start, stop


def test_a_range_and_a_push_are_on_the_lane_of_their_name(tmp_path: Path) -> None:
    wave = Wave(
        main=[
            push(OUTER, 1100),
            push(COPY, 1150),
            span(TILE, 1200, 1300),
            pop(1400),
            span(FETCH, 1450, 1500),
            pop(1600),
        ]
    )

    timeline = decode([wave], tmp_path)

    assert timeline.lanes == ("", "vmem", "dma")
    assert slices(timeline) == [
        ("outer", "", 0, 100, 500),
        ("tile", "", 1, 200, 100),
        ("fetch", "vmem", 0, 450, 50),
        ("copy", "dma", 0, 150, 250),
    ]
    assert losses(timeline) == {}


def test_long_ranges_have_their_lane_too(tmp_path: Path) -> None:
    wave = Wave(end=9_000_000, main=[long_end(FETCH, 3_001_000)], side=[long_begin(FETCH, 1_100)])

    assert slices(decode([wave], tmp_path)) == [("fetch", "vmem", 0, 100, 2_999_900)]


def test_ranges_and_tokens_of_one_lane_share_it(tmp_path: Path) -> None:
    wave = Wave(
        main=[
            start(LOAD, 1100, token="a"),
            span(FETCH, 1150, 1250),
            stop("a", 1300),
            span(FETCH, 1300, 1400),
        ]
    )

    assert slices(decode([wave], tmp_path)) == [
        ("load", "vmem", 0, 100, 200),
        ("fetch", "vmem", 0, 300, 100),
        ("fetch", "vmem 2", 0, 150, 100),
    ]


def test_what_nests_on_a_lane_goes_to_the_next_one_of_its_name(tmp_path: Path) -> None:
    wave = Wave(
        main=[push(COPY, 1100), push(COPY, 1200), pop(1300), push(COPY, 1400), pop(1500), pop(1600)]
    )

    assert slices(decode([wave], tmp_path)) == [
        ("copy", "dma", 0, 100, 500),
        ("copy", "dma 2", 0, 200, 100),
        ("copy", "dma 2", 0, 400, 100),
    ]


def test_a_phase_with_a_lane_ends_as_any_phase(tmp_path: Path) -> None:
    wave = Wave(
        end=5_000,
        main=[
            push(OUTER, 1100),
            phase(STAGE, 1200),
            phase(MMA, 1300),
            phase(STAGE, 1400),
            pop(1500),
            phase(STAGE, 1600),
            phase_end(1700),
            push(COPY, 1800),
            phase(MMA, 1900),
            pop(2000),
            phase(STAGE, 2100),
        ],
    )

    timeline = decode([wave], tmp_path)

    assert slices(timeline) == [
        ("outer", "", 0, 100, 400),
        ("mma", "", 1, 300, 100),
        ("mma", "", 0, 900, 100),
        ("copy", "dma", 0, 800, 200),
        ("stage", "stages", 0, 200, 100),
        ("stage", "stages", 0, 400, 100),
        ("stage", "stages", 0, 600, 100),
        ("stage", "stages", 0, 1100, 2900),
    ]
    assert losses(timeline) == {}


def test_what_crosses_is_apart_from_a_lane(tmp_path: Path) -> None:
    # The two tiles cross; a fetch across both is on its own lane and pushes none aside.
    wave = Wave(main=[span(TILE, 1000, 1005), span(TILE, 1003, 1007), span(FETCH, 1002, 1010)])

    assert slices(decode([wave], tmp_path)) == [
        ("tile", "", 0, 0, 5),
        ("tile", "overlap", 0, 3, 4),
        ("fetch", "vmem", 0, 2, 8),
    ]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30)), max_size=12))
def test_no_two_of_one_lane_overlap_and_none_is_lost(
    tmp_path_factory: object, spans: list[tuple[int, int]]
) -> None:
    ends = sorted((begin + ticks, begin) for begin, ticks in spans)
    wave = Wave(main=[span(FETCH, 1100 + begin, 1100 + end) for end, begin in ends])

    shown = slices(decode([wave], tmp_path_factory.mktemp("lanes")))  # type: ignore[attr-defined]

    by_lane: dict[str, list[tuple[int, int]]] = {}
    for _, lane, depth, begin, ticks in shown:
        assert depth == 0
        by_lane.setdefault(lane, []).append((begin, begin + ticks))
    for of_lane in by_lane.values():
        assert all(end <= begin for (_, end), (begin, _) in pairwise(of_lane))
    assert sorted((begin - 100, ticks) for *_, begin, ticks in shown) == sorted(spans)


def test_what_is_in_more_ranges_than_a_depth_can_tell_is_on_the_overlap_lane_and_counted(
    tmp_path: Path,
) -> None:
    count = 65_536
    deep = [push(TILE, 70_000), push(INNER, 70_001), pop(70_002), pop(70_003)]
    ends = [pop(80_000 + number) for number in range(count)]
    begins = [push(OUTER, 1_100 + number // 2) for number in range(count)]
    after = [push(TILE, 160_000), pop(160_100)]
    wave = Wave(main=[*begins, *deep, *ends, *after], end=200_000)

    timeline = decode([wave], tmp_path, region_log2=22)

    assert losses(timeline) == {"deep_slices": 2}
    assert "2 ranges are in more than 65,535 others" in timeline.losses.sentences()[0]
    found = slices(timeline)
    assert [depth for _, lane, depth, *_ in found if lane == ""] == [*range(count), 0]
    assert [row for row in found if row[1] != ""] == [
        ("tile", "overlap", 0, 69_000, 3),
        ("inner", "overlap", 1, 69_001, 1),
    ]
