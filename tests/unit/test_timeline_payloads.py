"""Which event a payload and an id belong to."""

from pathlib import Path

import pytest

from ktrace_cli.export.values import to_python
from support.recording import Wave
from support.timelines import (
    LOAD,
    MARK,
    MMA,
    OTHER_UNIT_KEY,
    OUTER,
    TILE,
    UNIT_KEY,
    WHOLE,
    decode,
    losses,
    marks,
    slices,
)
from support.words import (
    boolean,
    f32,
    f64,
    i32,
    i64,
    long_begin,
    long_end,
    mark,
    phase,
    phase_end,
    pop,
    push,
    raw,
    span,
    start,
    stop,
    u32,
    u64,
    unit,
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (boolean(True), True),
        (i32(-7), -7),
        (u32(0xFFFF_FFFF), 4294967295),
        (f32(0.1), 0.1),
        (i64(-(1 << 40)), -(1 << 40)),
        (u64((1 << 64) - 1), (1 << 64) - 1),
        (f64(2.5), 2.5),
    ],
)
def test_payloads_keep_their_type(tmp_path: Path, value: tuple[int, int], expected: object) -> None:
    timeline = decode([Wave(main=[mark(MARK, 1100, values=[value])])], tmp_path)

    assert to_python(timeline.values) == [expected]
    assert type(to_python(timeline.values)[0]) is type(expected)


def test_payloads_belong_to_the_event_behind_them(tmp_path: Path) -> None:
    wave = Wave(
        main=[
            push(OUTER, 1100, values=[i32(1), f64(2.0)]),
            mark(MARK, 1150, values=[i32(3)]),
            span(TILE, 1200, 1250, values=[i64(4)]),
            pop(1300),
            start(LOAD, 1400, token="t", values=[u32(5)]),
            phase(MMA, 1450, values=[u32(6)]),
            stop("t", 1500),
        ],
        side=[mark(MARK, 1350, values=[i32(7)])],
    )

    timeline = decode([wave], tmp_path)

    def values(row: object) -> list[object]:
        first = row["first_value"]
        return to_python(timeline.values[first : first + row["values"]])

    assert [values(row) for row in timeline.slices] == [[1, 2.0], [4], [6], [5]]
    assert [values(row) for row in timeline.instants] == [[3], [7]]
    assert losses(timeline) == {}


def test_a_long_range_keeps_its_payload(tmp_path: Path) -> None:
    value = raw(9, 10 << 27 | 1)  # the device writes it to the main stream, before LONG_END
    wave = Wave(
        end=3_000_000,
        main=[value, long_end(WHOLE, 2_000_000)],
        side=[
            long_begin(WHOLE, 1_100),
            long_begin(TILE, 1200, values=[i32(8)]),
            long_end(TILE, 1_900_000),
        ],
    )

    timeline = decode([wave], tmp_path)

    assert to_python(timeline.values) == [9, 8]
    assert timeline.slices["values"].tolist() == [1, 1]
    assert losses(timeline) == {}


def test_payloads_of_nothing_are_counted(tmp_path: Path) -> None:
    value = 10 << 27
    wave = Wave(
        main=[
            raw(1, value | 1),
            phase_end(1100),
            raw(2, value | 6),  # the low half of a double, without the high half
            mark(MARK, 1200),
            raw(3, value | 1),
        ]
    )

    timeline = decode([wave], tmp_path)

    assert losses(timeline) == {"stray_ends": 1, "stray_values": 3}


def test_words_that_nobody_writes_are_counted(tmp_path: Path) -> None:
    words = [
        raw(1100, 0 << 27 | 5),
        raw(1100, 1 << 27 | 5),
        raw(1100, 14 << 27),
        raw(1100, 15 << 27),
    ]

    timeline = decode([Wave(main=[*words, mark(MARK, 1200)])], tmp_path)

    assert losses(timeline) == {"torn_words": 4}
    assert marks(timeline) == [("published", 200)]


def test_an_event_of_another_unit_has_that_unit_s_name(tmp_path: Path) -> None:
    wave = Wave(
        main=[push(1, 1100), pop(1200)],
        side=[
            long_begin(1, 1130, values=[unit(OTHER_UNIT_KEY)]),
            long_end(1, 1150),
            mark(3, 1300, values=[unit(OTHER_UNIT_KEY)]),
            mark(MARK, 1350, values=[unit(UNIT_KEY)]),
        ],
    )

    timeline = decode([wave], tmp_path)

    assert slices(timeline) == [("outer", "", 0, 100, 100), ("helper", "", 1, 130, 20)]
    assert marks(timeline) == [("event_3", 300), ("published", 350)]
    assert losses(timeline) == {"unnamed_events": 1}
