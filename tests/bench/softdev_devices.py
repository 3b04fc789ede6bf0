"""Dispatches of one code object on the software device and on the prototype, in one process.

Both take host addresses as device addresses, so they share buffers.
"""

import ctypes
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from support.hip import Hip

Array = npt.NDArray[Any]
Argument = Array | np.generic
Dim = tuple[int, int, int]
Shape = tuple[Dim, Dim]
"""Blocks, and work-items of a block."""
KERNARG_BYTES = 512
"""Explicit arguments and hidden ones."""


@dataclass(frozen=True)
class Took:
    """What one dispatch took, in seconds."""

    elapsed: float
    cpu: float
    """Of all threads."""


class Device(Protocol):
    """Something that runs kernels."""

    name: str

    def launcher(
        self, code_object: Path, kernel: str, arguments: Sequence[Argument], shape: Shape
    ) -> "Launcher": ...


class Launcher(Protocol):
    """One prepared dispatch."""

    def run(self) -> Took:
        """Dispatch once."""


class SoftwareDevice:
    """The library that ktrace ships."""

    name = "ours"

    def __init__(self, library: Path) -> None:
        self._hip = Hip(str(library))

    def launcher(
        self, code_object: Path, kernel: str, arguments: Sequence[Argument], shape: Shape
    ) -> "Launcher":
        function = self._hip.function(str(code_object), kernel)
        return _HipLauncher(self._hip, function, arguments, shape)


class _HipLauncher:
    def __init__(
        self,
        hip: Hip,
        function: ctypes.c_void_p,
        arguments: Sequence[Argument],
        shape: Shape,
    ) -> None:
        self._hip, self._function = hip, function
        self._shape = (*shape[0], *shape[1])
        self._arguments = arguments  # they own the memory
        self._values = [_value(argument) for argument in arguments]
        addresses = map(ctypes.addressof, self._values)
        self._pointers = (ctypes.c_void_p * len(arguments))(*addresses)

    def run(self) -> Took:
        status, took = timed(self._launch)
        self._hip.check(status)
        return took

    def _launch(self) -> int:
        library = self._hip.library
        status: int = library.hipModuleLaunchKernel(
            self._function, *self._shape, 0, None, ctypes.byref(self._pointers), None
        )
        return status or int(library.hipDeviceSynchronize())


class Prototype:
    """The proof that came before: `libemu.so` of its folder."""

    name = "prototype"

    def __init__(self, folder: Path) -> None:
        self._library = ctypes.CDLL(str(folder / "libemu.so"))
        self._library.emu_load.restype = ctypes.c_void_p
        self._library.emu_error.restype = ctypes.c_char_p

    def launcher(
        self, code_object: Path, kernel: str, arguments: Sequence[Argument], shape: Shape
    ) -> "Launcher":
        loaded = ctypes.c_void_p(self._library.emu_load(str(code_object).encode()))
        if not loaded:
            raise RuntimeError(self._library.emu_error().decode())
        return _EmuLauncher(self._library, (loaded, kernel.encode()), arguments, shape)


class _EmuLauncher:
    def __init__(
        self,
        library: ctypes.CDLL,
        kernel: tuple[ctypes.c_void_p, bytes],
        arguments: Sequence[Argument],
        shape: Shape,
    ) -> None:
        self._library, self._kernel = library, kernel
        self._arguments = arguments  # they own the memory
        self._kernarg = _kernarg(arguments, *shape)
        self._shape = [(ctypes.c_uint32 * 3)(*dim) for dim in shape]

    def run(self) -> Took:
        status, took = timed(self._launch)
        if status:
            raise RuntimeError(self._library.emu_error().decode())
        return took

    def _launch(self) -> int:
        status: int = self._library.emu_launch(*self._kernel, *self._shape, self._kernarg, 0, None)
        return status


def timed(launch: Callable[[], int]) -> tuple[int, Took]:
    """Call it; its status, and what it took."""
    start, cpu = time.perf_counter(), time.process_time()
    status = launch()
    return status, Took(time.perf_counter() - start, time.process_time() - cpu)


def _value(argument: Argument) -> Any:
    if isinstance(argument, np.ndarray):
        return ctypes.c_void_p(argument.ctypes.data)
    return ctypes.create_string_buffer(argument.tobytes(), argument.nbytes)


def _kernarg(arguments: Sequence[Argument], grid: Dim, block: Dim) -> Any:
    """The segment as the compiler lays it out: naturally aligned, then the hidden arguments."""
    segment = bytearray()
    for argument in arguments:
        is_buffer = isinstance(argument, np.ndarray)
        data = argument.ctypes.data.to_bytes(8, "little") if is_buffer else argument.tobytes()
        segment += bytes(-len(segment) % len(data)) + data
    segment += bytes(-len(segment) % 8)
    segment += np.array(grid, np.uint32).tobytes() + np.array(block, np.uint16).tobytes()
    return ctypes.create_string_buffer(bytes(segment), KERNARG_BYTES)
