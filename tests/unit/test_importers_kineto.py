"""PyTorch's traces, and other Chrome traces."""

import json
from pathlib import Path
from typing import Any

import pytest

from ktrace_cli.importers.chrome_events import nanoseconds
from ktrace_cli.importers.host_trace import Clock, HostProcess, HostTrace
from ktrace_cli.importers.kineto import read_kineto
from support.host_traces import arrows, complete, kineto, named_slices, told

BASE = 1_759_300_074_000_000_000
PATH = Path("trace.json")


def read(events: list[dict[str, Any]], path: Path = PATH, **header: Any) -> HostTrace:
    header.setdefault("baseTimeNanoseconds", BASE)
    return read_kineto(json.dumps(kineto(events, **header)).encode(), path)


def kernel(name: str, ts: object, dur: object, **more: Any) -> dict[str, Any]:
    return complete(name, "kernel", ts, dur, **{"pid": 1, "tid": 7, **more})


def test_times_are_nanoseconds_of_the_calendar() -> None:
    trace = read([complete("aten::mm", "cpu_op", 6869181218001.421, 1.803)])

    begin = BASE + 6_869_181_218_001_421
    assert trace.clock is Clock.REALTIME
    assert named_slices(trace) == [("aten::mm", "thread 77", begin, begin + 1_803)]


def test_microseconds_since_the_epoch_keep_their_nanoseconds() -> None:
    text = (
        b'{"traceEvents": [{"ph": "X", "name": "a", "cat": "cpu_op", "pid": 1, "tid": 2,'
        b' "ts": 1698765432123456.789, "dur": 0.011}]}'
    )

    trace = read_kineto(text, PATH)

    begin = 1_698_765_432_123_456_789
    assert trace.clock is Clock.REALTIME
    assert named_slices(trace) == [("a", "thread 2", begin, begin + 11)]


@pytest.mark.parametrize(
    ("microseconds", "ns"),
    [
        (5, 5_000),
        (1.5, 1_500),
        (0.0005, 0),
        ("1698765432123456.789", 1_698_765_432_123_456_789),
        ("1e3", 1_000_000),
        ("1e999999999", None),
        ("nan", None),
        ("soon", None),
        (True, None),
        (None, None),
        ([], None),
        (1 << 70, None),
        (1e300, None),
    ],
)
def test_microseconds_become_nanoseconds_or_nothing(microseconds: object, ns: int | None) -> None:
    assert nanoseconds(microseconds) == ns


def test_kernels_are_on_the_stream_of_their_gpu_in_the_process_that_launched_them() -> None:
    trace = read(
        [
            complete("hipLaunchKernel", "cuda_runtime", 10, 2),
            kernel("gemm", 20, 5, args={"correlation": 3, "grid": [2, 1, 1], "stream": 7}),
            {"ph": "M", "name": "process_name", "pid": 4242, "args": {"name": "python3"}},
            {"ph": "M", "name": "process_labels", "pid": 1, "args": {"labels": "GPU 1"}},
            {"ph": "M", "name": "thread_name", "pid": 4242, "tid": 77, "args": {"name": "main"}},
        ],
        distributedInfo={"rank": 3},
        path=Path("node7_4242.1759300074.pt.trace.json"),
    )

    assert [(name, track) for name, track, *_ in named_slices(trace)] == [
        ("hipLaunchKernel", "main"),
        ("gemm", "stream 7"),
    ]
    assert trace.processes == (HostProcess(4242, "python3 · rank 3", "node7"),)
    assert [track.device for track in trace.tracks] == ["", "GPU 1"]
    assert told(trace, "grid") == {1: "[2,1,1]"}
    assert trace.kernels.tolist() == [1]


def test_arrows_join_the_slices_in_which_they_begin_and_end() -> None:
    trace = read(
        [
            complete("step", "user_annotation", 5, 50),
            complete("hipLaunchKernel", "cuda_runtime", 10, 2),
            kernel("gemm", 20, 5),
            {"ph": "s", "id": 1, "pid": 4242, "tid": 77, "ts": 10, "cat": "ac2g", "name": "ac2g"},
            {"ph": "f", "id": 1, "pid": 1, "tid": 7, "ts": 20, "cat": "ac2g", "bp": "e"},
            {"ph": "s", "id": 1, "pid": 4242, "tid": 77, "ts": 30, "cat": "fwdbwd"},
            {"ph": "f", "id": 1, "pid": 1, "tid": 7, "ts": 24.5, "cat": "fwdbwd"},
        ]
    )

    assert arrows(trace) == [("step", "gemm"), ("hipLaunchKernel", "gemm")]
    assert trace.repairs.counted() == {}


def test_arrows_with_one_end_are_counted_but_for_calls_that_launch_nothing() -> None:
    trace = read(
        [
            complete("hipGetDevice", "cuda_runtime", 10, 2),
            kernel("gemm", 20, 5),
            {"ph": "f", "id": 1, "pid": 4242, "tid": 77, "ts": 10, "cat": "ac2g"},
            {"ph": "f", "id": 2, "pid": 1, "tid": 7, "ts": 20, "cat": "ac2g"},
            {"ph": "s", "id": 3, "pid": 4242, "tid": 77, "ts": 10, "cat": "ac2g"},
        ]
    )

    assert arrows(trace) == []
    assert trace.repairs.counted() == {"loose_flows": 2}


def test_begins_and_ends_are_paired_by_thread() -> None:
    def half(phase: str, name: str, ts: int, tid: int = 77) -> dict[str, Any]:
        return {"ph": phase, "name": name, "pid": 4242, "tid": tid, "ts": ts}

    trace = read(
        [
            half("B", "outer", 10),
            half("B", "inner", 20),
            half("E", "inner", 30),
            half("E", "outer", 40),
            half("E", "stray", 50),
            half("B", "open", 60, tid=78),
        ]
    )

    assert [(name, begin - BASE, end - BASE) for name, _, begin, end in named_slices(trace)] == [
        ("outer", 10_000, 40_000),
        ("inner", 20_000, 30_000),
        ("open", 60_000, 60_000),
    ]
    assert trace.repairs.counted() == {"unclosed": 1, "stray_ends": 1}


def test_what_is_not_shown_is_counted() -> None:
    trace = read(
        [
            complete("a", "cpu_op", 10, 2),
            {"ph": "C", "name": "memory", "pid": 1, "ts": 5, "args": {"bytes": 1}},
            complete("no length", "cpu_op", 20, None),
            complete("no time", "cpu_op", "later", 2),
            complete("at zero", "cpu_op", 0, 0),
            {},
            "text",
        ]
    )

    assert [name for name, *_ in named_slices(trace)] == ["a", "no length"]
    assert trace.repairs.counted() == {
        "malformed_rows": 1,
        "no_times": 2,
        "unclosed": 1,
        "not_shown": 1,
    }


def test_pids_that_are_texts_or_zero_are_shown_in_the_process() -> None:
    trace = read(
        [
            complete("aten::mm", "cpu_op", 10, 2),
            complete("threading.py", "python_function", 9, 5, pid=0, tid=0),
            complete("PyTorch Profiler", "Trace", 1, 90, pid="Spans", tid="PyTorch Profiler"),
        ]
    )

    assert [process.pid for process in trace.processes] == [4242]
    assert sorted(track.name for track in trace.tracks) == [
        "0",
        "Spans · PyTorch Profiler",
        "thread 77",
    ]


def test_devices_and_processes_with_one_number_are_kept_apart() -> None:
    trace = read(
        [
            complete("hipLaunchKernel", "cuda_runtime", 10, 2, pid=1, tid=7),
            kernel("gemm", 20, 5, pid=1, tid=7),
            kernel("saxpy", 30, 5, pid=0, tid=0),
            complete("forward", "python_function", 5, 90, pid=0, tid=0),
            complete("step", "gpu_user_annotation", 20, 5, pid=1, tid=7),
        ]
    )

    assert [
        (trace.name_of(row), trace.tracks[track].device, trace.tracks[track].name)
        for row, track in enumerate(trace.slices["track"].tolist())
    ] == [
        ("forward", "", "0"),
        ("hipLaunchKernel", "", "thread 7"),
        ("gemm", "GPU 1", "stream 7"),
        ("step", "GPU 1", "stream 7 annotations"),
        ("saxpy", "GPU 0", "stream 0"),
    ]


def test_a_chrome_trace_without_a_base_counts_an_unknown_clock() -> None:
    trace = read_kineto(json.dumps([complete("a", "x", 5, 1)]).encode(), PATH)

    assert trace.clock is Clock.UNKNOWN
    assert trace.format == "Chrome JSON"
    assert named_slices(trace) == [("a", "thread 77", 5_000, 6_000)]


def test_time_0_of_a_chrome_trace_is_its_first_event() -> None:
    events = [complete("first", "", 0, 2), complete("next", "", 3, 2)]

    trace = read_kineto(json.dumps(events).encode(), PATH)

    assert [name for name, *_ in named_slices(trace)] == ["first", "next"]
    assert trace.repairs.counted() == {}


def test_an_end_ends_the_last_begin_of_its_name() -> None:
    def event(ph: str, name: str, ts: int) -> dict[str, object]:
        return {"ph": ph, "name": name, "pid": 1, "tid": 1, "ts": ts}

    events = [event("B", "a", 1), event("B", "b", 2), event("E", "a", 5), event("E", "b", 9)]

    trace = read_kineto(json.dumps(events).encode(), PATH)

    lengths = {name: end - begin for name, _, begin, end in named_slices(trace)}
    assert lengths == {"a": 4000, "b": 7000}
