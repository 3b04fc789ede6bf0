"""A HIP program's side of the interposer's tests: HIP by ctypes, saxpy launched in every way.

It runs in a child process and knows nothing of ktrace: trace arguments are null.
"""

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2
BUFFER_POINTER, BUFFER_SIZE, END = 1, 2, 3
N = 1000
GRID, BLOCK = (4, 1, 1), (256, 1, 1)


class Saxpy(ctypes.Structure):
    """The kernel's own arguments, as they lie in its kernarg segment."""

    _fields_ = (
        ("n", ctypes.c_int),
        ("a", ctypes.c_float),
        ("x", ctypes.c_void_p),
        ("y", ctypes.c_void_p),
        ("sink", ctypes.c_void_p),
    )


class LaunchConfig(ctypes.Structure):
    """HIP_LAUNCH_CONFIG"""

    _fields_ = (
        ("sizes", ctypes.c_uint * 7),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("count", ctypes.c_uint),
    )


class Host:
    """One HIP library and one saxpy kernel, with y = 1 at the start."""

    def __init__(self, hip: Any, code_object: Path, n: int = N) -> None:
        self.hip = hip
        self.launches = 0
        self.module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        self.image = code_object.read_bytes()
        self.check(hip.hipModuleLoadData(ctypes.byref(self.module), self.image))
        name = b"saxpy"
        self.check(hip.hipModuleGetFunction(ctypes.byref(self.function), self.module, name))
        self.x, self.y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
        self.arguments = Saxpy(n, 2.0, self.copy(self.x).value, self.copy(self.y).value, None)

    @staticmethod
    def check(status: int) -> None:
        if status:
            raise SystemExit(f"HIP error {status}")

    def copy(self, array: Any) -> ctypes.c_void_p:
        pointer, size = ctypes.c_void_p(), ctypes.c_size_t(array.nbytes)
        self.check(self.hip.hipMalloc(ctypes.byref(pointer), size))
        self.check(
            self.hip.hipMemcpy(pointer, ctypes.c_void_p(array.ctypes.data), size, HOST_TO_DEVICE)
        )
        return pointer

    def places(self) -> Any:
        """kernelParams: the address of each argument."""
        base = ctypes.addressof(self.arguments)
        offsets = [getattr(Saxpy, name).offset for name, _ in Saxpy._fields_]
        return (ctypes.c_void_p * len(offsets))(*(base + offset for offset in offsets))

    def extra(self, size: int = ctypes.sizeof(Saxpy)) -> Any:
        self.segment_size = ctypes.c_size_t(size)
        return (ctypes.c_void_p * 5)(
            BUFFER_POINTER,
            ctypes.addressof(self.arguments),
            BUFFER_SIZE,
            ctypes.addressof(self.segment_size),
            END,
        )

    def launch(
        self,
        call: str = "hipModuleLaunchKernel",
        *,
        extra: bool = False,
        stream: Any = None,
        grid: Sequence[int] = GRID,
    ) -> int:
        """Launch through `call`; return its status."""
        lists = (None, self.extra()) if extra else (self.places(), None)
        function = getattr(self.hip, call)
        self.launches += 1
        if call.startswith(("hipExt", "_Z24hipExt")):  # counts work-items
            items = [blocks * size for blocks, size in zip(grid, BLOCK, strict=True)]
            shared = ctypes.c_size_t(0)
            return int(
                function(self.function, *items, *BLOCK, shared, stream, *lists, None, None, 0)
            )
        if call.startswith(("hipHcc", "_Z24hipHcc")):
            items = [blocks * size for blocks, size in zip(grid, BLOCK, strict=True)]
            shared = ctypes.c_size_t(0)
            return int(function(self.function, *items, *BLOCK, shared, stream, *lists, None, None))
        if call == "hipDrvLaunchKernelEx":
            config = LaunchConfig((ctypes.c_uint * 7)(*grid, *BLOCK, 0), stream, None, 0)
            return int(function(ctypes.byref(config), self.function, *lists))
        if call == "hipModuleLaunchCooperativeKernel":
            return int(function(self.function, *grid, *BLOCK, 0, stream, lists[0]))
        return int(function(self.function, *grid, *BLOCK, 0, stream, *lists))

    def result(self) -> Any:
        """y, after everything that was launched."""
        self.check(self.hip.hipDeviceSynchronize())
        y, size = np.empty_like(self.y), ctypes.c_size_t(self.y.nbytes)
        source = ctypes.c_void_p(self.arguments.y)
        self.check(self.hip.hipMemcpy(ctypes.c_void_p(y.ctypes.data), source, size, DEVICE_TO_HOST))
        return y

    def is_right(self) -> bool:
        return bool(np.array_equal(self.result(), 2.0 * self.x * self.launches + self.y))


def open_hip() -> Any:
    return ctypes.CDLL("libamdhip64.so.7")
