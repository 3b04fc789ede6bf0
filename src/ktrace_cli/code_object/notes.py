"""Finds the ELF notes of a file, each once, whichever of the two paddings its writer used.

The gABI pads names and descriptors of a 64-bit file to 8 bytes, nearly every tool to 4, and both
are found in sections that claim an alignment of 8. Zero padding tells them apart: a reading with
the wrong one finds other bytes there.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from ktrace_cli.code_object.elf import ET_REL, PT_NOTE, SHT_NOTE, ElfFile, Part

_HEAD = struct.Struct("<III")


@dataclass(frozen=True)
class Note:
    """One note."""

    owner: bytes
    type: int
    descriptor: memoryview
    offset: int
    """Of the note in the file."""
    descriptor_address: int
    """In memory; meaningless in a relocatable file."""


def read_notes(elf: ElfFile) -> tuple[list[Note], list[str]]:
    """Return the notes of all note sections and segments, in file order, and what is damaged."""
    parts = [part for part in elf.sections if part.type == SHT_NOTE]
    # A stripped file may have no sections, a relocatable one has no segments; most have both.
    if elf.type != ET_REL:
        parts += [part for part in elf.segments if part.type == PT_NOTE]
    note_by_offset: dict[int, Note] = {}
    problems: dict[str, None] = {}
    for part in parts:
        notes, problem = _read_part(elf.content(part), part)
        for note in notes:
            note_by_offset.setdefault(note.offset, note)
        if problem:
            problems[problem] = None
    return [note_by_offset[offset] for offset in sorted(note_by_offset)], list(problems)


def _read_part(content: memoryview, part: Part) -> tuple[list[Note], str]:
    declared = 8 if part.align == 8 else 4
    notes, problem = _parse(content, part, declared)
    if problem:
        others, other_problem = _parse(content, part, 12 - declared)
        if not other_problem:
            return others, ""
    return notes, problem


def _parse(content: memoryview, part: Part, align: int) -> tuple[list[Note], str]:
    """Read notes until the end or the first that cannot be one."""
    notes: list[Note] = []
    position = 0
    while len(content) - position >= _HEAD.size:
        name_size, size, note_type = _HEAD.unpack_from(content, position)
        if not (name_size or size or note_type) and not any(content[position:]):
            return notes, ""
        name_end = position + _HEAD.size + name_size
        begin = _aligned(name_end, align)
        end = begin + size
        where = f"the note at offset {part.offset + position}"
        if end > len(content):
            return notes, (
                f"{where} says that its name has {name_size} bytes and its content {size}; "
                f"{len(content) - position - _HEAD.size} bytes are left"
            )
        following = min(_aligned(end, align), len(content))
        if any(content[name_end:begin]) or any(content[end:following]):
            return notes, f"{where} is not padded with zeros"
        owner = bytes(content[position + _HEAD.size : name_end]).rstrip(b"\0")
        address = part.address + begin
        notes.append(Note(owner, note_type, content[begin:end], part.offset + position, address))
        position = following
    if any(content[position:]):
        return notes, f"{len(content) - position} bytes after the last note are no note"
    return notes, ""


def _aligned(position: int, align: int) -> int:
    return -(-position // align) * align
