"""Chrome JSON of other in-kernel tracers: waves, launches, clocks, and what is assumed of them."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from ktrace_cli.errors import UsageError
from ktrace_cli.foreign.shape import Shape
from ktrace_cli.foreign.source import Foreign, Source, Tool, find_tool, read_foreign
from ktrace_cli.model import SliceFlag
from ktrace_cli.timeline.cycles import in_cycles
from support.foreign.reading import marks, slices
from support.foreign.trace_files import ProtonBlock, mori_json, proton_json, write_json

GHZ = 10**9


def read(path: Path, shape: Shape | None = None) -> Foreign:
    source = Source(shape=shape or Shape())
    tool = find_tool(path, source)
    assert tool is Tool.CHROME
    return read_foreign(path, tool, source)


def block(core: int, cta: int, init_ns: int, first: int = 7_000_000) -> ProtonBlock:
    return ProtonBlock(core, cta, init_ns, {
        0: [("mma", first + 100, first + 300), ("loop", first, first + 1000)],
        1: [("load", first + 50, first + 450)],
    })  # fmt: skip


def two_launches() -> list[tuple[str, list[ProtonBlock]]]:
    return [
        ("gemm", [block(0, 0, 5000), block(3, 1, 5200, 9_000_000)]),
        ("gemm", [block(0, 0, 9000), block(3, 1, 9200)]),
    ]


def test_proton_lengths_are_cycles_and_blocks_begin_in_nanoseconds(tmp_path: Path) -> None:
    path = write_json(tmp_path / "p.chrome_trace", proton_json(two_launches()))

    found = read(path, Shape(clock=2 * GHZ)).timeline

    own = [("loop", 0, 500, 0), ("mma", 50, 100, 1), ("load", 25, 200, 0)]
    assert [(name, begin, ns, depth) for _, name, begin, ns, depth, *_ in slices(found)] == [
        (name, start + begin, ns, depth)
        for start in (0, 200, 4000, 4200)
        for name, begin, ns, depth in own
    ]
    assert [k.name for k in found.kernels] == ["gemm"]
    assert found.dispatches["waves"].tolist() == [4, 4]
    assert found.waves["block"][:, 0].tolist() == [0, 0, 1, 1] * 2
    assert found.waves["se"].tolist() == [0, 0, 3, 3] * 2
    assert found.losses.counted() == {}


def test_proton_without_a_rate_is_shown_as_it_writes_and_said_aloud(tmp_path: Path) -> None:
    path = write_json(tmp_path / "p.json", proton_json(two_launches()))

    found = read(path)

    assert slices(found.timeline)[3][2:4] == (200, 1000)
    assert found.notes[0] == "read as Triton Proton's Chrome JSON: 8 waves"
    assert "LENGTHS ARE CYCLES, shown as nanoseconds" in found.notes[1]
    assert found.timeline.own_clock == (
        "a clock of unknown rate, whose cycles are taken as nanoseconds"
    )
    cycles = in_cycles(read(path, Shape(clock=2 * GHZ)).timeline)
    assert cycles.slices["ns"].tolist()[:3] == [1000, 200, 400]


def test_proton_tells_its_own_rate_where_it_knows_one(tmp_path: Path) -> None:
    document = proton_json(two_launches())
    for event in document["traceEvents"]:
        event["args"]["Frequency (MHz)"] = 500.0
    path = write_json(tmp_path / "p.json", document)

    found = read(path)

    assert slices(found.timeline)[0][3] == 2000
    assert found.notes[1] == "a cycle is taken as 2 ns, as the file tells"


def test_older_proton_files_tell_launches_by_their_order(tmp_path: Path) -> None:
    path = write_json(tmp_path / "p.json", proton_json(two_launches(), has_init=False))

    found = read(path, Shape(clock=2 * GHZ))

    assert found.timeline.dispatches["waves"].tolist() == [4, 4]
    assert slices(found.timeline)[3][2:4] == (200, 500)
    assert "launches of a kernel are told apart by the order of the file" in found.notes[2]


def test_older_proton_files_have_24_bits_of_a_time(tmp_path: Path) -> None:
    late = [("gemm", [block(0, 0, 0), block(1, 1, 1 << 28)])]
    path = write_json(tmp_path / "p.json", proton_json(late, has_init=False))

    found = read(path)

    assert "keeps 24 bits of a time: late ones are multiples of 32 ns" in found.notes[3]


def test_what_proton_shows_of_the_host_is_counted(tmp_path: Path) -> None:
    document = proton_json(two_launches())
    document["traceEvents"].append({"ph": "X", "pid": "Kernel Call Path", "tid": "path 0",
                                    "name": "main", "ts": 0.0, "dur": 9.0})  # fmt: skip
    path = write_json(tmp_path / "p.json", document)

    assert read(path).timeline.losses.counted() == {"unshown_records": 1}


def test_mori_pairs_by_name_and_its_ticks_are_nanoseconds(tmp_path: Path) -> None:
    warps = {
        0: [(1000, "send", "B"), (1010, "wait", "B"), (1030, "send", "E"), (1050, "wait", "E")],
        9: [(1005, "done", "i")],
    }
    path = write_json(tmp_path / "m.json", mori_json(warps))

    found = read(path, Shape(warps=8))

    assert sorted(slices(found.timeline)) == [
        (0, "send", 0, 300, 0, "", 0),
        (0, "wait", 100, 400, 0, "overlap", 0),
    ]
    assert marks(found.timeline) == [(1, "done", 50)]
    assert found.timeline.waves[["wave"]].tolist() == [(0,), (1,)]
    assert found.timeline.waves["block"][:, 0].tolist() == [0, 1]
    assert found.notes[0] == "read as MORI-VIZ's Chrome JSON: 2 waves"


def test_mori_does_not_tell_workgroups(tmp_path: Path) -> None:
    path = write_json(tmp_path / "m.json", mori_json({9: [(0, "a", "B"), (5, "a", "E")]}))

    found = read(path)

    assert "does not tell how many a workgroup has (`--shape warps=8`)" in found.notes[1]
    assert found.timeline.waves["wave"].tolist() == [9]


def quack_event(name: str, ph: str, ts: float, **more: Any) -> dict[str, Any]:
    return {"name": name, "pid": 2, "tid": 32, "cname": "good",
            "args": {"sm": 7, "block": 2, "warp": 1}, "ph": ph, "ts": ts} | more  # fmt: skip


def test_quack_begins_and_ends_are_read_as_its_whole_ranges_are(tmp_path: Path) -> None:
    whole = [quack_event("a", "X", 0.0, dur=0.25), quack_event("m", "i", 0.1, s="t")]
    halves = [quack_event("a", "B", 0.0), quack_event("m", "i", 0.1), quack_event("a", "E", 0.25)]

    found = [
        read(write_json(tmp_path / f"{n}.json", {"traceEvents": events})).timeline
        for n, events in enumerate((whole, halves))
    ]

    for timeline in found:
        assert slices(timeline) == [(0, "a", 0, 250, 0, "", 0)]
        assert marks(timeline) == [(0, "m", 100)]
        assert timeline.waves[["wave", "se"]].tolist() == [(1, 7)]
        assert timeline.waves["block"].tolist() == [[2, 0, 0]]


def test_a_summary_beside_it_tells_the_unit_and_that_blocks_are_ambiguous(tmp_path: Path) -> None:
    path = write_json(tmp_path / "t.json", {"traceEvents": [quack_event("a", "X", 8.0, dur=250.0)]})
    summary = {"scale": 1.0, "blocks": 70_000, "regions": []}
    write_json(tmp_path / "t_summary.json", summary)

    found = read(path)

    assert slices(found.timeline) == [(0, "a", 0, 250, 0, "", 0)]
    assert any("it names 70,000 blocks by 16 bits" in note for note in found.notes)


def test_its_ancestor_writes_nanoseconds(tmp_path: Path) -> None:
    named = {"ph": "M", "name": "process_name", "pid": 2, "tid": 0, "args": {"name": "sm 7"}}
    events = [named, quack_event("a", "X", 8.0, dur=250.0)]
    path = write_json(tmp_path / "t.json", {"traceEvents": events})

    found = read(path)

    assert slices(found.timeline)[0][3] == 250
    assert "its times are taken as nanoseconds" in found.notes[1]


def test_warpscope_times_that_begin_anew_go_on(tmp_path: Path) -> None:
    def event(ns: int) -> dict[str, Any]:
        return {"name": "load", "ph": "X", "ts": ns / 1000, "dur": 0.1, "pid": 0, "tid": 1}

    named = [{"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "block_0"}},
             {"name": "thread_name", "ph": "M", "pid": 0, "tid": 1,
              "args": {"name": "consumer"}}]  # fmt: skip
    path = write_json(
        tmp_path / "w.json", {"traceEvents": [event((1 << 32) - 100), event(50), *named]}
    )

    found = read(path)

    assert [row[2:4] for row in slices(found.timeline)] == [(0, 100), (150, 100)]
    assert "begin anew every 4.29 s" in found.notes[1]
    assert found.timeline.events[found.timeline.waves["group"][0]].name == "consumer"


def test_ranges_of_one_name_that_cross_keep_their_lengths(tmp_path: Path) -> None:
    times = [(0, 100), (50, 150), (60, 70), (120, 130)]
    events = [quack_event("a", "X", b / 1000, dur=(e - b) / 1000) for b, e in times]
    path = write_json(tmp_path / "t.json", {"traceEvents": events})

    found = read(path).timeline

    assert sorted((begin, ns) for _, _, begin, ns, *_ in slices(found)) == [
        (0, 100), (50, 100), (60, 10), (120, 10)]  # fmt: skip
    assert found.losses.counted() == {}


def test_a_begin_without_an_end_is_shown_up_to_the_last_event(tmp_path: Path) -> None:
    events = [quack_event("a", "B", 0.0), quack_event("m", "i", 0.2), quack_event("b", "E", 0.1)]
    events[2]["name"] = "b"
    del events[2]
    events.append(quack_event("z", "X", 0.3, dur=0.1))
    path = write_json(tmp_path / "t.json", {"traceEvents": events})

    found = read(path).timeline

    assert slices(found)[0] == (0, "a", 0, 400, 0, "", SliceFlag.UNCLOSED)
    assert found.losses.counted() == {"unclosed_slices": 1}


def test_a_packed_file_and_a_cut_one_are_read(tmp_path: Path) -> None:
    text = json.dumps(proton_json(two_launches())).encode()
    packed, cut = tmp_path / "p.json.gz", tmp_path / "cut.json"
    packed.write_bytes(gzip.compress(text))
    cut.write_bytes(text[:-200])

    assert len(read(packed).timeline.slices) == 12
    found = read(cut).timeline
    assert len(found.slices) == 11
    assert found.losses.counted() == {"cut_files": 1}


def test_any_chrome_trace_is_read_if_the_user_says_so(tmp_path: Path) -> None:
    events = [{"name": "a", "ph": "X", "ts": 5, "dur": 1, "pid": "p", "tid": tid} for tid in "xy"]
    path = write_json(tmp_path / "t.json", events)

    assert find_tool(path, Source()) is None
    found = read_foreign(path, Tool.CHROME, Source(Tool.CHROME))

    assert [row[0] for row in slices(found.timeline)] == [0, 1]
    assert found.notes[0] == "read as a trace of an unknown tool's Chrome JSON: 2 waves"


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ({"traceEvents": [], "deviceProperties": []}, "a trace of PyTorch's profiler"),
        ({"names": 1}, "neither a list nor an object with `traceEvents`"),
        ({"traceEvents": []}, "its events are of other kinds, or it has none"),
    ],
)
def test_what_tells_nothing_of_waves_is_refused(tmp_path: Path, document: Any, why: str) -> None:
    path = write_json(tmp_path / "t.json", document)

    with pytest.raises(UsageError) as caught:
        read_foreign(path, Tool.CHROME, Source(Tool.CHROME))

    assert why in str(caught.value.why)
