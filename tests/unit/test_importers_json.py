"""rocprofv3's results.json, and JSON that is not quite JSON."""

import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ktrace_cli.errors import KtraceError
from ktrace_cli.importers.host_trace import HostProcess, HostTrace
from ktrace_cli.importers.json_file import parse_json, read_bytes
from ktrace_cli.importers.rocprofv3_json import read_rocprofv3_json
from support.host_traces import arrows, call, dispatch, named_slices, results_json, symbol, told

PATH = Path("results.json")


def read(**records: Any) -> HostTrace:
    (trace,) = read_rocprofv3_json(results_json(**records), PATH)
    return trace


def test_kernels_have_their_symbols_names_and_their_calls_arrows() -> None:
    trace = read(
        symbols=[symbol(9, "gemm(float*, int)")],
        kernel_dispatch=[dispatch(9, 2_000, 3_000, correlation=5)],
        hip_api=[call(0, 1_000, 1_100, correlation=5)],
    )

    assert named_slices(trace) == [
        ("hipLaunchKernel", "thread 77", 1_000, 1_100),
        ("gemm(float*, int)", "queue 4", 2_000, 3_000),
    ]
    assert arrows(trace) == [("hipLaunchKernel", "gemm(float*, int)")]
    assert trace.processes == (HostProcess(4242, "python", "node"),)
    assert trace.tracks[0].device == "agent 2 · gfx950"
    assert told(trace, "VGPR_Count") == {1: 248}
    assert trace.repairs.counted() == {"doubled_registers": 1}


def test_nothing_of_the_command_line_and_the_configuration_is_kept() -> None:
    trace = read(symbols=[symbol(9, "gemm")], kernel_dispatch=[dispatch(9, 2_000, 3_000)])

    assert "hunter2" not in repr(trace)
    assert "secret" not in repr(trace)


def test_markers_are_called_by_their_message() -> None:
    trace = read(
        marker_api=[
            call(1, 100, 200, correlation=31, kind=3),
            call(0, 300, 300, correlation=32, kind=3),
        ],
        messages=[{"key": 31, "value": "epoch 1"}],
    )

    assert [name for name, *_ in named_slices(trace)] == ["epoch 1", "roctxMarkA"]


def test_copies_tell_their_bytes() -> None:
    copy = {
        **call(1, 100, 200, kind=4),
        "src_agent_id": {"handle": 5000},
        "dst_agent_id": {"handle": 5002},
        "bytes": 4096,
    }

    trace = read(memory_copy=[copy])

    assert named_slices(trace) == [("HOST_TO_DEVICE", "copies", 100, 200)]
    assert told(trace, "bytes") == {0: 4096}


def test_what_has_no_name_is_called_by_its_number_and_counted() -> None:
    trace = read(kernel_dispatch=[dispatch(9, 2_000, 3_000)], hip_api=[call(7, 1_000, 1_100)])

    assert [name for name, *_ in named_slices(trace)] == ["operation 1.7", "kernel 9"]
    assert trace.repairs.unknown_names == 2


def test_records_of_other_kinds_are_counted() -> None:
    trace = read(pc_sample_host_trap=[{}, {}], hip_api=[call(0, 10, 20)])

    assert trace.repairs.sentences() == ["2 records are of kinds that are not shown"]


@pytest.mark.parametrize(
    "document",
    [
        {"rocprofiler-sdk-tool": [{"buffer_records": {"kernel_dispatch": [{}]}}]},
        {"rocprofiler-sdk-tool": [{"agents": [{"id": 5}]}]},
        {"rocprofiler-sdk-tool": 5},
        {"rocprofiler-sdk-tool": ["text"]},
        {},
    ],
)
def test_a_document_that_is_made_otherwise_is_an_error_with_its_path(document: Any) -> None:
    with pytest.raises(KtraceError, match=r"cannot read results\.json"):
        read_rocprofv3_json(document, PATH)


@pytest.mark.parametrize(
    ("text", "value", "counts"),
    [
        (b'{"a": NaN, "b": [-Infinity, 1]}', {"a": None, "b": [None, 1]}, {"json_numbers": 2}),
        (b'{"a": [1, 2, ], "b": 3,\n}', {"a": [1, 2], "b": 3}, {"json_commas": 2}),
        (b'{"a": "x\xff\xfey"}', {"a": "x��y"}, {"invalid_utf8": 2}),
        (b'{"a": "tab\there"}', {"a": "tab\there"}, {"json_controls": 1}),
        (b'{"a": "NaN, ] , }", "b": NaN}', {"a": "NaN, ] , }", "b": None}, {"json_numbers": 1}),
        (b'{"a": "quote \\" NaN", "b": NaN}', {"a": 'quote " NaN', "b": None}, {"json_numbers": 1}),
        (b'{"e": [{"n": 1}, {"n": 2}, {"n": "cu', {"e": [{"n": 1}, {"n": 2}]}, {"cut_off": 1}),
        (b'[{"n": 1},\n', [{"n": 1}], {"cut_off": 1}),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}, {}),
    ],
)
def test_what_profilers_write_instead_of_json_is_repaired_and_counted(
    text: bytes, value: object, counts: dict[str, int]
) -> None:
    repairs = Counter[str]()

    assert parse_json(text, PATH, repairs) == value
    assert dict(repairs) == counts


@pytest.mark.parametrize(
    "text",
    [b"{]", b'{"a" 1}', b"nonsense", b'{"a": }', b'{"e": [{"n": 1}, {"n": "a"b"}, {"n": 2}]}'],
)
def test_what_is_no_json_is_an_error_that_says_where(text: bytes) -> None:
    with pytest.raises(KtraceError, match=r"cannot read results\.json") as problem:
        parse_json(text, PATH, Counter())

    assert "line 1 column" in problem.value.why


def test_a_compressed_file_that_is_torn_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.json.gz"
    path.write_bytes(gzip.compress(b"{}" * 1000)[:-9])

    with pytest.raises(KtraceError, match=r"cannot read .*x\.json\.gz"):
        read_bytes(path)
