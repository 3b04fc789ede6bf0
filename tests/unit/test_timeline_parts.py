"""Selections, windows and cycles: what is left of a timeline's parts."""

from pathlib import Path
from typing import Any

import pytest

from ktrace_cli.errors import UsageError
from ktrace_cli.model import NONE, Timeline, join_parts
from ktrace_cli.places import parse_blocks
from ktrace_cli.timeline.cycles import in_cycles
from ktrace_cli.timeline.select import Selection, select
from support.recording import Wave
from support.timelines import INNER, MARK, OUTER, decode
from support.words import mark, pop, push

CYCLES_PER_NS = 2.1


def wave(block: int, begin_ns: int, xcc: int = 0) -> Wave:
    """1 ms: outer from 100 us to 900 us, inner from 200 us to 300 us, a mark at 500 us."""
    begin = round(begin_ns * CYCLES_PER_NS) + 2_100
    at = [begin + round(us * 1_000 * CYCLES_PER_NS) for us in (100, 200, 300, 500, 900)]
    return Wave(
        slot=block,
        block=(block, 0, 0),
        xcc=xcc,
        begin=begin,
        end=begin + 2_100_000,
        main=[push(OUTER, at[0]), push(INNER, at[1]), pop(at[2]), mark(MARK, at[3]), pop(at[4])],
    )


@pytest.fixture
def timeline(tmp_path: Path) -> Timeline:
    """Eight workgroups of a wave, one behind the other, on two XCCs."""
    waves = [wave(block, 1_000_000 * block, xcc=block % 2) for block in range(8)]
    return decode(waves, tmp_path, grid=(8, 1, 1), block=(64, 1, 1), completed_ns=0)


def shown(timeline: Timeline) -> list[tuple[int, str]]:
    return [
        (int(timeline.waves["block"][row["wave"], 0]), timeline.events[row["event"]].name)
        for row in timeline.slices
    ]


def test_a_wave_counts_its_slices_and_instants(timeline: Timeline) -> None:
    assert timeline.waves["slices"].tolist() == [2] * 8
    assert timeline.waves["instants"].tolist() == [1] * 8


def test_a_slice_names_the_one_around_it(timeline: Timeline) -> None:
    assert timeline.slices["parent"].tolist()[:4] == [NONE, 0, NONE, 2]


def test_each_iteration_gives_the_same_rows(timeline: Timeline) -> None:
    first, second = (join_parts(list(timeline.parts())) for _ in range(2))

    assert first.slices.tobytes() == second.slices.tobytes()
    assert first.instants.tobytes() == second.instants.tobytes()


def test_blocks_are_chosen_by_axis_and_stride(timeline: Timeline) -> None:
    chosen = select(timeline, Selection(blocks=parse_blocks("1:8:4,0")))

    assert shown(chosen) == [(1, "outer"), (1, "inner"), (5, "outer"), (5, "inner")]
    assert chosen.slices["parent"].tolist() == [NONE, 0, NONE, 2]
    assert chosen.slices["wave"].tolist() == [0, 0, 1, 1]


def test_xcds_are_chosen_by_number(timeline: Timeline) -> None:
    chosen = select(timeline, Selection(xcds=[range(1, 2)]))

    assert chosen.waves["block"][:, 0].tolist() == [1, 3, 5, 7]


def test_an_xcd_that_is_not_there_is_an_error(timeline: Timeline) -> None:
    with pytest.raises(UsageError, match="`--xcd 2-3` selects nothing") as problem:
        select(timeline, Selection(xcds=[range(2, 4)]))

    assert problem.value.why == "the recording has the XCDs 0 to 1"


@pytest.mark.parametrize(
    ("begin", "end", "expected"),
    [
        (250_000, 250_000, ["outer", "inner"]),
        (301_000, 499_000, ["outer"]),
        (450_000, 550_000, ["outer", "mark"]),
        (7_950_000, None, []),
    ],
)
def test_a_window_keeps_what_it_touches(
    begin: int, end: int | None, expected: list[str], timeline: Timeline
) -> None:
    chosen = select(timeline, Selection(begin=begin, end=end))

    marks = ["mark"] * len(chosen.instants)
    assert [name for _, name in shown(chosen)] + marks == expected
    assert len(chosen.waves) == 1


def test_a_window_and_blocks_can_select_nothing(timeline: Timeline) -> None:
    with pytest.raises(UsageError, match="no wave is selected"):
        select(timeline, Selection(blocks=parse_blocks("7"), end=100_000))


def test_selections_can_be_made_of_selections(timeline: Timeline) -> None:
    odd = select(timeline, Selection(xcds=[range(1, 2)]))

    chosen = select(odd, Selection(blocks=parse_blocks("4:")))

    assert chosen.waves["block"][:, 0].tolist() == [5, 7]
    assert shown(chosen) == [(5, "outer"), (5, "inner"), (7, "outer"), (7, "inner")]


def test_cycles_count_from_the_first_wave_of_each_clock(timeline: Timeline) -> None:
    cycles = in_cycles(timeline)

    assert cycles.unit == "cycles"
    assert cycles.waves["begin_ns"].tolist()[:4] == [0, 0, 4_200_000, 4_200_000]
    outer: Any = cycles.slices[cycles.slices["depth"] == 0]
    assert outer["ns"].tolist() == [1_680_000] * 8
    assert outer["begin_ns"].tolist()[:3] == [210_000, 210_000, 4_410_000]
    assert cycles.instants["ns"].tolist()[:2] == [1_050_000, 1_050_000]
    assert cycles.dispatches["end_ns"].tolist() == [14_700_000]
