"""Chrome's JSON: strict, exact to the nanosecond, and what Perfetto makes of it."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from ktrace_cli.export.chrome import write_chrome
from ktrace_cli.export.perfetto import write_perfetto
from ktrace_cli.export.records import Written
from ktrace_cli.export.tracks import MOST_WAVE_TRACKS
from ktrace_cli.model import Timeline
from support.recording import HOST_EPOCH_NS, Wave
from support.tables import BEGIN, NAMES, VALUES, Taken, renamed, small, with_payload
from support.timelines import INNER, LOAD, MARK, OUTER, TILE, build, builder, decode
from support.trace_processor import LoadedTrace, load_trace
from support.traces import exact
from support.words import Value, boolean, f32, f64, i64, mark, pop, push, span, start, stop, u64

PLACE = {"pid": 1, "tid": 6}


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def json_of(timeline: Timeline) -> dict[str, Any]:
    out = Taken()
    write_chrome(timeline, out)
    return json.loads(out.content, parse_constant=refuse)


def events(timeline: Timeline, *phases: str) -> list[dict[str, Any]]:
    return [event for event in json_of(timeline)["traceEvents"] if event["ph"] in phases]


def loaded(timeline: Timeline, folder: Path, writer: Any = write_chrome) -> LoadedTrace:
    path = folder / f"{writer.__name__}.trace"
    with path.open("wb") as out:
        writer(timeline, out)
    trace = load_trace(path)
    assert trace.problems() == []
    return trace


def test_ranges_are_complete_events_in_microseconds(tmp_path: Path) -> None:
    shown = [e for e in events(small(tmp_path), "X", "i") if e["pid"] == 1 and e["tid"] < 10]

    dispatch, wave, *inside = shown
    assert dispatch["name"] == "dispatch 1"
    assert dispatch["args"]["grid"] == [1, 1, 1]
    assert (wave["name"], wave["ts"], wave["dur"], wave["tid"]) == ("wave", 0.0, 1000.0, 6)
    assert wave["args"] == {
        "dispatch": 1, "workgroup": [0, 0, 0], "wave": 0, "xcc": 0, "se": 0, "cu": 0, "simd": 0,
        "hardware_slot": 0, "words": 11,
    }  # fmt: skip
    assert inside == [
        {"ph": "X", "cat": "push", "name": "outer", **PLACE, "ts": 1.0, "dur": 7.0,
         "args": {"value": -7, "value_2": True}},
        {"ph": "X", "cat": "range", "name": "tile", **PLACE, "ts": 2.0, "dur": 1.0},
        {"ph": "X", "cat": "start", "name": "load", "pid": 1, "tid": 7, "ts": 3.0, "dur": 3.0},
        {"ph": "X", "cat": "start", "name": "load", "pid": 1, "tid": 8, "ts": 4.0, "dur": 3.0},
        {"ph": "i", "s": "t", "cat": "mark", "name": "published", **PLACE, "ts": 5.0,
         "args": {"value": 0.1}},
    ]  # fmt: skip


def test_threads_are_named_and_in_order_and_no_thread_is_a_process(tmp_path: Path) -> None:
    named = [e for e in events(small(tmp_path), "M") if e["name"] == "thread_name"]

    assert {e["tid"]: e["args"]["name"] for e in sorted(named, key=lambda e: e["tid"])} == {
        2: "dispatch",
        6: "0,0,0 · wave 0",
        7: "0,0,0 · wave 0 · vmem",
        8: "0,0,0 · wave 0 · vmem 2",
        10: "0,0,0 · wave 1",
        11: "0,0,0 · wave 1 · vmem",
        13: "0,0,0 · wave 1 · store",
    }
    order = [e for e in events(small(tmp_path), "M") if e["name"] == "thread_sort_index"]
    assert all(e["args"]["sort_index"] == e["tid"] for e in order)
    assert {e["pid"] for e in named} == {1}


def test_arrows_join_the_slices_that_the_edge_names(tmp_path: Path) -> None:
    found = events(small(tmp_path), "s", "f")
    joined = loaded(small(tmp_path), tmp_path).rows(
        "select a.name as source, b.name as destination from flow"
        " join slice a on a.id = slice_out join slice b on b.id = slice_in"
    )

    arrow = {"cat": "edge", "name": "tile -> load", "id": 1, "pid": 1}
    assert found == [
        {"ph": "s", **arrow, "tid": 6, "ts": 2.0},
        {"ph": "f", "bp": "e", **arrow, "tid": 7, "ts": 3.0},
    ]
    assert joined == [("tile", "load")]


def test_an_arrow_to_what_began_earlier_stands_where_its_source_begins(tmp_path: Path) -> None:
    first = [span(TILE, BEGIN + 4_200, BEGIN + 6_300)]
    second = [push(OUTER, BEGIN + 2_100), pop(BEGIN + 8_400)]
    waves = [exact(BEGIN, first), exact(BEGIN, second, wave=1)]
    timeline = decode(waves, tmp_path, edges=[("tile", "outer")])

    assert [(e["ph"], e["ts"]) for e in events(timeline, "s", "f")] == [("s", 2.0), ("f", 2.0)]
    assert loaded(timeline, tmp_path).one("select count(*) from flow") == 1


def test_clocks_at_zero_are_exact_in_the_head(tmp_path: Path) -> None:
    head = json_of(small(tmp_path))

    assert head["displayTimeUnit"] == "ns"
    about = head["otherData"]
    assert about["begin_boottime_ns"] == str(HOST_EPOCH_NS + 9_800)
    assert about["begin_realtime_ns"] == str(HOST_EPOCH_NS + 16_800)
    assert about["devices"] == ["0: gfx942:sramecc+:xnack-, modelled times"]
    assert about["losses"] == {"unclosed_slices": 1, "unmatched_edges": 1}


def test_a_span_of_1_234_567_ns_is_1234_567_microseconds(tmp_path: Path) -> None:
    cycles = 1_234_567 * 21 // 10 + 1
    wave = Wave(
        begin=BEGIN, end=BEGIN + 2_100 * 2_000, main=[push(OUTER, BEGIN), pop(BEGIN + cycles)]
    )
    timeline = decode([wave], tmp_path)

    (outer,) = [e for e in events(timeline, "X") if e["name"] == "outer"]
    assert timeline.slices["ns"].tolist() == [1_234_567]
    assert outer["dur"] == 1234.567


def test_ranges_that_cross_are_on_threads_of_their_own(tmp_path: Path) -> None:
    first = [
        start(LOAD, BEGIN, token="a"),
        start(LOAD, BEGIN + 6_300, token="b"),
        stop("a", BEGIN + 10_500),
        stop("b", BEGIN + 14_700),
    ]
    second = [
        push(OUTER, BEGIN),
        push(INNER, BEGIN + 4_200),
        pop(BEGIN + 21_000),
        pop(BEGIN + 21_000),
    ]
    timeline = decode([exact(BEGIN, first), exact(BEGIN, second, wave=1)], tmp_path)

    found = loaded(timeline, tmp_path).rows(
        "select s.name, t.name as thread, depth, ts, dur from slice s"
        " join thread_track on thread_track.id = track_id join thread t using (utid)"
        " where s.name in ('load', 'outer', 'inner') order by thread, ts, depth"
    )
    assert found == [
        ("load", "0,0,0 · wave 0 · vmem", 0, 0, 5000),
        ("load", "0,0,0 · wave 0 · vmem 2", 0, 3000, 4000),
        ("outer", "0,0,0 · wave 1", 1, 0, 10000),
        ("inner", "0,0,0 · wave 1", 2, 2000, 8000),
    ]


def test_ranges_without_length_on_an_empty_wave_are_there(tmp_path: Path) -> None:
    words = [push(OUTER, BEGIN + 2_100), pop(BEGIN + 2_100), mark(MARK, BEGIN + 2_100)]
    trace = loaded(decode([exact(BEGIN, words)], tmp_path), tmp_path)

    assert trace.rows("select name, ts, dur from slice where name in ('outer', 'published')") == [
        ("outer", 1000, 0),
        ("published", 1000, 0),
    ]


def test_perfetto_reads_the_same_slices_from_json_as_from_protobuf(tmp_path: Path) -> None:
    words = [
        span(TILE, BEGIN + 21 * n, BEGIN + 21 * n + 21) if n % 3 else mark(MARK, BEGIN + 21 * n + 1)
        for n in range(1, 60)
    ]
    timeline = decode([exact(BEGIN, words)], tmp_path)
    sql = "select name, ts - {} as at, dur from slice order by ts, dur desc, name"

    chrome = loaded(timeline, tmp_path).rows(sql.format(0))
    proto = loaded(timeline, tmp_path, write_perfetto).rows(sql.format(HOST_EPOCH_NS + 9_800))

    assert len(chrome) == 61
    assert chrome == proto


def test_many_waves_share_the_threads_of_their_slots(tmp_path: Path) -> None:
    recording, kernel = builder()
    count = MOST_WAVE_TRACKS // 4 + 1
    for number in range(4):
        begin = BEGIN + number * 4_200_000
        waves = [
            exact(begin, [span(TILE, begin + 2_100, begin + 4_200)], block=(n, 0, 0), hw_id=n % 8)
            for n in range(count)
        ]
        recording.add_dispatch(kernel, waves, grid=(count, 1, 1), block=(64, 1, 1))
    timeline = build(recording, tmp_path)

    trace = loaded(timeline, tmp_path)
    assert trace.one("select count(*) from slice where name = 'tile'") == 4 * count
    assert trace.one("select sum(dur) from slice where name = 'tile'") == 4 * count * 1_000
    assert trace.rows("select distinct name from process where name like '%CU%'") == [
        ("XCD 0 · SE 0 · CU 0 · modelled time",)
    ]
    assert trace.one("select count(*) from thread where name like 'SIMD%'") == count
    deepest = "select max(depth) from slice where name = 'tile'"
    assert trace.one(deepest) == 1


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (f64(float("nan")), "NaN"),
        (f32(float("inf")), "Infinity"),
        (f64(float("-inf")), "-Infinity"),
        (u64(1 << 63), "9223372036854775808"),
        (i64(-(1 << 53)), "-9007199254740992"),
        (i64((1 << 53) - 1), 9007199254740991),
        (boolean(True), True),
        (f32(0.1), 0.1),
    ],
)
def test_what_doubles_do_not_hold_is_a_string(value: Value, shown: object, tmp_path: Path) -> None:
    (outer,) = [e for e in events(with_payload([value], tmp_path), "X") if e["name"] == "outer"]

    assert outer["args"] == {"value": shown}
    assert type(outer["args"]["value"]) is type(shown)


def test_minus_zero_keeps_its_sign(tmp_path: Path) -> None:
    out = Taken()
    write_chrome(with_payload([f64(-0.0)], tmp_path), out)

    assert '"args":{"value":-0.0}' in out.text()


def test_what_was_written_is_counted(tmp_path: Path) -> None:
    assert write_chrome(small(tmp_path), Taken()) == Written(slices=6, instants=1, arrows=1)


def test_a_recording_without_dispatches_is_json(tmp_path: Path) -> None:
    recording, _ = builder()

    assert json_of(build(recording, tmp_path))["traceEvents"] == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(name=NAMES, value=VALUES)
def test_any_name_and_payload_is_strict_json(name: str, value: Value, tmp_path: Path) -> None:
    found = events(renamed(with_payload([value], tmp_path), name), "X")

    assert [event["name"] for event in found] == ["dispatch 1", "wave", name]
