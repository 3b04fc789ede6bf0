"""Stream capture and graphs on the software device."""

import ctypes
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from support.compile_kernel import any_compiler
from support.hip_calls import (
    DEVICE_TO_HOST,
    INVALID_VALUE,
    SUCCESS,
    call,
    download,
    launch,
    load_function,
    load_hip,
    out_pointer,
    upload,
)

UNSUPPORTED, INVALIDATED, UNMATCHED, UNJOINED, ISOLATION, IMPLICIT, CAPTURED = (
    *(900, 901, 903, 904, 905, 906, 907),
)
NON_BLOCKING = 1
GLOBAL, RELAXED = 0, 2
KERNEL, COPY, FILL = 0, 1, 2


class KernelNodeParams(ctypes.Structure):
    _fields_ = (
        ("block", ctypes.c_uint * 3),
        ("extra", ctypes.c_void_p),
        ("function", ctypes.c_void_p),
        ("grid", ctypes.c_uint * 3),
        ("params", ctypes.c_void_p),
        ("shared", ctypes.c_uint),
    )


@pytest.fixture(scope="module")
def code_object() -> Path:
    return any_compiler("gfx942").hip(
        "#include <mini_hip.hpp>\n"
        'extern "C" __global__ void add(int* data, int value) { data[threadIdx.x] += value; }\n'
    )


@pytest.fixture
def stream() -> Iterator[int]:
    handle = out_pointer("hipStreamCreateWithFlags", NON_BLOCKING)
    yield handle
    load_hip().hipStreamDestroy(handle)


@pytest.fixture
def data() -> Iterator[int]:
    pointer = upload(np.zeros(64, np.int32))
    yield pointer
    call("hipFree", pointer)


def add(function: int, data: int, value: int, stream: int) -> int:
    return launch(function, [ctypes.c_void_p(data), ctypes.c_int(value)], stream=stream)


def end_capture(stream: int) -> tuple[int, int | None]:
    graph = ctypes.c_void_p()
    return load_hip().hipStreamEndCapture(stream, ctypes.byref(graph)), graph.value


def run(graph: int | None, stream: int, times: int = 1) -> None:
    executable = out_pointer("hipGraphInstantiateWithFlags", graph, 0)
    for _ in range(times):
        call("hipGraphLaunch", executable, stream)
    call("hipStreamSynchronize", stream)
    call("hipGraphExecDestroy", executable)


def types_of(graph: int | None) -> list[int]:
    nodes, count = (ctypes.c_void_p * 16)(), ctypes.c_size_t(16)
    call("hipGraphGetNodes", graph, nodes, ctypes.byref(count))
    types = []
    for node in nodes[: count.value]:
        kind = ctypes.c_int()
        call("hipGraphNodeGetType", node, ctypes.byref(kind))
        types.append(kind.value)
    return types


def test_captured_work_runs_only_when_the_graph_is_launched(
    code_object: Path, stream: int, data: int
) -> None:
    function = load_function(code_object, "add")
    call("hipStreamBeginCapture", stream, GLOBAL)
    assert add(function, data, 5, stream) == SUCCESS
    status, graph = end_capture(stream)
    before = download(data, 64, np.int32)

    run(graph, stream, times=3)

    assert status == SUCCESS
    assert not before.any()
    assert download(data, 64, np.int32).tolist() == [15] * 64


def test_copies_and_fills_are_captured_in_their_order(
    code_object: Path, stream: int, data: int
) -> None:
    function = load_function(code_object, "add")
    host = out_pointer("hipHostMalloc", 256, 0)
    call("hipStreamBeginCapture", stream, GLOBAL)
    call("hipMemsetD32Async", data, 7, 64, stream)
    assert add(function, data, 1, stream) == SUCCESS
    call("hipMemcpyAsync", host, data, 256, DEVICE_TO_HOST, stream)
    _, graph = end_capture(stream)

    run(graph, stream)

    assert types_of(graph) == [FILL, KERNEL, COPY]
    assert download(host, 64, np.int32).tolist() == [8] * 64
    call("hipGraphDestroy", graph)
    assert load_hip().hipGraphDestroy(graph) == INVALID_VALUE


def test_events_carry_a_capture_to_another_stream_and_back(
    code_object: Path, stream: int, data: int
) -> None:
    function = load_function(code_object, "add")
    other = out_pointer("hipStreamCreateWithFlags", NON_BLOCKING)
    fork, join = out_pointer("hipEventCreate"), out_pointer("hipEventCreate")
    call("hipStreamBeginCapture", stream, GLOBAL)
    call("hipEventRecord", fork, stream)
    call("hipStreamWaitEvent", other, fork, 0)
    assert add(function, data, 2, other) == SUCCESS
    call("hipEventRecord", join, other)
    call("hipStreamWaitEvent", stream, join, 0)
    assert load_hip().hipEventQuery(out_pointer("hipEventCreate")) == SUCCESS
    status, graph = end_capture(stream)

    run(graph, other)

    assert status == SUCCESS
    assert types_of(graph) == [KERNEL]
    assert download(data, 64, np.int32).tolist() == [2] * 64
    assert load_hip().hipStreamQuery(other) == SUCCESS
    call("hipStreamDestroy", other)


def test_a_stream_that_did_not_come_back_fails_the_capture(
    code_object: Path, stream: int, data: int
) -> None:
    function = load_function(code_object, "add")
    other = out_pointer("hipStreamCreateWithFlags", NON_BLOCKING)
    fork = out_pointer("hipEventCreate")
    call("hipStreamBeginCapture", stream, GLOBAL)
    call("hipEventRecord", fork, stream)
    call("hipStreamWaitEvent", other, fork, 0)
    assert add(function, data, 2, other) == SUCCESS
    assert end_capture(other)[0] == UNMATCHED

    status, graph = end_capture(stream)

    assert (status, graph) == (UNJOINED, None)
    assert load_hip().hipStreamQuery(other) == SUCCESS
    call("hipStreamDestroy", other)


@pytest.mark.parametrize(
    ("spoil", "status"),
    [
        (lambda stream: load_hip().hipStreamSynchronize(stream), UNSUPPORTED),
        (lambda stream: load_hip().hipStreamQuery(stream), UNSUPPORTED),
        (lambda _: load_hip().hipDeviceSynchronize(), UNSUPPORTED),
        (lambda _: load_hip().hipMalloc(ctypes.byref(ctypes.c_void_p()), 64), UNSUPPORTED),
    ],
    ids=["stream synchronize", "query", "device synchronize", "malloc"],
)
def test_a_call_that_cannot_be_captured_spoils_the_capture(
    stream: int, spoil: object, status: int
) -> None:
    call("hipStreamBeginCapture", stream, GLOBAL)

    assert callable(spoil)
    assert spoil(stream) == status

    state = ctypes.c_int()
    call("hipStreamIsCapturing", stream, ctypes.byref(state))
    assert state.value == 2
    assert end_capture(stream) == (INVALIDATED, None)
    assert load_hip().hipStreamSynchronize(stream) == SUCCESS


@pytest.mark.parametrize(
    ("spoil", "status"),
    [
        (lambda _: load_hip().hipDeviceSynchronize(), UNSUPPORTED),
        (lambda data: load_hip().hipMemcpy(data, data, 4, 4), IMPLICIT),
        (lambda data: load_hip().hipMemset(data, 0, 4), IMPLICIT),
    ],
    ids=["device synchronize", "memcpy", "memset"],
)
def test_a_call_that_waits_spoils_a_capture_in_every_mode(
    stream: int, data: int, spoil: object, status: int
) -> None:
    call("hipStreamBeginCapture", stream, RELAXED)

    assert callable(spoil)
    assert spoil(data) == status

    assert end_capture(stream)[0] == INVALIDATED


def test_a_relaxed_thread_may_allocate_while_it_captures(stream: int) -> None:
    mode = ctypes.c_int(RELAXED)
    call("hipThreadExchangeStreamCaptureMode", ctypes.byref(mode))
    call("hipStreamBeginCapture", stream, GLOBAL)

    pointer = out_pointer("hipMalloc", 64)

    call("hipFree", pointer)
    assert end_capture(stream)[0] == SUCCESS
    assert mode.value == GLOBAL
    call("hipThreadExchangeStreamCaptureMode", ctypes.byref(mode))


def test_the_null_stream_cannot_be_used_while_a_blocking_stream_captures(data: int) -> None:
    blocking = out_pointer("hipStreamCreate")
    call("hipStreamBeginCapture", blocking, GLOBAL)
    state = ctypes.c_int()

    asked = load_hip().hipStreamIsCapturing(None, ctypes.byref(state))
    used = load_hip().hipMemsetAsync(data, 0, 4, None)

    assert (asked, used) == (IMPLICIT, IMPLICIT)
    assert end_capture(blocking)[0] == INVALIDATED
    call("hipStreamDestroy", blocking)


def test_an_event_of_a_capture_cannot_be_asked(stream: int) -> None:
    inside, outside = out_pointer("hipEventCreate"), out_pointer("hipEventCreate")
    call("hipEventRecord", outside, stream)
    call("hipStreamBeginCapture", stream, GLOBAL)
    call("hipEventRecord", inside, stream)

    assert load_hip().hipEventQuery(inside) == CAPTURED
    assert load_hip().hipStreamWaitEvent(stream, outside, 0) == ISOLATION
    assert end_capture(stream)[0] == INVALIDATED


def test_captures_begin_once_and_on_real_streams(stream: int) -> None:
    begin = load_hip().hipStreamBeginCapture

    assert begin(None, GLOBAL) == UNSUPPORTED
    assert begin(stream, 7) == INVALID_VALUE
    assert end_capture(stream)[0] == 401
    call("hipStreamBeginCapture", stream, GLOBAL)
    assert begin(stream, GLOBAL) == 401
    assert end_capture(stream)[0] == SUCCESS


def test_a_built_graph_runs_in_the_order_of_its_dependencies(
    code_object: Path, stream: int, data: int
) -> None:
    function = load_function(code_object, "add")
    host = out_pointer("hipHostMalloc", 256, 0)
    graph = out_pointer("hipGraphCreate", 0)
    arguments = [ctypes.c_void_p(data), ctypes.c_int(9)]
    pointers = (ctypes.c_void_p * 2)(*(ctypes.addressof(a) for a in arguments))
    params = KernelNodeParams((64, 1, 1), None, function, (1, 1, 1), ctypes.addressof(pointers), 0)
    copy = out_pointer(
        *("hipGraphAddMemcpyNode1D", graph, None, 0, host, data, 256, DEVICE_TO_HOST)
    )
    kernel = out_pointer("hipGraphAddKernelNode", graph, None, 0, ctypes.byref(params))
    ends = [(ctypes.c_void_p * 1)(node) for node in (kernel, copy)]
    call("hipGraphAddDependencies", ctypes.c_void_p(graph), *ends, ctypes.c_size_t(1))
    arguments[1].value = 1000  # the node has its own copy

    run(graph, stream)

    assert download(host, 64, np.int32).tolist() == [9] * 64
    executable = out_pointer("hipGraphInstantiateWithFlags", graph, 0)
    call("hipGraphExecKernelNodeSetParams", executable, kernel, ctypes.byref(params))
    call("hipGraphLaunch", executable, stream)
    call("hipStreamSynchronize", stream)
    assert download(host, 64, np.int32).tolist() == [1009] * 64


def test_a_graph_with_a_cycle_is_refused() -> None:
    graph = out_pointer("hipGraphCreate", 0)
    nodes = [
        (ctypes.c_void_p * 1)(
            out_pointer("hipGraphAddEmptyNode", ctypes.c_void_p(graph), None, ctypes.c_size_t(0))
        )
        for _ in range(2)
    ]
    for ends in (nodes, nodes[::-1]):
        call("hipGraphAddDependencies", ctypes.c_void_p(graph), *ends, ctypes.c_size_t(1))

    executable = ctypes.c_void_p()
    status = load_hip().hipGraphInstantiateWithFlags(ctypes.byref(executable), graph, 0)

    assert status == INVALID_VALUE


def test_a_capture_can_go_on_in_a_graph_that_exists(
    code_object: Path, stream: int, data: int
) -> None:
    function = load_function(code_object, "add")
    graph = out_pointer("hipGraphCreate", 0)
    begin = load_hip().hipStreamBeginCaptureToGraph
    handles = (ctypes.c_void_p(stream), ctypes.c_void_p(graph))
    for _ in range(2):
        assert begin(*handles, None, None, ctypes.c_size_t(0), GLOBAL) == SUCCESS
        assert add(function, data, 4, stream) == SUCCESS
        assert end_capture(stream) == (SUCCESS, graph)

    run(graph, stream)

    assert types_of(graph) == [KERNEL, KERNEL]
    assert download(data, 64, np.int32).tolist() == [8] * 64
