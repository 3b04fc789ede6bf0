"""Tells by its first bytes what a file is, so that a message can say what was given instead."""

from __future__ import annotations

from enum import Enum

from ktrace_cli.trace_file.layout import FILE_MAGIC

HEAD_SIZE = 512
"""Bytes from the file's start that `identify` wants to see."""


class FileKind(Enum):
    """What a file is; the value says it in words."""

    EMPTY = "an empty file"
    RECORDING = "a ktrace recording"
    ELF = "an ELF file"
    BUNDLE = "a clang offload bundle"
    COMPRESSED_BUNDLE = "a compressed clang offload bundle"
    LFS_POINTER = "a Git LFS pointer: the file's real content was not downloaded"
    GZIP = "gzip-compressed"
    ZSTANDARD = "Zstandard-compressed"
    ZIP = "a zip archive"
    SQLITE = "an SQLite database"
    ARCHIVE = "a static library"
    BITCODE = "LLVM bitcode"
    JSON = "JSON"
    TEXT = "text"
    ZEROS = "zeros only, as a crashed or full file system leaves behind"
    UNKNOWN = "none of the kinds of file that ktrace knows"


ELF_MAGIC = b"\x7fELF"
BUNDLE_MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED_BUNDLE_MAGIC = b"CCOB"

_KIND_BY_MAGIC = {
    FILE_MAGIC: FileKind.RECORDING,
    ELF_MAGIC: FileKind.ELF,
    BUNDLE_MAGIC: FileKind.BUNDLE,
    COMPRESSED_BUNDLE_MAGIC: FileKind.COMPRESSED_BUNDLE,
    b"version https://git-lfs": FileKind.LFS_POINTER,
    b"\x1f\x8b": FileKind.GZIP,
    b"\x28\xb5\x2f\xfd": FileKind.ZSTANDARD,
    b"PK\x03\x04": FileKind.ZIP,
    b"SQLite format 3\0": FileKind.SQLITE,
    b"!<arch>\n": FileKind.ARCHIVE,
    b"BC\xc0\xde": FileKind.BITCODE,
}


def identify(head: bytes) -> FileKind:
    """Name the kind of a file.

    Args:
        head: its first HEAD_SIZE bytes, or all of it if it is shorter.
    """
    if not head:
        return FileKind.EMPTY
    for magic, kind in _KIND_BY_MAGIC.items():
        if head.startswith(magic):
            return kind
    if not head.strip(b"\0"):
        return FileKind.ZEROS
    if _is_text(head):
        return FileKind.JSON if head.lstrip()[:1] in (b"{", b"[") else FileKind.TEXT
    return FileKind.UNKNOWN


def _is_text(head: bytes) -> bool:
    # The last character may be cut; four bytes are the longest in UTF-8.
    for cut in range(4):
        try:
            text = head[: len(head) - cut].decode("utf-8")
        except UnicodeDecodeError:
            continue
        return all(char.isprintable() or char in "\t\r\n\f\x1b" for char in text)
    return False
