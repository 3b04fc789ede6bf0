"""TileOPs' buffer: groups, lanes, dependencies, and a clock that tells cycles only."""

import io
from pathlib import Path

import numpy as np
import pytest

from ktrace_cli.errors import UsageError
from ktrace_cli.foreign.shape import Shape
from ktrace_cli.foreign.source import Tool
from ktrace_cli.model import SliceFlag, WaveFlag
from support.foreign.reading import marks, read, slices, told_apart, values
from support.foreign.tileops_buffer import (
    BEGIN,
    DAG,
    END,
    INSTANT,
    Event,
    tileops_buffer,
    tileops_slot,
)

NAMES = {
    "names": {"load": 0, "mma": 1, "published": 2},
    "lanes": {"0": "main", "1": "tma"},
    "groups": {"0": "producer", "1": "consumer"},
    "edges": [["load", "mma"]],
}
C = 77_000_000_000


def block(offset: int = 0) -> list[list[Event]]:
    begin = C + offset
    producer = [(begin, 0, BEGIN, 1, 3), (begin + 100, 0, END, 1, 0),
                (begin + 100, 0, BEGIN, 1, 4), (begin + 220, 0, END, 1, 0)]  # fmt: skip
    consumer = [(begin + 110, 1, BEGIN, 0, 0), (begin + 150, 2, INSTANT, 0, 9),
                (begin + 200, 1, END, 0, 0), (begin + 230, 1, BEGIN, 0, 0),
                (begin + 300, 1, END, 0, 0)]  # fmt: skip
    return [producer, consumer]


def test_groups_lanes_marks_and_payloads_are_read(tmp_path: Path) -> None:
    content = tileops_buffer([block(), block(10**9)], 8)

    found = read(tmp_path, content, Tool.TILEOPS, NAMES, Shape(capacity=8)).timeline

    own = [
        (0, "load", 0, 100, 0, "tma", 0),
        (0, "load", 100, 120, 0, "tma", 0),
        (1, "mma", 110, 90, 0, "", 0),
        (1, "mma", 230, 70, 0, "", 0),
    ]
    assert slices(found) == own + [(wave + 2, *rest) for wave, *rest in own]
    assert marks(found) == [(1, "published", 150), (3, "published", 150)]
    assert values(found, found.slices[0]) == [(2, 3)]
    assert values(found, found.instants[0]) == [(2, 9)]
    groups = [found.events[row].name for row in found.waves["group"]]
    assert groups == ["producer", "consumer"] * 2
    assert found.waves["block"][:, 0].tolist() == [0, 0, 1, 1]
    assert found.unit == "cycles"
    assert found.losses.counted() == {}


def test_a_dependency_is_drawn_once_for_each_occurrence(tmp_path: Path) -> None:
    content = tileops_buffer([block(), block(10**9)], 8)

    found = read(tmp_path, content, Tool.TILEOPS, NAMES, Shape(capacity=8)).timeline

    ends = [
        tuple(int(found.slices[flow[end]]["begin_ns"]) for end in ("source", "destination"))
        for flow in found.flows
    ]
    assert ends == [(0, 110), (100, 230)] * 2


def test_occurrences_of_several_groups_count_in_order_of_time(tmp_path: Path) -> None:
    first = [(C, 0, BEGIN, 0, 0), (C + 10, 0, END, 0, 0), (C + 60, 0, BEGIN, 0, 0),
             (C + 70, 0, END, 0, 0)]  # fmt: skip
    second = [(C + 20, 0, BEGIN, 0, 0), (C + 30, 0, END, 0, 0), (C + 40, 1, BEGIN, 0, 0),
              (C + 50, 1, END, 0, 0), (C + 80, 1, BEGIN, 0, 0), (C + 90, 1, END, 0, 0)]  # fmt: skip

    found = read(
        tmp_path, tileops_buffer([[first, second]], 8), Tool.TILEOPS, NAMES, Shape(capacity=8)
    ).timeline

    ends = [
        tuple(int(found.slices[flow[end]]["begin_ns"]) for end in ("source", "destination"))
        for flow in found.flows
    ]
    assert ends == [(0, 40), (20, 80)]
    assert found.losses.counted() == {"unmatched_edges": 1}


def test_an_end_finds_its_begin_by_id_and_lane(tmp_path: Path) -> None:
    events = [(C, 0, BEGIN, 0, 0), (C + 1, 0, BEGIN, 1, 0), (C + 2, 1, BEGIN, 0, 0),
              (C + 5, 0, END, 0, 0), (C + 6, 1, END, 0, 0), (C + 7, 0, END, 1, 0),
              (C + 8, 0, END, 1, 0), (C + 9, 0, BEGIN, 0, 0),
              (C + 12, 2, INSTANT, 0, 0)]  # fmt: skip

    found = read(
        tmp_path, tileops_buffer([[events]], 16), Tool.TILEOPS, NAMES, Shape(groups=1, capacity=16)
    ).timeline

    assert sorted((name, begin, ns, lane, flags) for _, name, begin, ns, _, lane, flags in
                  slices(found)) == [
        ("load", 0, 5, "", 0),
        ("load", 1, 6, "tma", 0),
        ("load", 9, 3, "", SliceFlag.UNCLOSED),
        ("mma", 2, 4, "overlap", 0),
    ]  # fmt: skip
    assert found.losses.counted() == {
        "unclosed_slices": 1,
        "stray_ends": 1,
        "unmatched_edges": 2,
    }


def test_a_full_group_is_said_and_its_arrows_are_left_out(tmp_path: Path) -> None:
    content = tileops_buffer([block()], 4)

    found = read(tmp_path, content, Tool.TILEOPS, NAMES, Shape(capacity=4))

    assert found.timeline.waves["flags"].tolist() == [WaveFlag.DROPPED] * 2
    assert len(found.timeline.flows) == 0
    assert found.timeline.losses.counted() == {
        "truncated_waves": 2,
        "unclosed_slices": 1,
        "uncertain_edges": 4,
    }
    assert any("does not count what it drops" in note for note in found.notes)


def test_a_count_that_cannot_be_is_a_torn_group(tmp_path: Path) -> None:
    content = tileops_slot(block()[0], 8, count=9) + tileops_slot(block()[1], 8)

    found = read(tmp_path, content, Tool.TILEOPS, NAMES, Shape(capacity=8)).timeline

    assert [name for _, name, *_ in slices(found)] == ["mma", "mma"]
    assert found.losses.counted()["torn_waves"] == 1


def test_unknown_kinds_and_ids_are_shown_and_counted(tmp_path: Path) -> None:
    events = [(C, 50, BEGIN, 0, 0), (C + 1, 2, DAG, 0, 0), (C + 5, 50, END, 0, 0)]

    found = read(
        tmp_path, tileops_buffer([[events]], 8), Tool.TILEOPS, NAMES, Shape(groups=1, capacity=8)
    ).timeline

    assert slices(found) == [(0, "event_50", 0, 5, 0, "", 0)]
    assert marks(found) == [(0, "published", 1)]
    counted = found.losses.counted()
    assert (counted["unknown_kinds"], counted["unnamed_events"]) == (1, 1)


def test_a_told_rate_makes_nanoseconds(tmp_path: Path) -> None:
    content = tileops_buffer([block()], 8)
    shape = Shape(capacity=8, clock=2_000_000_000)

    found = read(tmp_path, content, Tool.TILEOPS, NAMES, shape).timeline

    assert found.unit == "ns"
    assert [(begin, ns) for _, _, begin, ns, *_ in slices(found)] == [
        (0, 50),
        (50, 60),
        (55, 45),
        (115, 35),
    ]


def test_an_array_of_numpy_tells_its_shape(tmp_path: Path) -> None:
    raw = np.frombuffer(tileops_buffer([block(), block()], 16), "<i8").reshape(2, 2, 34)
    file = io.BytesIO()
    np.save(file, raw)

    assert told_apart(tmp_path, file.getvalue()) is Tool.TILEOPS
    found = read(tmp_path, file.getvalue(), Tool.TILEOPS).timeline
    assert len(found.waves) == 4
    assert len(found.slices) == 8


def test_an_array_that_is_cut_is_not_taken_for_a_buffer(tmp_path: Path) -> None:
    raw = np.frombuffer(tileops_buffer([block(), block()], 16), "<i8").reshape(2, 2, 34)
    file = io.BytesIO()
    np.save(file, raw)

    assert told_apart(tmp_path, file.getvalue()[:-16]) is None


def test_bytes_of_an_array_tell_no_shape(tmp_path: Path) -> None:
    raw = np.frombuffer(tileops_buffer([block()], 8), "u1").reshape(2, 2, -1)
    file = io.BytesIO()
    np.save(file, raw)

    found = read(tmp_path, file.getvalue(), Tool.TILEOPS, NAMES, Shape(capacity=8)).timeline

    assert len(found.slices) == 4


def test_a_shape_that_nothing_tells_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        read(tmp_path, bytes(160), Tool.TILEOPS)

    assert refused.value.why == "nothing tells how many groups a block has"
