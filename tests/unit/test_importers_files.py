"""What files are, and which belong together."""

import gzip
import json
from pathlib import Path

import pytest

from ktrace_cli.errors import KtraceError, UsageError
from ktrace_cli.export import protobuf
from ktrace_cli.importers.files import Input, find_inputs
from ktrace_cli.importers.reader import read_all_traces, read_traces
from ktrace_cli.importers.shifts import parse_shifts
from support.host_traces import (
    SMALL_ROCPD,
    agent_csv,
    call,
    call_csv,
    complete,
    kernel_csv,
    kernel_row,
    kineto,
    make_rocpd,
    recording,
    results_json,
    write_json,
)

KERNELS = kernel_csv([kernel_row("gemm", 1_000, 2_000)])
CALLS = call_csv([("HIP_RUNTIME_API_EXT", "hipLaunchKernel", 4242, 77, 1, 500, 600)])


def kinds(*paths: Path) -> list[tuple[Input, list[str]]]:
    found, _ = find_inputs(paths)
    return [(one.kind, [path.name for path in one.paths]) for one in found]


def test_files_are_known_by_their_content(tmp_path: Path) -> None:
    named = [
        recording(tmp_path / "a", launches=[(10_000, 20_000)]),
        write_json(tmp_path / "b", results_json()),
        write_json(tmp_path / "c", kineto([])),
        make_rocpd(tmp_path / "d", SMALL_ROCPD),
    ]
    packed = tmp_path / "e"
    packed.write_bytes(gzip.compress(json.dumps(kineto([])).encode()))
    trace = tmp_path / "f"
    trace.write_bytes(b"\x0a\x04\x50\x4b\x68\x01")

    assert [kind for kind, _ in kinds(*named, packed, trace)] == [
        Input.RECORDING,
        Input.ROCPROFV3_JSON,
        Input.CHROME_JSON,
        Input.ROCPD,
        Input.CHROME_JSON,
        Input.PERFETTO,
    ]


def test_csv_files_of_one_prefix_are_one_input(tmp_path: Path) -> None:
    for name, text in (
        ("1_kernel_trace.csv", KERNELS),
        ("1_hip_api_trace.csv", CALLS),
        ("1_agent_info.csv", agent_csv()),
        ("2_kernel_trace.csv", KERNELS),
    ):
        (tmp_path / name).write_text(text)

    assert kinds(tmp_path) == [
        (Input.ROCPROFV3_CSV, ["1_agent_info.csv", "1_hip_api_trace.csv", "1_kernel_trace.csv"]),
        (Input.ROCPROFV3_CSV, ["2_kernel_trace.csv"]),
    ]


def test_the_agent_table_beside_a_single_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "1_kernel_trace.csv").write_text(KERNELS)
    (tmp_path / "1_agent_info.csv").write_text(agent_csv())

    found, notes = find_inputs([tmp_path / "1_kernel_trace.csv"])

    assert [path.name for path in found[0].paths] == ["1_kernel_trace.csv", "1_agent_info.csv"]
    assert notes == [f"{tmp_path}/1_agent_info.csv is read, too: it tells which devices there are"]


def test_of_several_formats_of_one_run_the_one_that_tells_most_is_taken(tmp_path: Path) -> None:
    folder = tmp_path / "host"
    folder.mkdir()
    make_rocpd(folder / "7_results.db", SMALL_ROCPD)
    write_json(folder / "7_results.json", results_json())
    (folder / "7_kernel_trace.csv").write_text(KERNELS)
    (folder / "7_kernel_stats.csv").write_text('"Name","Calls"\n"gemm",1\n')
    (folder / "8_kernel_trace.csv").write_text(KERNELS)
    (folder / "config.json").write_text("{}")

    found, notes = find_inputs([tmp_path])

    assert [(one.kind, one.paths[0].name) for one in found] == [
        (Input.ROCPD, "7_results.db"),
        (Input.ROCPROFV3_CSV, "8_kernel_trace.csv"),
    ]
    assert [note.partition(" ")[2] for note in notes] == [
        "is passed over: the rocpd database beside it tells the same",
        "is passed over: the rocpd database beside it tells the same",
    ]


def test_what_may_be_our_own_output_is_not_taken_from_a_folder(tmp_path: Path) -> None:
    recording(tmp_path / "a.bin", launches=[(10_000, 20_000)])
    (tmp_path / "a.pftrace.gz").write_bytes(gzip.compress(b"\x0a\x04\x50\x4b\x68\x01"))
    write_json(tmp_path / "a.trace.json", {"traceEvents": []})
    write_json(tmp_path / "n_1.2.pt.trace.json", {"traceEvents": []})
    write_json(tmp_path / "kineto.json", kineto([]))
    (tmp_path / "7_results.pftrace").write_bytes(b"\x0a\x04\x50\x4b\x68\x01")
    (tmp_path / "8_agent_info.csv").write_text(agent_csv())

    found, notes = find_inputs([tmp_path])

    assert [one.paths[0].name for one in found] == [
        "7_results.pftrace",
        "a.bin",
        "kineto.json",
        "n_1.2.pt.trace.json",
    ]
    assert notes == [
        f"{tmp_path}/a.pftrace.gz is passed over: it may be ktrace's own; name it to merge it",
        f"{tmp_path}/a.trace.json is passed over: it may be ktrace's own; name it to merge it",
        f"{tmp_path}/8_agent_info.csv is passed over: there is nothing that it tells of",
    ]


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("empty.json", b"", "it is an empty file"),
        ("notes.txt", b"hello", "it is text"),
        ("kernel_stats.csv", b'"Name","Calls"\n"gemm",1\n', "it is text"),
        (
            "counters.csv",
            b'"Counter_Name","Kernel_Name","Start_Timestamp","End_Timestamp"\n',
            "text",
        ),
        ("x.so", b"\x7fELF" + bytes(60), "it is an ELF file"),
        ("zeros.db", bytes(600), "it is zeros only"),
        ("x.zip", b"PK\x03\x04" + bytes(60), "it is a zip archive"),
    ],
)
def test_another_file_is_an_error_that_says_what_it_is(
    tmp_path: Path, name: str, content: bytes, why: str
) -> None:
    (tmp_path / name).write_bytes(content)

    with pytest.raises(KtraceError, match=f"cannot merge .*{name}") as problem:
        find_inputs([tmp_path / name])

    assert why in problem.value.why


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KtraceError, match="cannot read") as problem:
        find_inputs([tmp_path / "x.json"])

    assert problem.value.why == "No such file or directory"


def test_a_folder_without_traces_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")

    with pytest.raises(KtraceError) as problem:
        find_inputs([tmp_path])

    assert problem.value.why == "none of its 1 file is a ktrace recording or a trace"


def test_a_file_that_is_named_twice_is_an_error(tmp_path: Path) -> None:
    path = write_json(tmp_path / "b.json", kineto([]))

    with pytest.raises(UsageError, match="is named twice"):
        find_inputs([path, tmp_path / ".." / tmp_path.name / "b.json"])


def test_a_trace_without_events_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    path = write_json(tmp_path / "b.json", kineto([complete("a", "cpu_op", "never", 1)]))
    found, _ = find_inputs([path])

    with pytest.raises(KtraceError, match="nothing to merge in") as problem:
        read_traces(found[0])

    assert problem.value.why == (
        "the PyTorch or Chrome JSON holds no event with a time: 1 row has no time and is left out"
    )


def test_a_process_without_events_is_left_out(tmp_path: Path) -> None:
    full = results_json(hip_api=[call(0, 10, 20), call(7, 30, 40)])
    full["rocprofiler-sdk-tool"][:0] = results_json(pid=9, pc_sample_host_trap=[{}])[
        "rocprofiler-sdk-tool"
    ]
    found, _ = find_inputs([write_json(tmp_path / "r.json", full)])

    (trace,) = read_traces(found[0])

    assert [process.pid for process in trace.trace.processes] == [4242]
    assert trace.trace.repairs.counted() == {"not_shown": 1, "unknown_names": 1}


def test_how_much_memory_a_large_file_takes_is_said(tmp_path: Path) -> None:
    path = write_json(tmp_path / "x.json", kineto([complete("a", "cpu_op", 1, 1)]))
    with path.open("ab") as file:
        file.truncate(1 << 29)

    _, notes = find_inputs([path])

    assert notes == [f"{path}: reading it takes about 4.0 GiB of memory"]


@pytest.mark.parametrize("count", [1, 3, 25_000])
def test_shares_of_reading_add_up_to_one(tmp_path: Path, count: int) -> None:
    events = [complete("a", "cpu_op", 1 + row, 1) for row in range(count)]
    write_json(tmp_path / "x.json", kineto(events))
    (tmp_path / "1_kernel_trace.csv").write_text(KERNELS)
    mark = protobuf.message(11, protobuf.number(9, 3), protobuf.number(11, 1))
    padding = protobuf.text(30, "x" * 1_000)
    packet = protobuf.message(1, protobuf.number(8, 1_000), mark, padding)
    (tmp_path / "7_results.pftrace").write_bytes(packet * min(count, 2_000))
    found, _ = find_inputs([tmp_path])
    shares: list[float] = []

    traces = read_all_traces(found, shares.append)

    assert len(traces) == 3
    assert sum(shares) == pytest.approx(1)


def test_the_process_id_in_a_csv_files_name_is_used(tmp_path: Path) -> None:
    (tmp_path / "815_kernel_trace.csv").write_text(KERNELS)
    found, _ = find_inputs([tmp_path])

    (trace,) = read_traces(found[0])

    assert trace.trace.processes[0].pid == 815


def test_shifts_name_a_file_and_nanoseconds() -> None:
    files = [Path("a=b.json"), Path("c.json")]

    assert parse_shifts(["a=b.json=-5", "c.json=7"], files) == {files[0]: -5, files[1]: 7}


@pytest.mark.parametrize("option", ["c.json", "c.json=", "c.json=soon", "=5", "d.json=5"])
def test_shifts_that_name_nothing_are_errors(option: str) -> None:
    with pytest.raises(UsageError):
        parse_shifts([option], [Path("c.json")])
