"""Finds the symbols of an ELF file: in its sections, or where the loader finds them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.code_object.elf import ElfFile, Part, string_at

_SHT_SYMTAB: Final = 2
_SHT_DYNSYM: Final = 11
_PT_LOAD: Final = 1
_PT_DYNAMIC: Final = 2
_DT_HASH: Final = 4
_DT_STRTAB: Final = 5
_DT_SYMTAB: Final = 6
_DT_STRSZ: Final = 10
_STT_FUNC: Final = 2

_SYMBOL = np.dtype(
    [
        ("name", "<u4"),
        ("info", "u1"),
        ("other", "u1"),
        ("section", "<u2"),
        ("value", "<u8"),
        ("size", "<u8"),
    ]
)
_DYNAMIC = np.dtype([("tag", "<i8"), ("value", "<u8")])
_HASH_HEAD = np.dtype([("buckets", "<u4"), ("chains", "<u4")])


@dataclass(frozen=True)
class Symbol:
    """A defined symbol."""

    name: str
    value: int
    """Address, or offset in its section in a relocatable file."""
    size: int
    is_function: bool
    limit: int
    """Address where the section or segment that holds it ends; its value lies below."""


def read_symbols(elf: ElfFile) -> tuple[Symbol, ...]:
    """Return the symbols that lie in a section or, without sections, in a segment; each once."""
    symbols: dict[tuple[str, int], Symbol] = {}
    tables = _section_tables(elf) if elf.sections else _dynamic_tables(elf)
    for entries, strings in tables:
        for name_offset, info, _, section, value, size in entries.tolist():
            name = string_at(strings, name_offset)
            limit = _limit(elf, section, value)
            if name and section and limit is not None:
                is_function = info & 0xF == _STT_FUNC
                symbols.setdefault((name, value), Symbol(name, value, size, is_function, limit))
    return tuple(symbols.values())


def _limit(elf: ElfFile, section: int, value: int) -> int | None:
    if not elf.sections:
        return next((s.address + s.size for s in _loaded(elf) if _holds(s, value)), None)
    if section >= len(elf.sections):
        return None
    holder = elf.sections[section]
    # A size of 0 is that of a section in memory only, or of one that lies.
    return holder.address + holder.size if _holds(holder, value) else None


def _holds(part: Part, address: int) -> bool:
    return part.address <= address < part.address + part.size


def _loaded(elf: ElfFile) -> list[Part]:
    return [segment for segment in elf.segments if segment.type == _PT_LOAD]


def _section_tables(elf: ElfFile) -> Iterator[tuple[NDArray[Any], bytes]]:
    for table in elf.sections:
        if table.type in (_SHT_SYMTAB, _SHT_DYNSYM) and table.link < len(elf.sections):
            content = elf.content(table)
            entries = np.frombuffer(content, _SYMBOL, table.size // _SYMBOL.itemsize)
            yield entries, bytes(elf.content(elf.sections[table.link]))


def _dynamic_tables(elf: ElfFile) -> Iterator[tuple[NDArray[Any], bytes]]:
    """Yield the dynamic symbols of a file that has lost its section headers."""
    for segment in elf.segments:
        if segment.type != _PT_DYNAMIC:
            continue
        content = np.frombuffer(elf.content(segment), _DYNAMIC, segment.size // _DYNAMIC.itemsize)
        value_by_tag = dict(reversed(content.tolist()))
        if {_DT_HASH, _DT_STRTAB, _DT_SYMTAB, _DT_STRSZ} <= value_by_tag.keys():
            strings = _at(elf, value_by_tag[_DT_STRTAB])[: value_by_tag[_DT_STRSZ]]
            # Only the hash table knows how many symbols there are.
            head = _at(elf, value_by_tag[_DT_HASH])[: _HASH_HEAD.itemsize]
            table = _at(elf, value_by_tag[_DT_SYMTAB])
            if len(head) == _HASH_HEAD.itemsize:
                number = int(np.frombuffer(head, _HASH_HEAD)[0]["chains"])
                number = min(number, len(table) // _SYMBOL.itemsize)
                yield np.frombuffer(table, _SYMBOL, number), bytes(strings)


def _at(elf: ElfFile, address: int) -> memoryview:
    """Return the file's bytes from a loaded address to the end of its segment."""
    for segment in _loaded(elf):
        if _holds(segment, address):
            return elf.content(segment)[address - segment.address :]
    return elf.data[:0]
