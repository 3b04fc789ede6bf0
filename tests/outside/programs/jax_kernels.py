"""Launch kernels of jax-rocm7-plugin from the fat binaries inside its libraries, and save results.

    jax_kernels.py RESULTS.npz

The libraries themselves want all of ROCm; HIP gets their fat binaries as they are, compressed.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

HIP = ctypes.CDLL("libamdhip64.so.7")
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2
N, BATCH, PIVOTS, ROWS = 1000, 5, 12, 20
_NAMESPACE = "_ZN3jax3hip12_GLOBAL__N_1"


def check(status: int) -> None:
    if status:
        HIP.hipGetErrorString.restype = ctypes.c_char_p
        raise RuntimeError(f"HIP: {HIP.hipGetErrorString(status).decode()}")


def fat_binary(library: str) -> bytes:
    """The compressed fat binary inside a library of the package."""
    files = importlib.metadata.files("jax-rocm7-plugin") or []
    path = next(file for file in files if file.name == library)
    data = bytes(path.locate().read_bytes())
    return data[data.index(b"CCOB") :]


def launch(library: str, kernel: str, arguments: Sequence[Any], grid: int, block: int) -> None:
    """Launch with arrays, copied to the device and back, and scalars of ctypes."""
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    image = fat_binary(library)
    check(HIP.hipModuleLoadData(ctypes.byref(module), image))
    name = (_NAMESPACE + kernel).encode()
    check(HIP.hipModuleGetFunction(ctypes.byref(function), module, name))
    buffers = [(upload(each), each) for each in arguments if isinstance(each, np.ndarray)]
    pointers = iter(pointer for pointer, _ in buffers)
    values = [next(pointers) if isinstance(each, np.ndarray) else each for each in arguments]
    addresses = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
    shape = (grid, 1, 1, block, 1, 1)
    check(HIP.hipModuleLaunchKernel(function, *shape, 0, None, addresses, None))
    check(HIP.hipDeviceSynchronize())
    for pointer, array in buffers:
        size = ctypes.c_size_t(array.nbytes)
        check(HIP.hipMemcpy(ctypes.c_void_p(array.ctypes.data), pointer, size, DEVICE_TO_HOST))


def upload(array: Array) -> ctypes.c_void_p:
    pointer, size = ctypes.c_void_p(), ctypes.c_size_t(array.nbytes)
    check(HIP.hipMalloc(ctypes.byref(pointer), size))
    check(HIP.hipMemcpy(pointer, ctypes.c_void_p(array.ctypes.data), size, HOST_TO_DEVICE))
    return pointer


def threefry(random: np.random.Generator) -> dict[str, Array]:
    key0, key1, data0, data1 = random.integers(0, 2**32, (4, N), dtype=np.uint32)
    out0, out1 = np.zeros((2, N), np.uint32)
    numbers = (ctypes.c_int64(N), ctypes.c_void_p())
    arguments = (key0, key1, data0, data1, out0, out1, *numbers)
    launch("_prng.so", "18ThreeFry2x32KernelEPKjS3_S3_S3_PjS4_lPKl", arguments, 4, 256)
    return {"key": np.stack([key0, key1]), "data": np.stack([data0, data1]),
            "out": np.stack([out0, out1])}  # fmt: skip


def permutations(random: np.random.Generator) -> dict[str, Array]:
    pivots = np.sort(random.integers(0, ROWS, (BATCH, PIVOTS), dtype=np.int32), axis=1)
    pivots = np.maximum(pivots, np.arange(PIVOTS, dtype=np.int32))
    order = np.full((BATCH, ROWS), -1, np.int32)
    numbers = (ctypes.c_int64(BATCH), ctypes.c_int32(PIVOTS), ctypes.c_int32(ROWS))
    kernel = "27LuPivotsToPermutationKernelEPKiPilii"
    launch("_linalg.so", kernel, (pivots, order, *numbers), 1, 64)
    return {"pivots": pivots, "order": order}


def main(output: str) -> None:
    random = np.random.default_rng(0)
    parts = {"threefry": threefry(random), "permutation": permutations(random)}
    saved = {
        f"{part}/{key}": each for part, arrays in parts.items() for key, each in arrays.items()
    }
    np.savez(output, **saved)


if __name__ == "__main__":
    main(sys.argv[1])
