"""Virtual memory management: reserved addresses, memory, mappings, and who may touch them."""

import ctypes
from collections.abc import Iterator
from ctypes import byref, c_int, c_size_t, c_ulonglong, c_void_p
from typing import Any

import numpy as np
import pytest

from support.asm_kernel import AsmKernel
from support.compile_kernel import any_compiler
from support.hip_calls import (
    DEVICE_TO_HOST,
    DEVICES,
    HOST_TO_DEVICE,
    INVALID_VALUE,
    OUT_OF_MEMORY,
    SUCCESS,
    address,
    call,
    download,
    launch,
    load_function,
    load_hip,
    out_pointer,
)

MIB2 = 2 << 20
NONE, READ, READ_WRITE = 0, 1, 3
VMM_SUPPORTED = 89


class Location(ctypes.Structure):
    _fields_ = (("type", c_int), ("id", c_int))


class Properties(ctypes.Structure):
    _fields_ = (
        ("type", c_int),
        ("handle_type", c_int),
        ("location", Location),
        ("windows", c_void_p),
        ("flags", c_int),
    )


class Access(ctypes.Structure):
    _fields_ = (("location", Location), ("flags", c_int))


def on(device: int) -> Properties:
    return Properties(1, 0, Location(1, device), None, 0)


def status(name: str, *arguments: Any) -> int:
    return int(getattr(load_hip(), name)(*arguments))


def create(size: int = MIB2, device: int = 0) -> c_void_p:
    handle = c_void_p()
    call("hipMemCreate", byref(handle), c_size_t(size), byref(on(device)), c_ulonglong(0))
    return handle


def map_at(pointer: int, handle: c_void_p, size: int = MIB2) -> int:
    return status(
        "hipMemMap", c_void_p(pointer), c_size_t(size), c_size_t(0), handle, c_ulonglong(0)
    )


def give_access(pointer: int, size: int, flags: int, device: int = 0) -> int:
    wanted = Access(Location(1, device), flags)
    return status("hipMemSetAccess", c_void_p(pointer), c_size_t(size), byref(wanted), c_size_t(1))


def access_of(pointer: int, device: int) -> int:
    flags = c_ulonglong(99)
    call("hipMemGetAccess", byref(flags), byref(Location(1, device)), c_void_p(pointer))
    return flags.value


def unmap(pointer: int, size: int) -> int:
    return status("hipMemUnmap", c_void_p(pointer), c_size_t(size))


def free_bytes() -> int:
    free, total = c_size_t(), c_size_t()
    call("hipMemGetInfo", byref(free), byref(total))
    return free.value


@pytest.fixture
def reserved() -> Iterator[int]:
    """Eight MiB of addresses, free again afterwards."""
    size = c_size_t(4 * MIB2)
    flags = c_ulonglong(0)
    pointer = out_pointer("hipMemAddressReserve", size, c_size_t(0), c_void_p(), flags)
    yield pointer
    for at in range(pointer, pointer + 4 * MIB2, MIB2):
        unmap(at, MIB2)
    call("hipMemAddressFree", c_void_p(pointer), size)


def test_the_device_says_that_it_can_and_in_steps_of_two_mebibytes() -> None:
    supported, granularity = c_int(), c_size_t()

    call("hipDeviceGetAttribute", byref(supported), VMM_SUPPORTED, 0)
    call("hipMemGetAllocationGranularity", byref(granularity), byref(on(0)), 0)

    assert supported.value == 1
    assert granularity.value == MIB2


def test_reserved_addresses_are_aligned_as_asked(reserved: int) -> None:
    size, alignment = c_size_t(MIB2), c_size_t(1 << 30)

    pointer = out_pointer("hipMemAddressReserve", size, alignment, c_void_p(), c_ulonglong(0))

    assert reserved % MIB2 == 0
    assert pointer % (1 << 30) == 0
    call("hipMemAddressFree", c_void_p(pointer), size)
    assert status("hipMemAddressFree", c_void_p(pointer), size) == INVALID_VALUE


def test_mapped_memory_grows_and_is_copied_across_its_parts(reserved: int) -> None:
    for part in range(3):
        handle = create()
        assert map_at(reserved + part * MIB2, handle) == SUCCESS
        call("hipMemRelease", handle)  # it stays while it is mapped
    assert give_access(reserved, 3 * MIB2, READ_WRITE) == SUCCESS
    data = np.arange(3 * MIB2 // 4, dtype=np.uint32)
    back = np.zeros_like(data)

    call("hipMemcpy", reserved, address(data), data.nbytes, HOST_TO_DEVICE)
    call("hipMemset", reserved + MIB2 - 8, 0xFF, 16)
    call("hipMemcpy", address(back), reserved, data.nbytes, DEVICE_TO_HOST)

    edge = MIB2 // 4
    assert (back[edge - 2 : edge + 2] == 0xFFFFFFFF).all()
    back[edge - 2 : edge + 2] = data[edge - 2 : edge + 2]
    assert (back == data).all()
    over = load_hip().hipMemcpy(reserved + 2 * MIB2, address(data), data.nbytes, HOST_TO_DEVICE)
    assert over == INVALID_VALUE


def test_memory_at_two_addresses_is_one(reserved: int) -> None:
    handle = create()
    for at in (reserved, reserved + 2 * MIB2):
        assert map_at(at, handle) == SUCCESS
        assert give_access(at, MIB2, READ_WRITE) == SUCCESS

    call("hipMemset", reserved, 0x5A, MIB2)

    seen = np.zeros(16, np.uint8)
    call("hipMemcpy", address(seen), reserved + 2 * MIB2, 16, DEVICE_TO_HOST)
    assert (seen == 0x5A).all()
    call("hipMemRelease", handle)


def test_access_is_what_was_last_set_for_each_device(reserved: int) -> None:
    handle = create(device=1)
    assert map_at(reserved, handle) == SUCCESS
    assert access_of(reserved, 1) == NONE

    assert give_access(reserved, MIB2, READ_WRITE, device=1) == SUCCESS
    assert give_access(reserved, MIB2, READ, device=2) == SUCCESS

    assert [access_of(reserved + 100, device) for device in range(3)] == [NONE, READ_WRITE, READ]
    assert give_access(reserved, MIB2, 2) == INVALID_VALUE
    assert give_access(reserved, MIB2, READ, device=9) == INVALID_VALUE
    call("hipMemRelease", handle)


def test_what_is_taken_up_is_given_back_when_nothing_refers_to_it(reserved: int) -> None:
    before = free_bytes()
    handle = create()
    assert map_at(reserved, handle) == SUCCESS
    assert free_bytes() == before - MIB2

    kept = out_pointer("hipMemRetainAllocationHandle", c_void_p(reserved + 77))
    assert kept == handle.value
    call("hipMemRelease", handle)
    call("hipMemRelease", handle)
    assert free_bytes() == before - MIB2
    assert unmap(reserved, MIB2) == SUCCESS

    assert free_bytes() == before
    assert status("hipMemRelease", handle) == INVALID_VALUE


def test_what_cannot_be_is_refused(reserved: int) -> None:
    handle, other = create(), create()
    far = c_void_p()
    none = c_ulonglong(0)
    big = c_size_t(1 << 50)

    assert status("hipMemCreate", byref(far), c_size_t(100), byref(on(0)), none) == INVALID_VALUE
    assert status("hipMemCreate", byref(far), big, byref(on(0)), none) == OUT_OF_MEMORY
    assert status("hipMemAddressReserve", byref(far), c_size_t(5), 0, None, none) == OUT_OF_MEMORY
    assert map_at(reserved + 4 * MIB2, handle) == INVALID_VALUE  # not reserved
    assert map_at(reserved, handle, 2 * MIB2) == INVALID_VALUE  # larger than the memory
    assert map_at(reserved, handle) == SUCCESS
    assert map_at(reserved, other) == INVALID_VALUE  # there is something
    assert give_access(reserved, 2 * MIB2, READ) == INVALID_VALUE  # and nothing behind it
    assert unmap(reserved + MIB2, MIB2) == INVALID_VALUE
    assert status("hipMemAddressFree", c_void_p(reserved), c_size_t(4 * MIB2)) == INVALID_VALUE
    for each in (handle, other):
        call("hipMemRelease", each)


def test_memory_for_other_processes_is_refused() -> None:
    handle, wanted = c_void_p(), Properties(1, 1, Location(1, 0), None, 0)

    refused = status("hipMemCreate", byref(handle), c_size_t(MIB2), byref(wanted), c_ulonglong(0))

    assert refused == 801  # hipErrorNotSupported
    assert not hasattr(load_hip(), "hipMemExportToShareableHandle")


def store_42() -> int:
    """A kernel that stores 42 where its argument says."""
    body = """
  s_load_dwordx2 s[10:11], s[0:1], 0x0
  v_mov_b32 v0, 42
  v_mov_b32 v2, 0
  s_waitcnt lgkmcnt(0)
  global_store_dword v2, v0, s[10:11]
"""
    code_object = any_compiler("gfx942").assemble(AsmKernel(body).source("gfx942"))
    return load_function(code_object, "test_kernel")


@pytest.fixture
def last_device() -> Iterator[int]:
    """A device that may fault; it is reset afterwards."""
    call("hipSetDevice", DEVICES - 1)
    yield DEVICES - 1
    call("hipDeviceReset")
    call("hipSetDevice", 0)


@pytest.mark.parametrize(
    ("flags", "said"), [(READ_WRITE, ""), (READ, "this memory is read-only"), (NONE, "nothing is")]
)
def test_a_kernel_writes_where_it_may_and_faults_where_it_may_not(
    reserved: int, last_device: int, flags: int, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    handle = create(device=last_device)
    assert map_at(reserved, handle) == SUCCESS
    assert give_access(reserved, MIB2, flags, last_device) == SUCCESS

    assert launch(store_42(), [c_void_p(reserved + 64)]) == SUCCESS
    ended = status("hipDeviceSynchronize")

    assert (ended == SUCCESS) == (flags == READ_WRITE)
    assert said in capfd.readouterr().err
    if flags == READ_WRITE:
        assert download(reserved + 64, 1, np.uint32)[0] == 42
    status("hipMemRelease", handle)
