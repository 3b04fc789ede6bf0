"""The software device's HIP calls, called from the test's own process.

One library per process, with three gfx942 devices: whoever needs another environment, or a kernel
that faults, starts a child (support/hip.py).
"""

import ctypes
import functools
import os
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from support.hip import library_path

DEVICES = 3
SUCCESS, INVALID_VALUE, OUT_OF_MEMORY = 0, 1, 2
INVALID_HANDLE, NOT_FOUND, NOT_READY, CONTEXT_IS_DESTROYED = 400, 500, 600, 709
HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, DEFAULT = 1, 2, 3, 4

_SIZES = {  # calls with arguments that are wider than an int and are no pointers of ctypes' own
    "hipMalloc": [c_void_p, c_size_t],
    "hipMallocManaged": [c_void_p, c_size_t, c_uint],
    "hipHostMalloc": [c_void_p, c_size_t, c_uint],
    "hipMallocAsync": [c_void_p, c_size_t, c_void_p],
    "hipMallocPitch": [c_void_p, POINTER(c_size_t), c_size_t, c_size_t],
    "hipFree": [c_void_p],
    "hipHostFree": [c_void_p],
    "hipFreeAsync": [c_void_p, c_void_p],
    "hipMemcpy": [c_void_p, c_void_p, c_size_t, c_int],
    "hipMemcpyAsync": [c_void_p, c_void_p, c_size_t, c_int, c_void_p],
    "hipMemcpy2D": [c_void_p, c_size_t, c_void_p, c_size_t, c_size_t, c_size_t, c_int],
    "hipMemcpy2DAsync": [
        *(c_void_p, c_size_t, c_void_p, c_size_t, c_size_t, c_size_t, c_int, c_void_p),
    ],
    "hipMemset": [c_void_p, c_int, c_size_t],
    "hipMemsetAsync": [c_void_p, c_int, c_size_t, c_void_p],
    "hipMemsetD16": [c_void_p, ctypes.c_ushort, c_size_t],
    "hipMemsetD32Async": [c_void_p, c_int, c_size_t, c_void_p],
    "hipMemset2D": [c_void_p, c_size_t, c_int, c_size_t, c_size_t],
    "hipHostRegister": [c_void_p, c_size_t, c_uint],
    "hipHostUnregister": [c_void_p],
    "hipHostGetDevicePointer": [c_void_p, c_void_p, c_uint],
    "hipPointerGetAttributes": [c_void_p, c_void_p],
    "hipPointerGetAttribute": [c_void_p, c_int, c_void_p],
    "hipMemGetAddressRange": [c_void_p, c_void_p, c_void_p],
    "hipModuleLoadData": [c_void_p, c_void_p],
    "hipModuleGetFunction": [c_void_p, c_void_p, c_char_p],
    "hipModuleGetGlobal": [c_void_p, c_void_p, c_void_p, c_char_p],
    "hipModuleUnload": [c_void_p],
    "hipModuleLaunchKernel": [c_void_p, *[c_uint] * 7, c_void_p, c_void_p, c_void_p],
    "hipModuleLaunchCooperativeKernel": [c_void_p, *[c_uint] * 7, c_void_p, c_void_p],
    "hipExtModuleLaunchKernel": [
        *(c_void_p, *[c_uint] * 6, c_size_t, c_void_p, c_void_p, c_void_p),
        *(c_void_p, c_void_p, c_uint),
    ],
    "hipFuncGetAttribute": [c_void_p, c_int, c_void_p],
    "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor": [c_void_p, c_void_p, c_int, c_size_t],
    "hipModuleOccupancyMaxPotentialBlockSize": [c_void_p, c_void_p, c_void_p, c_size_t, c_int],
    "hipStreamCreateWithPriority": [c_void_p, c_uint, c_int],
    "hipStreamDestroy": [c_void_p],
    "hipStreamSynchronize": [c_void_p],
    "hipStreamQuery": [c_void_p],
    "hipStreamWaitEvent": [c_void_p, c_void_p, c_uint],
    "hipStreamGetFlags": [c_void_p, c_void_p],
    "hipStreamGetPriority": [c_void_p, c_void_p],
    "hipStreamIsCapturing": [c_void_p, c_void_p],
    "hipStreamBeginCapture": [c_void_p, c_int],
    "hipStreamEndCapture": [c_void_p, c_void_p],
    "hipGetStreamDeviceId": [c_void_p],
    "hipLaunchHostFunc": [c_void_p, c_void_p, c_void_p],
    "hipStreamAddCallback": [c_void_p, c_void_p, c_void_p, c_uint],
    "hipEventRecord": [c_void_p, c_void_p],
    "hipEventDestroy": [c_void_p],
    "hipEventQuery": [c_void_p],
    "hipEventSynchronize": [c_void_p],
    "hipEventElapsedTime": [POINTER(c_float), c_void_p, c_void_p],
    "hipGetProcAddress": [c_char_p, c_void_p, c_int, c_uint64, c_void_p],
    "hipCtxPushCurrent": [c_void_p],
    "hipGraphInstantiateWithFlags": [c_void_p, c_void_p, c_uint64],
    "hipGraphLaunch": [c_void_p, c_void_p],
    "hipGraphDestroy": [c_void_p],
    "hipGraphExecDestroy": [c_void_p],
    "hipGraphGetNodes": [c_void_p, c_void_p, POINTER(c_size_t)],
    "hipGraphNodeGetType": [c_void_p, c_void_p],
    "hipGraphAddKernelNode": [c_void_p, c_void_p, c_void_p, c_size_t, c_void_p],
    "hipGraphAddMemcpyNode1D": [
        *(c_void_p, c_void_p, c_void_p, c_size_t, c_void_p, c_void_p, c_size_t, c_int),
    ],
    "hipGraphExecKernelNodeSetParams": [c_void_p, c_void_p, c_void_p],
}


@functools.cache
def load_hip() -> ctypes.CDLL:
    """Load the library and let it read its environment; skips the test where it is not built."""
    before = {name: os.environ.get(name) for name in ("KTRACE_SOFT_DEVICES", "KTRACE_SOFT_ARCH")}
    path = library_path()
    os.environ.update(KTRACE_SOFT_DEVICES=str(DEVICES), KTRACE_SOFT_ARCH="gfx942")
    library = ctypes.CDLL(str(path))
    library.hipInit(0)
    for name, value in before.items():
        os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)
    for name, types in _SIZES.items():
        getattr(library, name).argtypes = types
    for name in ("hipGetErrorName", "hipGetErrorString", "hipKernelNameRef"):
        getattr(library, name).restype = c_char_p
    library.hipKernelNameRef.argtypes = [c_void_p]
    library.ktrace_softdev_now_ns.restype = c_uint64
    library.ktrace_softdev_version.restype = c_char_p
    return library


def call(name: str, *arguments: Any) -> None:
    """Make a call that must succeed."""
    status = getattr(load_hip(), name)(*arguments)
    assert status == SUCCESS, f"{name}: {load_hip().hipGetErrorName(status).decode()}"


def out_pointer(name: str, *arguments: Any) -> int:
    """Make a call whose first argument is where it stores a pointer or handle."""
    pointer = c_void_p()
    call(name, byref(pointer), *arguments)
    return pointer.value or 0


def out_int(name: str, *arguments: Any) -> int:
    """Make a call whose first argument is where it stores an int."""
    value = c_int(-12345)
    call(name, byref(value), *arguments)
    return value.value


def now_ns() -> int:
    return int(load_hip().ktrace_softdev_now_ns())


def address(array: npt.NDArray[Any]) -> int:
    return int(array.ctypes.data)


def upload(array: npt.NDArray[Any]) -> int:
    """Copy an array to new device memory."""
    pointer = out_pointer("hipMalloc", array.nbytes)
    call("hipMemcpy", pointer, address(array), array.nbytes, HOST_TO_DEVICE)
    return pointer


def download(pointer: int, shape: int | tuple[int, ...], dtype: Any) -> npt.NDArray[Any]:
    array = np.zeros(shape, dtype)
    call("hipMemcpy", address(array), pointer, array.nbytes, DEVICE_TO_HOST)
    return array


def load_function(code_object: Path, kernel: str) -> int:
    module = out_pointer("hipModuleLoadData", code_object.read_bytes())
    return out_pointer("hipModuleGetFunction", module, kernel.encode())


def pointers_to(arguments: Sequence[Any]) -> Any:
    """The `kernelParams` array; keep `arguments` alive while it is in use."""
    return (c_void_p * len(arguments))(*(ctypes.addressof(argument) for argument in arguments))


def launch(
    function: int,
    arguments: Sequence[Any],
    *,
    grid: tuple[int, int, int] = (1, 1, 1),
    block: tuple[int, int, int] = (64, 1, 1),
    shared: int = 0,
    stream: int = 0,
) -> int:
    """Launch with ctypes values as arguments; HIP's error code."""
    shape = (*grid, *block, shared, stream)
    params = pointers_to(arguments)
    return int(load_hip().hipModuleLaunchKernel(function, *shape, params, None))


def launch_extra(function: int, buffer: bytes, size: int, *, block: int = 64) -> int:
    """Launch one block with the arguments in a buffer of `size` bytes; HIP's error code."""
    data, length = ctypes.create_string_buffer(buffer, len(buffer)), c_size_t(size)
    extra = (c_void_p * 5)(1, ctypes.addressof(data), 2, ctypes.addressof(length), 3)
    shape = (1, 1, 1, block, 1, 1, 0, None)
    return int(load_hip().hipModuleLaunchKernel(function, *shape, None, extra))
