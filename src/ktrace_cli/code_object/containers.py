"""Finds the code objects in a file: bare, in offload bundles, compressed, in a host program."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from ktrace_cli.code_object.compression import MalformedBundleError, decompress_bundle
from ktrace_cli.code_object.elf import EM_AMDGPU, MalformedElfError, read_elf
from ktrace_cli.errors import CodeObjectError
from ktrace_cli.trace_file.file_kind import (
    BUNDLE_MAGIC,
    COMPRESSED_BUNDLE_MAGIC,
    ELF_MAGIC,
    HEAD_SIZE,
    FileKind,
    identify,
)
from ktrace_cli.trace_file.mapping import Bytes

_FAT_BINARY_SECTION: Final = ".hip_fatbin"
_WRAPPER_SECTION: Final = ".hipFatBinSegment"
_ARCHIVE_MAGIC: Final = b"HIPK"
_ENTRY: Final = struct.Struct("<QQQ")
_COUNT: Final = struct.Struct("<Q")
_ANY_MAGIC: Final = re.compile(
    b"|".join(re.escape(magic) for magic in (BUNDLE_MAGIC, COMPRESSED_BUNDLE_MAGIC))
)
_FIX_BY_KIND: Final = {
    FileKind.EMPTY: "build it again: its writer was interrupted, or the disk was full",
    FileKind.LFS_POINTER: "fetch the content with `git lfs pull`",
    FileKind.BITCODE: "give the linked code object; bitcode has no addresses yet",
    FileKind.ARCHIVE: "give a program or shared library that was linked with it",
    FileKind.GZIP: "decompress it with `gunzip`",
    FileKind.ZSTANDARD: "decompress it with `unzstd`",
    FileKind.ZIP: "unpack it, and give the library inside",
    FileKind.RECORDING: "`ktrace summary` and `ktrace decode` read recordings",
}
_DEFAULT_FIX: Final = (
    "give a code object (.co, .hsaco), a bundle of them, or a program or library that holds some"
)


@dataclass(frozen=True)
class Image:
    """One code object of a file."""

    origin: str
    """The file's name, and the entry in its bundle: `libfoo.so, bundle at offset 4096, gfx942`."""
    target: str
    """As the bundle names it, gfx942:sramecc+:xnack-; "" for a bare code object."""
    data: memoryview = field(repr=False)


@dataclass
class Contents:
    """The code objects of a file, and what in it could not be read."""

    images: list[Image] = field(default_factory=list)
    problems: list[CodeObjectError] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    """What was skipped because it is no machine code."""


def find_images(data: Bytes, name: str) -> Contents:
    """Find every code object in a file.

    Args:
        data: the whole file.
        name: what to call it in messages.

    Raises:
        CodeObjectError: it is no file that can hold code objects, or a host program without any.
    """
    view = memoryview(data)
    kind = identify(bytes(view[:HEAD_SIZE]))
    contents = Contents()
    if kind in (FileKind.BUNDLE, FileKind.COMPRESSED_BUNDLE):
        _read_bundles(view, name, contents, base=0)
    elif kind is FileKind.ELF:
        _read_elf_file(view, name, contents)
    else:
        raise CodeObjectError(
            f"cannot read {name}: it holds no code object",
            why="it is empty" if kind is FileKind.EMPTY else f"it is {kind.value}",
            fix=_FIX_BY_KIND.get(kind, _DEFAULT_FIX),
        )
    return contents


def _read_elf_file(view: memoryview, name: str, contents: Contents) -> None:
    try:
        elf = read_elf(view)
    except MalformedElfError as problem:
        raise CodeObjectError(
            f"cannot read {name}: it is no whole ELF file",
            why=str(problem),
            fix="build or copy it again",
        ) from problem
    if elf.machine == EM_AMDGPU:
        contents.images.append(Image(name, "", view))
        return
    sections = [s for s in elf.sections if s.name == _FAT_BINARY_SECTION and s.size]
    wrappers = elf.section(_WRAPPER_SECTION)
    if not sections and wrappers and bytes(elf.content(wrappers)[:4]) == _ARCHIVE_MAGIC:
        raise CodeObjectError(
            f"cannot read {name}: its GPU code is in kpack archives beside it",
            why="its .hipFatBinSegment begins with HIPK; ktrace does not read those archives",
            fix="give the code objects that were packed; `ktrace run` sees what HIP loads of them",
        )
    if not sections:
        cut = elf.problems[0] if elf.problems else ""
        raise CodeObjectError(
            f"cannot read {name}: it is a host program or library without GPU code",
            why=cut or f"it has no section {_FAT_BINARY_SECTION}, where HIP keeps code objects",
            fix="give the library that defines the kernels; a program may also load "
            "code objects from files of their own",
        )
    for section in sections:
        _read_bundles(elf.content(section), name, contents, base=section.offset)


def _read_bundles(view: memoryview, name: str, contents: Contents, *, base: int) -> None:
    """Read bundles that follow each other; `base` is the offset of `view` in the file."""
    position = 0
    was_read = True
    while (found := _next_bundle(view, position)) is not None:
        between = bytes(view[position:found]).lstrip(b"\0")
        if between and was_read:  # else they are the rest of a bundle that could not be read
            begin = base + found - len(between)
            what = "1 byte" if len(between) == 1 else f"{len(between)} bytes"
            verb = "is" if len(between) == 1 else "are"
            contents.notices.append(f"{name}: {what} at offset {begin} {verb} no bundle")
        place = f"bundle at offset {base + found}"
        was_read = True
        try:
            if view[found : found + 4] == COMPRESSED_BUNDLE_MAGIC:
                bundle = decompress_bundle(view[found:])
                position = found + bundle.end
                _read_entries(memoryview(bundle.content), (name, place), contents)
            else:
                position = found + _read_entries(view[found:], (name, place), contents)
        except MalformedBundleError as problem:
            contents.problems.append(
                CodeObjectError(
                    f"cannot read the {place} of {name}", why=problem.why, fix=problem.fix
                )
            )
            position = found + 4
            was_read = False


def _next_bundle(view: memoryview, position: int) -> int | None:
    """Return where the next bundle begins. HIP aligns them to pages, other tools less."""
    found = _ANY_MAGIC.search(view, position)
    return found.start() if found else None


def _read_entries(bundle: memoryview, label: tuple[str, str], contents: Contents) -> int:
    """Read the uncompressed bundle that `bundle` begins with; return its size."""
    name, place = label
    bundle_size = 0
    for target, begin, size, description_end in _entries(bundle):
        bundle_size = max(bundle_size, description_end, begin + size)
        data = bundle[begin : begin + size]
        if not size or target.startswith("host"):
            continue
        if bytes(data[: len(ELF_MAGIC)]) == ELF_MAGIC:
            contents.images.append(Image(f"{name}, {place}, {target}", target, data))
        else:
            kind = identify(bytes(data[:HEAD_SIZE])).value
            contents.notices.append(f"{name}, {place}: {target} is {kind}, no code object")
    return bundle_size


def _entries(bundle: memoryview) -> Iterator[tuple[str, int, int, int]]:
    """Yield target, offset and size of each entry, and where its description ends."""
    position = len(BUNDLE_MAGIC)
    if bundle[:position] != BUNDLE_MAGIC:
        found = bytes(bundle[:position]).hex(" ")
        raise MalformedBundleError(f"it begins with {found}, not with {BUNDLE_MAGIC.decode()}")
    if position + _COUNT.size > len(bundle):
        raise MalformedBundleError(f"it ends after {len(bundle)} bytes, inside its header")
    (count,) = _COUNT.unpack_from(bundle, position)
    position += _COUNT.size
    if count > (len(bundle) - position) // _ENTRY.size:
        raise MalformedBundleError(
            f"its header claims {count} entries (byte {position - _COUNT.size}); "
            f"{len(bundle) - position} bytes are left for them"
        )
    for number in range(count):
        if position + _ENTRY.size > len(bundle):
            raise MalformedBundleError(
                f"entry {number} is described at byte {position} of {len(bundle)}"
            )
        begin, size, length = _ENTRY.unpack_from(bundle, position)
        position += _ENTRY.size
        if position + length > len(bundle):
            raise MalformedBundleError(
                f"entry {number} has a name of {length} bytes at byte {position} of {len(bundle)}"
            )
        triple = bytes(bundle[position : position + length]).decode("utf-8", "backslashreplace")
        position += length
        if begin + size > len(bundle):
            raise MalformedBundleError(
                f"entry {number} ({triple}) has {size} bytes at byte {begin} of {len(bundle)}"
            )
        yield _target_of(triple), begin, size, position


def _target_of(triple: str) -> str:
    """Return gfx942:sramecc+ of hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+."""
    kind, _, rest = triple.partition("-")
    if kind == "host":
        return triple
    return rest.rpartition("--")[2] or triple
