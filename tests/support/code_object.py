"""AMDGPU code objects made from Python, without a compiler.

    image = make_code_object(
        [KernelSource("_Z5saxpyPff", unit_key=0x11)],            # annotated: it has a unit key
        [EventSource(1, "load", kernel="_Z5saxpyPff"), EventSource(2, "add", Kind.PHASE)],
        [EdgeSource("load", "add")],
    )

An annotated kernel gets a buffer, a scalar and the trace argument unless it names its arguments.
Addresses are file offsets. `make_elf` underneath puts any notes and symbols into an ELF file.
"""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgpack
import numpy as np

from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import Kind, NoteType

UNIT_KEY = 0x11
TARGET = "gfx942:sramecc+:xnack-"
SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_NOTE = 1, 2, 3, 7
SHF_ALLOC, SHF_EXECINSTR = 2, 4
PT_LOAD, PT_NOTE = 1, 4
ET_REL, ET_DYN = 1, 3
EM_AMDGPU = 224
STT_OBJECT, STT_FUNC = 1, 2
NT_AMDGPU_METADATA = 32
# gfx942, sramecc on, xnack off
FLAGS = 0x4C | 0xC00 | 0x200


def pointer(name: str, offset: int, kind: str = "global_buffer") -> dict[str, Any]:
    return {".name": name, ".offset": offset, ".size": 8, ".value_kind": kind}


def scalar(name: str, offset: int, size: int = 4) -> dict[str, Any]:
    return {".name": name, ".offset": offset, ".size": size, ".value_kind": "by_value"}


def hidden(kind: str, offset: int, size: int) -> dict[str, Any]:
    return {".offset": offset, ".size": size, ".value_kind": f"hidden_{kind}"}


DEFAULT_ARGUMENTS = (
    pointer("x", 0),
    scalar("a", 8),
    scalar("ktrace_sink", 16, 8),
    hidden("block_count_x", 24, 4),
)


@dataclass(frozen=True)
class KernelSource:
    name: str
    unit_key: int | None = None  # annotated if given
    symbol: str = ""  # of its descriptor; name.kd by default
    arguments: Sequence[dict[str, Any]] | None = DEFAULT_ARGUMENTS
    code_bytes: int = 256
    arg_index: int = layout.LAST_ARGUMENT
    kernarg_offset: int = layout.LAST_ARGUMENT
    abi_version: int = layout.ABI_VERSION
    record_format: int = layout.RecordFormat.AMDGCN
    flags: int = 0
    metadata: dict[str, Any] = field(default_factory=dict)  # entries to overwrite
    without: Sequence[str] = ()  # entries to leave out
    has_symbol_size: bool = True  # assembly often lacks it
    metadata_note: int = 0  # which one lists it: each unit of a linked object may bring its own


@dataclass(frozen=True)
class EventSource:
    id: int
    name: str
    kind: int = Kind.PUSH
    lane: str = ""
    file: str = "saxpy.hip"
    line: int = 10
    unit_key: int = UNIT_KEY
    kernel: str | None = None  # whose code holds the marker; None: the first; "": a function's
    offset: int = 16  # of the marker in that code


@dataclass(frozen=True)
class EdgeSource:
    source: str
    destination: str
    unit_key: int = UNIT_KEY


@dataclass(frozen=True)
class Section:
    """`content` may be a function of the section's address; its size must not depend on it."""

    name: str
    content: bytes | Callable[[int], bytes]
    kind: int = SHT_PROGBITS
    flags: int = 0
    align: int = 1
    link: int = 0
    info: int = 0
    entry_size: int = 0

    def at(self, address: int) -> bytes:
        return self.content(address) if callable(self.content) else self.content


@dataclass(frozen=True)
class Symbol:
    name: str
    section: str
    offset: int  # in its section
    size: int
    kind: int = STT_FUNC


def note(owner: bytes, note_type: int, descriptor: bytes, align: int = 4) -> bytes:
    """One ELF note; `align` is that of its section."""
    head = struct.pack("<III", len(owner) + 1, len(descriptor), note_type) + owner + b"\0"
    head += bytes(-len(head) % align)
    return head + descriptor + bytes(-len(descriptor) % align)


def struct_bytes(dtype: np.dtype[Any], **fields: Any) -> bytes:
    """One struct's bytes; fields that are not named are 0."""
    record = np.zeros((), dtype)
    for name, value in fields.items():
        record[name] = value
    return record.tobytes()


def make_code_object(
    kernels: Sequence[KernelSource],
    events: Sequence[EventSource] = (),
    edges: Sequence[EdgeSource] = (),
    *,
    target: str = TARGET,
    note_align: int = 4,
    extra_notes: Sequence[Section] = (),
    left_behind: int = 0,
    **elf: Any,
) -> bytes:
    """Return a code object; `elf` are options of make_elf.

    `left_behind` KERNEL notes lie in code of no kernel, as linking leaves them for all but the
    first copy of a kernel.
    """
    code_offset: dict[str, int] = {}
    size = 0
    for kernel in kernels:
        code_offset[kernel.name] = size
        size += kernel.code_bytes
    code_offset[""] = size
    symbols = [
        Symbol(
            _code_symbol(k), ".text", code_offset[k.name], k.code_bytes if k.has_symbol_size else 0
        )
        for k in kernels
    ]
    symbols += [
        Symbol(_symbol(k), ".rodata", 64 * i, 64, STT_OBJECT) for i, k in enumerate(kernels)
    ]
    symbols.append(Symbol("helper", ".text", size, 256))
    metadata = b"".join(
        metadata_note(
            [kernel_metadata(k) for k in kernels if k.metadata_note == number], target, note_align
        )
        for number in sorted({0, *(k.metadata_note for k in kernels)})
    )
    sections = [Section(".note", metadata, SHT_NOTE, SHF_ALLOC, note_align)]
    marked = [k for k in kernels if k.unit_key is not None]
    marked += [KernelSource("", unit_key=UNIT_KEY)] * left_behind

    code_address = code_offset.copy()

    def ktrace_notes(address: int) -> bytes:
        return _ktrace_notes(address, marked, events, edges, code_address, note_align)

    if marked or events or edges:
        sections.append(Section(".note.ktrace", ktrace_notes, SHT_NOTE, SHF_ALLOC, note_align))
    sections += extra_notes

    def descriptors(address: int) -> bytes:
        entries = [code_address[k.name] - address - 64 * i for i, k in enumerate(kernels)]
        return b"".join(struct.pack("<16xq40x", entry) for entry in entries)

    sections.append(Section(".rodata", descriptors, flags=SHF_ALLOC, align=64))
    text = Section(".text", bytes(size + 256), flags=SHF_ALLOC | SHF_EXECINSTR, align=256)
    # Sizes do not depend on addresses, so the place of .text is known before the notes are final.
    begin = _headers_size(sections, with_segments=elf.get("with_segments", True))
    text_address = _place([*sections, text], begin)[-1]
    code_address.update({name: text_address + at for name, at in code_offset.items()})
    return make_elf([*sections, text], symbols, **elf)


def metadata_note(kernels: Sequence[dict[str, Any]], target: str = TARGET, align: int = 4) -> bytes:
    content: dict[str, Any] = {"amdhsa.version": [1, 2], "amdhsa.kernels": list(kernels)}
    if target:
        content["amdhsa.target"] = f"amdgcn-amd-amdhsa--{target}"
    return note(b"AMDGPU", NT_AMDGPU_METADATA, msgpack.packb(content), align)


def kernel_metadata(kernel: KernelSource) -> dict[str, Any]:
    ends = [a[".offset"] + a[".size"] for a in kernel.arguments or ()]
    entries: dict[str, Any] = {
        ".name": kernel.name,
        ".symbol": _symbol(kernel),
        ".args": list(kernel.arguments or ()),
        ".kernarg_segment_size": -(-max(ends, default=0) // 8) * 8,
        ".group_segment_fixed_size": 1024,
        ".private_segment_fixed_size": 0,
        ".wavefront_size": 64,
        ".sgpr_count": 24,
        ".vgpr_count": 32,
        ".agpr_count": 0,
        ".sgpr_spill_count": 0,
        ".vgpr_spill_count": 0,
        ".max_flat_workgroup_size": 256,
        **kernel.metadata,
    }
    if kernel.arguments is None:
        del entries[".args"]
    return {key: value for key, value in entries.items() if key not in kernel.without}


def make_elf(
    sections: Sequence[Section],
    symbols: Sequence[Symbol] = (),
    *,
    elf_type: int = ET_DYN,
    machine: int = EM_AMDGPU,
    flags: int = FLAGS,
    abi_version: int = 4,
    os_abi: int = 64,
    with_sections: bool = True,
    with_segments: bool = True,
) -> bytes:
    """Return an ELF64 file; without section headers or without segments if asked."""
    names = [s.name for s in sections]
    strings = b"\0" + b"".join(s.name.encode() + b"\0" for s in symbols)
    headers_size = _headers_size(sections, with_segments=with_segments)
    offsets = _place(sections, headers_size)
    symbol_table = [bytes(24)]
    name_offset = 1
    for symbol in symbols:
        index = names.index(symbol.section)
        # In a relocatable object a symbol's value is an offset in its section.
        value = symbol.offset + (0 if elf_type == ET_REL else offsets[index])
        symbol_table.append(
            struct.pack(
                "<IBBHQQ", name_offset, 0x10 | symbol.kind, 3, index + 1, value, symbol.size
            )
        )
        name_offset += len(symbol.name.encode()) + 1
    all_sections = [
        *sections,
        Section(".symtab", b"".join(symbol_table), SHT_SYMTAB, 0, 8, len(sections) + 2, 1, 24),
        Section(".strtab", strings, SHT_STRTAB),
    ]
    section_names = b"\0" + b"".join(s.name.encode() + b"\0" for s in all_sections)
    all_sections.append(Section(".shstrtab", section_names + b".shstrtab\0", SHT_STRTAB))
    offsets = _place(all_sections, headers_size)
    addresses = [0 if elf_type == ET_REL else offset for offset in offsets]
    file = bytearray(headers_size)
    for section, offset, address in zip(all_sections, offsets, addresses, strict=True):
        file += bytes(offset - len(file)) + section.at(address)
    file += bytes(-len(file) % 8)
    table_offset = len(file)
    if with_sections:
        file += _section_table(all_sections, offsets, addresses)
    if with_segments:
        end = offsets[len(sections) - 1] + len(sections[-1].at(0))
        table = struct.pack("<IIQQQQQQ", PT_LOAD, 5, 0, 0, 0, end, end, 4096)
        for section, offset in zip(sections, offsets, strict=False):
            if section.kind == SHT_NOTE:
                size = len(section.at(offset))
                fields = (PT_NOTE, 4, offset, offset, offset, size, size, section.align)
                table += struct.pack("<IIQQQQQQ", *fields)
        file[64 : 64 + len(table)] = table
    file[:64] = struct.pack(
        "<4s5B7xHHIQQQIHHHHHH",
        b"\x7fELF",
        *(2, 1, 1, os_abi, abi_version),
        *(elf_type, machine, 1, 0),
        64 if with_segments else 0,
        table_offset if with_sections else 0,
        flags,
        *(64, 56, (headers_size - 64) // 56, 64),
        len(all_sections) + 1 if with_sections else 0,
        len(all_sections) if with_sections else 0,
    )
    return bytes(file)


def _headers_size(sections: Sequence[Section], *, with_segments: bool) -> int:
    notes = sum(section.kind == SHT_NOTE for section in sections)
    return 64 + (56 * (notes + 1) if with_segments else 0)


def _place(sections: Sequence[Section], position: int) -> list[int]:
    offsets = []
    for section in sections:
        position += -position % max(section.align, 1)
        offsets.append(position)
        position += len(section.at(0))
    return offsets


def _section_table(
    sections: Sequence[Section], offsets: Sequence[int], addresses: Sequence[int]
) -> bytes:
    table = bytes(64)
    name = 1
    for section, offset, address in zip(sections, offsets, addresses, strict=True):
        table += struct.pack(
            "<IIQQQQIIQQ",
            name,
            section.kind,
            section.flags,
            address if section.flags & SHF_ALLOC else 0,
            offset,
            len(section.at(address)),
            section.link,
            section.info,
            section.align,
            section.entry_size,
        )
        name += len(section.name) + 1
    return table


def _symbol(kernel: KernelSource) -> str:
    return kernel.symbol or f"{kernel.name}.kd"


def _code_symbol(kernel: KernelSource) -> str:
    return _symbol(kernel).removesuffix(".kd")


def _ktrace_notes(
    address: int,
    kernels: Sequence[KernelSource],
    events: Sequence[EventSource],
    edges: Sequence[EdgeSource],
    code_address: dict[str, int],
    align: int,
) -> bytes:
    content = b""
    # A note's descriptor begins after 12 bytes of sizes and the padded owner.
    head = -(-(12 + len(layout.NOTE_OWNER) + 1) // align) * align

    def relative(dtype: np.dtype[Any], code: int) -> int:
        field_address = address + len(content) + head + int((dtype.fields or {})["pc"][1])
        return code - field_address

    for kernel in kernels:
        record = struct_bytes(
            layout.KERNEL_NOTE,
            abi_version=kernel.abi_version,
            flags=kernel.flags,
            unit_key=kernel.unit_key,
            pc=relative(layout.KERNEL_NOTE, code_address[kernel.name] + 8),
            arg_index=kernel.arg_index,
            kernarg_offset=kernel.kernarg_offset,
            record_format=kernel.record_format,
        )
        content += note(layout.NOTE_OWNER, NoteType.KERNEL, record, align)
    for event in events:
        name = next(iter(code_address)) if event.kernel is None else event.kernel
        record = struct_bytes(
            layout.EVENT_NOTE,
            unit_key=event.unit_key,
            pc=relative(layout.EVENT_NOTE, code_address[name] + event.offset),
            event_id=event.id,
            kind=event.kind,
            line=event.line,
            lane=event.lane.encode(),
        )
        text = event.name.encode() + b"\0" + event.file.encode() + b"\0"
        content += note(layout.NOTE_OWNER, NoteType.EVENT, record + text, align)
    for edge in edges:
        text = edge.source.encode() + b"\0" + edge.destination.encode() + b"\0"
        descriptor = edge.unit_key.to_bytes(8, "little") + text
        content += note(layout.NOTE_OWNER, NoteType.EDGE, descriptor, align)
    return content
