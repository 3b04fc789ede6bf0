"""Whether the dynamic loader will load the interposer into a program."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_ELF_MAGIC = b"\x7fELF"
_PT_INTERP = 3
_MOST_INTERPRETERS = 5  # scripts whose interpreter is a script; the kernel stops there, too


def why_not_preloadable(program: Path) -> str:
    """Say why the dynamic loader will not load the interposer into `program`; "" if it will.

    Of a script it is the interpreter that counts.
    """
    for _ in range(_MOST_INTERPRETERS):
        try:
            with program.open("rb") as file:
                head = file.read(64 * 1024)
        except OSError:
            return ""  # executable, but not readable: nobody knows
        interpreter = interpreter_of(head)
        if interpreter is None:
            return _why_not_elf(head) or _why_privileged(program)
        program = interpreter
    return ""


def interpreter_of(head: bytes) -> Path | None:
    """Return the interpreter that a script's first line names."""
    if not head.startswith(b"#!"):
        return None
    words = head[2:].split(b"\n", 1)[0].split()
    return Path(os.fsdecode(words[0])) if words else None


def elf_loader(head: bytes) -> str | None:
    """Return the dynamic loader that a 64-bit little-endian ELF asks for; None if it has none."""
    if head[4:6] != b"\x02\x01" or len(head) < 64:
        return ""
    offset = int.from_bytes(head[32:40], "little")
    size = int.from_bytes(head[54:56], "little")
    count = int.from_bytes(head[56:58], "little")
    for start in range(offset, offset + size * count, size or 1):
        if head[start : start + 4] == _PT_INTERP.to_bytes(4, "little"):
            at = int.from_bytes(head[start + 8 : start + 16], "little")
            length = int.from_bytes(head[start + 32 : start + 40], "little")
            return os.fsdecode(head[at : at + length].rstrip(b"\0"))
    return None


def _why_not_elf(head: bytes) -> str:
    if head[:4] != _ELF_MAGIC:
        return ""
    if head[4] == 1:
        return "it is a 32-bit program"
    loader = elf_loader(head)
    if loader is None:
        return "it is statically linked"
    return f"its C library is musl ({loader})" if "/ld-musl" in loader else ""


def _why_privileged(program: Path) -> str:
    """Say why the program will run with other rights than ours: ld.so then takes no libraries."""
    try:
        info = program.stat()
        if os.statvfs(program).f_flag & os.ST_NOSUID or _is_locked_down():
            return ""
        if info.st_mode & stat.S_ISUID and info.st_uid != os.getuid():
            return "it is setuid"
        if (
            info.st_mode & stat.S_ISGID
            and info.st_mode & stat.S_IXGRP
            and info.st_gid != os.getgid()
        ):
            return "it is setgid"
        if os.getuid() != 0 and os.getxattr(program, "security.capability"):
            return "it has file capabilities"
    except OSError:
        return ""
    return ""


def _is_locked_down() -> bool:
    """Whether no program that we start can gain rights (containers do that)."""
    return "\nNoNewPrivs:\t1\n" in Path("/proc/self/status").read_text(encoding="ascii")
