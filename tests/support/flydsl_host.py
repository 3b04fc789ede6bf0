"""A program that launches a kernel of FlyDSL's as FlyDSL does: `flydsl_host.py CODE_OBJECT STEP...`

Steps: `names` (FlyDSL is imported and knows one event), `launch:GRID`, `wipe` (as its `reset`),
`read` (prints launches and waves that its buffer counts, as its `summary` would), `leave` (_exit).
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

BYTES = int(os.environ["FLYDSL_KTRACE_BUFFER_BYTES"])
DEVICE_TO_HOST = 2
hip = ctypes.CDLL("libamdhip64.so.7")


def check(status: int) -> None:
    if status:
        sys.exit(f"HIP error {status}")


def wipe(buffer: ctypes.c_void_p) -> None:
    check(hip.hipDeviceSynchronize())
    check(hip.hipMemset(buffer, 0, ctypes.c_size_t(BYTES)))
    check(hip.hipDeviceSynchronize())


def read(buffer: ctypes.c_void_p) -> None:
    check(hip.hipDeviceSynchronize())
    header = (ctypes.c_uint32 * 128)()
    check(hip.hipMemcpy(header, buffer, ctypes.c_size_t(512), DEVICE_TO_HOST))
    sys.stdout.write(f"{header[1]} launches {header[64]} waves\n")


def main(code_object: Path, steps: list[str]) -> None:
    buffer, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    check(hip.hipMalloc(ctypes.byref(buffer), ctypes.c_size_t(BYTES)))
    wipe(buffer)
    image = code_object.read_bytes()
    check(hip.hipModuleLoadData(ctypes.byref(module), image))
    check(hip.hipModuleGetFunction(ctypes.byref(function), module, b"traced_kernel_0"))
    for step in steps:
        name, _, value = step.partition(":")
        if name == "names":
            from flydsl.expr import ktrace_common

            ktrace_common.merge_names({"work": 1})
        elif name == "launch":
            places = (ctypes.c_void_p * 1)(ctypes.addressof(buffer))
            grid, block = (int(value), 1, 1), (64, 1, 1)
            check(hip.hipModuleLaunchKernel(function, *grid, *block, 0, None, places, None))
        elif name == "leave":
            os._exit(0)
        else:
            {"wipe": wipe, "read": read}[name](buffer)
    sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
