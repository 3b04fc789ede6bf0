"""The few calls of HIP that a selftest makes, through ctypes: no build, no version of a binding.

Functions are looked up by name in the loaded library, so that the interposer sees each call.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Size = tuple[int, int, int]

_SONAMES = ("libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so")
_HOST_TO_DEVICE, _DEVICE_TO_HOST = 1, 2
_CORE_KHZ, _COMPUTE_UNITS, _REFERENCE_KHZ, _XCC_COUNT = 5, 63, 10017, 10018  # hipDeviceAttribute_t
_PROPERTIES_SIZE = 8192  # more than any version's hipDeviceProp_t
_PROPERTIES = ("hipGetDevicePropertiesR0600", "hipGetDeviceProperties")
_NAME_SIZE = 256
_TARGET = re.compile(rb"gfx[0-9a-f]+(?::[a-z]+[+-])*")


class HipError(Exception):
    """HIP refused a call, or is not there."""


class Hip:
    """A device of the HIP library of this process."""

    def __init__(self, index: int) -> None:
        self._library = _load()
        self._library.hipGetErrorString.restype = ctypes.c_char_p
        count = ctypes.c_int()
        self.call("hipGetDeviceCount", ctypes.byref(count))
        if index >= count.value:
            raise HipError(f"there is no device {index}: HIP has {count.value}")
        self.call("hipSetDevice", index)
        self.index = index

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function of HIP.

        Raises:
            HipError: it returned an error, or HIP has no such function.
        """
        function = self.function(name)
        if code := function(*arguments):
            text = self._library.hipGetErrorString(code).decode(errors="replace")
            raise HipError(f"{name} returned {code}: {text}")

    def function(self, name: str) -> Callable[..., int]:
        """Return a function of HIP."""
        try:
            found: Callable[..., int] = getattr(self._library, name)
        except AttributeError:
            raise HipError(f"this HIP has no {name}") from None
        return found

    def facts(self) -> dict[str, str | int | None]:
        """Tell what HIP says of the device; a number that it does not tell is None."""
        properties = ctypes.create_string_buffer(_PROPERTIES_SIZE)
        # Structures of all versions begin with the name and hold the target somewhere behind it.
        known = hasattr(self._library, _PROPERTIES[0])
        self.call(_PROPERTIES[0] if known else _PROPERTIES[1], properties, self.index)
        found = _TARGET.search(properties.raw, _NAME_SIZE)
        if found is None:
            raise HipError(f"HIP does not say which target device {self.index} is")
        reference_khz = self._attribute(_REFERENCE_KHZ)
        return {
            "target": found[0].decode(),
            "name": properties.raw[:_NAME_SIZE].partition(b"\0")[0].decode(errors="replace"),
            "device_index": self.index,
            "compute_units": self._attribute(_COMPUTE_UNITS),
            "xcc_count": self._attribute(_XCC_COUNT),
            "core_khz": self._attribute(_CORE_KHZ),
            "realtime_hz": reference_khz and reference_khz * 1000,
            "hip_runtime_version": self._version("hipRuntimeGetVersion"),
            "hip_driver_version": self._version("hipDriverGetVersion"),
        }

    def _attribute(self, number: int) -> int | None:
        return self._number("hipDeviceGetAttribute", number, self.index)

    def _version(self, name: str) -> int | None:
        return self._number(name)

    def _number(self, name: str, *arguments: int) -> int | None:
        value = ctypes.c_int()
        try:
            self.call(name, ctypes.byref(value), *arguments)
        except HipError:
            return None
        return value.value if value.value > 0 else None

    def load(self, path: Path) -> Module:
        """Load a code object."""
        handle = ctypes.c_void_p()
        self.call("hipModuleLoad", ctypes.byref(handle), os.fsencode(path))
        return Module(self, handle)

    def allocate(self, size: int) -> ctypes.c_void_p:
        """Return device memory, which lives as long as the process."""
        pointer = ctypes.c_void_p()
        self.call("hipMalloc", ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer

    def upload(self, array: Array) -> ctypes.c_void_p:
        """Return device memory that holds a copy of `array`."""
        pointer = self.allocate(array.nbytes)
        self.call("hipMemcpy", pointer, _address(array), _size(array), _HOST_TO_DEVICE)
        return pointer

    def download(self, pointer: ctypes.c_void_p, like: Array) -> Array:
        """Return what device memory holds, shaped as `like`."""
        array = np.empty_like(like)
        self.call("hipMemcpy", _address(array), pointer, _size(array), _DEVICE_TO_HOST)
        return array

    def synchronize(self) -> None:
        """Wait for all that was launched, and for what became of it."""
        self.call("hipDeviceSynchronize")


class Module:
    """A loaded code object."""

    def __init__(self, hip: Hip, handle: ctypes.c_void_p) -> None:
        self._hip = hip
        self._handle = handle

    def kernel(self, symbol: str) -> Kernel:
        """Return the kernel of this name."""
        function = ctypes.c_void_p()
        arguments = (ctypes.byref(function), self._handle, symbol.encode())
        self._hip.call("hipModuleGetFunction", *arguments)
        return Kernel(self._hip, function)


class Kernel:
    """A kernel that can be launched."""

    def __init__(self, hip: Hip, function: ctypes.c_void_p) -> None:
        self._hip = hip
        self._function = function

    def launch(self, grid: int, block: int, *arguments: Any) -> None:
        """Launch `grid` workgroups of `block` work-items; arguments are ctypes values."""
        self._hip.call("hipModuleLaunchKernel", *self.prepare(grid, block, *arguments))

    def prepare(self, grid: int, block: int, *arguments: Any) -> tuple[Any, ...]:
        """Return what hipModuleLaunchKernel takes."""
        addresses = (ctypes.c_void_p * max(len(arguments), 1))(*map(ctypes.addressof, arguments))
        addresses.keep_alive = arguments  # type: ignore[attr-defined]  # as long as the addresses
        return (self._function, grid, 1, 1, block, 1, 1, 0, None, addresses, None)

    def workgroups_per_cu(self, block: int) -> int:
        """Return how many workgroups are on a CU at once."""
        count = ctypes.c_int()
        self._hip.call(
            "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor",
            *(ctypes.byref(count), self._function, block, ctypes.c_size_t(0)),
        )
        return max(count.value, 1)


def _load() -> ctypes.CDLL:
    found = next(filter(None, map(_open, _candidates())), None)
    if found is None:
        raise HipError(f"no HIP library: no {_SONAMES[0]} where the loader or ROCm has libraries")
    return found


def _open(name: str) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None


def _candidates() -> Iterator[str]:
    yield from _SONAMES
    folders: Sequence[Path] = sorted(Path("/opt").glob("rocm*/lib"), reverse=True)
    if named := os.environ.get("ROCM_PATH"):
        folders = [Path(named, "lib"), *folders]
    for folder in folders:
        yield str(folder / _SONAMES[-1])


def _address(array: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _size(array: Array) -> ctypes.c_size_t:
    return ctypes.c_size_t(array.nbytes)
