"""Each check of a selftest can fail: what a real run measured, with one thing wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ktrace_cli.selftest import regions
from ktrace_cli.selftest.answer import EVERYTHING, Answer, read_answer
from ktrace_cli.selftest.judging.all import judge
from ktrace_cli.selftest.judging.bounds import judge_bounds
from ktrace_cli.selftest.judging.clocks import judge_clocks
from ktrace_cli.selftest.judging.copies import judge_copies
from ktrace_cli.selftest.judging.costs import judge_costs
from ktrace_cli.selftest.judging.launches import judge_launches
from ktrace_cli.selftest.judging.measured import Measured
from ktrace_cli.selftest.judging.polling import judge_polling
from ktrace_cli.selftest.judging.records import judge_records
from ktrace_cli.selftest.judging.xcc import judge_xcc
from ktrace_cli.selftest.selftest import measure
from ktrace_cli.selftest.settings import Settings
from ktrace_cli.selftest_file.result import Check, State
from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import LossReason
from ktrace_cli.trace_file.recording import Damage, DispatchRecord

Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    folder = tmp_path_factory.mktemp("selftest")
    return measure(folder, Settings(is_quick=True, is_software=True, tries_polling=True))


def with_array(measured: Measured, name: str, change: Callable[[Array], object]) -> Measured:
    """Change a copy of an array that the program without the interposer found."""
    array = measured.bare.arrays[name].copy()
    change(array)
    bare = replace(measured.bare, arrays={**measured.bare.arrays, name: array})
    return replace(measured, bare=bare)


def with_dispatch(
    measured: Measured, name: str, change: Callable[[DispatchRecord], object]
) -> Measured:
    """Change a copy of the first launch of a kernel in the recording."""
    first = measured.dispatches(name)[0]
    copy = bytearray(first.payload)
    record = np.frombuffer(copy, layout.DISPATCH, 1)[0]
    changed = DispatchRecord(record, memoryview(copy))
    change(changed)
    assert measured.recording is not None
    others = measured.recording.dispatches
    dispatches = tuple(changed if one is first else one for one in others)
    return replace(measured, recording=replace(measured.recording, dispatches=dispatches))


def assign(place: Any, value: object) -> Callable[[Array], object]:
    return lambda array: array.__setitem__(place, value)


def assert_fails(check: Check, text: str) -> None:
    assert check.state is State.FAIL
    assert text in check.text


def test_what_was_measured_passes(measured: Measured) -> None:
    checks, costs = judge(measured)

    assert [check.state for check in checks if check.name != "xcc_skew"] == [State.PASS] * 7
    assert len(costs) == 16


FIRST = regions.GUARD  # of the first region; its wave is recorded, that of the second is not
SECOND = FIRST + (1 << regions.REGION_LOG2)


@pytest.mark.parametrize(
    ("name", "place", "text"),
    [
        ("bounds_main", 0, "main overflow: bytes touched beyond the regions' own: 1 instead of 0"),
        ("bounds_main", -1, "bytes touched"),
        ("bounds_main", SECOND, "bytes touched"),
        ("bounds_side", SECOND - (1 << 9) + 127, "side overflow: bytes touched"),
        ("bounds_main", FIRST + 8, "main overflow: wrong fields of headers: ['main_cursor']"),
        ("bounds_side", FIRST + 4, "side overflow: wrong fields of headers: ['side_cursor']"),
        ("bounds_main", FIRST, "wrong fields of headers: ['state']"),
        ("bounds_main", FIRST + 16, "wrong fields of headers: ['block']"),
        ("bounds_both", FIRST + 128 + 12, "both overflow: kept words that differ: 1 instead of 0"),
        ("bounds_side", SECOND - 8, "side overflow: kept words that differ: 1"),
        ("bounds_both_control", 40, "bytes of the control block that changed: 1 instead of 0"),
    ],
)
def test_a_byte_that_is_wrong_in_a_full_region_fails_bounds_drop(
    measured: Measured, name: str, place: int, text: str
) -> None:
    def flip(array: Array) -> None:
        array[place] ^= 0x40

    assert_fails(judge_bounds(with_array(measured, name, flip)), text)


def test_a_wrong_count_of_dropped_words_fails_bounds_drop(measured: Measured) -> None:
    assert measured.process is not None
    assert measured.process.dropped_words == 16 * (401 - 240)
    process = replace(measured.process, dropped_words=2575)

    check = judge_bounds(replace(measured, process=process))

    assert_fails(check, "dropped words that the interposer counts: 2575 instead of 2576")


def test_a_wrong_word_of_a_recorded_full_region_fails_bounds_drop(measured: Measured) -> None:
    def change(dispatch: DispatchRecord) -> None:
        dispatch.words["clock"][1] ^= 1

    check = judge_bounds(with_dispatch(measured, "overflow", change))

    assert_fails(check, "recorded words that differ: 1 instead of 0")


WORDS = 45 + 8  # main and side words of a wave of the pattern, in 4 rounds


@pytest.mark.parametrize(
    ("number", "field", "bit"),
    [
        (0, "tag", 0),  # the id of a group
        (1, "clock", 31),  # a payload
        (6, "clock", 0),  # the upper half of one
        (7, "clock", 31),  # a clock
        (9, "tag", 20),  # the id of a span
        (12, "tag", 3),  # the number of the word that is stopped
        (WORDS * 1216 - 1, "clock", 7),  # the payload of a side word of the last wave
        (WORDS * 1216 - 1, "tag", 26),  # whose stream it is of
    ],
)
def test_any_bit_that_is_wrong_fails_records_intact(
    measured: Measured, number: int, field: str, bit: int
) -> None:
    def change(dispatch: DispatchRecord) -> None:
        assert len(dispatch.words) == WORDS * 1216
        dispatch.words[field][number] ^= np.uint32(1 << bit)

    check = judge_records(with_dispatch(measured, "pattern", change))

    assert_fails(check, "words that differ: ")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda d: d.headers["wave"].__setitem__(1, 0), "missing or twice: 1 instead of 0"),
        (lambda d: d.headers["state"].__setitem__(5, 1), "waves that did not end: 1 instead of 0"),
        (
            lambda d: d.extents["main_words"].__setitem__(3, 44),
            "waves with another number of main_words than 45: 1 instead of 0",
        ),
    ],
    ids=["wave", "state", "extent"],
)
def test_a_wave_that_is_not_whole_fails_records_intact(
    measured: Measured, change: Callable[[DispatchRecord], object], text: str
) -> None:
    assert_fails(judge_records(with_dispatch(measured, "pattern", change)), text)


def test_damage_and_missing_launches_fail_records_intact(measured: Measured) -> None:
    assert measured.recording is not None
    damaged = replace(measured.recording, damage=Damage(damaged_chunks=1))
    empty = replace(measured.recording, dispatches=())

    check = judge_records(replace(measured, recording=damaged))
    assert_fails(check, "damage of the recording: {'damaged_chunks': 1} instead of {}")
    check = judge_records(replace(measured, recording=empty))
    assert_fails(check, "recorded launches of the pattern: 0 instead of 1")


@pytest.mark.parametrize(
    ("name", "change", "text"),
    [
        (
            "clock_core",
            lambda a: a.__setitem__(slice(7, 9), a[[8, 7]]),
            "s_memtime went backwards: 1",
        ),
        ("clock_core", assign(slice(None), 5), "s_memtime did not go on in 512 readings"),
        (
            "clock_reference",
            lambda a: a.__setitem__(slice(None), 1000 + np.arange(512) // 8 * 40),
            "s_memrealtime steps by 40 ticks; decoding assumes 10",
        ),
        ("clock_pairs", assign((3, 4), 0), "of 304 waves, those whose clocks did not go forward"),
        (
            "clock_pairs",
            lambda a: a.__setitem__((slice(None), 3), a[:, 1] + (a[:, 4] - a[:, 2]) * 2000),
            "the core clock has 200 cycles per ns; decoding assumes 100",
        ),
    ],
    ids=["backwards", "still", "coarse", "silent", "fast"],
)
def test_clocks_that_decoding_cannot_use_fail(
    measured: Measured, name: str, change: Callable[[Array], object], text: str
) -> None:
    assert_fails(judge_clocks(with_array(measured, name, change)), text)


def test_a_reference_clock_of_another_rate_than_hip_says_fails(measured: Measured) -> None:
    facts = {**measured.facts, "realtime_hz": 99_800_000}

    check = judge_clocks(replace(measured, facts=facts))

    assert_fails(check, "s_memrealtime has 100 MHz by the host's clock, not 99.8")


def test_many_waves_off_their_clocks_line_fail(measured: Measured) -> None:
    def delay(dispatch: DispatchRecord) -> None:
        dispatch.headers["realtime_begin"][::2] -= np.uint64(30)

    check = judge_clocks(with_dispatch(measured, "pattern", delay))

    assert check.state is State.FAIL
    assert re.fullmatch(
        r"\d[\d,]* of [\d,]+ waves have readings more than 10 ticks off their clock's line;"
        r" decoding takes such for rare",
        check.text,
    )


def answers(skew: int) -> Array:
    """Two XCCs, four answers each: asked at 1000, heard 20 later, replied in the middle."""
    times = np.zeros((2, 4, 3), np.uint64)
    times[:] = 1000 + np.arange(4)[:, None] * 100 + np.array([0, 10, 20])
    times[1, :, 1] += skew
    return times


def judged_skew(measured: Measured, times: Array, *, is_software: bool = False) -> Check:
    arrays = {"xcc_times": times, "xcc_state": np.array([1, 0], np.uint32)}
    assert measured.recording is not None
    return judge_xcc(
        replace(
            measured,
            settings=Settings(is_quick=True, is_software=is_software),
            facts={**measured.facts, "xcc_count": 2},
            bare=Answer(measured.facts, arrays),
            recording=None,
        )
    )


def test_answers_between_asking_and_hearing_pass_with_their_resolution(measured: Measured) -> None:
    check = judged_skew(measured, answers(skew=4))

    assert check.state is State.PASS
    assert [(f.name, f.value, f.unit) for f in check.figures] == [
        ("XCC 0", 0.0, "ns, ± 100"),
        ("XCC 1", 40.0, "ns, ± 100"),
        ("largest difference", 40.0, "ns"),
        ("resolution", 100.0, "ns"),
    ]


def test_a_clock_that_is_ahead_fails_xcc_skew(measured: Measured) -> None:
    check = judged_skew(measured, answers(skew=50))

    assert_fails(check, "XCC 1: its clock is ahead by 500 ns, ± 100")


def test_answers_that_contradict_fail_on_hardware_and_tell_nothing_of_a_model(
    measured: Measured,
) -> None:
    times = answers(skew=0)
    times[1, 1, 1] += np.uint64(30)
    times[1, 2, 1] -= np.uint64(40)

    hardware = judged_skew(measured, times)
    assert_fails(hardware, "XCC 1: its answers contradict each other by ")
    for told in (times, answers(skew=50)):
        software = judged_skew(measured, told, is_software=True)
        assert software.state is State.SKIPPED
        assert "runs its CUs apart by up to " in software.text


def test_an_xcc_that_does_not_answer_fails(measured: Measured) -> None:
    times = answers(skew=0)
    times[1] = 0

    check = judged_skew(measured, times)

    assert_fails(check, "XCCs that did not answer: [1] instead of []")


def test_a_device_without_xccs_is_skipped_and_says_why(measured: Measured) -> None:
    for count, why in ((1, "the device has one XCC"), (None, "HIP does not tell how many XCCs")):
        facts = {**measured.facts, "xcc_count": count}
        check = judge_xcc(replace(measured, facts=facts))
        assert check.state is State.SKIPPED
        assert check.text.startswith(why)


def test_a_loop_that_wrote_other_words_fails_event_cost(measured: Measured) -> None:
    def change(dispatch: DispatchRecord) -> None:
        dispatch.extents["main_words"][0] = 31

    check, costs = judge_costs(with_dispatch(measured, "spaced_mark", change))

    assert_fails(check, "words of each wave of the loop of mark, lone wave, spaced: [31]")
    assert len(costs) == 15


def test_markers_that_cost_nothing_fail_event_cost(measured: Measured) -> None:
    def change(dispatch: DispatchRecord) -> None:
        dispatch.headers["memtime_end"][:] = dispatch.headers["memtime_begin"] + 100

    check, _ = judge_costs(with_dispatch(measured, "cost_range", change))

    assert_fails(check, "KTRACE_RANGE, lone wave, dense: the loop with markers is not slower")


def test_a_wrong_word_of_a_marker_that_polls_fails_poll_clock(measured: Measured) -> None:
    assert measured.polling is not None

    def change(dispatch: DispatchRecord) -> None:
        dispatch.words["clock"][1] ^= 1

    wrong = with_dispatch(measured.polling, "pattern", change)
    check = judge_polling(replace(measured, polling=wrong), ())
    assert_fails(check, "words that differ: 1 instead of 0")
    check = judge_polling(replace(measured, polling=None), ())
    assert (check.state, check.text) == (State.SKIPPED, "left out by `--quick`")


def test_a_lost_launch_fails_launch_overhead(measured: Measured) -> None:
    assert measured.process is not None
    process = measured.process
    lost = replace(process, losses={LossReason.NO_MEMORY: 1})
    unseen = replace(process, launches=process.launches - 1)
    assert measured.recording is not None
    fewer = replace(measured.recording, dispatches=measured.recording.dispatches[:-1])

    check = judge_launches(replace(measured, process=lost))
    assert_fails(check, "launches that were lost: {'no_memory': 1} instead of {}")
    check = judge_launches(replace(measured, process=unseen))
    assert_fails(check, "launches that the interposer saw: 469 instead of 470")
    check = judge_launches(replace(measured, recording=fewer))
    assert_fails(check, "recorded launches of an empty kernel: 223 instead of 224")
    check = judge_launches(replace(measured, process=None))
    assert_fails(check, "the interposer told nothing of the program")


def test_a_wrong_copy_fails_copy_bandwidth(measured: Measured) -> None:
    wrong = judge_copies(with_array(measured, "copy_wrong", assign((0, 0), 3)))
    assert_fails(wrong, "bytes that were copied wrongly: 3 instead of 0")
    timeless = judge_copies(with_array(measured, "copy_ms", assign(0, 0.0)))
    assert_fails(timeless, "a copy of 64.0 KiB took 0 ms")


def test_a_program_that_died_fails_all_checks(measured: Measured, tmp_path: Path) -> None:
    dead = read_answer(tmp_path, 139)

    polling = replace(measured, traced=dead)
    checks, costs = judge(replace(measured, bare=dead, traced=dead, polling=polling))

    why = "the program that measures ended with status 139"
    assert dead.errors == {EVERYTHING: why}
    assert [check.state for check in checks] == [State.FAIL] * 8
    assert {check.text for check in checks} == {why}
    assert costs == ()


def test_a_recording_that_cannot_be_read_fails_what_is_in_it(measured: Measured) -> None:
    why = "the recording cannot be read: it is empty"

    checks, _ = judge(replace(measured, recording=None, unreadable=why))

    failing = {check.name for check in checks if check.text == why}
    assert failing == {
        "bounds_drop", "records_intact", "clocks", "event_cost", "launch_overhead",
    }  # fmt: skip


def test_a_software_device_that_passes_for_hardware_is_seen(measured: Measured) -> None:
    claimed = replace(measured, settings=replace(measured.settings, is_software=False))

    assert claimed.is_software
