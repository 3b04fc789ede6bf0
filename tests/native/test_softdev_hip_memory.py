"""Memory of the software device: allocation, copies, fills, and attributes of pointers."""

import ctypes
import os
from collections.abc import Iterator

import numpy as np
import pytest

from support.hip_calls import (
    DEFAULT,
    DEVICE_TO_DEVICE,
    DEVICE_TO_HOST,
    HOST_TO_DEVICE,
    INVALID_VALUE,
    NOT_FOUND,
    OUT_OF_MEMORY,
    SUCCESS,
    address,
    call,
    download,
    load_hip,
    out_pointer,
    upload,
)
from support.preloaded import SAXPY


class PointerAttributes(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_int),
        ("device", ctypes.c_int),
        ("device_pointer", ctypes.c_void_p),
        ("host_pointer", ctypes.c_void_p),
        ("is_managed", ctypes.c_int),
        ("flags", ctypes.c_uint),
    )


class RectangleCopy(ctypes.Structure):
    """hip_Memcpy2D."""

    _fields_ = (
        *(("source_x", ctypes.c_size_t), ("source_y", ctypes.c_size_t)),
        *(("source_type", ctypes.c_int), ("source_host", ctypes.c_void_p)),
        *(("source_device", ctypes.c_void_p), ("source_array", ctypes.c_void_p)),
        ("source_pitch", ctypes.c_size_t),
        *(("target_x", ctypes.c_size_t), ("target_y", ctypes.c_size_t)),
        *(("target_type", ctypes.c_int), ("target_host", ctypes.c_void_p)),
        *(("target_device", ctypes.c_void_p), ("target_array", ctypes.c_void_p)),
        ("target_pitch", ctypes.c_size_t),
        *(("width", ctypes.c_size_t), ("height", ctypes.c_size_t)),
    )


def attributes_of(pointer: int) -> PointerAttributes:
    attributes = PointerAttributes()
    call("hipPointerGetAttributes", ctypes.byref(attributes), pointer)
    return attributes


def free_bytes() -> int:
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    call("hipMemGetInfo", ctypes.byref(free), ctypes.byref(total))
    return free.value


@pytest.fixture
def memory() -> Iterator[int]:
    pointer = out_pointer("hipMalloc", 4096)
    yield pointer
    load_hip().hipFree(pointer)


def test_what_is_copied_in_comes_back() -> None:
    data = np.arange(1000, dtype=np.float64)

    pointer = upload(data)

    assert np.array_equal(download(pointer, 1000, np.float64), data)
    call("hipFree", pointer)


def test_device_memory_is_aligned_to_256_bytes() -> None:
    pointers = [out_pointer("hipMalloc", size) for size in (1, 3, 100, 5000)]

    assert [pointer % 256 for pointer in pointers] == [0, 0, 0, 0]
    for pointer in pointers:
        call("hipFree", pointer)


def test_no_bytes_are_a_null_pointer() -> None:
    assert out_pointer("hipMalloc", 0) == 0
    assert load_hip().hipFree(None) == SUCCESS


def test_freeing_twice_is_an_error(memory: int) -> None:
    call("hipFree", memory)

    assert load_hip().hipFree(memory) == INVALID_VALUE


def test_only_the_pointer_that_was_allocated_can_be_freed(memory: int) -> None:
    host = np.zeros(16)

    assert load_hip().hipFree(memory + 256) == INVALID_VALUE
    assert load_hip().hipFree(address(host)) == INVALID_VALUE
    assert load_hip().hipHostFree(memory) == INVALID_VALUE


def test_more_than_the_device_has_is_out_of_memory() -> None:
    pointer = ctypes.c_void_p(1)

    status = load_hip().hipMalloc(ctypes.byref(pointer), 1 << 50)

    assert status == OUT_OF_MEMORY
    assert pointer.value is None


def test_freeing_a_managed_variable_frees_nothing_of_the_devices() -> None:
    hip, variable = load_hip(), ctypes.c_void_p()
    content = np.frombuffer(SAXPY.read_bytes(), np.uint8)
    wrapper = np.array([1 << 32 | 0x48495046, address(content), 0], np.uint64)
    begin, register = hip["__hipRegisterFatBinary"], hip["__hipRegisterManagedVar"]
    begin.restype = ctypes.c_void_p
    binary = ctypes.c_void_p(begin(ctypes.c_void_p(address(wrapper))))
    register(binary, ctypes.byref(variable), bytes(64), b"counter", ctypes.c_size_t(64), 8)
    before = free_bytes()

    call("hipFree", variable)

    assert free_bytes() == before


def test_pinned_memory_is_no_more_than_the_machine_has() -> None:
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    hip, pointer, second = load_hip(), ctypes.c_void_p(), ctypes.c_void_p()

    too_much = hip.hipHostMalloc(ctypes.byref(pointer), machine + 1, 0)
    half = hip.hipHostMalloc(ctypes.byref(pointer), machine // 2, 0)
    more_than_half = hip.hipHostMalloc(ctypes.byref(second), machine // 2 + 4096, 0)
    call("hipHostFree", pointer)
    after_freeing = hip.hipHostMalloc(ctypes.byref(second), machine // 2 + 4096, 0)

    assert (too_much, half, more_than_half, after_freeing) == (OUT_OF_MEMORY, 0, OUT_OF_MEMORY, 0)
    call("hipHostFree", second)


def test_the_free_memory_shrinks_by_what_is_allocated() -> None:
    before = free_bytes()

    pointer = out_pointer("hipMalloc", 1 << 20)

    assert before - free_bytes() == 1 << 20
    call("hipFree", pointer)
    assert free_bytes() == before


def test_a_copy_beyond_the_allocation_is_refused(memory: int) -> None:
    host = np.zeros(8192, np.uint8)

    assert load_hip().hipMemcpy(memory, address(host), 4097, HOST_TO_DEVICE) == INVALID_VALUE
    assert load_hip().hipMemcpy(memory + 4000, address(host), 97, HOST_TO_DEVICE) == INVALID_VALUE
    assert load_hip().hipMemcpy(memory + 4000, address(host), 96, HOST_TO_DEVICE) == SUCCESS


def test_a_copy_needs_two_pointers_and_a_known_direction(memory: int) -> None:
    host = np.zeros(16, np.uint8)

    assert load_hip().hipMemcpy(None, address(host), 16, DEFAULT) == INVALID_VALUE
    assert load_hip().hipMemcpy(memory, None, 16, DEFAULT) == INVALID_VALUE
    assert load_hip().hipMemcpy(memory, address(host), 16, 9) == 21
    assert load_hip().hipMemcpy(None, None, 0, DEFAULT) == SUCCESS


def test_a_strided_copy_picks_a_column_of_rows() -> None:
    rows = np.arange(40, dtype=np.uint32).reshape(5, 8)
    pointer = upload(rows)
    column = np.zeros((5, 2), np.uint32)

    call("hipMemcpy2DAsync", address(column), 8, pointer + 4, 32, 8, 5, DEVICE_TO_HOST, None)

    assert column.tolist() == [[1, 2], [9, 10], [17, 18], [25, 26], [33, 34]]
    call("hipFree", pointer)


def test_a_strided_copy_wider_than_its_pitch_is_refused(memory: int) -> None:
    host = np.zeros(4096, np.uint8)

    status = load_hip().hipMemcpy2D(memory, 16, address(host), 64, 32, 4, HOST_TO_DEVICE)

    assert status == 12
    over = load_hip().hipMemcpy2D(memory, 1024, address(host), 1024, 8, 5, HOST_TO_DEVICE)
    assert over == INVALID_VALUE


def test_a_rectangle_is_copied_from_its_place_and_not_from_beyond_all_memory() -> None:
    host = np.zeros(12, np.uint8)
    rows = upload(np.arange(64, dtype=np.uint8))
    memory_of_host, memory_of_device = 1, 2
    copy = RectangleCopy(
        *(4, 1, memory_of_device, None, rows, None, 16),
        *(0, 0, memory_of_host, address(host), None, None, 4, 4, 3),
    )

    call("hipMemcpyParam2D", ctypes.byref(copy))
    copy.source_y = 1 << 60  # of rows of 16 bytes: as many bytes as none
    wrapped = load_hip().hipMemcpyParam2D(ctypes.byref(copy))

    assert host.tolist() == [20, 21, 22, 23, 36, 37, 38, 39, 52, 53, 54, 55]
    assert wrapped == INVALID_VALUE


def test_copies_within_the_device_move_the_bytes() -> None:
    source, target = upload(np.arange(64, dtype=np.uint8)), out_pointer("hipMalloc", 64)

    call("hipMemcpy", target, source, 64, DEVICE_TO_DEVICE)

    assert download(target, 64, np.uint8).tolist() == list(range(64))
    call("hipFree", source)
    call("hipFree", target)


def test_fills_write_patterns_of_1_2_and_4_bytes(memory: int) -> None:
    call("hipMemset", memory, 0x1AB, 4)
    call("hipMemsetD16", memory + 4, 0x1234, 2)
    call("hipMemsetD32Async", memory + 8, 0x01020304, 2, None)

    expected = "abababab34123412" + "0403020104030201"
    assert download(memory, 16, np.uint8).tobytes().hex() == expected


def test_a_rectangular_fill_leaves_the_rest_of_the_rows(memory: int) -> None:
    call("hipMemset", memory, 0, 64)

    call("hipMemset2D", memory, 8, 0xFF, 3, 2)

    assert download(memory, 20, np.uint8).tobytes().hex() == "ffffff0000000000" * 2 + "00000000"


def test_a_fill_of_memory_that_hip_does_not_know_is_refused(memory: int) -> None:
    host = np.zeros(64, np.uint8)

    assert load_hip().hipMemset(address(host), 1, 64) == INVALID_VALUE
    assert load_hip().hipMemset(memory, 1, 4097) == INVALID_VALUE
    assert not host.any()


def test_a_pitched_allocation_has_aligned_rows() -> None:
    pitch = ctypes.c_size_t()

    pointer = out_pointer("hipMallocPitch", ctypes.byref(pitch), 300, 4)

    assert pitch.value == 512
    call("hipMemset2D", pointer, 512, 1, 300, 4)
    call("hipFree", pointer)


def test_attributes_tell_device_host_managed_and_unknown_memory_apart(memory: int) -> None:
    pinned = out_pointer("hipHostMalloc", 64, 2)
    managed = out_pointer("hipMallocManaged", 64, 1)
    unknown = np.zeros(8)

    kinds = [attributes_of(p).type for p in (memory + 100, pinned, managed, address(unknown))]

    assert kinds == [2, 1, 3, 0]
    assert attributes_of(memory).host_pointer is None
    assert attributes_of(pinned).host_pointer == pinned
    assert attributes_of(pinned).flags == 2
    assert attributes_of(managed).is_managed == 1
    assert attributes_of(address(unknown)).device == -2
    call("hipHostFree", pinned)
    call("hipFree", managed)


def test_single_attributes_answer_for_a_pointer_into_the_range(memory: int) -> None:
    values = {}
    for attribute in (2, 3, 9, 11, 12):
        value = ctypes.c_uint64()
        call("hipPointerGetAttribute", ctypes.byref(value), attribute, memory + 8)
        values[attribute] = value.value

    assert values == {2: 2, 3: memory + 8, 9: 0, 11: memory, 12: 4096}
    value = ctypes.c_uint64()
    unknown = np.zeros(8)
    query = load_hip().hipPointerGetAttribute
    assert query(ctypes.byref(value), 3, address(unknown)) == INVALID_VALUE


def test_the_address_range_of_an_inner_pointer_is_the_allocations(memory: int) -> None:
    base, size = ctypes.c_void_p(), ctypes.c_size_t()

    call("hipMemGetAddressRange", ctypes.byref(base), ctypes.byref(size), memory + 1000)

    assert (base.value, size.value) == (memory, 4096)
    assert load_hip().hipMemGetAddressRange(None, None, memory + 4096) == NOT_FOUND


def test_registered_memory_has_its_own_address_as_device_pointer() -> None:
    array = np.zeros(1024, np.uint8)
    call("hipHostRegister", address(array), 1024, 0)

    pointer = out_pointer("hipHostGetDevicePointer", address(array) + 16, 0)

    assert pointer == address(array) + 16
    assert attributes_of(pointer).type == 1
    assert load_hip().hipHostRegister(address(array) + 8, 8, 0) == 712
    call("hipHostUnregister", address(array))
    assert load_hip().hipHostUnregister(address(array)) == 713
    get = load_hip().hipHostGetDevicePointer
    assert get(ctypes.byref(ctypes.c_void_p()), address(array), 0) == INVALID_VALUE


def test_stream_ordered_memory_is_freed_in_its_stream() -> None:
    stream = out_pointer("hipStreamCreate")
    pointer = out_pointer("hipMallocAsync", 128, stream)
    call("hipMemsetAsync", pointer, 7, 128, stream)

    call("hipFreeAsync", pointer, stream)

    assert load_hip().hipFreeAsync(pointer, stream) == INVALID_VALUE
    call("hipStreamDestroy", stream)
