"""Reads an ELF64 file's headers, sections and segments, and trusts no number in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

EM_AMDGPU: Final = 224
ET_REL: Final = 1
SHT_NOTE: Final = 7
SHT_NOBITS: Final = 8
PT_NOTE: Final = 4

_SHF_EXECINSTR = 4
_PF_X = 1
_MAGIC = b"\x7fELF"
_CLASS_64 = 2
_LITTLE_ENDIAN = 1

_HEADER = np.dtype(
    [
        ("magic", "S4"),
        ("elf_class", "u1"),
        ("byte_order", "u1"),
        ("ident_version", "u1"),
        ("os_abi", "u1"),
        ("abi_version", "u1"),
        ("padding", "u1", 7),
        ("type", "<u2"),
        ("machine", "<u2"),
        ("version", "<u4"),
        ("entry", "<u8"),
        ("phoff", "<u8"),
        ("shoff", "<u8"),
        ("flags", "<u4"),
        ("ehsize", "<u2"),
        ("phentsize", "<u2"),
        ("phnum", "<u2"),
        ("shentsize", "<u2"),
        ("shnum", "<u2"),
        ("shstrndx", "<u2"),
    ]
)
_SECTION = np.dtype(
    [
        ("name", "<u4"),
        ("type", "<u4"),
        ("flags", "<u8"),
        ("address", "<u8"),
        ("offset", "<u8"),
        ("size", "<u8"),
        ("link", "<u4"),
        ("info", "<u4"),
        ("align", "<u8"),
        ("entry_size", "<u8"),
    ]
)
_SEGMENT = np.dtype(
    [
        ("type", "<u4"),
        ("flags", "<u4"),
        ("offset", "<u8"),
        ("address", "<u8"),
        ("physical", "<u8"),
        ("file_size", "<u8"),
        ("memory_size", "<u8"),
        ("align", "<u8"),
    ]
)
# What e_shnum and e_shstrndx hold when the number does not fit: the first section has it.
_SHN_XINDEX = 0xFFFF


class MalformedElfError(Exception):
    """No ELF64 file can be read from these bytes; the message says what is wrong."""


@dataclass(frozen=True)
class Part:
    """A section or segment: where it lies in the file and in memory."""

    name: str
    type: int
    offset: int
    size: int
    address: int
    align: int
    link: int = 0
    is_executable: bool = False


@dataclass(frozen=True)
class ElfFile:
    """The tables of an ELF file. Every part lies inside `data`; others became problems."""

    data: memoryview = field(repr=False)
    type: int
    machine: int
    flags: int
    abi_version: int
    sections: tuple[Part, ...]
    segments: tuple[Part, ...]
    problems: tuple[str, ...]

    def content(self, part: Part) -> memoryview:
        """Return the part's bytes in the file."""
        return self.data[part.offset : part.offset + part.size]

    def is_executable(self, address: int) -> bool:
        """Return whether there is code at an address."""
        parts = self.sections or self.segments
        return any(p.is_executable and p.address <= address < p.address + p.size for p in parts)

    def section(self, name: str) -> Part | None:
        """Return the first section with this name."""
        return next((section for section in self.sections if section.name == name), None)


def read_elf(data: memoryview) -> ElfFile:
    """Read an ELF file's tables.

    Raises:
        MalformedElfError: it is no little-endian ELF64 file, or shorter than its header.
    """
    if len(data) < _HEADER.itemsize:
        raise MalformedElfError(
            f"it ends at offset {len(data)}, inside the ELF header of {_HEADER.itemsize} bytes"
        )
    header = np.frombuffer(data, _HEADER, 1)[0]
    if header["magic"] != _MAGIC:
        found = bytes(data[:4]).hex(" ")
        raise MalformedElfError(f"it begins (offset 0) with {found}, not {_MAGIC.hex(' ')}")
    if header["elf_class"] != _CLASS_64 or header["byte_order"] != _LITTLE_ENDIAN:
        raise MalformedElfError(
            f"class {header['elf_class']} and byte order {header['byte_order']} (offset 4): "
            "GPU code objects are 64-bit (2), little-endian (1)"
        )
    problems: list[str] = []
    sections = _read_sections(data, header, problems)
    return ElfFile(
        data=data,
        type=int(header["type"]),
        machine=int(header["machine"]),
        flags=int(header["flags"]),
        abi_version=int(header["abi_version"]),
        sections=sections,
        segments=_read_segments(data, header, problems),
        problems=tuple(problems),
    )


def _table(
    data: memoryview, dtype: np.dtype[Any], what: str, place: tuple[int, int, int]
) -> tuple[NDArray[Any], list[str]]:
    """Return the entries of a header table that the file really has, and what is wrong with it.

    Args:
        data: the file.
        dtype: of an entry.
        what: the table holds.
        place: its offset, the number of its entries and the size of one.
    """
    offset, number, entry_size = place
    if number == 0 or offset == 0:
        return np.zeros(0, dtype), []
    if entry_size != dtype.itemsize:
        problem = f"{what} headers have {entry_size} bytes each, not {dtype.itemsize}"
        return np.zeros(0, dtype), [problem]
    fitting = max(0, min(number, (len(data) - offset) // entry_size))
    problems = []
    if fitting < number:
        problems.append(
            f"{number - fitting} of {number} {what} headers (offset {offset}) lie past the end "
            f"of the {len(data)} bytes"
        )
    if fitting == 0:
        return np.zeros(0, dtype), problems
    return np.frombuffer(data, dtype, fitting, offset), problems


def _read_sections(data: memoryview, header: np.void, problems: list[str]) -> tuple[Part, ...]:
    offset, entry_size = int(header["shoff"]), int(header["shentsize"])
    number, names_index = int(header["shnum"]), int(header["shstrndx"])
    if offset and (number == 0 or names_index == _SHN_XINDEX):
        first, found = _table(data, _SECTION, "section", (offset, 1, entry_size))
        if found or not len(first):
            problems += found
            return ()
        number = number or int(first[0]["size"])
        names_index = int(first[0]["link"]) if names_index == _SHN_XINDEX else names_index
    table, found = _table(data, _SECTION, "section", (offset, number, entry_size))
    problems += found
    names = _section_names(data, table, names_index)
    parts = []
    for entry in table:
        name = string_at(names, int(entry["name"]))
        begin = int(entry["offset"])
        # Such a section has a size in memory only.
        size = 0 if entry["type"] in (0, SHT_NOBITS) else int(entry["size"])
        if begin + size > len(data):
            problems.append(_outside("section", name, begin, size, len(data)))
            begin = size = 0
        kind, address, align = (int(entry[key]) for key in ("type", "address", "align"))
        has_code = bool(int(entry["flags"]) & _SHF_EXECINSTR)
        parts.append(Part(name, kind, begin, size, address, align, int(entry["link"]), has_code))
    return tuple(parts)


def _section_names(data: memoryview, table: NDArray[Any], index: int) -> bytes:
    if index >= len(table):
        return b""
    begin, size = int(table[index]["offset"]), int(table[index]["size"])
    return bytes(data[begin : begin + size])


def _read_segments(data: memoryview, header: np.void, problems: list[str]) -> tuple[Part, ...]:
    place = (int(header["phoff"]), int(header["phnum"]), int(header["phentsize"]))
    table, found = _table(data, _SEGMENT, "program", place)
    problems += found
    parts = []
    for entry in table:
        begin, size = int(entry["offset"]), int(entry["file_size"])
        if begin + size > len(data):
            problems.append(_outside("segment", "", begin, size, len(data)))
            continue
        kind, address, align = (int(entry[key]) for key in ("type", "address", "align"))
        has_code = bool(int(entry["flags"]) & _PF_X)
        parts.append(Part("", kind, begin, size, address, align, is_executable=has_code))
    return tuple(parts)


def _outside(what: str, name: str, begin: int, size: int, length: int) -> str:
    label = f"{what} {name}" if name else f"a {what}"
    return f"{label} at offset {begin} with {size} bytes ends past the {length} bytes of the file"


def string_at(strings: bytes, offset: int) -> str:
    """Return the NUL-terminated string at `offset` of a string table; "" outside of it."""
    if offset >= len(strings):
        return ""
    end = strings.find(b"\0", offset)
    return strings[offset : end if end >= 0 else None].decode("utf-8", "backslashreplace")
