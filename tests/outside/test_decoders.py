"""Random buffers, read by ktrace and by the decoders of those who made their formats."""

from __future__ import annotations

import json
import random
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ktrace_cli.foreign.shape import Shape
from ktrace_cli.foreign.source import Source, Tool, read_foreign
from ktrace_cli.model import SliceFlag, Timeline
from support.foreign.quack_buffer import BEGIN, END, MARK, QuackWarp, quack_buffer
from support.foreign.quack_peer import load_quack, session
from support.foreign.reading import marks, read, slices
from support.foreign.tileops_buffer import Event, tileops_buffer
from support.foreign.tileops_peer import load_tileops

NAMES = {f"r{number}": number for number in range(10)}
SINCE_1970 = 1_764_000_000_123_456_789


@pytest.fixture(scope="module")
def quack() -> Any:
    found = load_quack()
    if found is None:
        pytest.skip("no quack-kernels with `quack.trace`: `nox -s outside` installs it")
    found._REGION_REGISTRY.update({number: name for name, number in NAMES.items()})
    return found


@pytest.fixture(scope="module")
def tileops() -> Any:
    found = load_tileops()
    if found is None:
        pytest.skip("no tileops: `nox -s outside` installs it")
    return found


def quack_warps(chance: random.Random, epoch: int) -> tuple[bytes, int, int, int, Any]:
    blocks, warps, capacity = chance.choice([1, 3, 7]), chance.choice([1, 4]), 32
    made = {}
    for block in range(blocks):
        for warp in range(warps):
            clock = begin = chance.randrange(1 << 50)
            events: list[tuple[int, int, int]] = []
            open_: list[int] = []
            for _ in range(chance.randrange(60)):
                clock += chance.randrange(1, 2000)
                kind = chance.randrange(3)
                if kind == BEGIN:
                    open_.append(chance.randrange(4))
                    events.append((clock, open_[-1], BEGIN))
                elif kind == END and open_:
                    events.append((clock, open_.pop(), END))
                else:
                    events.append((clock, 9, MARK))
            clock += chance.randrange(1, 1000)
            ns = epoch + chance.randrange(10**6)
            made[block, warp] = QuackWarp(
                ns, begin, ns + (clock - begin) * 55 // 100, clock, block + warp, events
            )
    return quack_buffer(blocks, warps, capacity, made), blocks, warps, capacity, made


def ours(timeline: Timeline) -> list[tuple[int, int, str, int, int]]:
    """Block, warp, name, begin and length of all that has an end."""
    found = []
    for row in timeline.slices:
        if not int(row["flags"]) & SliceFlag.UNCLOSED:
            wave = timeline.waves[row["wave"]]
            name = timeline.events[row["event"]].name
            found.append((int(wave["block"][0]), int(wave["wave"]), name,
                          int(row["begin_ns"]), int(row["ns"])))  # fmt: skip
    return sorted(found)


def test_quack_buffers_are_read_as_quack_reads_them(quack: Any, tmp_path: Path) -> None:
    for seed in range(20):
        content, blocks, warps, capacity, _ = quack_warps(random.Random(seed), 10**12)
        peer = session(quack, content, blocks, warps, capacity)
        events = peer._read_events(content, peer._read_metadata(content))
        pairs = peer._pair_begin_end(events, quack.TraceWriteOptions())
        theirs = sorted((row[6], row[7], f"r{row[4]}", row[0], row[1])
                        for row in pairs if row[5] == 0)  # fmt: skip

        found = ours(read(tmp_path, content, Tool.QUACK, NAMES, Shape(capacity=capacity)).timeline)

        assert [row[:3] for row in found] == [row[:3] for row in theirs]
        for own, other in zip(found, theirs, strict=True):
            # QuACK cuts off what is below a nanosecond.
            assert abs(own[3] - other[3]) <= 1
            assert abs(own[4] - other[4]) <= 1


def test_times_since_1970_are_exact_where_quack_computes_in_steps_of_256_ns(
    quack: Any, tmp_path: Path
) -> None:
    content, blocks, warps, capacity, made = quack_warps(random.Random(0), SINCE_1970)
    peer = session(quack, content, blocks, warps, capacity)
    theirs = peer._read_events(content, peer._read_metadata(content))

    found = read(tmp_path, content, Tool.QUACK, NAMES, Shape(capacity=capacity)).timeline

    assert {event.ts % 256 for event in theirs} == {0}
    exact: Counter[int] = Counter()
    for warp in made.values():
        rate = Fraction(warp.final_ns - warp.init_ns, warp.final_clock - warp.init_clock)
        for clock, _, kind in warp.events[-capacity:]:
            if kind == MARK:
                exact[round(warp.init_ns + (clock - warp.init_clock) * rate)] += 1
    shown = sorted(ns + found.zero_ns for _, _, ns in marks(found))
    assert len(shown) > 20
    for own, other in zip(shown, sorted(exact.elements()), strict=True):
        assert abs(own - other) <= 1


def test_quacks_json_is_read_as_its_buffer_is(quack: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("QUACK_TRACE", "1")
    content, blocks, warps, capacity, _ = quack_warps(random.Random(5), 10**12)
    path = tmp_path / "t.json"
    session(quack, content, blocks, warps, capacity).write_trace(str(path))

    found = read_foreign(path, Tool.CHROME, Source()).timeline
    raw = read(tmp_path, content, Tool.QUACK, NAMES, Shape(capacity=capacity)).timeline

    shown, expected = ours(found), ours(raw)
    assert len(shown) > 100
    assert [row[:3] for row in shown] == [row[:3] for row in expected]
    assert max(abs(a[4] - b[4]) for a, b in zip(shown, expected, strict=True)) <= 1
    assert len(marks(found)) == len(marks(raw))


def tileops_blocks(chance: random.Random) -> list[list[list[Event]]]:
    def group() -> list[Event]:
        clock, made = 10**9 + chance.randrange(1000), []
        open_: list[tuple[int, int]] = []
        for _ in range(chance.randrange(24)):
            clock += chance.randrange(1, 50)
            kind = chance.randrange(3)
            if kind == 1 and open_:
                ident, lane = open_.pop(chance.randrange(len(open_)))
                made.append((clock, ident, 1, lane, 0))
            elif kind == 2:
                made.append((clock, 9, 2, 0, chance.randrange(3)))
            else:
                open_.append((chance.randrange(3), chance.randrange(2)))
                made.append((clock, open_[-1][0], 0, open_[-1][1], chance.randrange(1 << 32)))
        return made

    return [[group(), group()] for _ in range(chance.choice([1, 5]))]


def test_tileops_buffers_are_read_as_tileops_reads_them(tileops: Any, tmp_path: Path) -> None:
    document = {"names": NAMES, "edges": [["r0", "r1"]], "num_groups": 2, "max_events": 32}
    ranges = 0
    for seed in range(40):
        content = tileops_buffer(tileops_blocks(random.Random(seed)), 32)
        array = np.frombuffer(content, "<i8").reshape(-1, 2, 66)
        theirs = tileops.decode(array, id_to_name={n: name for name, n in NAMES.items()},
                                max_events=32, num_groups=2)  # fmt: skip
        arrows = tileops.compute_flows(theirs, [("r0", "r1")])

        found = read(tmp_path, content, Tool.TILEOPS, document).timeline

        cut = {row for row, each in enumerate(found.slices) if each["flags"] & SliceFlag.UNCLOSED}
        expected = sorted((e.track[0] * 2 + e.track[1], e.name, e.ts_cy, e.dur_cy)
                          for e in theirs if hasattr(e, "dur_cy"))  # fmt: skip
        shown = [(*row[:4],) for at, row in enumerate(slices(found)) if at not in cut]
        assert sorted(shown) == expected
        ranges += len(expected)
        assert sorted(row for row in marks(found)) == sorted(
            (e.track[0] * 2 + e.track[1], e.name, e.ts_cy)
            for e in theirs if not hasattr(e, "dur_cy"))  # fmt: skip
        if not cut:
            assert arrows_of(found) == sorted((e.src_ts_cy, e.dst_ts_cy) for e in arrows)
    assert ranges > 300


def arrows_of(timeline: Timeline) -> list[tuple[int, int]]:
    """When each arrow leaves its source, and when it arrives."""
    sources, ends = (timeline.slices[timeline.flows[end]] for end in ("source", "destination"))
    return sorted(
        (int(source["begin_ns"] + source["ns"]), int(end["begin_ns"]))
        for source, end in zip(sources, ends, strict=True)
    )


def test_warpscopes_json_has_its_spans(tmp_path: Path) -> None:
    warpscope = pytest.importorskip("warpscope")
    records = [warpscope._wire.pack_header(2, 3)]
    for block in range(3):
        for group in range(2):
            for step in range(4):
                ns = (1 << 32) - 300 + block * 10 + step * 200
                for late, kind in ((0, 0), (100, 1)):
                    tag = warpscope.pack_tag(block, group, 2, 1, kind)
                    records.append(warpscope._wire.pack_record(ns + late, tag))
    result = warpscope.decode(np.array(records, np.uint64), {1: "load"}, {0: "a", 1: "b"})
    path = tmp_path / "w.json"
    result.to_chrome_trace(str(path))

    found = read_foreign(path, Tool.CHROME, Source()).timeline

    assert json.loads(path.read_text())["displayTimeUnit"] == "ns"
    assert sorted(slices(found)) == sorted(
        (block * 2 + group, "load", block * 10 + step * 200, 100, 0, "", 0)
        for block in range(3) for group in range(2) for step in range(4))  # fmt: skip
