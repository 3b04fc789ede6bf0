"""Launch kernels on the software device, one child process per list of launches.

A child, because the library takes its target and limits from the environment when it is loaded, and
because a faulting kernel leaves the HIP context of its process unusable.
"""

import ctypes
import os
import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
# An argument is a device buffer (an array, copied in before and out after), a scalar or an address,
# or ordinary memory of the process, which HIP never sees: ("host", array).
Argument = Array | np.generic | tuple[str, Array]
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2


@dataclass(frozen=True)
class Launch:
    """One kernel launch: what hipModuleLaunchKernel wants."""

    code_object: Path
    kernel: str
    arguments: Sequence[Argument]
    grid: tuple[int, int, int] = (1, 1, 1)  # blocks
    block: tuple[int, int, int] = (64, 1, 1)
    shared: int = 0  # bytes of dynamic LDS


@dataclass(frozen=True)
class Outcome:
    """What a list of launches left behind."""

    arrays: list[list[Array]] = field(default_factory=list)  # per launch: its buffers afterwards
    statuses: list[int] = field(
        default_factory=list
    )  # per launch: of the launch or its synchronize
    seconds: list[float] = field(default_factory=list)  # per launch, on the host
    errors: str = ""  # the child's stderr


def launch_kernels(
    launches: Sequence[Launch], target: str, environment: Mapping[str, str] | None = None
) -> Outcome:
    """Run the launches in order in one child process on a device of `target`."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__)), str(library_path())],
        input=pickle.dumps([_plain(launch) for launch in launches]),
        env={**os.environ, **(environment or {}), "KTRACE_SOFT_ARCH": target},
        capture_output=True,
        check=False,
    )
    errors = done.stderr.decode()
    assert done.returncode == 0, errors
    arrays, statuses, seconds = pickle.loads(done.stdout)
    return Outcome(arrays, statuses, seconds, errors)


def launch_kernel(launch: Launch, target: str) -> list[Array]:
    """Run one launch that must succeed; its buffers afterwards."""
    outcome = launch_kernels([launch], target)
    assert outcome.statuses == [0], outcome.errors
    return outcome.arrays[0]


def fault_of(launch: Launch, target: str, environment: Mapping[str, str] | None = None) -> str:
    """Run one launch that must fail; what the software device says about it."""
    outcome = launch_kernels([launch], target, environment)
    assert outcome.statuses[0] != 0
    return outcome.errors


def library_path() -> Path:
    """The software device; skips the test where it is not built."""
    import pytest

    from ktrace_cli.errors import KtraceError
    from ktrace_cli.launch.native import SOFTWARE_DEVICE
    from ktrace_cli.libraries import native_library

    try:
        return native_library(SOFTWARE_DEVICE)
    except KtraceError as error:
        pytest.skip(f"{error.what}: {error.why}")


class Hip:
    """The few HIP calls that launches need, on a loaded library; raises on an error."""

    def __init__(self, path: str) -> None:
        self.library = ctypes.CDLL(path)
        self.library.hipGetErrorString.restype = ctypes.c_char_p

    def check(self, status: int) -> None:
        if status:
            raise RuntimeError(self.library.hipGetErrorString(status).decode())

    def function(self, code_object: str, kernel: str) -> ctypes.c_void_p:
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(self.library.hipModuleLoad(ctypes.byref(module), code_object.encode()))
        name = kernel.encode()
        self.check(self.library.hipModuleGetFunction(ctypes.byref(function), module, name))
        return function

    def upload(self, array: Array) -> ctypes.c_void_p:
        pointer = ctypes.c_void_p()
        size = ctypes.c_size_t(array.nbytes)
        self.check(self.library.hipMalloc(ctypes.byref(pointer), size))
        source = ctypes.c_void_p(array.ctypes.data)
        self.check(self.library.hipMemcpy(pointer, source, size, HOST_TO_DEVICE))
        return pointer

    def download(self, pointer: ctypes.c_void_p, array: Array) -> None:
        target = ctypes.c_void_p(array.ctypes.data)
        size = ctypes.c_size_t(array.nbytes)
        self.check(self.library.hipMemcpy(target, pointer, size, DEVICE_TO_HOST))


def _plain(launch: Launch) -> dict[str, Any]:
    """As builtin types: the child does not import this module by its package's name."""
    return {**vars(launch), "code_object": str(launch.code_object)}


def _run(hip: Hip, launch: dict[str, Any]) -> tuple[list[Array], int, float]:
    import time

    function = hip.function(launch["code_object"], launch["kernel"])
    buffers: list[tuple[ctypes.c_void_p | None, Array]] = []
    values: list[Any] = []
    for argument in launch["arguments"]:
        if isinstance(argument, np.ndarray):
            array = np.ascontiguousarray(argument)
            pointer = hip.upload(array)
            buffers.append((pointer, array.copy()))
            values.append(pointer)
        elif isinstance(argument, tuple):
            array = argument[1].copy()
            buffers.append((None, array))
            values.append(ctypes.c_void_p(array.ctypes.data))
        else:
            values.append(ctypes.create_string_buffer(argument.tobytes(), argument.nbytes))
    pointers = (ctypes.c_void_p * max(len(values), 1))(*(ctypes.addressof(v) for v in values))
    shape = (*launch["grid"], *launch["block"])
    start = time.perf_counter()
    status = hip.library.hipModuleLaunchKernel(
        function, *shape, launch["shared"], None, ctypes.byref(pointers), None
    )
    status = status or hip.library.hipDeviceSynchronize()
    seconds = time.perf_counter() - start
    for source, array in buffers:
        if source is not None and status == 0:
            hip.download(source, array)
    return [array for _, array in buffers], status, seconds


def _main() -> None:
    hip = Hip(sys.argv[1])
    outcomes = [_run(hip, launch) for launch in pickle.load(sys.stdin.buffer)]
    sys.stdout.buffer.write(pickle.dumps(tuple(map(list, zip(*outcomes, strict=True)))))


if __name__ == "__main__":
    _main()
