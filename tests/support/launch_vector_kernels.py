"""Launch kernels by name on the software device: LIBRARY CODE_OBJECT LANES..., requests on stdin.

Requests and replies are pickled: a list of (kernel name, input words, output words per lane), and a
list of output arrays per value of KTRACE_SOFT_LANES.
"""

import ctypes
import multiprocessing
import os
import pickle
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import numpy.typing as npt

LANES = 64
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2

Words = npt.NDArray[np.uint32]
Request = tuple[str, Words, int]


def main() -> None:
    library, code_object, *codes = sys.argv[1:]
    requests: list[Request] = pickle.load(sys.stdin.buffer)
    replies = []
    for code in codes:  # the library reads its environment once
        with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as process:
            replies.append(process.submit(run, library, code_object, code, requests).result())
    sys.stdout.buffer.write(pickle.dumps(replies))


def run(library: str, code_object: str, lanes: str, requests: list[Request]) -> list[Words]:
    os.environ["KTRACE_SOFT_LANES"] = lanes
    hip = ctypes.CDLL(library)
    hip.hipGetErrorString.restype = ctypes.c_char_p
    module = ctypes.c_void_p()
    _check(hip, hip.hipModuleLoad(ctypes.byref(module), code_object.encode()))
    return [_launch(hip, module, *request) for request in requests]


def _check(hip: ctypes.CDLL, status: int) -> None:
    if status:
        raise RuntimeError(hip.hipGetErrorString(status).decode())


def _launch(
    hip: ctypes.CDLL, module: ctypes.c_void_p, name: str, inputs: Words, outputs: int
) -> Words:
    result = np.zeros((len(inputs), outputs), np.uint32)
    function = ctypes.c_void_p()
    _check(hip, hip.hipModuleGetFunction(ctypes.byref(function), module, name.encode()))
    buffers = []
    for array in (inputs, result):
        pointer = ctypes.c_void_p()
        _check(hip, hip.hipMalloc(ctypes.byref(pointer), ctypes.c_size_t(max(array.nbytes, 4))))
        buffers.append(pointer)
    inputs = np.ascontiguousarray(inputs)
    size = ctypes.c_size_t(inputs.nbytes)
    _check(hip, hip.hipMemcpy(buffers[0], _data(inputs), size, HOST_TO_DEVICE))
    arguments = (ctypes.c_void_p * 2)(*(ctypes.addressof(pointer) for pointer in buffers))
    grid = len(inputs) // LANES
    _check(
        hip,
        hip.hipModuleLaunchKernel(
            function, grid, 1, 1, LANES, 1, 1, 0, None, ctypes.byref(arguments), None
        ),
    )
    _check(hip, hip.hipDeviceSynchronize())
    size = ctypes.c_size_t(result.nbytes)
    _check(hip, hip.hipMemcpy(_data(result), buffers[1], size, DEVICE_TO_HOST))
    for pointer in buffers:
        _check(hip, hip.hipFree(pointer))
    return result


def _data(array: Words) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


if __name__ == "__main__":
    main()
