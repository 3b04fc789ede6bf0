"""Clang offload bundles, compressed ones and host programs with a fat binary, from Python."""

import hashlib
import struct
import zlib
from collections.abc import Sequence

from support.code_object import SHF_ALLOC, Section, make_elf

HOST_ENTRY = ("host-x86_64-unknown-linux-gnu-", b"")
EM_X86_64 = 62


def hip_entry(target: str, image: bytes) -> tuple[str, bytes]:
    return f"hipv4-amdgcn-amd-amdhsa--{target}", image


def make_bundle(entries: Sequence[tuple[str, bytes]], align: int = 4096) -> bytes:
    """An uncompressed bundle; the entries are (triple, content)."""
    described = 32 + sum(24 + len(triple) for triple, _ in entries)
    position = described + -described % align
    head = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries))
    body = b""
    for triple, content in entries:
        head += struct.pack("<QQQ", position + len(body), len(content), len(triple))
        head += triple.encode()
        body += content + bytes(-len(content) % align)
    return head + bytes(position - len(head)) + body


def compress_bundle(content: bytes, *, version: int, method: int = 0, stream: bytes = b"") -> bytes:
    """A `CCOB`; zlib unless a stream is given."""
    stream = stream or zlib.compress(content)
    header_size = {1: 20, 2: 24, 3: 32}[version]
    sizes = {
        1: struct.pack("<I", len(content)),
        2: struct.pack("<II", header_size + len(stream), len(content)),
        3: struct.pack("<QQ", header_size + len(stream), len(content)),
    }[version]
    checksum = hashlib.md5(content, usedforsecurity=False).digest()[:8]
    return b"CCOB" + struct.pack("<HH", version, method) + sizes + checksum + stream


def make_program(fat_binary: bytes | None) -> bytes:
    """A host ELF file, with a .hip_fatbin section unless None."""
    text = Section(".text", b"\xc3" * 64, flags=SHF_ALLOC)
    fat = [Section(".hip_fatbin", fat_binary, flags=SHF_ALLOC, align=4096)] if fat_binary else []
    return make_elf([text, *fat], machine=EM_X86_64, os_abi=0, abi_version=0, flags=0)
