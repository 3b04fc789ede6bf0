"""The ELF notes of a code object, read from its bytes with no help from the package."""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile

KERNEL, EVENT, EDGE = 1, 2, 3


@dataclass(frozen=True)
class Note:
    type: int
    unit_key: int
    pc: int = 0  # virtual address
    event_id: int = 0
    kind: int = 0
    line: int = 0
    lane: str = ""
    name: str = ""
    file: str = ""
    names: tuple[str, str] = ("", "")  # of an edge
    flags: int = 0  # of a kernel


@dataclass(frozen=True)
class Symbol:
    name: str
    begin: int
    end: int


def read_notes(path: Path) -> list[Note]:
    """Read every note of `.note.ktrace`, in the order of the file."""
    with path.open("rb") as file:
        elf = ELFFile(file)
        sections = [s for s in elf.iter_sections() if s.name == ".note.ktrace"]
        assert all(s["sh_type"] == "SHT_NOTE" for s in sections)
        assert all(s["sh_flags"] & 2 for s in sections), "allocated"
        return [note for s in sections for note in _notes_of(s.data(), s["sh_addr"])]


def read_functions(path: Path) -> list[Symbol]:
    with path.open("rb") as file:
        elf = ELFFile(file)
        symbols: Any = elf.get_section_by_name(".symtab") or elf.get_section_by_name(".dynsym")
        return [
            Symbol(s.name, s["st_value"], s["st_value"] + s["st_size"])
            for s in symbols.iter_symbols()
            if s["st_info"]["type"] == "STT_FUNC"
        ]


def event_names(path: Path) -> dict[tuple[int, int], str]:
    """Map (low half of the unit key, event id) to the event's name; refuses a contradiction."""
    names: dict[tuple[int, int], str] = {}
    for note in read_notes(path):
        if note.type == EVENT:
            key = (note.unit_key & 0xFFFFFFFF, note.event_id)
            assert names.setdefault(key, note.name) == note.name
    return names


def _notes_of(data: bytes, address: int) -> list[Note]:
    notes = []
    offset = 0
    while offset < len(data):
        owner_size, size, note_type = struct.unpack_from("<III", data, offset)
        assert (owner_size, data[offset + 12 : offset + 20]) == (7, b"KTRACE\0\0")
        body = offset + 20
        notes.append(_note(note_type, data[body : body + size], address + body))
        offset = body + -(-size // 4) * 4
        assert not any(data[body + size : offset]), "padding"
    assert offset == len(data)
    return notes


def _note(note_type: int, body: bytes, address: int) -> Note:
    (unit_key,) = struct.unpack_from("<Q", body)
    if note_type == KERNEL:
        version, flags, unit_key, pc, index, offset, record_format, reserved = struct.unpack(
            "<IIQqIIII", body
        )
        assert (version, record_format, reserved) == (1, 1, 0)
        assert flags in (1, 3)
        assert (index, offset) == (0xFFFFFFFF, 0xFFFFFFFF)
        return Note(note_type, unit_key, address + 16 + pc, flags=flags)
    if note_type == EDGE:
        source, destination, rest = body[8:].split(b"\0")
        assert rest == b""
        return Note(note_type, unit_key, names=(source.decode(), destination.decode()))
    assert note_type == EVENT
    _, pc, ident, kind, flags, line, reserved, lane = struct.unpack_from("<QqIHHII16s", body)
    assert (flags, reserved) == (0, 0)
    name, file, rest = body[48:].split(b"\0")
    assert rest == b""
    return Note(
        note_type,
        unit_key,
        address + 8 + pc,
        ident,
        kind,
        line,
        lane.rstrip(b"\0").decode(),
        name.decode(),
        file.decode(),
    )
