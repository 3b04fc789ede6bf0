"""Inputs that users really have, group (a): in-kernel records."""

from pathlib import Path

import pytest

from ktrace_cli.analysis.summary import summarize
from ktrace_cli.model import SliceFlag, WaveFlag
from ktrace_cli.trace_file.layout import DispatchFlag, Mode, WaveState
from support.recording import Wave
from support.timelines import (
    INNER,
    LOAD,
    MARK,
    OUTER,
    PRODUCER,
    TILE,
    decode,
    flags,
    losses,
    marks,
    slices,
)
from support.words import group, mark, pop, push, raw, span, start, stop, stop_word

UNCLOSED = SliceFlag.UNCLOSED
TRUNCATED = SliceFlag.UNCLOSED | SliceFlag.TRUNCATED


def test_a_wave_past_its_budget_keeps_what_fits_and_counts_the_rest(tmp_path: Path) -> None:
    # A region of 256 words, 16 of them its header, cannot hold 300 events.
    full = Wave(wave=0, main=[push(OUTER, 1100 + i) for i in range(240)], dropped_main=60)
    others = [Wave(wave=w, main=[push(OUTER, 1100), pop(1200)]) for w in (1, 2, 3)]

    timeline = decode([full, *others], tmp_path, region_log2=11)

    assert losses(timeline) == {
        "dropped_words": 60,
        "truncated_waves": 1,
        "unclosed_slices": 240,
    }
    assert timeline.waves["words"].tolist() == [240, 2, 2, 2]
    assert timeline.waves["dropped"].tolist() == [60, 0, 0, 0]
    assert timeline.waves["flags"].tolist() == [WaveFlag.DROPPED, 0, 0, 0]
    assert set(flags(timeline, 0)) == {TRUNCATED}
    assert slices(timeline, 0)[0] == ("outer", "", 0, 100, 239)
    for wave in (1, 2, 3):
        assert slices(timeline, wave) == [("outer", "", 0, 100, 100)]
        assert flags(timeline, wave) == [SliceFlag(0)]


def test_44_events_beyond_a_region_are_44_dropped_words(tmp_path: Path) -> None:
    full = Wave(main=[mark(MARK, 1100 + i) for i in range(496)], dropped_main=44)

    timeline = decode([full], tmp_path, region_log2=12)

    assert losses(timeline) == {"dropped_words": 44, "truncated_waves": 1}
    assert len(timeline.instants) == 496


def test_an_id_without_a_name_is_shown_and_counted(tmp_path: Path) -> None:
    wave = Wave(main=[push(77, 1100), span(TILE, 1150, 1160), pop(1200), mark(77, 1300)])

    timeline = decode([wave], tmp_path)

    assert slices(timeline) == [("event_77", "", 0, 100, 100), ("tile", "", 1, 150, 10)]
    assert marks(timeline) == [("event_77", 300)]
    assert losses(timeline) == {"unnamed_events": 2}
    assert timeline.losses.sentences() == ["2 events have an id without a name"]
    (kernel,) = summarize(timeline).kernels
    counts = [(phase.name, phase.times.count) for phase in kernel.phases]
    assert counts == [("event_77", 1), ("tile", 1)]
    assert [(m.name, m.count) for m in kernel.marks] == [("event_77", 1)]


def test_pushes_without_pops_end_at_the_last_record(tmp_path: Path) -> None:
    wave = Wave(main=[push(OUTER, 1100), push(INNER, 1300)], end=9000)

    timeline = decode([wave], tmp_path)

    assert slices(timeline) == [("outer", "", 0, 100, 200), ("inner", "", 1, 300, 0)]
    assert flags(timeline) == [UNCLOSED, UNCLOSED]
    assert losses(timeline) == {"unclosed_slices": 2}


def test_a_pop_without_a_push_is_counted(tmp_path: Path) -> None:
    wave = Wave(main=[pop(1100), push(OUTER, 1200), pop(1300)])

    timeline = decode([wave], tmp_path)

    assert slices(timeline) == [("outer", "", 0, 200, 100)]
    assert losses(timeline) == {"stray_ends": 1}


def test_an_early_return_leaves_the_outer_range_unclosed(tmp_path: Path) -> None:
    wave = Wave(main=[push(OUTER, 1100), push(INNER, 1200), pop(1500)], end=9000)

    timeline = decode([wave], tmp_path)

    assert slices(timeline) == [("outer", "", 0, 100, 400), ("inner", "", 1, 200, 300)]
    assert flags(timeline) == [UNCLOSED, SliceFlag(0)]
    assert losses(timeline) == {"unclosed_slices": 1}


def test_tokens_in_flight_get_lanes_of_their_own(tmp_path: Path) -> None:
    def pipelined(shift: int) -> list[list[object]]:
        words = []
        for i in range(6):
            at = 1100 + 100 * i + shift
            words.append(start(LOAD, at, token=f"load{i}"))
            if i >= 2:
                words.append(stop(f"load{i - 2}", at + 50))
        return [*words, stop("load4", 1800 + shift), stop("load5", 1900 + shift)]

    waves = [Wave(wave=0, main=pipelined(0)), Wave(wave=1, main=pipelined(7))]

    timeline = decode(waves, tmp_path)

    assert losses(timeline) == {}
    assert timeline.lanes == ("", "vmem", "vmem 2", "vmem 3")
    expected = [
        ("load", "vmem", 0, 100, 250),
        ("load", "vmem", 0, 400, 250),
        ("load", "vmem 2", 0, 200, 250),
        ("load", "vmem 2", 0, 500, 300),
        ("load", "vmem 3", 0, 300, 250),
        ("load", "vmem 3", 0, 600, 300),
    ]
    assert slices(timeline, 0) == expected
    assert slices(timeline, 1) == [(n, ln, d, begin + 7, t) for n, ln, d, begin, t in expected]


def test_tokens_are_not_paired_across_waves(tmp_path: Path) -> None:
    # Both waves start at word 16; only the second stops it.
    waves = [
        Wave(wave=0, main=[start(LOAD, 1100, token="a"), mark(MARK, 1150)]),
        Wave(wave=1, main=[start(LOAD, 1100, token="a"), stop_word(16, 1200)]),
    ]

    timeline = decode(waves, tmp_path)

    assert slices(timeline, 0) == [("load", "vmem", 0, 100, 50)]
    assert flags(timeline, 0) == [UNCLOSED]
    assert slices(timeline, 1) == [("load", "vmem", 0, 100, 100)]
    assert losses(timeline) == {"unclosed_slices": 1}


def test_a_torn_buffer_is_skipped_and_counted(tmp_path: Path) -> None:
    words = [push(OUTER, 1100), pop(1200)]
    zeroed = dict.fromkeys(("state", "side_cursor", "dispatch", "memtime_begin"), 0)
    waves = [
        Wave(wave=0, main=words, header={"memtime_begin": 0}),
        Wave(wave=1, main=words, header=zeroed),
        # Its header tells of four words; two were written.
        Wave(wave=2, main=[*words, raw(0, 0), raw(0, 0)]),
        Wave(wave=3, main=words),
    ]

    timeline = decode(waves, tmp_path)

    assert losses(timeline) == {"torn_waves": 2, "torn_words": 2}
    assert (timeline.waves["flags"] == WaveFlag.TORN).tolist() == [True, True, False, False]
    assert [slices(timeline, wave) for wave in range(4)] == [
        [],
        [],
        [("outer", "", 0, 100, 100)],
        [("outer", "", 0, 100, 100)],
    ]
    launched = timeline.dispatches["launched_ns"][0]
    assert timeline.slices["begin_ns"].min() > launched
    assert timeline.waves["begin_ns"].min() == launched
    assert timeline.dispatches["begin_ns"][0] == timeline.waves["begin_ns"][2]


def test_headers_that_contradict_their_dispatch_are_torn(tmp_path: Path) -> None:
    wrong = [
        {"dispatch": 7},
        {"state": 3},
        {"block": (1, 0, 0)},
        {"wave": 10},
        {"main_cursor": 64},
        {"main_cursor": 130},
        {"side_cursor": 2048},
        {"memtime_end": 1 << 60},
        {"realtime_end": 0},
    ]
    waves = [Wave(wave=w, main=[mark(MARK, 1100)], header=header) for w, header in enumerate(wrong)]

    timeline = decode([*waves, Wave(wave=9)], tmp_path)

    assert losses(timeline) == {"torn_waves": 9}
    assert len(timeline.instants) == 0


def test_an_unfinished_wave_ends_at_its_last_record(tmp_path: Path) -> None:
    hung = Wave(
        wave=0, main=[push(OUTER, 1100), mark(MARK, 1700), raw(0, 0)], state=WaveState.BEGUN
    )

    timeline = decode([hung, Wave(wave=1)], tmp_path)

    assert losses(timeline) == {"unfinished_waves": 1, "unclosed_slices": 1}
    assert timeline.waves["end_ticks"][0] == 1700
    assert timeline.waves["words"][0] == 2
    assert slices(timeline, 0) == [("outer", "", 0, 100, 600)]


def test_waves_that_are_not_in_the_file_are_missing(tmp_path: Path) -> None:
    timeline = decode([Wave(wave=0)], tmp_path, expected=4)

    assert losses(timeline) == {"missing_waves": 3}


def test_without_an_expectation_no_wave_is_missing(tmp_path: Path) -> None:
    timeline = decode([Wave(wave=0)], tmp_path, expected=0, flags=DispatchFlag.FILTERED)

    assert losses(timeline) == {}
    assert timeline.dispatches["flags"].tolist() == [DispatchFlag.FILTERED]


@pytest.mark.parametrize(("mode", "missing"), [(Mode.CLAIM, 6), (Mode.DIRECT, 0)])
def test_waves_that_found_no_slot_are_missing(tmp_path: Path, mode: Mode, missing: int) -> None:
    slots = {"mode": mode, "wave_slots": 2, "claimed": 8}

    timeline = decode([Wave(wave=0), Wave(wave=1)], tmp_path, expected=0, **slots)

    assert timeline.losses.missing_waves == missing


def test_lanes_that_left_early_are_told(tmp_path: Path) -> None:
    few = {"exec_end": 0xFFFF}
    waves = [
        Wave(wave=0, header=few),
        Wave(wave=1),
        Wave(wave=2, header=few, state=WaveState.BEGUN),
    ]

    timeline = decode(waves, tmp_path)

    assert timeline.waves["flags"].tolist() == [WaveFlag.LEFT_EARLY, 0, WaveFlag.UNFINISHED]
    assert losses(timeline) == {"unfinished_waves": 1}


@pytest.mark.parametrize(
    ("end", "flag"),
    [
        ({"hw_id_end": 1}, WaveFlag.MOVED),
        ({"hw_id_end": 1 << 4}, WaveFlag.MOVED),
        ({"hw_id_end": 1 << 12}, WaveFlag.MOVED),
        ({"xcc_id_end": 3}, WaveFlag.MOVED),
        # The pipe and what is above the shader engine say who launched it, not where it ran.
        ({"hw_id_end": 1 << 6 | 1 << 16 | 1 << 24}, 0),
        ({"xcc_id_end": 1 << 4}, 0),
    ],
)
def test_a_wave_that_moved_is_told(tmp_path: Path, end: dict[str, int], flag: int) -> None:
    timeline = decode([Wave(wave=0, header=end), Wave(wave=1)], tmp_path)

    assert timeline.waves["flags"].tolist() == [flag, 0]
    assert losses(timeline) == ({"moved_waves": 1} if flag else {})


def test_a_role_names_its_wave(tmp_path: Path) -> None:
    timeline = decode([Wave(wave=0, main=[group(PRODUCER, 1100)]), Wave(wave=1)], tmp_path)

    assert timeline.events[timeline.waves["group"][0]].name == "producer"
    assert timeline.waves["group"][1] == -1
    assert losses(timeline) == {}


def test_hardware_registers_tell_the_place(tmp_path: Path) -> None:
    # wave 3, simd 2, pipe 1, cu 10, shader array 1, se 5
    hw_id = 3 | 2 << 4 | 1 << 6 | 10 << 8 | 1 << 12 | 5 << 13

    timeline = decode([Wave(hw_id=hw_id, xcc=6, exec_begin=1)], tmp_path)

    wave = timeline.waves[0]
    place = tuple(int(wave[name]) for name in ("xcc", "se", "cu", "simd", "hardware_slot"))
    assert place == (6, 5, 26, 2, 3)
    assert wave["flags"] == WaveFlag.PARTIAL
