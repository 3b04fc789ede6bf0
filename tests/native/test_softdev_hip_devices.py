"""The virtual devices: how many, what they say about themselves, which one is current."""

import ctypes
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from support.hip import library_path
from support.hip_calls import (
    DEVICES,
    INVALID_HANDLE,
    INVALID_VALUE,
    SUCCESS,
    call,
    load_hip,
    out_int,
    out_pointer,
)

INVALID_DEVICE = 101
WARP_SIZE, CLOCK_RATE, MAJOR, MINOR, THREADS, SHARED, WALL_CLOCK, CUS, XCCS = (
    *(87, 5, 23, 61, 56, 74, 10017, 63, 10018),
)


@pytest.fixture(autouse=True)
def first_device() -> Iterator[None]:
    call("hipSetDevice", 0)
    yield
    call("hipSetDevice", 0)


def run_child(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program whose `hip` is the library, with nothing but `environment`."""
    head = f"import ctypes, os\nhip = ctypes.CDLL({str(library_path())!r})\n"
    return subprocess.run(
        [sys.executable, "-c", head + program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def attribute(number: int, device: int = 0) -> int:
    return out_int("hipDeviceGetAttribute", number, device)


def test_there_are_as_many_devices_as_asked_for() -> None:
    assert out_int("hipGetDeviceCount") == DEVICES


@pytest.mark.parametrize(("text", "count"), [("", 1), ("5", 5), ("64", 64)])
def test_the_environment_decides_how_many(text: str, count: int) -> None:
    done = run_child(
        "n = ctypes.c_int(); print(hip.hipGetDeviceCount(ctypes.byref(n)), n.value)",
        KTRACE_SOFT_DEVICES=text,
    )

    assert done.stdout == f"0 {count}\n"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("KTRACE_SOFT_DEVICES", "many"),
        ("KTRACE_SOFT_DEVICES", "0"),
        ("KTRACE_SOFT_DEVICES", "65"),
        ("KTRACE_SOFT_ARCH", "gfx1100"),
    ],
)
def test_a_value_that_makes_no_sense_leaves_no_device_and_says_so(
    variable: str, value: str
) -> None:
    done = run_child("p = ctypes.c_void_p(); print(hip.hipMalloc(p, 1))", **{variable: value})

    assert done.stdout == "100\n"
    assert done.stderr.startswith("ktrace softdev: ")
    assert value in done.stderr
    assert done.stderr.endswith(": there are no devices\n")


@pytest.mark.parametrize(
    ("arch", "minor", "cus", "shared"),
    [("gfx942", 4, 304, 65536), ("gfx950", 5, 256, 163840)],
)
def test_attributes_are_the_architectures(arch: str, minor: int, cus: int, shared: int) -> None:
    program = """
def get(number):
    value = ctypes.c_int(-1)
    return hip.hipDeviceGetAttribute(ctypes.byref(value), number, 0), value.value
print([get(n) for n in (87, 23, 61, 63, 56, 74, 10017, 5)])
"""

    done = run_child(program, KTRACE_SOFT_ARCH=arch)

    values = [64, 9, minor, cus, 1024, shared, 100000]
    clock = {"gfx942": 2100000, "gfx950": 2100000}[arch]
    assert done.stdout == f"{[(0, value) for value in [*values, clock]]}\n"


def test_an_attribute_that_is_unknown_is_refused() -> None:
    value = ctypes.c_int()
    get = load_hip().hipDeviceGetAttribute

    assert get(ctypes.byref(value), 9998, 0) == INVALID_VALUE
    assert get(ctypes.byref(value), WARP_SIZE, DEVICES) == INVALID_DEVICE
    assert get(None, WARP_SIZE, 0) == INVALID_VALUE


def test_hip_python_reads_the_properties() -> None:
    bindings = pytest.importorskip("rocm.bindings.hip")
    properties = bindings.hipDeviceProp_t()
    pointer = ctypes.c_void_p(int(properties))

    call("hipGetDevicePropertiesR0600", pointer, 1)

    assert properties.name == "ktrace software device (gfx942)"
    assert properties.gcnArchName == "gfx942:sramecc+:xnack-"
    assert (properties.major, properties.minor) == (9, 4)
    assert properties.warpSize == 64
    assert properties.multiProcessorCount == attribute(CUS)
    assert properties.sharedMemPerBlock == 65536
    assert list(properties.maxGridSize) == [2147483647, 65536, 65536]
    assert properties.pciBusID == 2
    assert properties.cooperativeLaunch == 1
    assert properties.maxSharedMemoryPerMultiProcessor == 65536


def test_the_old_properties_keep_their_old_layout() -> None:
    block = ctypes.create_string_buffer(792 + 64)
    block[792:] = b"\xaa" * 64

    call("hipGetDeviceProperties", block, 0)

    assert block.raw[:15] == b"ktrace software"
    assert block.raw[396:].split(b"\0")[0] == b"gfx942:sramecc+:xnack-"
    assert block.raw[792:] == b"\xaa" * 64


def test_each_device_has_its_own_identity() -> None:
    uuids, buses = set(), []
    for device in range(DEVICES):
        uuid, bus = ctypes.create_string_buffer(16), ctypes.create_string_buffer(64)
        call("hipDeviceGetUuid", uuid, device)
        call("hipDeviceGetPCIBusId", bus, 64, device)
        uuids.add(uuid.raw)
        buses.append(bus.value)

    assert len(uuids) == DEVICES
    assert buses == [b"0000:01:00.0", b"0000:02:00.0", b"0000:03:00.0"]
    assert out_int("hipDeviceGetByPCIBusId", buses[2]) == 2


def test_the_current_device_is_the_threads_own() -> None:
    seen: list[int] = []
    call("hipSetDevice", 2)

    thread = threading.Thread(target=lambda: seen.append(out_int("hipGetDevice")))
    thread.start()
    thread.join()

    assert out_int("hipGetDevice") == 2
    assert seen == [0]
    assert load_hip().hipSetDevice(DEVICES) == INVALID_DEVICE
    assert load_hip().hipSetDevice(-1) == INVALID_DEVICE
    assert out_int("hipGetDevice") == 2


def test_memory_and_streams_belong_to_the_device_that_was_current() -> None:
    call("hipSetDevice", 1)
    pointer, stream = out_pointer("hipMalloc", 64), out_pointer("hipStreamCreate")
    call("hipSetDevice", 0)
    ordinal = ctypes.c_int()

    call("hipPointerGetAttribute", ctypes.byref(ordinal), 9, pointer)

    assert ordinal.value == 1
    assert load_hip().hipGetStreamDeviceId(stream) == 1
    assert load_hip().hipGetStreamDeviceId(None) == 0
    event = out_pointer("hipEventCreate")  # of device 0
    assert load_hip().hipEventRecord(event, stream) == INVALID_HANDLE
    call("hipFree", pointer)
    call("hipStreamDestroy", stream)


def test_resetting_a_device_frees_what_was_made_on_it() -> None:
    call("hipSetDevice", 1)
    pointer, stream = out_pointer("hipMalloc", 64), out_pointer("hipStreamCreate")
    call("hipSetDevice", 0)
    kept = out_pointer("hipMalloc", 64)
    call("hipSetDevice", 1)

    call("hipDeviceReset")

    assert load_hip().hipFree(pointer) == INVALID_VALUE
    assert load_hip().hipStreamSynchronize(stream) == 709
    assert load_hip().hipFree(kept) == SUCCESS


def test_contexts_stack_and_set_the_device() -> None:
    first, second = (out_pointer("hipDevicePrimaryCtxRetain", n) for n in (0, 1))
    assert load_hip().hipCtxPopCurrent(None) == 201

    call("hipCtxPushCurrent", first)
    call("hipCtxPushCurrent", second)
    inner = out_int("hipCtxGetDevice")
    popped = out_pointer("hipCtxPopCurrent")

    assert (inner, popped) == (1, second)
    assert out_int("hipCtxGetDevice") == 0
    call("hipCtxPopCurrent", None)
    assert load_hip().hipCtxPushCurrent(12345) == 201


def test_peer_access_keeps_hips_rules() -> None:
    assert out_int("hipDeviceCanAccessPeer", 0, 1) == 1
    assert out_int("hipDeviceCanAccessPeer", 1, 1) == 0

    call("hipDeviceEnablePeerAccess", 2, 0)

    assert load_hip().hipDeviceEnablePeerAccess(2, 0) == 704
    call("hipDeviceDisablePeerAccess", 2)
    assert load_hip().hipDeviceDisablePeerAccess(2) == 705


def test_versions_are_those_of_hip_7_2() -> None:
    assert out_int("hipRuntimeGetVersion") == 70200000
    assert out_int("hipDriverGetVersion") == 70200000
    assert load_hip().ktrace_softdev_version()


def test_entry_points_are_found_by_name() -> None:
    status = ctypes.c_int(-1)
    find = load_hip().hipGetProcAddress

    def entry(name: bytes, version: int, flags: int = 0) -> int | None:
        pointer = ctypes.c_void_p()
        find(name, ctypes.byref(pointer), version, flags, ctypes.byref(status))
        return pointer.value

    def export(name: str) -> int | None:
        return ctypes.cast(getattr(load_hip(), name), ctypes.c_void_p).value

    assert entry(b"hipMalloc", 600) == export("hipMalloc")
    assert entry(b"hipGetDeviceProperties", 700) == export("hipGetDevicePropertiesR0600")
    assert entry(b"hipGetDeviceProperties", 500) == export("hipGetDeviceProperties")
    assert entry(b"hipMemcpy", 700, 2) == export("hipMemcpy_spt")
    assert entry(b"hipMalloc", 700, 2) == export("hipMalloc")
    assert status.value == 0
    assert entry(b"hipNoSuchThing", 700) is None
    assert status.value == 1
