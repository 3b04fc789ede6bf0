"""Several threads, forked children, and calls while a kernel runs on the software device."""

import ctypes
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from support.compile_kernel import any_compiler
from support.hip_calls import (
    NOT_READY,
    SUCCESS,
    call,
    download,
    launch,
    load_function,
    load_hip,
    now_ns,
    out_int,
    out_pointer,
    upload,
)

# Newer Pythons warn about what the last two tests are there for.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


@pytest.fixture(scope="module")
def code_object() -> Path:
    return any_compiler("gfx942").hip(
        "#include <mini_hip.hpp>\n"
        'extern "C" __global__ void count(int* data) { data[threadIdx.x] += 1; }\n'
        'extern "C" __global__ void wait(volatile int* flags) {\n'
        "  flags[0] = 1;\n"
        "  while (flags[1] == 0) __builtin_amdgcn_s_sleep(10);\n"
        "}\n"
    )


def test_threads_work_side_by_side(code_object: Path) -> None:
    function = load_function(code_object, "count")

    def work(_: int) -> list[int]:
        stream, data = out_pointer("hipStreamCreate"), upload(np.zeros(64, np.int32))
        statuses = {launch(function, [ctypes.c_void_p(data)], stream=stream) for _ in range(20)}
        assert statuses == {SUCCESS}
        call("hipStreamSynchronize", stream)
        result = download(data, 64, np.int32).tolist()
        call("hipFree", data)
        call("hipStreamDestroy", stream)
        return [int(value) for value in result]

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(work, range(8)))

    assert results == [[20] * 64] * 8


def test_other_threads_can_ask_while_a_kernel_runs(code_object: Path) -> None:
    function = load_function(code_object, "wait")
    flags = out_pointer("hipHostMalloc", 64, 0)
    seen = (ctypes.c_int * 2).from_address(flags)
    stream, other = out_pointer("hipStreamCreate"), out_pointer("hipEventCreate")
    statuses: list[int] = []

    thread = threading.Thread(
        target=lambda: statuses.append(
            launch(function, [ctypes.c_void_p(flags)], block=(1, 1, 1), stream=stream)
        )
    )
    thread.start()
    while seen[0] == 0 and thread.is_alive():
        assert load_hip().hipEventQuery(other) == SUCCESS
    # The kernel is running now, and it is this thread that lets it end.
    asked = (out_int("hipGetDeviceCount"), load_hip().hipGetStreamDeviceId(stream), now_ns() > 0)
    created = out_pointer("hipEventCreate")
    seen[1] = 1
    thread.join()

    assert asked == (3, 0, True)
    assert created
    assert statuses == [SUCCESS]
    assert load_hip().hipStreamQuery(stream) in (SUCCESS, NOT_READY)
    call("hipStreamSynchronize", stream)


def test_a_forked_child_goes_on_with_its_own_copy(code_object: Path) -> None:
    function = load_function(code_object, "count")
    data = upload(np.full(64, 10, np.int32))

    child = os.fork()
    if child == 0:
        good = launch(function, [ctypes.c_void_p(data)]) == SUCCESS
        good = good and download(data, 64, np.int32).tolist() == [11] * 64
        os._exit(0 if good else 1)
    status = os.waitpid(child, 0)[1]

    assert os.waitstatus_to_exitcode(status) == 0
    assert download(data, 64, np.int32).tolist() == [10] * 64


def test_a_fork_while_another_thread_is_in_a_call_does_not_hang_the_child(
    code_object: Path,
) -> None:
    function = load_function(code_object, "count")
    data = upload(np.zeros(64, np.int32))
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            launch(function, [ctypes.c_void_p(data)])

    thread = threading.Thread(target=busy)
    thread.start()
    codes = []
    for _ in range(10):
        child = os.fork()
        if child == 0:
            os._exit(load_hip().hipDeviceSynchronize())
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    stop.set()
    thread.join()

    assert codes == [0] * 10
