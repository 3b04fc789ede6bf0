"""Reads how many registers a kernel descriptor allocates: hardware goes by it, not by metadata.

LLVM allocates more than a kernel uses where something else, as its LDS, keeps waves away anyway,
and metadata that was written by hand may say anything.
"""

from __future__ import annotations

import struct
from typing import Final

from ktrace_cli.code_object.contents import Kernel
from ktrace_cli.code_object.elf import MalformedElfError, read_elf
from ktrace_cli.code_object.symbols import read_symbols

_SIZE: Final = 64
_RSRC1: Final = 48
_VGPR_MASK: Final = 0x3F
_GRANULE: Final = 8


def allocated_vgprs(image: bytes | memoryview, kernels: tuple[Kernel, ...]) -> dict[str, int]:
    """Return the VGPRs of both files that descriptors of gfx90a and later allocate, by symbol."""
    try:
        elf = read_elf(memoryview(image))
    except MalformedElfError:
        return {}
    wanted = {kernel.symbol for kernel in kernels}
    found: dict[str, int] = {}
    for symbol in read_symbols(elf):
        for part in (elf.sections or elf.segments) if symbol.name in wanted else ():
            begin = symbol.value - part.address
            if part.address and begin >= 0 and begin + _SIZE <= part.size:
                (word,) = struct.unpack_from("<I", elf.content(part), begin + _RSRC1)
                found.setdefault(symbol.name, ((word & _VGPR_MASK) + 1) * _GRANULE)
    return found
