"""A program that uses HIP through dlopen and dlsym: launches saxpy N times, checks it, prints `ok`.

`python launch_saxpy.py CODE_OBJECT [COUNT]`; COUNT 0 loads the code object and launches nothing.
It knows nothing of ktrace: the slot of the trace argument is null.
"""

import ctypes
import sys
from pathlib import Path

import numpy as np

N = 1000
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2
hip = ctypes.CDLL("libamdhip64.so.7")


def check(status: int) -> None:
    if status:
        sys.exit(f"HIP error {status}")


def device_copy(array: np.ndarray) -> ctypes.c_void_p:
    pointer = ctypes.c_void_p()
    check(hip.hipMalloc(ctypes.byref(pointer), ctypes.c_size_t(array.nbytes)))
    size = ctypes.c_size_t(array.nbytes)
    check(hip.hipMemcpy(pointer, array.ctypes.data_as(ctypes.c_void_p), size, HOST_TO_DEVICE))
    return pointer


def launch(function: ctypes.c_void_p, arguments: list[object]) -> None:
    array = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(a) for a in arguments))  # type: ignore[arg-type]
    grid, block = (4, 1, 1), (256, 1, 1)
    check(hip.hipModuleLaunchKernel(function, *grid, *block, 0, None, array, None))


def main(code_object: Path, count: int) -> None:
    image = code_object.read_bytes()
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    check(hip.hipModuleLoadData(ctypes.byref(module), image))
    check(hip.hipModuleGetFunction(ctypes.byref(function), module, b"saxpy"))
    x, y = np.arange(N, dtype=np.float32), np.ones(N, np.float32)
    device_x, device_y = device_copy(x), device_copy(y)
    sink = ctypes.c_void_p()
    for _ in range(count):
        launch(function, [ctypes.c_int(N), ctypes.c_float(2.0), device_x, device_y, sink])
    check(hip.hipDeviceSynchronize())
    result = np.empty_like(y)
    size = ctypes.c_size_t(y.nbytes)
    check(hip.hipMemcpy(result.ctypes.data_as(ctypes.c_void_p), device_y, size, DEVICE_TO_HOST))
    assert np.array_equal(result, 2.0 * x * count + y), "saxpy is wrong"
    sys.stdout.write("ok\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
