"""A HIP program whose kernels are registered host functions, as clang makes them of `<<<>>>`.

It runs in a child process, next to support/graph_host.py.
"""

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.graph_host import BLOCK, GRID, GraphHost


class Dim3(ctypes.Structure):
    """dim3"""

    _fields_ = (("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint))


class LaunchParams(ctypes.Structure):
    """hipLaunchParams"""

    _fields_ = (
        ("function", ctypes.c_void_p),
        ("grid", Dim3),
        ("block", Dim3),
        ("arguments", ctypes.c_void_p),
        ("shared", ctypes.c_size_t),
        ("stream", ctypes.c_void_p),
    )


class FunctionLaunchParams(ctypes.Structure):
    """hipFunctionLaunchParams"""

    _fields_ = (
        ("function", ctypes.c_void_p),
        ("sizes", ctypes.c_uint * 7),
        ("stream", ctypes.c_void_p),
        ("params", ctypes.c_void_p),
    )


class LaunchConfig(ctypes.Structure):
    """hipLaunchConfig_t"""

    _fields_ = (
        ("grid", Dim3),
        ("block", Dim3),
        ("shared", ctypes.c_size_t),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("count", ctypes.c_uint),
    )


class Wrapper(ctypes.Structure):
    """What .hipFatBinSegment holds"""

    _fields_ = (
        ("magic", ctypes.c_uint),
        ("version", ctypes.c_uint),
        ("binary", ctypes.c_void_p),
        ("unused", ctypes.c_void_p),
    )


class Registration:
    """A fat binary with saxpy, and the host function that stands for it."""

    def __init__(self, hip: Any, bundle: Path) -> None:
        image = bundle.read_bytes()
        self.image = ctypes.create_string_buffer(image, len(image))
        self.wrapper = Wrapper(0x48495046, 1, ctypes.addressof(self.image), None)
        self.symbol = ctypes.c_char(0)
        register, add = (getattr(hip, f"__hipRegister{what}") for what in ("FatBinary", "Function"))
        register.restype = ctypes.c_void_p
        self.handle = ctypes.c_void_p(register(ctypes.byref(self.wrapper)))
        names = (b"saxpy", b"saxpy", ctypes.c_uint(0xFFFFFFFF))
        add(self.handle, ctypes.byref(self.symbol), *names, None, None, None, None, None)
        self.function = ctypes.addressof(self.symbol)


class RegisteredHost(GraphHost):
    """saxpy by its host function; `bundle` holds `code_object`."""

    def __init__(
        self, code_object: Path, bundle: Path, registration: Registration | None = None
    ) -> None:
        super().__init__(code_object)
        self.registration = registration or Registration(self.hip, bundle)
        self.module_function = self.function
        self.function = ctypes.c_void_p(self.registration.function)

    def launch(
        self,
        call: str = "hipLaunchKernel",
        *,
        extra: bool = False,
        stream: Any = None,
        grid: Sequence[int] = GRID,
    ) -> int:
        assert not extra
        self.launches += 1
        places = self.places()
        if call == "hipLaunchKernelExC":
            config = LaunchConfig(Dim3(*grid), Dim3(*BLOCK), 0, stream, None, 0)
            return int(self.hip.hipLaunchKernelExC(ctypes.byref(config), self.function, places))
        events = (None, None, 0) if call == "hipExtLaunchKernel" else ()
        shared = ctypes.c_size_t(0)
        function = getattr(self.hip, call)
        return int(
            function(self.function, Dim3(*grid), Dim3(*BLOCK), places, shared, stream, *events)
        )

    def entry(self, stream: Any, grid: Sequence[int] = GRID) -> LaunchParams:
        """Of a list for several devices."""
        self.launches += 1
        self.kept.append(self.places())
        place = ctypes.addressof(self.kept[-1])
        return LaunchParams(self.function, Dim3(*grid), Dim3(*BLOCK), place, 0, stream)

    def function_entry(self, stream: Any, grid: Sequence[int] = GRID) -> FunctionLaunchParams:
        self.launches += 1
        self.kept.append(self.places())
        sizes = (ctypes.c_uint * 7)(*grid, *BLOCK, 0)
        place = ctypes.addressof(self.kept[-1])
        return FunctionLaunchParams(self.module_function, sizes, stream, place)
