"""Hosts of kernels that were built without a place for the trace argument: they do not pass it."""

import struct
from pathlib import Path

from support.bundles import hip_entry, make_bundle
from support.preloaded import SAXPY

NOTE = struct.pack("<III", 7, 40, 1) + b"KTRACE\0\0"  # the header of a KERNEL note


def bundle(folder: Path, code_object: Path = SAXPY) -> str:
    """Write a fat binary with the code object; the text that names it."""
    path = folder / "saxpy.hipfb"
    path.write_bytes(make_bundle([hip_entry("gfx942", code_object.read_bytes())]))
    return f"BUNDLE = Path({str(path)!r})\n"


def without_placeholder(folder: Path) -> str:
    """Write saxpy as built for hosts that do not pass the argument; the text that opens it."""
    image = bytearray(SAXPY.read_bytes())
    assert image.count(NOTE) == 1
    at = image.index(NOTE) + len(NOTE) + 4
    image[at : at + 4] = struct.pack("<I", 0)
    path = folder / "short.co"
    path.write_bytes(image)
    return f"SHORT = Path({str(path)!r})\n{bundle(folder, path)}"


# The arrays end where the kernel's own arguments do: behind them is an address nobody may read.
SHORT_HOST = (
    "from support.registered_host import *\n"
    "class Short:\n"
    "    def places(self):\n"
    "        own = GraphHost.places(self)[:4]\n"
    "        return (ctypes.c_void_p * 5)(*own, 8)\n"
    "    def extra(self):\n        return GraphHost.extra(self, 24)\n"
)
