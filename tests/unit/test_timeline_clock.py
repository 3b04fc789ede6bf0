"""Inputs that users really have, group (d): clocks."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ktrace_cli.errors import KtraceError
from ktrace_cli.model import WAVE, SliceFlag, WaveFlag
from ktrace_cli.timeline.clock import ANCHOR, ClockMap, fit_clock
from ktrace_cli.timeline.host_clock import HostClock, fit_host_clock
from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import ClockMethod, WaveState
from ktrace_cli.trace_file.recording import DeviceRecord
from support.recording import HOST_EPOCH_NS, Wave
from support.timelines import (
    MARK,
    OUTER,
    WHOLE,
    build,
    builder,
    decode,
    flags,
    losses,
    marks,
    slices,
)
from support.words import anchor, long_begin, long_end, mark, pop, push, span

WRAP = 1 << 32


def device(hz: int) -> DeviceRecord:
    return DeviceRecord(0, "gfx942", "name", 0, hz, 304, 8, 0, bytes(16))


def samples(*rows: tuple[int, int]) -> np.ndarray:
    result = np.zeros(len(rows), layout.CLOCK)
    result["method"] = ClockMethod.HSA
    result["realtime"] = [realtime for realtime, _ in rows]
    result["host_ns"] = [host_ns for _, host_ns in rows]
    return result


NO_DISPATCHES = np.zeros((0, 4), np.int64)


def fit(
    anchors: list[tuple[int, int, int]], hz: int = 100_000_000, xccs: Sequence[int] = ()
) -> ClockMap:
    """Fit (wave, ticks, realtime); the first anchor of a wave is its begin."""
    count = max(wave for wave, _, _ in anchors) + 1
    rows = np.zeros(len(anchors), ANCHOR)
    rows["wave"], rows["ticks"], rows["realtime"] = np.array(anchors).T
    seen: set[int] = set()
    for row in rows:
        row["is_begin"] = row["wave"] not in seen
        seen.add(int(row["wave"]))
    zero = np.zeros(1, np.int64)
    clock = HostClock("hsa", zero, zero, hz, 0)
    waves = np.zeros(count, WAVE)
    waves["xcc"] = xccs or 0
    return fit_clock(rows, waves, np.zeros(count, np.int64), {0: clock})


def test_a_32_bit_clock_that_wraps_goes_on(tmp_path: Path) -> None:
    wave = Wave(
        begin=0xFFFF_FF00,
        end=WRAP + 0x100,
        main=[push(OUTER, 0xFFFF_FFF0), pop(WRAP + 0x10)],
    )

    timeline = decode([wave], tmp_path)

    assert slices(timeline) == [("outer", "", 0, 0xF0, 32)]
    assert losses(timeline) == {}


def test_a_gap_of_more_than_half_the_range_is_flagged(tmp_path: Path) -> None:
    gap = (1 << 31) + 1000
    wave = Wave(
        end=1_000_000 + 3 * WRAP,
        main=[push(OUTER, 1100), pop(1100 + gap), push(OUTER, 1100 + gap + 10)],
    )

    timeline = decode([wave], tmp_path)

    assert slices(timeline)[0] == ("outer", "", 0, 100, gap)
    assert flags(timeline) == [SliceFlag.LONG_GAP, SliceFlag.UNCLOSED]
    # The time between the last word and the end is longer than the clock's range, too.
    assert losses(timeline) == {"unclosed_slices": 1, "long_gaps": 2}


def test_an_end_below_the_begin_is_clamped(tmp_path: Path) -> None:
    waves = [
        Wave(wave=0, begin=5000, end=4997, realtime_begin=238, realtime_end=238),
        Wave(wave=1),
    ]

    timeline = decode(waves, tmp_path)

    assert losses(timeline) == {"clamped_waves": 1}
    assert timeline.losses.sentences() == ["1 wave ended before its begin or its last word"]
    assert timeline.waves["flags"][0] == WaveFlag.CLAMPED
    assert timeline.waves["end_ticks"][0] == 5000
    assert timeline.waves["end_ns"][0] == timeline.waves["begin_ns"][0]


def test_a_word_that_steps_back_is_held_and_counted(tmp_path: Path) -> None:
    wave = Wave(main=[push(OUTER, 1100), pop(1097), mark(MARK, 1200)])

    timeline = decode([wave], tmp_path)

    assert slices(timeline) == [("outer", "", 0, 100, 0)]
    assert marks(timeline) == [("published", 200)]
    assert losses(timeline) == {"clamped_words": 1}
    assert timeline.losses.sentences() == ["1 word has a time that contradicts those around it"]


def test_without_a_rate_nanoseconds_are_refused() -> None:
    with pytest.raises(KtraceError, match="cannot tell times of device 0") as caught:
        fit_host_clock(samples((0, 5000)), device(0), NO_DISPATCHES)

    assert "recorded as 0 Hz" in caught.value.why


def test_two_samples_tell_a_rate_that_the_device_does_not() -> None:
    clock = fit_host_clock(samples((0, 5000), (100_000, 1_005_000)), device(0), NO_DISPATCHES)

    assert clock.to_ns(np.array([0, 1000, 200_000])).tolist() == [5000, 15_000, 2_005_000]
    assert clock.method == "hsa"


@pytest.mark.parametrize(("hz", "ns"), [(25_000_000, 40_000), (100_000_000, 10_000)])
def test_the_rate_of_the_reference_clock_counts(hz: int, ns: int) -> None:
    clock = fit_host_clock(samples((500, 1_000_000)), device(hz), NO_DISPATCHES)

    assert clock.to_ns(np.array([1500]))[0] - 1_000_000 == ns


def test_times_of_a_host_that_runs_for_decades_are_exact() -> None:
    epoch = 1_700_000_000_000_000_000
    clock = fit_host_clock(samples((10**15, epoch)), device(100_000_000), NO_DISPATCHES)

    assert clock.to_ns(np.array([10**15 + 1, 2 * 10**15])).tolist() == [epoch + 10, epoch + 10**16]


def test_clocks_that_drift_apart_are_followed_piece_by_piece() -> None:
    rows = ((0, 0), (1_000_000, 10_000_000), (2_000_000, 20_000_200))

    clock = fit_host_clock(samples(*rows), device(100_000_000), NO_DISPATCHES)

    assert clock.to_ns(np.array([500_000, 1_500_000])).tolist() == [5_000_000, 15_000_100]


def test_real_anchors_give_a_core_clock_of_2189_mhz() -> None:
    clock = fit([(0, 6624, 201726513344206), (0, 216676, 201726513353802)])

    assert clock.fits[0].core_hz == pytest.approx(2.189e9, rel=1e-4)
    begin, end = clock.to_ns(np.zeros(2, np.int64), np.array([6624, 216676]))
    assert end - begin == 95_960
    assert clock.fits[0].residual_ns == 0


def test_identical_anchors_are_an_error() -> None:
    with pytest.raises(KtraceError, match="core clock's rate") as caught:
        fit([(0, 6624, 201726513344206), (0, 216676, 201726513344206)])

    assert "210052 cycles" in caught.value.why


def test_a_wave_whose_anchors_are_identical_uses_its_device_s_rate() -> None:
    clock = fit([(0, 0, 0), (0, 2_100_000, 100_000), (1, 500, 23), (1, 500, 23)])

    assert clock.to_ns(np.array([1, 1]), np.array([500, 521])).tolist() == [238, 248]


def test_a_change_of_the_core_clock_s_rate_bends_the_line() -> None:
    # 2.1 GHz for a millisecond, then 1.05 GHz for another.
    clock = fit(
        [(0, 0, 0), (0, 2_100_000, 100_000), (1, 2_100_000, 100_000), (1, 3_150_000, 200_000)]
    )

    ticks = np.array([1_050_000, 2_625_000])
    assert clock.to_ns(np.array([0, 1]), ticks).tolist() == [500_000, 1_500_000]


def test_a_core_clock_that_begins_anew_has_a_line_of_its_own() -> None:
    clock = fit(
        [
            (0, 90_000_000_000, 0),
            (0, 90_002_100_000, 100_000),
            (1, 1_000, 200_000),
            (1, 2_101_000, 300_000),
        ]
    )

    times = clock.to_ns(np.array([0, 1]), np.array([90_001_050_000, 1_051_000]))
    assert times.tolist() == [500_000, 2_500_000]


def test_xccs_whose_clocks_differ_line_up(tmp_path: Path) -> None:
    shift = 77_000_000
    words = [push(OUTER, 22_000), pop(43_000)]
    shifted = [push(OUTER, 22_000 + shift), pop(43_000 + shift)]
    waves = [
        Wave(wave=0, begin=1_050, end=105_000, main=words),
        Wave(
            wave=1,
            xcc=1,
            begin=1_050 + shift,
            end=105_000 + shift,
            realtime_begin=50,
            realtime_end=5_000,
            main=shifted,
        ),
    ]

    timeline = decode(waves, tmp_path, completed_ns=HOST_EPOCH_NS + 60_000)

    first, second = timeline.slices
    assert first["begin_ns"] == second["begin_ns"]
    assert first["ns"] == second["ns"] == 10_000
    (xcc0, none), (xcc1, ahead) = timeline.clocks[0].skew_by_xcc
    assert (xcc0, none, xcc1, round(ahead)) == (0, 0, 1, 36_666_667)  # 77 million at 2.1 GHz


def test_records_outside_of_their_dispatch_are_shown_and_counted(tmp_path: Path) -> None:
    recording, kernel = builder()
    recording.add_clock(realtime=0)
    late = HOST_EPOCH_NS + 2_500_000_000
    wave = Wave(main=[push(OUTER, 1100), pop(1200)])
    recording.add_dispatch(
        kernel, [wave], launched_ns=late, submitted_ns=late + 10, completed_ns=late + 10_000
    )

    timeline = build(recording, tmp_path)

    assert losses(timeline) == {"out_of_window": 1}
    assert slices(timeline) == [("outer", "", 0, 100, 100)]
    assert 2_499_990_000 < late - timeline.slices["begin_ns"][0] < 2_500_000_000


def test_without_a_sample_launches_bound_the_clock(tmp_path: Path) -> None:
    timeline = decode([Wave(main=[mark(MARK, 1100)])], tmp_path, launched_ns=5_000)

    assert timeline.clocks[0].method == "bounds"
    assert timeline.waves["begin_ns"][0] == 5_000


def test_an_anchor_word_tells_how_long_a_gap_was(tmp_path: Path) -> None:
    at = 3 * WRAP + 5_000
    wave = Wave(
        end=at + 5_000,
        main=[push(OUTER, 1100), anchor(at, at // 21), pop(at + 100)],
    )

    timeline = decode([wave], tmp_path)

    assert slices(timeline) == [("outer", "", 0, 100, at - 1000)]
    assert losses(timeline) == {}


@pytest.mark.parametrize("memtime", [WRAP + 5_000, 7 * WRAP + 5_000])
def test_an_anchor_word_behind_its_wave_s_end_is_no_anchor(tmp_path: Path, memtime: int) -> None:
    words = [push(OUTER, 1_100), anchor(memtime, 9_999), pop(6_000), mark(MARK, 7_000)]

    timeline = decode([Wave(main=words)], tmp_path)

    assert slices(timeline) == [("outer", "", 0, 100, 4_900)]
    assert marks(timeline) == [("published", 6_000)]
    assert losses(timeline) == {"clamped_words": 1, "stray_values": 1}
    assert timeline.clocks[0].residual_ns < 20


def test_an_anchor_word_before_the_one_before_it_is_no_anchor(tmp_path: Path) -> None:
    words = [
        anchor(WRAP + 3_000, (WRAP + 3_000) // 21),
        push(OUTER, WRAP + 4_000),
        anchor(5_000, 238),
        pop(WRAP + 6_000),
    ]

    timeline = decode([Wave(end=WRAP + 10_000, main=words)], tmp_path)

    assert slices(timeline) == [("outer", "", 0, WRAP + 3_000, 2_000)]
    assert losses(timeline) == {"clamped_words": 1, "stray_values": 1}


def test_an_anchor_word_bends_the_line(tmp_path: Path) -> None:
    # 2.1 GHz for the first 10 ms, then 1.05 GHz.
    wave = Wave(
        begin=21_000,
        end=21_000 + 21_000_000 + 10_500_000,
        realtime_end=1_000 + 1_000_000 + 1_000_000,
        main=[
            anchor(21_000 + 21_000_000, 1_000 + 1_000_000),
            push(OUTER, 21_000 + 21_000_000),
            pop(21_000 + 21_000_000 + 1_050),
        ],
    )

    timeline = decode([wave], tmp_path)

    assert timeline.slices["ns"].tolist() == [1_000]


def test_a_long_range_of_a_long_wave_is_uncertain(tmp_path: Path) -> None:
    end = 2 * WRAP
    words = [mark(MARK, 1100 + i * (1 << 30)) for i in range(8)]
    wave = Wave(
        main=[*words, long_end(WHOLE, end)],
        side=[long_begin(WHOLE, end - 2_000_000)],
        end=end + 10,
    )

    timeline = decode([wave], tmp_path)

    assert slices(timeline) == [("whole", "", 0, end - 2_000_000 - 1000, 2_000_000)]
    assert flags(timeline) == [SliceFlag.LONG_GAP]
    assert losses(timeline) == {"long_gaps": 1}


def test_a_span_that_seems_to_begin_before_its_wave_is_clamped(tmp_path: Path) -> None:
    timeline = decode([Wave(main=[span(WHOLE, 900, 1200)])], tmp_path)

    assert slices(timeline) == [("whole", "", 0, 0, 200)]
    assert flags(timeline) == [SliceFlag.CLAMPED]
    assert losses(timeline) == {"clamped_slices": 1}


def test_a_core_clock_whose_rate_nothing_tells_is_a_loss(tmp_path: Path) -> None:
    hung = Wave(main=[mark(MARK, 1100)], state=WaveState.BEGUN)

    timeline = decode([hung], tmp_path)

    assert timeline.instants["ns"][0] == timeline.waves["begin_ns"][0]
    assert losses(timeline) == {"unfinished_waves": 1, "unknown_core_clocks": 1}


def test_waves_without_times_need_no_core_clock(tmp_path: Path) -> None:
    timeline = decode([Wave(header={"memtime_begin": 0})], tmp_path)

    assert losses(timeline) == {"torn_waves": 1}


def test_an_end_before_the_last_word_tells_nothing_of_the_clock(tmp_path: Path) -> None:
    words = [push(OUTER, 23_100), pop(25_200)]
    wave = Wave(wave=0, begin=21_000, end=2_121_000, main=words, header={"memtime_end": 22_000})
    waves = [wave, Wave(wave=1, begin=21_000, end=2_121_000)]

    timeline = decode(waves, tmp_path)

    assert losses(timeline) == {"clamped_waves": 1}
    assert timeline.slices["ns"].tolist() == [1_000]
    assert timeline.clocks[0].core_hz == pytest.approx(2.1e9)


def test_the_end_of_a_wave_that_moved_tells_nothing_of_the_clock_at_its_begin(
    tmp_path: Path,
) -> None:
    # Its end was read from a clock that is 1 ms behind.
    moved = Wave(wave=0, begin=21_000, end=2_121_000, header={"realtime_end": 201_000})
    moved = replace(moved, header={**moved.header, "hw_id_end": 1 << 13})
    waves = [moved, Wave(wave=1, begin=21_000, end=2_121_000)]

    timeline = decode(waves, tmp_path, completed_ns=0)

    assert timeline.waves["flags"].tolist() == [WaveFlag.MOVED, 0]
    assert losses(timeline) == {"moved_waves": 1}
    assert timeline.clocks[0].core_hz == pytest.approx(2.1e9)
    assert (timeline.waves["end_ns"] - timeline.waves["begin_ns"]).tolist() == [1_000_000] * 2


def test_a_core_clock_that_drifts_is_followed_to_within_its_residual(tmp_path: Path) -> None:
    # 100 waves of 1 ms in a row; the clock slows down from 2.1 GHz to 1.6 GHz meanwhile.
    cycles = np.cumsum([0, *(2_100_000 - 5_000 * i for i in range(100))])
    waves = [
        Wave(
            slot=i,
            wave=0,
            block=(i, 0, 0),
            begin=int(cycles[i]) + 1_000,
            end=int(cycles[i + 1]) + 1_000,
            realtime_begin=100_000 * i + 1_000,
            realtime_end=100_000 * (i + 1) + 1_000,
            main=[
                push(OUTER, int(cycles[i] + cycles[i + 1]) // 2 + 1_000),
                pop(int(cycles[i + 1]) + 1_000),
            ],
        )
        for i in range(100)
    ]

    timeline = decode(waves, tmp_path, grid=(100, 1, 1), block=(64, 1, 1), completed_ns=0)

    lengths = timeline.waves["end_ns"] - timeline.waves["begin_ns"]
    assert np.abs(lengths - 1_000_000).max() <= 10
    assert np.abs(timeline.slices["ns"] - 500_000).max() <= 10
    assert timeline.clocks[0].residual_ns <= 10
    assert timeline.clocks[0].core_hz == pytest.approx(1.8525e9, rel=1e-4)


def test_an_anchor_off_its_clock_s_line_is_the_residual() -> None:
    # It was read 10 ticks (100 ns) late, and is too near the first one to bend the line.
    clock = fit([(0, 0, 0), (0, 2_100_000, 100_000), (1, 10_500, 510)])

    assert clock.fits[0].residual_ns == 100


def test_clocks_further_apart_than_64_bits_tell_have_a_middle() -> None:
    # Only a damaged recording has them.
    far = 2 * 10**17
    clock = fit([(0, 1_000, -far), (0, 2_101_000, 100_000 - far), (1, 7_000, far)], xccs=[0, 1])

    assert [xcc for xcc, _ in clock.fits[0].skew_by_xcc] == [0, 1]


def test_samples_of_hsa_are_preferred_to_the_driver_s() -> None:
    mixed = samples((0, 1_000), (100_000_000, 1_000_001_000))
    mixed = np.append(mixed, samples((50_000_000, 500_900_000)))
    mixed["method"][2] = ClockMethod.KFD
    mixed["uncertainty_ns"][2] = 900

    clock = fit_host_clock(mixed, device(100_000_000), NO_DISPATCHES)

    assert clock.method == "hsa"
    assert clock.uncertainty_ns == 0
    assert clock.to_ns(np.array([50_000_000])).tolist() == [500_001_000]
