"""Modules and launches of the software device: every container, both ways to pass arguments."""

import ctypes
import struct
from pathlib import Path

import numpy as np
import pytest

from support.bundles import HOST_ENTRY, compress_bundle, hip_entry, make_bundle
from support.compile_kernel import any_compiler, compilers_for
from support.hip_calls import (
    INVALID_HANDLE,
    INVALID_VALUE,
    NOT_FOUND,
    SUCCESS,
    address,
    call,
    download,
    launch,
    launch_extra,
    load_function,
    load_hip,
    out_int,
    out_pointer,
    upload,
)

INVALID_IMAGE, NO_BINARY, FILE_NOT_FOUND = 200, 209, 301
INVALID_CONFIGURATION, OUT_OF_RESOURCES = 9, 701
SOURCE = """
#include <mini_hip.hpp>
__device__ int bias = 5;
__constant__ float factors[3] = {1, 2, 3};
extern "C" __global__ void scale(int* out, char by, long add, float factor) {
  out[threadIdx.x] = (int)(threadIdx.x * (unsigned)by * factor) + (int)add + bias;
}
extern "C" __global__ __launch_bounds__(128) void bounded(int* out) { out[0] = 1; }
extern "C" __global__ void lds(int* out) {
  extern __shared__ int words[];
  words[threadIdx.x] = (int)threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = words[blockDim.x - 1 - threadIdx.x];
}
extern "C" __global__ void shape(unsigned* out) {
  const unsigned* hidden = (const unsigned*)__builtin_amdgcn_implicitarg_ptr();
  unsigned block = (blockIdx.z * 2 + blockIdx.y) * 3 + blockIdx.x;
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    out[block * 8] = hidden[0];      // whole blocks, x
    out[block * 8 + 1] = hidden[1];
    out[block * 8 + 2] = hidden[3];  // block size x and y
    out[block * 8 + 3] = hidden[4];  // z, and the remainder of x
    out[block * 8 + 4] = blockDim.x;
    out[block * 8 + 5] = hidden[16] & 0xffff;  // dimensions
  }
}
extern "C" __global__ void nothing() {}
"""


@pytest.fixture(scope="module")
def code_object() -> Path:
    return any_compiler("gfx942").hip(SOURCE)


def load(image: bytes) -> int:
    """HIP's error code."""
    module = ctypes.c_void_p()
    status = int(load_hip().hipModuleLoadData(ctypes.byref(module), image))
    if status == SUCCESS:
        call("hipModuleUnload", module)
    return status


def run_scale(function: int) -> list[int]:
    out = out_pointer("hipMalloc", 64 * 4)
    arguments = [ctypes.c_void_p(out), ctypes.c_char(3), ctypes.c_long(100), ctypes.c_float(2.0)]
    assert launch(function, arguments) == SUCCESS
    result = download(out, 64, np.int32).tolist()
    call("hipFree", out)
    return [int(value) for value in result]


SCALED = [6 * lane + 105 for lane in range(64)]


def test_a_file_is_loaded_by_its_name(code_object: Path) -> None:
    module = out_pointer("hipModuleLoad", str(code_object).encode())

    function = out_pointer("hipModuleGetFunction", module, b"scale")

    assert run_scale(function) == SCALED
    call("hipModuleUnload", module)


def test_a_file_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    module = ctypes.c_void_p()
    missing = str(tmp_path / "missing.co").encode()

    assert load_hip().hipModuleLoad(ctypes.byref(module), missing) == FILE_NOT_FOUND
    assert load_hip().hipModuleLoad(ctypes.byref(module), None) == INVALID_VALUE


@pytest.mark.parametrize("alignment", [8, 4096])
def test_a_bundles_entry_for_the_device_is_loaded(code_object: Path, alignment: int) -> None:
    image = code_object.read_bytes()
    other = hip_entry("gfx90a", b"\x7fELF nonsense")
    bundle = make_bundle([HOST_ENTRY, other, hip_entry("gfx942:xnack-", image)], alignment)

    module = out_pointer("hipModuleLoadData", bundle)

    assert run_scale(out_pointer("hipModuleGetFunction", module, b"scale")) == SCALED
    call("hipModuleUnload", module)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_compressed_bundle_is_unpacked(code_object: Path, version: int) -> None:
    bundle = make_bundle([HOST_ENTRY, hip_entry("gfx942", code_object.read_bytes())])
    # Version 1 does not say where it ends; there must be memory behind it.
    packed = compress_bundle(bundle, version=version) + bytes(len(bundle) + 65536)

    assert load(packed) == SUCCESS


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("gfx942:sramecc+:xnack-", SUCCESS),
        ("gfx942:sramecc+", SUCCESS),
        ("gfx942:xnack+", NO_BINARY),
        ("gfx942:sramecc-:xnack-", NO_BINARY),
        ("gfx950", NO_BINARY),
        ("gfx9-generic", NO_BINARY),
        ("gfx9-4-generic", SUCCESS),
        ("gfx94", NO_BINARY),
    ],
)
def test_an_entry_counts_only_if_its_target_id_matches(
    code_object: Path, target: str, status: int
) -> None:
    bundle = make_bundle([HOST_ENTRY, hip_entry(target, code_object.read_bytes())])

    assert load(bundle) == status


def test_the_exact_processor_comes_before_the_generic_one(code_object: Path) -> None:
    broken = hip_entry("gfx9-4-generic", b"\x7fELF" + bytes(100))
    image = hip_entry("gfx942", code_object.read_bytes())

    assert load(make_bundle([broken, image])) == SUCCESS
    assert load(make_bundle([image, broken])) == SUCCESS


def test_what_is_no_code_object_is_an_invalid_image(capfd: pytest.CaptureFixture[str]) -> None:
    assert load(b"no code object at all" + bytes(64)) == INVALID_IMAGE

    said = capfd.readouterr().err
    assert said == (
        "ktrace softdev: hipModuleLoadData: the image is neither an ELF nor an offload bundle\n"
    )


def test_a_file_that_is_cut_never_loads(code_object: Path, tmp_path: Path) -> None:
    image = code_object.read_bytes()
    bundle = make_bundle([HOST_ENTRY, hip_entry("gfx942", image)], align=8)
    packed = compress_bundle(bundle, version=2)
    cut = tmp_path / "cut.co"
    module = ctypes.c_void_p()

    for content in (image, bundle, packed):
        for size in (1, 7, 40, 63, 200, len(content) // 2, len(content) * 9 // 10):
            cut.write_bytes(content[:size])
            status = load_hip().hipModuleLoad(ctypes.byref(module), str(cut).encode())
            assert status in (INVALID_IMAGE, NO_BINARY), size


def test_a_code_object_for_another_device_has_no_binary() -> None:
    for compiler in compilers_for("gfx950"):
        assert load(compiler.hip(SOURCE).read_bytes()) == NO_BINARY


def test_names_that_are_not_there_are_not_found(code_object: Path) -> None:
    module = out_pointer("hipModuleLoadData", code_object.read_bytes())
    handle = ctypes.c_void_p()
    get = load_hip().hipModuleGetFunction

    assert get(ctypes.byref(handle), module, b"nope") == NOT_FOUND
    assert get(ctypes.byref(handle), module, b"") == INVALID_VALUE
    assert get(ctypes.byref(handle), None, b"scale") == INVALID_HANDLE
    call("hipModuleUnload", module)
    assert get(ctypes.byref(handle), module, b"scale") == NOT_FOUND
    assert load_hip().hipModuleUnload(module) == NOT_FOUND
    assert load_hip().hipModuleUnload(None) == INVALID_HANDLE


def test_globals_have_an_address_and_a_size(code_object: Path) -> None:
    module = out_pointer("hipModuleLoadData", code_object.read_bytes())
    size = ctypes.c_size_t()
    factors = out_pointer("hipModuleGetGlobal", ctypes.byref(size), module, b"factors")

    assert size.value == 12
    assert download(factors, 3, np.float32).tolist() == [1, 2, 3]

    bias = out_pointer("hipModuleGetGlobal", ctypes.byref(size), module, b"bias")
    changed = np.array([1000], np.int32)
    call("hipMemcpy", bias, address(changed), 4, 1)
    result = run_scale(out_pointer("hipModuleGetFunction", module, b"scale"))
    assert result == [value + 995 for value in SCALED]
    get = load_hip().hipModuleGetGlobal
    assert get(None, ctypes.byref(size), module, b"scale.kd") == NOT_FOUND


def test_arguments_in_a_buffer_are_the_same_as_by_pointers(code_object: Path) -> None:
    function = load_function(code_object, "scale")
    out = out_pointer("hipMalloc", 64 * 4)
    buffer = struct.pack("<QBxxxxxxxqf", out, 3, 100, 2.0)

    assert launch_extra(function, buffer, len(buffer)) == SUCCESS

    assert download(out, 64, np.int32).tolist() == SCALED


def test_a_buffer_that_is_too_short_or_garbled_is_refused(
    code_object: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    function = load_function(code_object, "scale")

    assert launch_extra(function, bytes(28), 27) == INVALID_VALUE

    said = "kernel `scale`: the argument buffer has 27 bytes, its arguments need 28"
    assert said in capfd.readouterr().err
    shape = (1, 1, 1, 64, 1, 1, 0, None)
    garbled = (ctypes.c_void_p * 5)(2, 0, 1, 0, 3)
    params = (ctypes.c_void_p * 4)()
    hip = load_hip()
    assert hip.hipModuleLaunchKernel(function, *shape, None, garbled) == INVALID_VALUE
    assert hip.hipModuleLaunchKernel(function, *shape, None, None) == INVALID_VALUE
    assert hip.hipModuleLaunchKernel(function, *shape, params, garbled) == INVALID_VALUE
    assert hip.hipModuleLaunchKernel(function, *shape, params, None) == INVALID_VALUE


def test_a_kernel_without_arguments_needs_none(code_object: Path) -> None:
    function = load_function(code_object, "nothing")

    shape = (2, 1, 1, 64, 1, 1, 0, None)
    assert load_hip().hipModuleLaunchKernel(function, *shape, None, None) == SUCCESS
    call("hipDeviceSynchronize")


def test_dynamic_lds_is_there(code_object: Path) -> None:
    function = load_function(code_object, "lds")
    out = out_pointer("hipMalloc", 256 * 4)

    status = launch(function, [ctypes.c_void_p(out)], block=(256, 1, 1), shared=1024)

    assert status == SUCCESS
    assert download(out, 256, np.int32).tolist() == list(range(255, -1, -1))


def test_work_items_make_partial_blocks_and_hidden_arguments_say_so(code_object: Path) -> None:
    function = load_function(code_object, "shape")
    out = upload(np.zeros(6 * 8, np.uint32))
    arguments = [ctypes.c_void_p(out)]
    params = (ctypes.c_void_p * 1)(ctypes.addressof(arguments[0]))
    sizes = (150, 8, 1, 64, 4, 1)

    call("hipExtModuleLaunchKernel", function, *sizes, 0, None, params, None, None, None, 0)

    blocks = download(out, (6, 8), np.uint32)
    assert blocks[:, 0].tolist() == [2] * 6  # 150 / 64
    assert blocks[:, 1].tolist() == [2] * 6
    assert blocks[:, 2].tolist() == [64 | 4 << 16] * 6
    assert blocks[:, 3].tolist() == [1 | 22 << 16] * 6
    assert blocks[:, 5].tolist() == [2] * 6


def test_a_launchs_own_events_enclose_the_kernel(code_object: Path) -> None:
    function = load_function(code_object, "nothing")
    start, stop = out_pointer("hipEventCreate"), out_pointer("hipEventCreate")
    sizes = (64, 1, 1, 64, 1, 1)

    call("hipExtModuleLaunchKernel", function, *sizes, 0, None, None, None, start, stop, 0)

    call("hipEventSynchronize", stop)
    milliseconds = ctypes.c_float()
    call("hipEventElapsedTime", ctypes.byref(milliseconds), start, stop)
    assert 0 < milliseconds.value < 1


@pytest.mark.parametrize(
    ("grid", "block", "shared", "status"),
    [
        ((0, 1, 1), (64, 1, 1), 0, INVALID_VALUE),
        ((1, 1, 1), (64, 0, 1), 0, INVALID_CONFIGURATION),
        ((1, 1, 1), (1024, 2, 1), 0, INVALID_VALUE),
        ((1, 65537, 1), (64, 1, 1), 0, INVALID_VALUE),
        ((1 << 30, 1, 1), (64, 1, 1), 0, INVALID_CONFIGURATION),
        ((1, 1, 1), (64, 1, 1), 65537, INVALID_VALUE),
    ],
)
def test_impossible_shapes_are_refused(
    code_object: Path,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    shared: int,
    status: int,
) -> None:
    function = load_function(code_object, "lds")
    arguments = [ctypes.c_void_p()]

    assert launch(function, arguments, grid=grid, block=block, shared=shared) == status


def test_a_block_beyond_the_launch_bounds_is_refused(code_object: Path) -> None:
    function = load_function(code_object, "bounded")
    out = ctypes.c_void_p(out_pointer("hipMalloc", 4))

    assert launch(function, [out], block=(129, 1, 1)) == 719
    assert launch(function, [out], block=(128, 1, 1)) == SUCCESS


def test_a_function_of_another_device_is_refused(code_object: Path) -> None:
    function = load_function(code_object, "nothing")
    call("hipSetDevice", 1)

    status = load_hip().hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, None, None, None)

    call("hipSetDevice", 0)
    assert status == 101


def test_handles_that_are_no_function_are_refused(code_object: Path) -> None:
    shape = (1, 1, 1, 64, 1, 1, 0)
    hip = load_hip()
    function = load_function(code_object, "nothing")

    assert hip.hipModuleLaunchKernel(None, *shape, None, None, None) == INVALID_HANDLE
    assert hip.hipModuleLaunchKernel(12345, *shape, None, None, None) == INVALID_HANDLE
    assert hip.hipModuleLaunchKernel(function, *shape, 12345, None, None) == INVALID_VALUE
    assert hip.hipKernelNameRef(function) == b"nothing"


def test_attributes_of_a_function_are_the_code_objects(code_object: Path) -> None:
    function = load_function(code_object, "bounded")

    values = [out_int("hipFuncGetAttribute", n, function) for n in (0, 1, 3, 6, 8)]

    assert values == [128, 0, 0, 94, 65536]
    assert out_int("hipFuncGetAttribute", 4, function) > 0
    value = ctypes.c_int()
    assert load_hip().hipFuncGetAttribute(ctypes.byref(value), 77, function) == INVALID_VALUE
    assert load_hip().hipFuncGetAttribute(ctypes.byref(value), 0, None) == INVALID_HANDLE


def test_occupancy_is_bounded_by_waves_and_lds(code_object: Path) -> None:
    function = load_function(code_object, "lds")
    occupancy = "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor"

    blocks = [out_int(occupancy, function, *how) for how in ((64, 0), (256, 0), (256, 32768))]

    assert blocks == [32, 8, 2]
    assert out_int(occupancy, function, 64, 70000) == 0
    best = ctypes.c_int()
    most = "hipModuleOccupancyMaxPotentialBlockSize"
    grid = out_int(most, ctypes.byref(best), function, 0, 0)
    assert (grid, best.value) == (2 * 304, 1024)


def test_a_cooperative_grid_must_be_resident(code_object: Path) -> None:
    function = load_function(code_object, "nothing")
    start = load_hip().hipModuleLaunchCooperativeKernel

    assert start(function, 608, 1, 1, 1024, 1, 1, 0, None, None) == SUCCESS
    assert start(function, 609, 1, 1, 1024, 1, 1, 0, None, None) == 720
