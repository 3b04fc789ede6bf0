"""The terminal view: waves by time, as text."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.color import Color, ColorSystem

from ktrace_cli.export.tui import By, Line, View, draw, pick_dispatches
from ktrace_cli.export.tui_cells import spread
from ktrace_cli.export.tui_symbols import COLOURS, choose_letters, choose_symbols
from ktrace_cli.model import Timeline
from ktrace_cli.trace_file.layout import WaveState
from support.oklab import distance
from support.recording import HOST_EPOCH_NS, Wave
from support.timelines import (
    CONSUMER,
    DRAIN,
    LOAD,
    MMA,
    OUTER,
    PRODUCER,
    TILE,
    build,
    builder,
    decode,
)
from support.words import group, phase, phase_end, pop, push, span, start, stop

BEGIN = 21_000
COLUMN = 1_050  # core cycles: 500 ns, a twentieth of a wave of 10 us


def at(column: float) -> int:
    return BEGIN + int(column * COLUMN)


def busy(first: float, last: float, event: int = OUTER, **more: object) -> Wave:
    """A wave of 20 columns that is in one phase for some of them."""
    main = [push(event, at(first)), pop(at(last))]
    return Wave(main=main, **{"begin": at(0), "end": at(20), **more})


@pytest.fixture
def timeline(tmp_path: Path) -> Timeline:
    """A producer with overlapping loads and two phases, and a short wave that begins later."""
    words = [
        group(PRODUCER, at(0)),
        push(OUTER, at(2)),
        start(LOAD, at(3), token="a"),
        start(LOAD, at(5), token="b"),
        span(TILE, at(4), at(8)),
        stop("a", at(9)),
        stop("b", at(12)),
        pop(at(12)),
        phase(MMA, at(14)),
        phase(DRAIN, at(17.5)),
        phase_end(at(18.25)),
    ]
    producer = Wave(begin=at(0), end=at(20), main=words)
    second = Wave(wave=1, begin=at(1), end=at(10), main=[push(OUTER, at(1.5)), pop(at(9))])
    return decode([producer, second], tmp_path)


def text(lines: list[Line]) -> list[str]:
    return ["".join(piece for piece, _ in line) for line in lines]


def picture(timeline: Timeline, **options: object) -> list[str]:
    """Return the rows, without heading and legend."""
    lines = text(draw(timeline, View(**{"dispatch": 0, "width": 40, **options})))
    return lines[lines.index("") + 2 : lines.index("", lines.index("") + 1)]


def test_a_picture_has_rows_for_waves_and_their_lanes(timeline: Timeline) -> None:
    lines = text(draw(timeline, View(0, width=40, zero_ns=HOST_EPOCH_NS + 10_000)))

    assert lines == [
        "gemm, dispatch 1",
        "10 us in columns of 500 ns; all 2 waves of 1 workgroup",
        "",
        "workgroup  wave        |0 ns               ",
        "0,0,0      0 producer  ··o█t███o███··m██▄d·",
        "             vmem x2      l▄████▄▄▄        ",
        "           1            o███████·          ",
        "",
        "o█ outer 46.6 %   l█ load (vmem) 44.8 %",
        "t█ tile 13.8 %   m█ mma 12.1 %",
        "d█ drain 2.6 %   · outside phases 25.0 %",
        "a letter begins a phase; a block's height is its share of the column",
        "%: of the time of these waves, without phases that nest inside",
    ]


def test_a_picture_of_ascii_has_letters_only(timeline: Timeline) -> None:
    lines = text(draw(timeline, View(0, width=40, is_ascii=True)))

    assert "".join(lines).isascii()
    assert picture(timeline, is_ascii=True) == [
        "0,0,0      0 producer  ..OOTTTTOOOO..MMMMd.",
        "             vmem x2      LLLLLLLLL        ",
        "           1            OOOOOOOO.          ",
    ]
    assert lines[-5:-1] == [
        "o outer 46.6 %   l load (vmem) 44.8 %",
        "t tile 13.8 %   m mma 12.1 %",
        "d drain 2.6 %   . outside phases 25.0 %",
        "letter: the phase with most time; upper case: at least half of the column",
    ]


def test_colour_is_never_the_only_signal(timeline: Timeline) -> None:
    lines = draw(timeline, View(0, width=60))
    rows, legend = lines[3:-5], lines[-5:-2]
    shown = {(piece[0], style) for line in rows for piece, style in line[1:] if piece[0].isalpha()}
    named = {(piece[0], style) for line in legend for piece, style in line if piece[1:] == "█"}

    assert len(shown) == 5
    assert shown == named
    assert len({style for _, style in named}) == 5


def test_a_picture_is_as_wide_as_asked_for(timeline: Timeline) -> None:
    for width in (60, 100, 200):
        lines = text(draw(timeline, View(0, width=width)))
        assert {len(line) for line in lines[3:7]} == {width}


def test_time_has_ticks_at_round_numbers(timeline: Timeline) -> None:
    axis = text(draw(timeline, View(0, width=123)))[3]

    assert axis[23:] == (
        "|0 ns               |2 us               |4 us               |6 us               "
        "|8 us               "
    )


def test_a_window_of_time_fills_the_picture(timeline: Timeline) -> None:
    zero = int(timeline.waves["begin_ns"][0])
    window = (zero + 1_000, zero + 6_000)
    lines = text(draw(timeline, View(0, width=40, zero_ns=zero, window_ns=window)))

    assert lines[1] == ("5 us, from 1000ns on, in columns of 250 ns; all 2 waves of 1 workgroup")
    assert picture(timeline, window_ns=window) == [
        "0,0,0      0 producer  o███t███████o███████",
        "             vmem x2     l▄▄▄████████▄▄▄▄▄▄",
        "           1           o█████████████··    ",
    ]
    assert lines[-4] == "l█ load (vmem) 72.2 %   o█ outer 72.2 %"


def test_where_nothing_of_a_dispatch_lies_in_a_window_rows_are_empty(timeline: Timeline) -> None:
    zero = int(timeline.waves["begin_ns"][0])

    rows = picture(timeline, window_ns=(zero + 50_000, zero + 60_000))

    assert [row[23:].strip(" ·") for row in rows] == ["", ""]


def test_waves_are_in_order_of_their_workgroups(tmp_path: Path) -> None:
    waves = [
        busy(0, 20, block=block, wave=wave)
        for block, wave in (((0, 1, 0), 0), ((1, 0, 0), 1), ((1, 0, 0), 0), ((0, 0, 1), 0))
    ]
    timeline = decode(waves, tmp_path, grid=(2, 2, 2), block=(128, 1, 1))

    assert [row[:15].rstrip() for row in picture(timeline)] == [
        "1,0,0      0",
        "           1",
        "0,1,0      0",
        "0,0,1      0",
    ]


def many(tmp_path: Path, count: int, **more: object) -> Timeline:
    waves = [busy(0, 20, block=(i, 0, 0), **more) for i in range(count)]
    return decode(waves, tmp_path, grid=(count, 1, 1), block=(64, 1, 1))


def test_of_too_many_workgroups_some_are_shown_evenly_spaced_and_said(tmp_path: Path) -> None:
    timeline = many(tmp_path, 31)

    assert [row.split()[0] for row in picture(timeline, rows=4)] == [
        "0,0,0",
        "10,0,0",
        "20,0,0",
        "30,0,0",
    ]
    assert text(draw(timeline, View(0, rows=4)))[1].endswith(
        "; 4 of 31 waves: 4 of 31 workgroups, evenly spaced"
    )


def test_rows_of_lanes_count_as_rows(tmp_path: Path) -> None:
    waves = [
        Wave(
            begin=at(0),
            end=at(20),
            block=(i, 0, 0),
            main=[start(LOAD, at(1), token="a"), stop("a", at(3))],
        )
        for i in range(9)
    ]
    timeline = decode(waves, tmp_path, grid=(9, 1, 1), block=(64, 1, 1))

    assert [row.split()[0] for row in picture(timeline, rows=6)] == [
        "0,0,0",
        "vmem",
        "4,0,0",
        "vmem",
        "8,0,0",
        "vmem",
    ]


def test_one_workgroup_is_shown_whole(tmp_path: Path) -> None:
    timeline = decode([busy(0, 20, wave=i) for i in range(6)], tmp_path)

    assert len(picture(timeline, rows=2)) == 6


def test_places_share_rows_and_a_blocks_height_is_the_share_of_their_waves(
    tmp_path: Path,
) -> None:
    waves = [
        busy(0, 10, xcc=0, wave=0),
        busy(0, 20, xcc=0, wave=1),
        busy(0, 20, TILE, xcc=2, wave=2, end=at(10)),
    ]
    waves[2] = Wave(begin=at(0), end=at(10), xcc=2, wave=2, main=[span(TILE, at(0), at(10))])
    timeline = decode(waves, tmp_path)

    lines = text(draw(timeline, View(0, By.XCD, width=25)))

    assert lines[1].endswith("; all 3 waves of 2 XCDs")
    assert lines[3:6] == [
        "XCD  |0 ns               ",
        "0    o█████████▄▄▄▄▄▄▄▄▄▄",
        "2    t▄▄▄▄▄▄▄▄▄          ",
    ]
    assert lines[-2] == (
        "a letter begins a phase; a block's height is its share of the column of 2 waves at once"
    )


def test_of_too_many_places_neighbours_share_a_row_and_it_is_said(tmp_path: Path) -> None:
    waves = [busy(0, 20, xcc=i, block=(i, 0, 0)) for i in range(7)]
    timeline = decode(waves, tmp_path, grid=(7, 1, 1), block=(64, 1, 1))

    rows = picture(timeline, by=By.CU, rows=3)

    assert [row[:15].rstrip() for row in rows] == ["0/0/0 - 2/0/0", "3/0/0 - 5/0/0", "6/0/0"]
    assert rows[0][15:] == "o" + "█" * 24
    assert rows[2][15:] == "o" + "▃" * 24
    assert text(draw(timeline, View(0, By.CU, rows=3)))[1].endswith(
        "; all 7 waves of 7 CUs, 3 in a row"
    )


def test_waves_with_a_damaged_header_have_no_row(tmp_path: Path) -> None:
    torn = Wave(wave=1, header={"state": 77})
    timeline = decode([busy(0, 20), torn], tmp_path)

    assert [row.split()[:2] for row in picture(timeline)] == [["0,0,0", "0"]]


def test_a_dispatch_without_waves_has_no_rows(tmp_path: Path) -> None:
    timeline = decode([], tmp_path)

    assert picture(timeline) == []
    assert picture(timeline, by=By.CU) == []


def open_wave(*words: object, **more: object) -> Wave:
    """A wave that is still in OUTER from column 2 on, and in what more `words` say."""
    main = [push(OUTER, at(2)), *words]
    return Wave(**{"begin": at(0), "end": at(20), "main": main, "state": WaveState.BEGUN, **more})


def test_a_wave_that_never_ended_is_drawn_to_its_last_known_moment_and_marked(
    tmp_path: Path,
) -> None:
    unfinished = open_wave(push(TILE, at(6)))
    timeline = decode([unfinished, busy(0, 20, wave=1)], tmp_path)

    assert picture(timeline, width=38) == [
        "0,0,0      0     ··o███t»             ",
        "           1     o███████████████████ ",
    ]
    assert picture(timeline, width=38, is_ascii=True)[0] == "0,0,0      0     ..OOOOt>             "


def test_a_wave_that_runs_to_the_end_has_its_mark_behind_the_last_column(tmp_path: Path) -> None:
    unfinished = open_wave(push(TILE, at(6)), push(MMA, at(20)))
    timeline = decode([unfinished, busy(0, 20, wave=1)], tmp_path)

    assert picture(timeline, width=38) == [
        "0,0,0      0     ··o███t████████████m»",
        "           1     o███████████████████ ",
    ]


def test_how_many_waves_are_unfinished_and_in_what_is_said(tmp_path: Path) -> None:
    waves = [open_wave(push(TILE, at(6))), open_wave(wave=1), busy(0, 20, wave=2)]
    lines = text(draw(decode(waves, tmp_path), View(0, width=60)))

    assert lines[1].endswith("; all 3 waves of 1 workgroup; 2 waves unfinished")
    assert lines[-5:] == [
        "o█ outer 85.7 %, 1 open   t█ tile 0.0 %, 1 open",
        "· outside phases 14.3 %",
        "a letter begins a phase; a block's height is its share of the column",
        "%: of the time of these waves, without phases that nest inside",
        "»: not ended when it was recorded; open: how many waves were in the phase",
    ]


def test_unfinished_waves_that_have_no_row_are_counted(tmp_path: Path) -> None:
    waves = [busy(0, 20), open_wave(block=(1, 0, 0)), busy(0, 20, block=(2, 0, 0))]
    timeline = decode(waves, tmp_path, grid=(3, 1, 1), block=(64, 1, 1))

    assert text(draw(timeline, View(0, rows=2)))[1].endswith(
        "; 2 of 3 waves: 2 of 3 workgroups, evenly spaced; 1 wave unfinished (0 shown)"
    )


def test_a_place_with_unfinished_waves_has_a_mark_at_its_rows_end(tmp_path: Path) -> None:
    waves = [open_wave(), busy(0, 20, xcc=1, wave=1)]

    assert picture(decode(waves, tmp_path), by=By.XCD, width=26) == [
        "0    ··                  »",
        "1    o███████████████████ ",
    ]


def test_an_end_that_lies_outside_of_the_window_has_no_mark(tmp_path: Path) -> None:
    timeline = decode([open_wave(push(TILE, at(6))), busy(0, 20, wave=1)], tmp_path)
    zero = int(timeline.waves["begin_ns"][0])

    lines = text(draw(timeline, View(0, width=38, window_ns=(zero, zero + 2_500))))

    assert lines[4] == "0,0,0      0     ········o███████████ "
    assert "1 wave unfinished" in lines[1]
    assert "open" not in lines[7]


def test_a_wave_without_any_event_is_outside_all_phases(tmp_path: Path) -> None:
    timeline = decode([Wave(begin=at(0), end=at(20))], tmp_path)
    lines = text(draw(timeline, View(0, width=40)))

    assert lines[4] == "0,0,0      0     " + "·" * 23
    assert lines[6] == "· outside phases 100.0 %"


def test_roles_of_waves_are_in_their_names(tmp_path: Path) -> None:
    waves = [
        Wave(wave=i, begin=at(0), end=at(20), main=[group(role, at(0))])
        for i, role in enumerate((PRODUCER, CONSUMER))
    ]

    rows = picture(decode(waves, tmp_path))

    assert [row[11:21] for row in rows] == ["0 producer", "1 consumer"]


def test_the_longest_dispatch_is_picked_or_those_that_are_asked_for(tmp_path: Path) -> None:
    recording, kernel = builder()
    for length in (5, 20, 10):
        recording.add_dispatch(kernel, [Wave(begin=at(0), end=at(length))])
    timeline = build(recording, tmp_path)

    assert pick_dispatches(timeline, []) == [1]
    assert pick_dispatches(timeline, [3, 1]) == [0, 2]


def test_no_dispatch_is_picked_where_there_is_none(tmp_path: Path) -> None:
    recording, _ = builder()

    assert pick_dispatches(build(recording, tmp_path), []) == []


def test_letters_are_of_the_names_as_far_as_they_are_free() -> None:
    names = ["load", "mma", "Store", "lds_load", "MMA", "m", "ll", "123", "größe"]

    assert choose_letters(names) == ["l", "m", "s", "d", "a", "b", "c", "e", "g"]


def test_phases_without_a_letter_of_their_own_share_one() -> None:
    phases = [(f"phase {i}", "") for i in range(30)]
    symbols = choose_symbols(phases, np.arange(30, dtype=np.float64))

    assert len(symbols.all) == 27
    assert len({symbol.letter for symbol in symbols.all}) == 27
    assert symbols.all[0].name == "phase 29"
    assert (symbols.all[-1].letter, symbols.all[-1].name) == ("*", "4 others")
    assert symbols.all[-1].time_ns == 0 + 1 + 2 + 3
    assert symbols.of_phase[:4].tolist() == [26, 26, 26, 26]


def test_colours_are_far_apart_also_where_a_terminal_has_few() -> None:
    colours = [Color.parse(colour) for colour in COLOURS]

    assert len({colour.downgrade(ColorSystem.STANDARD).number for colour in colours}) == 7
    shown = [colour.downgrade(ColorSystem.EIGHT_BIT).get_truecolor() for colour in colours]
    assert min(distance(a, b) for a, b in combinations(shown, 2)) > 0.18


def test_colours_are_handed_out_in_the_order_of_the_legend() -> None:
    phases = [(f"phase {i}", "") for i in range(6)]

    symbols = choose_symbols(phases, np.array([3.0, 9.0, 1.0, 7.0, 5.0, 2.0]))

    assert [symbol.style for symbol in symbols.all] == list(COLOURS[:6])
    assert [symbol.name[-1] for symbol in symbols.all] == ["1", "3", "4", "0", "5", "2"]


@given(st.lists(st.tuples(st.integers(0, 63), st.integers(0, 63), st.integers(0, 1)), max_size=20))
def test_what_spans_cover_of_each_column_is_exact(spans: list[tuple[int, int, int]]) -> None:
    # Eighths of a column, of which a float holds all sums exactly.
    rows = np.array([row for *_, row in spans], np.int64)
    begin = np.array([min(a, b) / 8 for a, b, _ in spans], np.float64)
    end = np.array([max(a, b) / 8 for a, b, _ in spans], np.float64)

    covered = spread(rows, np.zeros(len(rows), np.int64), (begin, end), (2, 8, 1))

    expected = np.zeros((2, 8))
    for a, b, row in spans:
        for eighth in range(min(a, b), max(a, b)):
            expected[row, eighth // 8] += 1 / 8
    assert covered[:, :, 0].tolist() == expected.tolist()


@given(st.lists(st.text(min_size=1, max_size=8), max_size=26))
def test_any_names_get_different_letters(names: list[str]) -> None:
    letters = choose_letters(names)

    assert len(set(letters)) == len(names)
    assert all(len(letter) == 1 and "a" <= letter <= "z" for letter in letters)
