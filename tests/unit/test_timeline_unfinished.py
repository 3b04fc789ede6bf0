"""Dispatches that were recorded while they ran: what is open, until when, and what it is called."""

from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from ktrace_cli.analysis.summary import summarize
from ktrace_cli.analysis.unfinished import OpenStack, WavePlace
from ktrace_cli.app import app
from ktrace_cli.model import SliceFlag, Timeline
from ktrace_cli.trace_file.layout import DispatchFlag, WaveState
from ktrace_cli.trace_file.reader import read_recording
from support.recording import HOST_EPOCH_NS, Wave
from support.timelines import (
    COPY,
    FETCH,
    INNER,
    LOAD,
    MARK,
    MMA,
    OUTER,
    TILE,
    WHOLE,
    build,
    builder,
    decode,
    slices,
)
from support.traces import shown, write
from support.words import long_begin, long_end, mark, phase, pop, push, start, stop, u32

EAGER = DispatchFlag.EAGER | DispatchFlag.UNFINISHED
COMPLETED = 2_000_000  # ns after the epoch: cycle 4,200,000
ENDED = Wave(side=[push(OUTER, 2_100), pop(2_102_100)], begin=2_100, end=2_102_100)


def running(*side: Any, wave: int = 1, **more: Any) -> Wave:
    return Wave(side=side, wave=wave, begin=2_100, end=2_100, state=WaveState.BEGUN, **more)


def unfinished(folder: Path, *waves: Wave, **more: Any) -> Timeline:
    # The wave that ended tells how long a cycle is.
    fields: dict[str, Any] = {
        "flags": EAGER,
        "launched_ns": HOST_EPOCH_NS + 1_000,  # when its first wave began
        "completed_ns": HOST_EPOCH_NS + COMPLETED,
        **more,
    }
    return decode([ENDED, *waves], folder, **fields)


def open_slices(timeline: Timeline) -> list[tuple[str, int]]:
    """Name of each slice that was running, and how many ns before the last known time it began."""
    last = HOST_EPOCH_NS + COMPLETED
    rows = timeline.slices[(timeline.slices["flags"] & SliceFlag.RUNNING) != 0]
    assert {int(end) for end in rows["begin_ns"] + rows["ns"]} <= {last}
    return [(timeline.events[row["event"]].name, int(row["ns"])) for row in rows]


def test_what_is_open_lasts_until_the_dispatch_was_written(tmp_path: Path) -> None:
    wave = running(push(OUTER, 21_000), long_begin(TILE, 42_000), phase(MMA, 2_100_000))

    timeline = unfinished(tmp_path, wave)

    assert open_slices(timeline) == [
        ("outer", 1_990_000),
        ("tile", 1_980_000),
        ("mma", 1_000_000),
    ]
    assert timeline.losses.counted() == {"unfinished_dispatches": 1, "unfinished_waves": 1}


def test_what_is_open_holds_its_lane_until_then(tmp_path: Path) -> None:
    wave = running(
        push(COPY, 21_000),
        push(COPY, 31_000),
        start(LOAD, 42_000, token="a"),
        start(LOAD, 52_000, token="b"),
        stop("b", 62_000),
        long_begin(FETCH, 72_000),
        start(LOAD, 82_000, token="c"),
    )

    timeline = unfinished(tmp_path, wave)

    assert [(name, lane, ticks) for name, lane, _, _, ticks in slices(timeline, 1)] == [
        ("load", "vmem", 40_000),
        ("load", "vmem 2", 10_000),
        ("fetch", "vmem 2", 10_000),
        ("load", "vmem 3", 0),
        ("copy", "dma", 61_000),
        ("copy", "dma 2", 51_000),
    ]
    assert [name for name, _ in open_slices(timeline)] == ["load", "fetch", "load", "copy", "copy"]
    names = ["load (unfinished)", "fetch (unfinished)", "copy (unfinished)"]
    assert len(shown(write(timeline, tmp_path)[0], names)) == 5


def test_what_a_finished_dispatch_left_open_frees_its_lane(tmp_path: Path) -> None:
    wave = running(
        start(LOAD, 42_000, token="a"), push(OUTER, 52_000), start(LOAD, 52_000, token="b")
    )

    timeline = unfinished(tmp_path, wave, flags=DispatchFlag.EAGER)

    assert [lane for name, lane, *_ in slices(timeline, 1) if name == "load"] == ["vmem", "vmem"]


def test_ranges_of_one_marker_close_as_they_nest(tmp_path: Path) -> None:
    wave = running(
        long_begin(TILE, 21_000),
        long_begin(TILE, 42_000),
        mark(MARK, 50_000),
        long_end(TILE, 63_000),
    )

    timeline = unfinished(tmp_path, wave)

    assert open_slices(timeline) == [("tile", 1_990_000)]
    closed = timeline.slices[timeline.slices["flags"] == 0]
    assert closed["ticks"].tolist() == [2_100_000, 21_000]


def test_a_range_of_an_eager_wave_may_be_longer_than_the_clock_s_half(tmp_path: Path) -> None:
    late = (1 << 32) + 500_000
    marks = [mark(MARK, clock) for clock in (1 << 31, (1 << 32) - 5)]
    side = [long_begin(TILE, 100_000), *marks, long_end(TILE, late)]
    wave = Wave(side=side, begin=1_000, end=late + 1_000)

    timeline = decode([wave], tmp_path, flags=DispatchFlag.EAGER)

    (slice_,) = timeline.slices
    assert int(slice_["ticks"]) == late - 100_000
    assert timeline.losses.counted() == {}


def test_words_of_an_eager_wave_are_not_said_to_be_of_some_lanes(tmp_path: Path) -> None:
    timeline = unfinished(tmp_path, running(push(OUTER, 21_000)))

    assert timeline.waves["side_words"].tolist() == [0, 0]
    (kernel,) = summarize(timeline).kernels
    assert (kernel.words, kernel.side_words) == (3, 0)


def test_waves_are_grouped_by_what_is_open_in_them(tmp_path: Path) -> None:
    timeline = unfinished(
        tmp_path,
        running(push(OUTER, 21_000), long_begin(TILE, 2_100_000), wave=1),
        running(push(OUTER, 21_000), long_begin(TILE, 42_000), wave=2),
        running(push(OUTER, 21_000), push(INNER, 30_000), pop(3_150_000), wave=3),
        running(mark(MARK, 4_158_000), wave=4, header={"side_cursor": 0}),
        expected=8,
    )

    (found,) = summarize(timeline).unfinished

    assert (found.kernel, found.dispatch) == ("gemm", 1)
    assert (found.waves, found.unfinished_waves, found.missing_waves) == (5, 4, 3)
    places = {wave: WavePlace(workgroup=(0, 0, 0), wave=wave, group="") for wave in range(1, 5)}
    assert found.open == (
        OpenStack(("outer", "tile"), 2, 1_980_000, (places[1], places[2]), 0),
        OpenStack((), 1, 20_000, (places[4],), 1),
        OpenStack(("outer",), 1, 1_990_000, (places[3],), 0),
    )


def test_what_is_open_is_in_no_statistics(tmp_path: Path) -> None:
    timeline = unfinished(
        tmp_path,
        running(push(OUTER, 21_000), push(INNER, 30_000), pop(51_000), wave=1),
        running(push(INNER, 21_000), wave=2),
    )

    (kernel,) = summarize(timeline).kernels

    assert kernel.unfinished_waves == 2
    counts = {p.name: (p.times.count, p.open, p.times.total_ns) for p in kernel.phases}
    assert counts == {"outer": (1, 1, 1_000_000), "inner": (1, 1, 10_000)}
    (outer,) = [phase for phase in kernel.phases if phase.name == "outer"]
    times = outer.times
    assert (times.mean_ns, times.min_ns, times.max_ns) == (1_000_000, 1_000_000, 1_000_000)
    assert (times.self_ns, outer.unclosed) == (1_000_000, 0)


def test_a_phase_that_is_only_open_has_no_times(tmp_path: Path) -> None:
    (kernel,) = summarize(unfinished(tmp_path, running(push(INNER, 21_000)))).kernels

    (inner,) = [phase for phase in kernel.phases if phase.name == "inner"]
    times = inner.times
    assert (times.count, inner.open, times.total_ns, times.mean_ns) == (0, 1, 0, 0)
    assert (times.zero_length, inner.unclosed) == (0, 0)


def test_the_summary_says_how_long_waves_are_stuck_and_which(tmp_path: Path) -> None:
    stuck = [running(push(OUTER, 2_100_000), wave=wave) for wave in range(1, 6)]
    unfinished(tmp_path, *stuck, status=700)

    shown = CliRunner().invoke(app, ["summary", str(tmp_path / "run.bin")])

    assert shown.stdout.splitlines()[-4:] == [
        "gemm dispatch 1: 5 of 6 waves unfinished",
        "  the kernel faulted (hipErrorIllegalAddress): what its waves recorded until then is kept",
        "  5 waves in `outer` (open for at least 1 ms)",
        "    workgroup 0,0,0 wave 1; workgroup 0,0,0 wave 2; workgroup 0,0,0 wave 3 and 2 more",
    ]


def test_a_later_record_of_the_same_dispatch_replaces_an_unfinished_one(tmp_path: Path) -> None:
    recording, kernel = builder()
    block = (128, 1, 1)
    recording.add_dispatch(kernel, [running(push(OUTER, 5_000))], flags=EAGER, block=block)
    whole = Wave(side=[push(OUTER, 5_000), pop(6_000)], wave=1)
    recording.add_dispatch(kernel, [whole], flags=DispatchFlag.EAGER, dispatch=1, block=block)

    timeline = build(recording, tmp_path)

    assert timeline.slices["ticks"].tolist() == [1_000]
    assert timeline.losses.counted() == {}


def test_a_second_record_of_a_finished_dispatch_is_damage(tmp_path: Path) -> None:
    recording, kernel = builder()
    recording.add_dispatch(kernel, [ENDED], flags=DispatchFlag.EAGER)
    recording.add_dispatch(kernel, [running(push(OUTER, 5_000))], flags=EAGER, dispatch=1)

    read = read_recording(recording.write(tmp_path / "run.bin"))

    assert len(read.dispatches) == 1
    assert not read.dispatches[0].is_unfinished
    assert read.damage.unreadable_dispatches == 1


def test_a_trace_labels_what_was_running(tmp_path: Path) -> None:
    wave = running(push(OUTER, 21_000), long_begin(WHOLE, 42_000, [u32(5)]))

    trace, _ = write(unfinished(tmp_path, wave), tmp_path)

    assert [
        row[0] for row in shown(trace, ["outer", "outer (unfinished)", "whole (unfinished)"])
    ] == [
        "outer",
        "outer (unfinished)",
        "whole (unfinished)",
    ]
