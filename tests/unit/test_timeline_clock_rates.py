"""Core clocks that change their rate, and waves whose clocks cannot be believed."""

import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from ktrace_cli.analysis.quality import judge
from ktrace_cli.errors import KtraceError
from ktrace_cli.model import WAVE, Timeline, WaveFlag
from ktrace_cli.timeline.clock import ANCHOR, ClockMap, fit_clock
from ktrace_cli.timeline.host_clock import HostClock
from ktrace_cli.trace_file.layout import WaveState
from support.recording import HOST_EPOCH_NS, Wave
from support.timelines import MARK, OUTER, build, builder, decode, losses, slices
from support.words import Value, anchor, event, f32, mark, pop, push, u64

TICK_NS = 10
BUSY_GHZ = 2.1


@dataclass
class Core:
    """A core clock and a reference clock of 100 MHz that go on together, at any rate."""

    ticks: float = 21_000.0
    ns: float = 10_000.0

    def pass_time(self, ns: float, ghz: float) -> None:
        self.ns += ns
        self.ticks += ns * ghz

    def run(self, ns: float, ghz: float = BUSY_GHZ, block: int = 0) -> Wave:
        """A wave that begins now; it has one slice of a tenth of its length, from its begin on."""
        begin, realtime = round(self.ticks), int(self.ns) // TICK_NS
        words = [push(OUTER, begin + 1), pop(begin + 1 + round(ns * ghz / 10))]
        self.pass_time(ns, ghz)
        return Wave(
            block=(block, 0, 0),
            begin=begin,
            end=round(self.ticks),
            realtime_begin=realtime,
            realtime_end=int(self.ns) // TICK_NS,
            main=words,
        )


def decode_one_by_one(waves: list[Wave], folder: Path) -> Timeline:
    """One dispatch for each wave, with host times that allow for any wave."""
    recording, kernel = builder()
    for realtime in (0, 10**10):
        recording.add_clock(realtime=realtime)
    for wave in waves:
        recording.add_dispatch(kernel, [wave], launched_ns=HOST_EPOCH_NS, completed_ns=0)
    return build(recording, folder)


def good_waves(count: int = 100) -> list[Wave]:
    """Waves of 9,000 cycles at 2.1 GHz, each 100 cycles behind the one before."""
    return [
        Wave(
            block=(i, 0, 0),
            begin=1_000 + 100 * i,
            end=10_000 + 100 * i,
            main=[push(OUTER, 1_100 + 100 * i), pop(1_500 + 100 * i)],
        )
        for i in range(count)
    ]


def decode_all(waves: list[Wave], folder: Path) -> Timeline:
    recording, kernel = builder()
    for realtime in (0, 10**9):
        recording.add_clock(realtime=realtime)
    waves = [replace(wave, block=(i, 0, 0)) for i, wave in enumerate(waves)]
    grid = (len(waves), 1, 1)
    recording.add_dispatch(kernel, waves, grid=grid, launched_ns=HOST_EPOCH_NS, completed_ns=0)
    return build(recording, folder)


def wave_ns(timeline: Timeline) -> np.ndarray:
    return timeline.waves["end_ns"] - timeline.waves["begin_ns"]


def test_idle_time_at_another_rate_leaves_the_length_of_short_kernels(tmp_path: Path) -> None:
    core, waves = Core(), []
    for _ in range(5):
        waves.append(core.run(4_290))
        core.pass_time(1_000_000, 0.21)

    timeline = decode_one_by_one(waves, tmp_path)

    assert np.abs(wave_ns(timeline) - 4_290).max() <= 10
    assert np.abs(timeline.slices["ns"] - 429).max() <= 1
    assert losses(timeline) == {}
    assert timeline.clocks[0].core_hz == pytest.approx(2.1e9, rel=0.005)


def test_long_kernels_between_idle_times_of_any_length_keep_their_length(tmp_path: Path) -> None:
    core, waves = Core(), []
    for i in range(100):
        waves.append(core.run(8_000_000))
        core.pass_time((i % 7) * 20_000_000, 0.5)

    timeline = decode_one_by_one(waves, tmp_path)

    assert np.abs(wave_ns(timeline) - 8_000_000).max() <= 20
    assert np.abs(timeline.slices["ns"] - 800_000).max() <= 2
    assert losses(timeline) == {}


def test_kernels_that_run_at_another_rate_than_most_keep_their_own(tmp_path: Path) -> None:
    core, waves = Core(), []
    for i in range(30):
        waves.append(core.run(5_000, 1.4 if i % 3 == 0 else 2.1))
        core.pass_time(50_000, 0.21)

    timeline = decode_one_by_one(waves, tmp_path)

    assert np.abs(wave_ns(timeline) - 5_000).max() <= 20
    assert np.abs(timeline.slices["ns"] - 500).max() <= 2


@pytest.mark.parametrize("jump", [10_000_000, 1 << 36, -1_000_000])
def test_a_core_clock_that_jumps_leaves_all_lengths(tmp_path: Path, jump: int) -> None:
    core, waves = Core(), []
    core.pass_time(1_000_000, BUSY_GHZ)
    for i in range(6):
        if i == 3:
            core.ticks += jump
        waves.append(core.run(4_290))
        core.pass_time(100_000, BUSY_GHZ)

    timeline = decode_one_by_one(waves, tmp_path)

    assert np.abs(wave_ns(timeline) - 4_290).max() <= 10
    assert np.abs(timeline.slices["ns"] - 429).max() <= 1
    assert losses(timeline) == {}


BAD_WAVES = {
    "memtime": Wave(begin=1 << 40, end=(1 << 40) + 500, realtime_begin=300, realtime_end=320),
    "memtime_before": Wave(begin=1, end=400, realtime_begin=600, realtime_end=620),
    "memtime_end": Wave(begin=3_000, end=1 << 31, realtime_begin=143, realtime_end=500),
    "realtime_end": Wave(begin=3_000, end=10_000, realtime_end=1 << 57),
    "no_time": Wave(begin=3_000, end=10_000, realtime_end=143),
}


@pytest.mark.parametrize("name", BAD_WAVES)
def test_one_wave_with_a_wrong_clock_leaves_all_others_as_they_are(
    tmp_path: Path, name: str
) -> None:
    for folder in ("alone", "with"):
        (tmp_path / folder).mkdir()
    alone = decode_all(good_waves(), tmp_path / "alone")

    timeline = decode_all([*good_waves(), BAD_WAVES[name]], tmp_path / "with")

    for column in ("begin_ns", "end_ns"):
        assert timeline.waves[column][:100].tolist() == alone.waves[column].tolist()
    assert timeline.slices["ns"].tolist()[:100] == alone.slices["ns"].tolist()
    assert set(alone.slices["ns"].tolist()) == {190, 191}
    assert losses(timeline) == {"unfitted_waves": 1}
    assert timeline.losses.sentences() == [
        "1 wave has clock readings that contradict each other or its neighbours': they count for"
        " nothing, and its times are as its begin says"
    ]
    assert timeline.clocks == alone.clocks


def test_a_wave_with_a_wrong_clock_stands_where_its_own_begin_says(tmp_path: Path) -> None:
    bad = Wave(
        begin=1 << 40,
        end=(1 << 40) + 2_100,
        realtime_begin=300,
        realtime_end=400,
        main=[push(OUTER, (1 << 40) + 210), pop((1 << 40) + 630)],
    )

    timeline = decode_all([*good_waves(), bad], tmp_path)

    assert timeline.waves["begin_ns"][100] == HOST_EPOCH_NS + 3_000
    assert timeline.slices["begin_ns"][100] == pytest.approx(HOST_EPOCH_NS + 3_100, abs=1)
    assert timeline.slices["ns"][100] == 200


def test_a_wave_that_contradicts_itself_does_not_refuse_those_that_hang(tmp_path: Path) -> None:
    hung = [
        Wave(begin=21_000 + 2_100 * i, main=[mark(MARK, 21_100)], state=WaveState.BEGUN)
        for i in range(3)
    ]
    bad = Wave(begin=30_000, end=60_000, realtime_begin=1_400, realtime_end=1_400)

    timeline = decode_all([*hung, bad], tmp_path)

    assert losses(timeline)["unfitted_waves"] == 1
    assert losses(timeline)["unfinished_waves"] == 3
    begins = timeline.waves["begin_ns"][:3] - HOST_EPOCH_NS
    assert np.abs(begins - [10_000, 11_000, 12_000]).max() <= 10


def test_a_device_without_a_believable_clock_does_not_refuse_the_others() -> None:
    anchors = np.zeros(4, ANCHOR)
    anchors["wave"] = [0, 0, 1, 1]
    anchors["is_begin"] = [True, False, True, False]
    anchors["ticks"] = [100, 900_000, 100, 210_100]
    anchors["realtime"] = [50, 50, 50, 10_050]
    zero = np.zeros(1, np.int64)
    clocks = {number: HostClock("hsa", zero, zero, 100_000_000, 0) for number in (0, 1)}

    clock = fit_clock(anchors, np.zeros(2, WAVE), np.array([0, 1]), clocks)

    assert [fit.core_hz for fit in clock.fits] == [0.0, pytest.approx(2.1e9)]
    assert clock.to_ns(np.array([0, 1]), np.array([100, 105_100])).tolist() == [500, 50_500]
    assert clock.unfitted_waves == 1


def test_readings_far_off_their_line_are_a_loss(tmp_path: Path) -> None:
    # All of one moment; every other one has read its reference clock 0.5 us late.
    waves = [
        Wave(begin=21_000 + i, end=42_000 + i, realtime_begin=1_000 + 50 * (i % 2))
        for i in range(10)
    ]

    timeline = decode_all(waves, tmp_path)

    assert timeline.clocks[0].residual_ns >= 250
    assert set(losses(timeline)) == {"misfit_waves"}
    assert 5 <= losses(timeline)["misfit_waves"] <= 10
    assert "off their clock's line by more than 10 ticks" in timeline.losses.sentences()[0]
    assert not judge(timeline, 0.0).is_complete


@pytest.mark.parametrize(
    "value",
    [f32(1.0), u64(1 << 62), u64(1 << 58), u64(0), u64(46), u64(477), u64(10**9)],
)
def test_an_anchor_word_with_another_value_than_a_time_of_its_wave_is_none(
    tmp_path: Path, value: Value
) -> None:
    words = [push(OUTER, 1_100), event(13, 0, 1_150, [value]), pop(1_500)]

    timeline = decode([Wave(main=words)], tmp_path)

    assert slices(timeline) == [("outer", "", 0, 100, 400)]
    assert timeline.slices["ns"].tolist() == [190]
    assert losses(timeline) == {"clamped_words": 1, "stray_values": 1}


@pytest.mark.parametrize("realtime", [47, 54, 476])
def test_an_anchor_word_with_a_time_of_its_wave_is_one(tmp_path: Path, realtime: int) -> None:
    words = [push(OUTER, 1_100), anchor(1_150, realtime), pop(1_500)]

    timeline = decode([Wave(main=words)], tmp_path)

    assert "clamped_words" not in losses(timeline)


def test_an_anchor_word_of_a_wave_without_an_end_is_not_before_its_begin(tmp_path: Path) -> None:
    words = [push(OUTER, 1_100), anchor(1_150, 46), anchor(22_000, 1_047)]
    wave = Wave(main=words, state=WaveState.BEGUN)

    timeline = decode([wave], tmp_path)

    assert losses(timeline)["clamped_words"] == 1
    assert timeline.clocks[0].core_hz == pytest.approx(2.1e9)


HUGE = st.integers(min_value=1, max_value=(1 << 58) - 1)
TIMES = st.one_of(HUGE, st.integers(min_value=1, max_value=100_000))


@st.composite
def hostile_waves(draw: st.DrawFn) -> list[tuple[int, int, int, int]]:
    rows = st.tuples(TIMES, TIMES, TIMES, TIMES)
    return [
        (min(a, b), max(a, b), min(c, d), max(c, d))
        for a, b, c, d in draw(st.lists(rows, min_size=1, max_size=12))
    ]


def fit(waves: list[tuple[int, int, int, int]], hz: int = 100_000_000) -> ClockMap:
    """Fit waves of one place: begin and end of the core clock, begin and end of the reference."""
    rows = np.zeros(2 * len(waves), ANCHOR)
    rows["wave"] = np.repeat(np.arange(len(waves)), 2)
    rows["is_begin"][::2] = True
    table = np.array(waves, np.int64)
    rows["ticks"], rows["realtime"] = table[:, :2].ravel(), table[:, 2:].ravel()
    clock = HostClock("hsa", np.zeros(1, np.int64), np.array([HOST_EPOCH_NS]), hz, 0)
    return fit_clock(rows, np.zeros(len(waves), WAVE), np.zeros(len(waves), np.int64), {0: clock})


@given(hostile_waves(), st.sampled_from([1, 25_000_000, 100_000_000]))
def test_no_times_are_too_hostile(waves: list[tuple[int, int, int, int]], hz: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            clock = fit(waves, hz)
        except KtraceError:
            return
        of = np.arange(len(waves))
        begin = clock.to_ns(of, np.array([wave[0] for wave in waves]))
        end = clock.to_ns(of, np.array([wave[1] for wave in waves]))

    assert (end >= begin).all()


@st.composite
def busy_and_idle(draw: st.DrawFn) -> list[Wave]:
    """Waves at any rate, next to each other or apart, with idle time at any rate between."""
    core, waves = Core(), []
    for _ in range(draw(st.integers(1, 20))):
        waves.append(core.run(draw(st.integers(200, 3_000_000)), draw(st.floats(1.0, 2.2))))
        core.pass_time(draw(st.integers(1_100, 5_000_000)), draw(st.floats(0.1, 2.2)))
    return waves


@given(busy_and_idle())
def test_a_wave_is_as_long_as_its_own_header_says(waves: list[Wave]) -> None:
    rows = [(w.begin, w.end, w.realtime_begin or 0, w.realtime_end or 0) for w in waves]

    clock = fit(rows)

    of = np.arange(len(rows))
    table = np.array(rows)
    length = clock.to_ns(of, table[:, 1]) - clock.to_ns(of, table[:, 0])
    assert np.abs(length - (table[:, 3] - table[:, 2]) * TICK_NS).max() <= 2 * TICK_NS
    assert clock.unfitted_waves == 0
    assert clock.misfit_waves == 0
    assert clock.fits[0].residual_ns <= 2 * TICK_NS


def test_a_moved_wave_is_no_reason_to_doubt_the_clock(tmp_path: Path) -> None:
    moved = Wave(begin=3_000, end=1 << 30, realtime_end=476, header={"hw_id_end": 1 << 13})

    timeline = decode_all([*good_waves(), moved], tmp_path)

    assert timeline.waves["flags"][100] == WaveFlag.MOVED
    assert losses(timeline) == {"moved_waves": 1}
    assert set(timeline.slices["ns"].tolist()) == {190, 191}


def test_a_wave_shorter_than_a_tick_has_an_unknown_rate_and_no_contradiction(
    tmp_path: Path,
) -> None:
    timeline = decode([Wave(begin=21_000, end=21_007)], tmp_path)

    assert losses(timeline) == {"unknown_core_clocks": 1}
    assert len(timeline.waves) == 1
