"""A child process with one software device, which launches what it is asked to on stdin.

A process of its own, because the library takes its target from the environment when it is loaded.
Requests and answers are pickles; `launch.Device` is the other end.
"""

import ctypes
import os
import pickle
import sys
from typing import Any

import numpy as np

from support.hip import Hip


def answer(hip: Hip, request: dict[str, Any]) -> dict[str, Any]:
    function = hip.function(request["code_object"], request["kernel"])
    buffers = [(hip.upload(a), a) for a in request["arguments"] if isinstance(a, np.ndarray)]
    pointers = iter([pointer for pointer, _ in buffers])
    values: list[Any] = [
        next(pointers) if isinstance(a, np.ndarray) else ctypes.create_string_buffer(a, len(a))
        for a in request["arguments"]
    ]
    control, regions = request["control"], request["regions"]
    sink = ctypes.c_void_p()
    if control is not None:
        base = hip.upload(regions)
        control["regions"] = base.value
        sink = hip.upload(control)
        buffers += [(base, regions), (sink, control)]
    values.append(sink)
    addresses = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
    launch = hip.library.hipModuleLaunchKernel
    shape = (*request["grid"], *request["block"])
    hip.check(launch(function, *shape, 0, None, ctypes.byref(addresses), None))
    hip.check(hip.library.hipDeviceSynchronize())
    for pointer, array in buffers:
        hip.download(pointer, array)
        hip.check(hip.library.hipFree(pointer))
    arrays = [a for a in request["arguments"] if isinstance(a, np.ndarray)]
    return {"outputs": arrays, "control": control, "regions": regions}


def main() -> None:
    hip = Hip(sys.argv[1])
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else is printed is no answer
    while True:
        try:
            request = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        answers.write(pickle.dumps(answer(hip, request)))
        answers.flush()


if __name__ == "__main__":
    main()
