"""Streams and events of the software device, in its virtual time."""

import ctypes
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from support.asm_kernel import AsmKernel
from support.compile_kernel import any_compiler
from support.hip_calls import (
    CONTEXT_IS_DESTROYED,
    HOST_TO_DEVICE,
    INVALID_HANDLE,
    INVALID_VALUE,
    NOT_READY,
    SUCCESS,
    address,
    call,
    download,
    launch,
    load_function,
    load_hip,
    now_ns,
    out_int,
    out_pointer,
)

MIB = 1 << 20
COPY_NS = 5_000 + 20_971  # latency, and 1 MiB at 50 GB/s
NON_BLOCKING = 1
DISABLE_TIMING = 2


@pytest.fixture
def stream() -> Iterator[int]:
    handle = out_pointer("hipStreamCreateWithFlags", NON_BLOCKING)
    yield handle
    load_hip().hipStreamDestroy(handle)


@pytest.fixture
def buffers() -> Iterator[tuple[int, int]]:
    """Device and pinned memory, 1 MiB each."""
    call("hipDeviceSynchronize")
    device, host = out_pointer("hipMalloc", MIB), out_pointer("hipHostMalloc", MIB, 0)
    yield device, host
    call("hipFree", device)
    call("hipHostFree", host)


def record(stream: int) -> int:
    event = out_pointer("hipEventCreate")
    call("hipEventRecord", event, stream)
    return event


def elapsed_ns(start: int, stop: int) -> int:
    milliseconds = ctypes.c_float()
    call("hipEventElapsedTime", ctypes.byref(milliseconds), start, stop)
    return round(milliseconds.value * 1e6)


def copy(buffers: tuple[int, int], stream: int) -> None:
    call("hipMemcpyAsync", *buffers, MIB, HOST_TO_DEVICE, stream)


def test_a_call_costs_the_same_virtual_time_each_time() -> None:
    costs = []
    for _ in range(3):
        before = now_ns()
        call("hipEventDestroy", out_pointer("hipEventCreate"))
        costs.append(now_ns() - before)

    assert costs == [costs[0]] * 3
    assert costs[0] > 0


def test_an_asynchronous_copy_takes_time_on_the_stream_only(
    stream: int, buffers: tuple[int, int]
) -> None:
    start = record(stream)
    before = now_ns()

    copy(buffers, stream)
    stop = record(stream)

    assert now_ns() - before < COPY_NS
    call("hipEventSynchronize", stop)
    # The stream was idle, so the copy began when the host enqueued it, 2 us after the event.
    assert elapsed_ns(start, stop) - COPY_NS in range(1_000, 3_000)


def test_copies_on_one_stream_follow_each_other(stream: int, buffers: tuple[int, int]) -> None:
    copy(buffers, stream)
    first = record(stream)

    copy(buffers, stream)
    second = record(stream)

    call("hipStreamSynchronize", stream)
    assert elapsed_ns(first, second) == COPY_NS


def test_an_event_is_not_ready_until_the_host_clock_has_reached_it(
    stream: int, buffers: tuple[int, int]
) -> None:
    copy(buffers, stream)
    event = record(stream)

    statuses = [load_hip().hipEventQuery(event) for _ in range(100)]

    assert statuses[0] == NOT_READY
    assert statuses[-1] == SUCCESS
    assert sorted(statuses, reverse=True) == statuses


def test_elapsed_time_of_work_under_way_is_not_ready(stream: int, buffers: tuple[int, int]) -> None:
    start = record(stream)
    copy(buffers, stream)
    stop = record(stream)

    status = load_hip().hipEventElapsedTime(ctypes.byref(ctypes.c_float()), start, stop)

    assert status == NOT_READY
    call("hipStreamSynchronize", stream)


def test_synchronizing_moves_the_host_to_the_end_of_the_work(
    stream: int, buffers: tuple[int, int]
) -> None:
    before = now_ns()
    copy(buffers, stream)
    assert load_hip().hipStreamQuery(stream) == NOT_READY

    call("hipStreamSynchronize", stream)

    assert now_ns() - before >= COPY_NS
    assert load_hip().hipStreamQuery(stream) == SUCCESS


def test_a_stream_that_waits_for_an_event_starts_after_it(
    stream: int, buffers: tuple[int, int]
) -> None:
    other = out_pointer("hipStreamCreateWithFlags", NON_BLOCKING)
    copy(buffers, other)
    done = record(other)

    call("hipStreamWaitEvent", stream, done, 0)
    begun = record(stream)

    call("hipDeviceSynchronize")
    assert elapsed_ns(done, begun) == 0
    call("hipStreamDestroy", other)


def test_waiting_for_an_event_that_was_never_recorded_waits_for_nothing(stream: int) -> None:
    call("hipStreamWaitEvent", stream, out_pointer("hipEventCreate"), 0)

    assert load_hip().hipStreamQuery(stream) == SUCCESS


def test_the_null_stream_waits_for_blocking_streams_only(buffers: tuple[int, int]) -> None:
    blocking = out_pointer("hipStreamCreate")
    non_blocking = out_pointer("hipStreamCreateWithFlags", NON_BLOCKING)
    for handle in (blocking, non_blocking, non_blocking):
        copy(buffers, handle)
    ends = record(blocking), record(non_blocking)

    null = record(0)

    call("hipDeviceSynchronize")
    assert elapsed_ns(ends[0], null) == 0
    assert elapsed_ns(null, ends[1]) > 0
    call("hipStreamDestroy", blocking)
    call("hipStreamDestroy", non_blocking)


def test_a_blocking_stream_waits_for_the_null_stream(buffers: tuple[int, int]) -> None:
    blocking = out_pointer("hipStreamCreate")
    copy(buffers, 0)
    null = record(0)

    begun = record(blocking)

    call("hipDeviceSynchronize")
    assert elapsed_ns(null, begun) == 0
    call("hipStreamDestroy", blocking)


def test_legacy_and_null_are_one_stream_and_per_thread_is_another(
    buffers: tuple[int, int],
) -> None:
    call("hipMemcpyAsync", *buffers, MIB, HOST_TO_DEVICE, 2)

    flags = ctypes.c_uint(77)
    call("hipStreamGetFlags", 2, ctypes.byref(flags))

    assert load_hip().hipStreamQuery(2) == NOT_READY
    assert flags.value == 0
    call("hipStreamSynchronize", 1)
    assert load_hip().hipStreamQuery(2) == SUCCESS


def test_handles_that_are_none_are_refused(stream: int) -> None:
    nonsense = np.zeros(64, np.uint8)
    gone = out_pointer("hipStreamCreate")
    call("hipStreamDestroy", gone)
    event = out_pointer("hipEventCreate")
    call("hipEventDestroy", event)
    hip = load_hip()

    assert hip.hipStreamSynchronize(address(nonsense)) == CONTEXT_IS_DESTROYED
    assert hip.hipStreamQuery(gone) == CONTEXT_IS_DESTROYED
    assert hip.hipStreamDestroy(gone) == CONTEXT_IS_DESTROYED
    assert hip.hipStreamDestroy(None) == INVALID_HANDLE
    assert hip.hipEventRecord(event, stream) == INVALID_HANDLE
    assert hip.hipEventQuery(address(nonsense)) == INVALID_HANDLE
    assert hip.hipEventDestroy(event) == CONTEXT_IS_DESTROYED
    assert hip.hipStreamWaitEvent(stream, event, 0) == INVALID_HANDLE
    assert hip.hipGetStreamDeviceId(gone) == -1


def test_flags_that_hip_does_not_know_are_refused() -> None:
    handle = ctypes.c_void_p()

    assert load_hip().hipStreamCreateWithFlags(ctypes.byref(handle), 5) == INVALID_VALUE
    assert load_hip().hipEventCreateWithFlags(ctypes.byref(handle), 0x100) == INVALID_VALUE
    assert load_hip().hipEventCreateWithFlags(ctypes.byref(handle), 4) == INVALID_VALUE


def test_an_event_without_timing_cannot_be_measured(stream: int) -> None:
    event = out_pointer("hipEventCreateWithFlags", DISABLE_TIMING)
    call("hipEventRecord", event, stream)
    milliseconds = ctypes.c_float()

    status = load_hip().hipEventElapsedTime(ctypes.byref(milliseconds), event, event)

    assert status == INVALID_HANDLE
    assert load_hip().hipEventQuery(event) == SUCCESS


def test_priorities_are_clamped_to_the_range() -> None:
    least, greatest = ctypes.c_int(), ctypes.c_int()
    call("hipDeviceGetStreamPriorityRange", ctypes.byref(least), ctypes.byref(greatest))
    handle = out_pointer("hipStreamCreateWithPriority", NON_BLOCKING, -50)
    priority = ctypes.c_int()

    call("hipStreamGetPriority", handle, ctypes.byref(priority))

    assert (least.value, greatest.value, priority.value) == (1, -1, -1)
    call("hipStreamDestroy", handle)


def test_host_functions_run_in_order_with_their_data(stream: int) -> None:
    seen: list[tuple[str, int]] = []
    host = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda data: seen.append(("host", data)))
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(
        lambda _stream, status, data: seen.append(("callback", data + status))
    )

    call("hipLaunchHostFunc", stream, host, 11)
    call("hipStreamAddCallback", stream, callback, 22, 0)
    call("hipStreamSynchronize", stream)

    assert seen == [("host", 11), ("callback", 22)]
    assert load_hip().hipLaunchHostFunc(stream, None, 0) == INVALID_VALUE


def test_a_host_function_may_call_hip(stream: int) -> None:
    made: list[int] = []
    host = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(
        lambda _data: made.append(out_pointer("hipEventCreate"))
    )

    call("hipLaunchHostFunc", stream, host, 0)

    assert len(made) == 1


def test_threads_share_one_clock() -> None:
    before = now_ns()
    moments: list[int] = []

    def work() -> None:
        call("hipEventDestroy", out_pointer("hipEventCreate"))
        moments.append(now_ns())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert moments[0] > before
    assert now_ns() == moments[0]


def test_a_tools_thread_moves_no_clock_but_its_own(stream: int, buffers: tuple[int, int]) -> None:
    copy(buffers, stream)
    event = record(stream)
    before = now_ns()
    seen: list[int] = []

    def watch() -> None:
        load_hip().ktrace_softdev_tool_thread()
        call("hipEventSynchronize", event)
        seen.append(now_ns())

    thread = threading.Thread(target=watch)
    thread.start()
    thread.join()

    assert now_ns() == before
    assert seen[0] > before + COPY_NS - 5_000
    call("hipStreamSynchronize", stream)
    assert now_ns() == seen[0]


def test_the_device_clock_and_the_host_clock_are_one_model() -> None:
    ticks, host = ctypes.c_uint64(), ctypes.c_uint64()

    status = load_hip().ktrace_softdev_clock(0, ctypes.byref(ticks), ctypes.byref(host))

    assert status == 0
    assert host.value == ticks.value * 10
    assert 0 <= now_ns() - host.value < 10
    assert load_hip().ktrace_softdev_clock(9, ctypes.byref(ticks), ctypes.byref(host)) == 101


def test_no_stream_captures_unless_asked_to(stream: int) -> None:
    status = ctypes.c_int(77)

    call("hipStreamIsCapturing", stream, ctypes.byref(status))

    assert status.value == 0
    assert out_int("hipGetDevice") == 0


QUEUE_KERNEL = """
  s_load_dwordx2 s[10:11], s[2:3], 0x0
  v_mov_b32 v0, s0
  v_mov_b32 v1, s1
  v_mov_b32 v2, 0
  s_waitcnt lgkmcnt(0)
  global_store_dwordx2 v2, v[0:1], s[10:11]
"""


def test_launches_of_one_stream_share_a_queue_and_another_stream_has_its_own(stream: int) -> None:
    kernel = AsmKernel(QUEUE_KERNEL, directives="  .amdhsa_user_sgpr_queue_ptr 1")
    code_object = any_compiler("gfx942").assemble(kernel.source("gfx942"))
    function = load_function(code_object, "test_kernel")
    other = out_pointer("hipStreamCreateWithFlags", NON_BLOCKING)
    result = out_pointer("hipMalloc", 8)
    queues = []

    for used in (stream, other, stream):
        assert launch(function, [ctypes.c_void_p(result)], stream=used) == SUCCESS
        call("hipStreamSynchronize", used)
        queues.append(int(download(result, 1, np.uint64)[0]))

    assert queues[0] == queues[2]
    assert queues[0] != queues[1]
    apertures = (ctypes.c_uint32 * 2).from_address(queues[0] + 0x40)
    assert list(apertures) == [0x10000, 0x20000]
    call("hipStreamDestroy", other)
    call("hipFree", result)
