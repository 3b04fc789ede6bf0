"""Libraries, memory pools and settings of the software device."""

import ctypes
import struct
from pathlib import Path

import numpy as np
import pytest

from support.bundles import HOST_ENTRY, hip_entry, make_bundle
from support.compile_kernel import any_compiler
from support.hip_calls import (
    INVALID_HANDLE,
    INVALID_VALUE,
    NOT_FOUND,
    SUCCESS,
    call,
    download,
    launch,
    load_hip,
    out_int,
    out_pointer,
)

NO_OPTIONS = (None, None, 0, None, None, 0)
RELEASE_THRESHOLD, USED = 4, 7


@pytest.fixture(scope="module")
def code_object() -> Path:
    return any_compiler("gfx942").hip(
        "#include <mini_hip.hpp>\n"
        'extern "C" __global__ void fill(int* data, char odd, int value)'
        " { data[threadIdx.x] = value + odd; }\n"
        'extern "C" __global__ void other(int* data) { data[0] = 1; }\n'
    )


def handle(value: int) -> ctypes.c_void_p:
    return ctypes.c_void_p(value)


def run_fill(kernel: int) -> list[int]:
    data = out_pointer("hipMalloc", 256)
    arguments = [ctypes.c_void_p(data), ctypes.c_char(1), ctypes.c_int(41)]
    assert launch(kernel, arguments) == SUCCESS
    result = download(data, 64, np.int32).tolist()
    call("hipFree", data)
    return [int(value) for value in result]


def test_a_librarys_kernel_is_loaded_for_the_current_device(code_object: Path) -> None:
    bundle = make_bundle([HOST_ENTRY, hip_entry("gfx942", code_object.read_bytes())])
    image = ctypes.create_string_buffer(bundle)
    library = out_pointer("hipLibraryLoadData", image, *NO_OPTIONS)

    kernel = out_pointer("hipLibraryGetKernel", handle(library), b"fill")

    assert run_fill(kernel) == [42] * 64
    call("hipSetDevice", 1)
    second = out_pointer("hipLibraryGetKernel", handle(library), b"fill")
    assert second != kernel
    assert run_fill(second) == [42] * 64
    call("hipSetDevice", 0)
    call("hipLibraryUnload", handle(library))
    assert load_hip().hipLibraryUnload(handle(library)) == INVALID_HANDLE
    assert launch(kernel, []) == INVALID_HANDLE


def test_a_librarys_module_is_not_the_programs_to_unload(code_object: Path) -> None:
    image = ctypes.create_string_buffer(code_object.read_bytes())
    library = out_pointer("hipLibraryLoadData", image, *NO_OPTIONS)
    kernel = out_pointer("hipLibraryGetKernel", handle(library), b"fill")
    # What a handle is that the program kept after its module was unloaded, if memory is used again.
    module = ctypes.c_void_p.from_address(kernel).value

    status = load_hip().hipModuleUnload(ctypes.c_void_p(module))

    assert status == NOT_FOUND
    assert run_fill(out_pointer("hipLibraryGetKernel", handle(library), b"fill")) == [42] * 64
    call("hipLibraryUnload", handle(library))


def test_a_library_from_a_file_lists_its_kernels(code_object: Path) -> None:
    path = str(code_object).encode()
    library = out_pointer("hipLibraryLoadFromFile", path, *NO_OPTIONS)
    kernels = (ctypes.c_void_p * 2)()

    count = out_int("hipLibraryGetKernelCount", handle(library))
    call("hipLibraryEnumerateKernels", kernels, 2, handle(library))

    names = []
    for kernel in kernels:
        name = ctypes.c_char_p()
        call("hipKernelGetName", ctypes.byref(name), handle(kernel))
        names.append(name.value)
    assert (count, sorted(name or b"" for name in names)) == (2, [b"fill", b"other"])
    assert out_pointer("hipKernelGetLibrary", handle(kernels[0])) == library
    function = out_pointer("hipKernelGetFunction", handle(kernels[names.index(b"fill")]))
    assert run_fill(function) == [42] * 64
    missing = load_hip().hipLibraryGetKernel
    assert missing(ctypes.byref(ctypes.c_void_p()), handle(library), b"nope") == NOT_FOUND
    call("hipLibraryUnload", handle(library))


def test_a_kernels_parameters_have_offset_and_size(code_object: Path) -> None:
    path = str(code_object).encode()
    library = out_pointer("hipLibraryLoadFromFile", path, *NO_OPTIONS)
    kernel = out_pointer("hipLibraryGetKernel", handle(library), b"fill")
    offset, size = ctypes.c_size_t(), ctypes.c_size_t()
    seen = []

    for index in range(3):
        where = (ctypes.byref(offset), ctypes.byref(size))
        call("hipKernelGetParamInfo", handle(kernel), ctypes.c_size_t(index), *where)
        seen.append((offset.value, size.value))

    assert seen == [(0, 8), (8, 1), (12, 4)]
    info = load_hip().hipKernelGetParamInfo
    beyond = info(handle(kernel), ctypes.c_size_t(3), ctypes.byref(offset), None)
    assert beyond == INVALID_VALUE
    call("hipLibraryUnload", handle(library))


def test_a_library_file_that_is_missing_is_not_found(tmp_path: Path) -> None:
    load = load_hip().hipLibraryLoadFromFile
    path = str(tmp_path / "missing").encode()

    assert load(ctypes.byref(ctypes.c_void_p()), path, *NO_OPTIONS) == 301


def test_a_device_has_one_default_pool() -> None:
    default = out_pointer("hipDeviceGetDefaultMemPool", 0)

    assert out_pointer("hipDeviceGetDefaultMemPool", 0) == default
    assert out_pointer("hipDeviceGetMemPool", 0) == default
    assert out_pointer("hipDeviceGetDefaultMemPool", 1) != default
    assert load_hip().hipMemPoolDestroy(handle(default)) == INVALID_VALUE


def test_a_pool_gives_memory_and_keeps_its_threshold() -> None:
    properties = struct.pack("<iiiiQQ56x", 1, 0, 1, 0, 0, 0)
    pool = out_pointer("hipMemPoolCreate", properties)
    threshold, used = ctypes.c_uint64(1 << 20), ctypes.c_uint64()
    set_attribute, get = load_hip().hipMemPoolSetAttribute, load_hip().hipMemPoolGetAttribute
    stream = out_pointer("hipStreamCreate")
    get(handle(pool), USED, ctypes.byref(used))
    before = used.value

    assert set_attribute(handle(pool), RELEASE_THRESHOLD, ctypes.byref(threshold)) == SUCCESS
    size = ctypes.c_size_t(4096)
    memory = out_pointer("hipMallocFromPoolAsync", size, handle(pool), handle(stream))

    assert get(handle(pool), USED, ctypes.byref(used)) == SUCCESS
    assert used.value - before == 4096
    threshold.value = 0
    assert get(handle(pool), RELEASE_THRESHOLD, ctypes.byref(threshold)) == SUCCESS
    assert threshold.value == 1 << 20
    assert set_attribute(handle(pool), USED, ctypes.byref(used)) == INVALID_VALUE
    call("hipFreeAsync", memory, stream)
    call("hipMemPoolDestroy", handle(pool))
    assert load_hip().hipMemPoolTrimTo(handle(pool), ctypes.c_size_t(0)) == INVALID_VALUE
    call("hipStreamDestroy", stream)


def test_settings_without_effect_keep_hips_rules() -> None:
    limit = ctypes.c_size_t()

    assert load_hip().hipDeviceGetLimit(ctypes.byref(limit), 0) == SUCCESS
    assert load_hip().hipDeviceGetLimit(ctypes.byref(limit), 1) == 215
    assert load_hip().hipDeviceSetCacheConfig(3) == SUCCESS
    assert load_hip().hipDeviceSetCacheConfig(4) == INVALID_VALUE
    call("hipSetDeviceFlags", 4)
    assert out_int("hipGetDeviceFlags") == 4
    assert load_hip().hipSetDeviceFlags(0x100) == INVALID_VALUE
    call("hipSetDeviceFlags", 0)
