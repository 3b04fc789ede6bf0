"""Several virtual devices at once: which are visible, what belongs to which, lists of launches."""

import ctypes
import subprocess
import sys
from collections.abc import Iterator
from ctypes import byref, c_int, c_uint, c_void_p
from pathlib import Path

import numpy as np
import pytest

from support.compile_kernel import any_compiler
from support.hip import library_path
from support.hip_calls import (
    CONTEXT_IS_DESTROYED,
    INVALID_HANDLE,
    INVALID_VALUE,
    NOT_READY,
    SUCCESS,
    call,
    download,
    launch,
    load_hip,
    out_int,
    out_pointer,
    pointers_to,
    upload,
)

INVALID_DEVICE, NO_WAIT_BEFORE, NO_WAIT_AFTER = 101, 1, 2
LOOK = """
n = ctypes.c_int(-1)
print(hip.hipGetDeviceCount(ctypes.byref(n)), n.value, end="")
for device in range(max(n.value, 0)):
    text = ctypes.create_string_buffer(64)
    hip.hipDeviceGetPCIBusId(text, 64, device)
    print("", text.value[5:7].decode(), end="")
"""


class FunctionLaunch(ctypes.Structure):
    _fields_ = (
        ("function", c_void_p),
        ("grid", c_uint * 3),
        ("block", c_uint * 3),
        ("shared", c_uint),
        ("stream", c_void_p),
        ("params", c_void_p),
    )


@pytest.fixture(scope="module")
def code_object() -> Path:
    return any_compiler("gfx942").hip(
        "#include <mini_hip.hpp>\n"
        'extern "C" __global__ void add(int* data, int value) { data[threadIdx.x] += value; }\n'
    )


@pytest.fixture(autouse=True)
def first_device() -> Iterator[None]:
    call("hipSetDevice", 0)
    yield
    call("hipSetDevice", 0)


class OnDevice:
    """A stream, data and the kernel on one device."""

    def __init__(self, device: int, code_object: Path) -> None:
        call("hipSetDevice", device)
        self.device = device
        self.stream = out_pointer("hipStreamCreateWithFlags", 1)
        self.data = upload(np.zeros(64, np.int32))
        module = out_pointer("hipModuleLoadData", code_object.read_bytes())
        self.add = out_pointer("hipModuleGetFunction", module, b"add")
        call("hipSetDevice", 0)

    def word(self) -> int:
        return int(download(self.data, 1, np.int32)[0])


@pytest.fixture
def pair(code_object: Path) -> list[OnDevice]:
    return [OnDevice(device, code_object) for device in (1, 2)]


def visible(**environment: str) -> str:
    head = f"import ctypes\nhip = ctypes.CDLL({str(library_path())!r})\n"
    done = subprocess.run(
        [sys.executable, "-c", head + LOOK],
        env={"KTRACE_SOFT_DEVICES": "4", **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.parametrize(
    ("environment", "seen"),
    [
        ({}, "0 4 01 02 03 04"),
        ({"HIP_VISIBLE_DEVICES": "2,0"}, "0 2 03 01"),
        ({"CUDA_VISIBLE_DEVICES": "1"}, "0 1 02"),
        ({"HIP_VISIBLE_DEVICES": "3", "CUDA_VISIBLE_DEVICES": "1"}, "0 1 04"),
        ({"HIP_VISIBLE_DEVICES": "", "CUDA_VISIBLE_DEVICES": ""}, "0 4 01 02 03 04"),
        ({"ROCR_VISIBLE_DEVICES": "3,1", "HIP_VISIBLE_DEVICES": "1"}, "0 1 02"),
        ({"HIP_VISIBLE_DEVICES": "1,9,0"}, "0 1 02"),
        ({"HIP_VISIBLE_DEVICES": "0,0,1"}, "0 1 01"),
        ({"HIP_VISIBLE_DEVICES": "GPU-0000000050f70002"}, "0 1 03"),
        ({"HIP_VISIBLE_DEVICES": "-1"}, "100 0"),
        ({"ROCR_VISIBLE_DEVICES": ""}, "100 0"),
    ],
)
def test_the_environment_chooses_and_orders_the_devices(
    environment: dict[str, str], seen: str
) -> None:
    assert visible(**environment) == seen


def test_work_runs_on_the_streams_device_whichever_is_current(pair: list[OnDevice]) -> None:
    for one in pair:
        values = [c_void_p(one.data), c_int(one.device * 10)]
        assert launch(one.add, values, stream=one.stream) == SUCCESS
        call("hipStreamSynchronize", one.stream)

    assert [one.word() for one in pair] == [10, 20]
    assert out_int("hipGetDevice") == 0
    assert [load_hip().hipGetStreamDeviceId(one.stream) for one in pair] == [1, 2]


def test_a_function_of_one_device_cannot_be_launched_on_another(pair: list[OnDevice]) -> None:
    first, second = pair

    status = launch(first.add, [c_void_p(first.data), c_int(1)], stream=second.stream)

    assert status == INVALID_DEVICE
    assert first.word() == 0


def test_events_are_recorded_on_their_own_device_and_waited_for_on_any(
    pair: list[OnDevice],
) -> None:
    first, second = pair
    call("hipSetDevice", 1)
    event, done = out_pointer("hipEventCreate"), c_void_p()
    call("hipSetDevice", 2)
    call("hipEventCreate", byref(done))
    for _ in range(5):
        launch(first.add, [c_void_p(first.data), c_int(1)], stream=first.stream)

    wrong = load_hip().hipEventRecord(event, second.stream)
    call("hipEventRecord", event, first.stream)
    call("hipStreamWaitEvent", second.stream, event, 0)
    call("hipEventRecord", done, second.stream)
    early = load_hip().hipEventQuery(done)
    call("hipEventSynchronize", done)

    assert (wrong, early) == (INVALID_HANDLE, NOT_READY)
    assert load_hip().hipEventQuery(event) == SUCCESS
    elapsed = load_hip().hipEventElapsedTime(byref(ctypes.c_float()), event, done)
    assert elapsed == INVALID_HANDLE


def test_peer_copies_move_bytes_at_the_speed_of_the_link(pair: list[OnDevice]) -> None:
    first, second = pair
    size = 1 << 20
    sources = [0, 0]
    for place, one in enumerate(pair):
        call("hipSetDevice", one.device)
        sources[place] = upload(np.full(size // 4, one.device, np.int32))
    times = []
    for source, device in zip(sources, (1, 2), strict=True):
        call("hipSetDevice", 2)
        start, stop = out_pointer("hipEventCreate"), out_pointer("hipEventCreate")
        target = out_pointer("hipMalloc", size)
        call("hipEventRecord", start, second.stream)
        shape = (c_void_p(target), 2, c_void_p(source), device, ctypes.c_size_t(size))
        call("hipMemcpyPeerAsync", *shape, c_void_p(second.stream))
        call("hipEventRecord", stop, second.stream)
        call("hipStreamSynchronize", second.stream)
        elapsed = ctypes.c_float()
        call("hipEventElapsedTime", byref(elapsed), start, stop)
        times.append(round(elapsed.value * 1000, 1))
        assert set(download(target, size // 4, np.int32).tolist()) == {device}
        call("hipFree", target)

    assert times == [28.0, 7.5]  # us: over the link, within the device; 2 to enqueue the copy
    odd = (c_void_p(first.data), 9, c_void_p(second.data), 1, ctypes.c_size_t(4))
    assert load_hip().hipMemcpyPeer(*odd) == INVALID_DEVICE


def launch_list(pair: list[OnDevice], flags: int, streams: list[int] | None = None) -> int:
    values = [[c_void_p(one.data), c_int(one.device)] for one in pair]
    pointers = [pointers_to(each) for each in values]
    entries = (FunctionLaunch * len(pair))()
    for place, one in enumerate(pair):
        entries[place] = FunctionLaunch(
            *(one.add, (1, 1, 1), (64, 1, 1), 0),
            (streams or [each.stream for each in pair])[place] or None,
            ctypes.addressof(pointers[place]),
        )
    call_list = load_hip().hipModuleLaunchCooperativeKernelMultiDevice
    return int(call_list(entries, len(pair), flags))


def test_a_list_launches_on_each_device_and_waits_unless_told_not_to(
    pair: list[OnDevice],
) -> None:
    status = launch_list(pair, 0)
    after_waiting = [load_hip().hipStreamQuery(one.stream) for one in pair]

    unwaited = launch_list(pair, NO_WAIT_BEFORE | NO_WAIT_AFTER)
    at_once = load_hip().hipStreamQuery(pair[1].stream)

    assert (status, after_waiting) == (SUCCESS, [SUCCESS, SUCCESS])
    assert (unwaited, at_once) == (SUCCESS, NOT_READY)
    for one in pair:
        call("hipStreamSynchronize", one.stream)
    assert [one.word() for one in pair] == [2, 4]


def test_a_list_that_makes_no_sense_launches_nothing(pair: list[OnDevice]) -> None:
    first, second = pair

    statuses = [
        launch_list(pair, 0, [first.stream, first.stream]),
        launch_list(pair, 0, [first.stream, 0]),
        launch_list(pair, 4),
        launch_list([first, second, first, second], 0),
        load_hip().hipModuleLaunchCooperativeKernelMultiDevice(None, 1, 0),
    ]

    assert statuses == [INVALID_DEVICE, INVALID_HANDLE, *[INVALID_VALUE] * 3]
    assert [one.word() for one in pair] == [0, 0]


def test_a_reset_takes_the_devices_own_things_and_no_others(pair: list[OnDevice]) -> None:
    first, second = pair
    call("hipSetDevice", 1)
    event = out_pointer("hipEventCreate")
    pool = out_pointer("hipDeviceGetDefaultMemPool", 1)
    other_pool = out_pointer("hipDeviceGetDefaultMemPool", 2)
    threshold = ctypes.c_uint64()

    call("hipDeviceReset")

    get = load_hip().hipMemPoolGetAttribute
    assert load_hip().hipStreamQuery(first.stream) == CONTEXT_IS_DESTROYED
    assert load_hip().hipFree(first.data) == INVALID_VALUE
    assert get(c_void_p(pool), 4, byref(threshold)) == INVALID_VALUE
    assert get(c_void_p(other_pool), 4, byref(threshold)) == SUCCESS
    assert load_hip().hipStreamQuery(second.stream) == SUCCESS
    assert second.word() == 0
    call("hipEventRecord", event, 0)
    data = upload(np.zeros(64, np.int32))
    assert launch(first.add, [c_void_p(data), c_int(7)]) == SUCCESS
    assert int(download(data, 1, np.int32)[0]) == 7
    call("hipFree", data)


def test_a_reset_ends_a_capture_of_the_device(pair: list[OnDevice]) -> None:
    first, _ = pair
    call("hipSetDevice", 1)
    call("hipStreamBeginCapture", first.stream, 0)

    call("hipDeviceReset")

    assert load_hip().hipStreamEndCapture(first.stream, byref(c_void_p())) == INVALID_VALUE
    pointer = out_pointer("hipMalloc", 64)  # no capture is in the way any more
    call("hipFree", pointer)
