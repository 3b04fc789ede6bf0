"""Which word ends what another began, and where it is shown."""

from pathlib import Path

from ktrace_cli.model import SliceFlag
from ktrace_cli.trace_file.layout import DispatchFlag
from support.recording import Wave
from support.timelines import (
    DRAIN,
    INNER,
    LOAD,
    MARK,
    MMA,
    OUTER,
    STORE,
    TILE,
    WHOLE,
    build,
    builder,
    decode,
    flags,
    losses,
    marks,
    slices,
)
from support.words import (
    anchor,
    long_begin,
    long_end,
    mark,
    phase,
    phase_end,
    pop,
    push,
    span,
    start,
    stop,
    stop_word,
)


def test_spans_and_pushes_nest_by_time(tmp_path: Path) -> None:
    wave = Wave(
        main=[
            push(OUTER, 1100),
            span(TILE, 1200, 1300),
            span(TILE, 1310, 1400),
            span(WHOLE, 1150, 1450),
            pop(1500),
            span(TILE, 1600, 1700),
        ]
    )

    timeline = decode([wave], tmp_path)

    assert slices(timeline) == [
        ("outer", "", 0, 100, 400),
        ("whole", "", 1, 150, 300),
        ("tile", "", 2, 200, 100),
        ("tile", "", 2, 310, 90),
        ("tile", "", 0, 600, 100),
    ]
    assert losses(timeline) == {}


def test_ranges_that_touch_or_begin_together_nest(tmp_path: Path) -> None:
    wave = Wave(
        main=[
            push(INNER, 1100),
            span(TILE, 1100, 1200),
            span(TILE, 1200, 1300),
            pop(1400),
            span(WHOLE, 1100, 1400),
            span(TILE, 1400, 1400),
            span(TILE, 1400, 1500),
        ]
    )

    timeline = decode([wave], tmp_path)

    assert slices(timeline) == [
        ("whole", "", 0, 100, 300),
        ("inner", "", 1, 100, 300),
        ("tile", "", 2, 100, 100),
        ("tile", "", 2, 200, 100),
        ("tile", "", 0, 400, 0),
        ("tile", "", 0, 400, 100),
    ]


def test_a_push_around_a_span_that_begins_with_it_stays_outside(tmp_path: Path) -> None:
    wave = Wave(main=[push(OUTER, 1100), span(TILE, 1100, 1200), pop(1300)])

    timeline = decode([wave], tmp_path)

    assert slices(timeline) == [("outer", "", 0, 100, 200), ("tile", "", 1, 100, 100)]


def test_a_phase_lasts_until_the_next(tmp_path: Path) -> None:
    wave = Wave(
        main=[phase(MMA, 1100), span(TILE, 1150, 1160), phase(DRAIN, 1200), phase_end(1350)]
    )

    timeline = decode([wave], tmp_path)

    assert slices(timeline) == [
        ("mma", "", 0, 100, 100),
        ("tile", "", 1, 150, 10),
        ("drain", "", 0, 200, 150),
    ]
    assert losses(timeline) == {}


def test_a_phase_ends_with_the_range_that_it_began_in(tmp_path: Path) -> None:
    wave = Wave(
        end=5_000,
        main=[
            phase(DRAIN, 1050),
            push(OUTER, 1100),
            phase(MMA, 1200),
            phase(DRAIN, 1300),
            pop(1400),
            phase(MMA, 1450),
            span(TILE, 1440, 1500),
            phase(MMA, 1600),
        ],
    )

    timeline = decode([wave], tmp_path)

    assert slices(timeline) == [
        ("drain", "", 0, 50, 550),
        ("outer", "", 1, 100, 300),
        ("mma", "", 2, 200, 100),
        ("drain", "", 2, 300, 100),
        ("tile", "", 1, 440, 60),
        ("mma", "", 2, 450, 50),
        ("mma", "", 0, 600, 3400),
    ]
    assert losses(timeline) == {}


def test_a_phase_in_what_crosses_ends_with_what_was_still_open(tmp_path: Path) -> None:
    # The tile crosses the push and has ended when the phase begins in the push.
    wave = Wave(main=[push(OUTER, 1100), span(TILE, 1050, 1200), phase(MMA, 1250), pop(1400)])

    timeline = decode([wave], tmp_path)

    assert slices(timeline) == [
        ("tile", "", 0, 50, 150),
        ("mma", "", 0, 250, 150),
        ("outer", "overlap", 0, 100, 300),
    ]
    assert losses(timeline) == {}


def test_a_phase_that_a_full_region_may_have_ended_is_truncated(tmp_path: Path) -> None:
    timeline = decode([Wave(main=[phase(MMA, 1100)], dropped_main=120)], tmp_path)

    assert flags(timeline) == [SliceFlag.UNCLOSED | SliceFlag.TRUNCATED]


def test_a_phase_end_without_a_phase_is_counted(tmp_path: Path) -> None:
    wave = Wave(main=[phase_end(1100), phase(MMA, 1200), phase_end(1300), phase_end(1400)])

    timeline = decode([wave], tmp_path)

    assert slices(timeline) == [("mma", "", 0, 200, 100)]
    assert losses(timeline) == {"stray_ends": 2}


def test_both_streams_are_one_sequence(tmp_path: Path) -> None:
    wave = Wave(
        main=[push(OUTER, 1100), span(TILE, 1200, 1250), pop(1900)],
        side=[push(INNER, 1300), mark(MARK, 1400), pop(1500)],
    )

    timeline = decode([wave], tmp_path)

    assert slices(timeline) == [
        ("outer", "", 0, 100, 800),
        ("tile", "", 1, 200, 50),
        ("inner", "", 1, 300, 200),
    ]
    assert marks(timeline) == [("published", 400)]
    assert timeline.waves["side_words"][0] == 3


def test_tokens_are_found_by_their_word_in_either_stream(tmp_path: Path) -> None:
    wave = Wave(
        main=[mark(MARK, 1050), start(LOAD, 1100, token="m"), stop("s", 1400)],
        side=[start(STORE, 1200, token="s"), stop("m", 1300)],
    )

    timeline = decode([wave], tmp_path)

    assert slices(timeline) == [("load", "vmem", 0, 100, 200), ("store", "store", 0, 200, 200)]
    assert losses(timeline) == {}


def test_streams_that_met_are_told_apart_by_their_words(tmp_path: Path) -> None:
    # 48 words fit; 40 of the main stream and 8 of the side stream fill the region.
    main = [mark(MARK, 1100 + i) for i in range(39)]
    wave = Wave(
        main=[*main, start(LOAD, 1900, token="t")],
        side=[*[mark(MARK, 1500 + i) for i in range(7)], stop("t", 1950)],
    )

    timeline = decode([wave], tmp_path, region_log2=9)

    assert slices(timeline) == [("load", "vmem", 0, 900, 50)]
    assert len(timeline.instants) == 46
    assert timeline.waves["side_words"][0] == 8
    assert losses(timeline) == {}


def test_a_stop_of_something_else_is_counted(tmp_path: Path) -> None:
    wave = Wave(
        main=[
            start(LOAD, 1100, token="a"),
            stop("a", 1200),
            stop("a", 1300),
            stop_word(17, 1400),
            stop_word(4_000, 1500),
        ]
    )

    timeline = decode([wave], tmp_path)

    assert slices(timeline) == [("load", "vmem", 0, 100, 100)]
    assert losses(timeline) == {"stray_ends": 3}


def test_long_ranges_find_their_begin_in_the_side_stream(tmp_path: Path) -> None:
    wave = Wave(
        end=9_000_000,
        main=[long_end(WHOLE, 3_000_000), mark(MARK, 3_000_100), long_end(WHOLE, 8_000_000)],
        side=[
            mark(MARK, 2_000_000),
            long_begin(WHOLE, 1_500),
            long_begin(TILE, 1_000_500),
            long_end(TILE, 3_500_000),
            long_begin(WHOLE, 4_000_000),
        ],
    )

    timeline = decode([wave], tmp_path)

    assert slices(timeline) == [
        ("whole", "", 0, 500, 2_998_500),
        ("whole", "", 0, 3_999_000, 4_000_000),
        ("tile", "overlap", 0, 999_500, 2_499_500),
    ]
    assert losses(timeline) == {}


def test_a_long_range_without_an_end_or_a_begin_is_counted(tmp_path: Path) -> None:
    wave = Wave(main=[long_end(TILE, 1200), mark(MARK, 1300)], side=[long_begin(WHOLE, 1100)])

    timeline = decode([wave], tmp_path)

    assert slices(timeline) == [("whole", "", 0, 100, 200)]
    assert losses(timeline) == {"unclosed_slices": 1, "stray_ends": 1}


def test_a_long_begin_that_stands_in_the_main_stream_keeps_its_time(tmp_path: Path) -> None:
    # The anchor says that the clock's upper half is 1, so that the words are far apart.
    wave = Wave(
        end=(1 << 32) + 9_000,
        main=[
            mark(MARK, 1100),
            anchor((1 << 32) + 2_000, ((1 << 32) + 2_000) // 21),
            span(TILE, 2_000, 2_100),
            long_begin(WHOLE, 1_500),
        ],
    )

    timeline = decode([wave], tmp_path)

    assert [row[:1] + row[3:4] for row in slices(timeline)] == [
        ("whole", 500),
        ("tile", (1 << 32) + 1_000),
    ]


def test_a_long_range_that_ends_before_its_begin_stands_at_its_end(tmp_path: Path) -> None:
    # Eager waves write all into the side stream; here its begin is in the other one, and late.
    wave = Wave(
        main=[long_begin(WHOLE, 1900)], side=[long_end(WHOLE, 1500), push(OUTER, 1600), pop(1700)]
    )

    timeline = decode([wave], tmp_path, flags=DispatchFlag.EAGER)

    assert slices(timeline) == [("whole", "", 0, 500, 0), ("outer", "", 0, 600, 100)]
    assert flags(timeline) == [SliceFlag.CLAMPED, SliceFlag(0)]


def test_ranges_that_cross_go_to_lanes_of_their_own(tmp_path: Path) -> None:
    # [0, 5] and [3, 7] cannot share a lane; [0, 10] and [2, 10] nest.
    waves = [
        Wave(wave=0, main=[span(TILE, 1000, 1005), span(TILE, 1003, 1007)]),
        Wave(wave=1, main=[span(TILE, 1002, 1010), span(WHOLE, 1000, 1010)]),
    ]

    timeline = decode(waves, tmp_path)

    assert slices(timeline, 0) == [("tile", "", 0, 0, 5), ("tile", "overlap", 0, 3, 4)]
    assert slices(timeline, 1) == [("whole", "", 0, 0, 10), ("tile", "", 1, 2, 8)]


def test_lanes_of_one_name_stand_together(tmp_path: Path) -> None:
    wave = Wave(
        main=[
            start(LOAD, 1100, token="a"),
            start(STORE, 1150, token="b"),
            start(LOAD, 1200, token="c"),
            stop("a", 1300),
            stop("b", 1350),
            stop("c", 1400),
        ]
    )

    timeline = decode([wave], tmp_path)

    assert timeline.lanes == ("", "vmem", "vmem 2", "store")


def test_a_recording_without_dispatches_is_an_empty_timeline(tmp_path: Path) -> None:
    recording, _ = builder()

    timeline = build(recording, tmp_path)

    assert [len(c) for c in (timeline.dispatches, timeline.waves, timeline.slices)] == [0, 0, 0]
    assert losses(timeline) == {}
