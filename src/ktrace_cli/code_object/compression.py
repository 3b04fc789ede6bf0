"""Decompresses `CCOB`, clang's compressed offload bundles, versions 1 to 3."""

from __future__ import annotations

import hashlib
import struct
import zlib
from dataclasses import dataclass
from typing import Final

_ZLIB: Final = 0
_ZSTANDARD: Final = 1
_PREFIX: Final = struct.Struct("<4sHH")
# After magic, version and method: sizes of the whole and of the content, then 8 bytes of MD5.
_SIZES_BY_VERSION: Final = {
    1: struct.Struct("<I"),
    2: struct.Struct("<II"),
    3: struct.Struct("<QQ"),
}
_HASH_SIZE: Final = 8
# Far above any bundle in use; what claims more is damaged.
_LARGEST: Final = 1 << 33
_BITE: Final = 4096


class MalformedBundleError(Exception):
    """A bundle cannot be read.

    Args:
        why: what is wrong with it, with the offset.
        fix: what to do about it.
    """

    def __init__(self, why: str, fix: str = "build or copy it again") -> None:
        super().__init__(why)
        self.why = why
        self.fix = fix


@dataclass(frozen=True)
class Decompressed:
    """The content of a compressed bundle."""

    content: bytes
    end: int
    """Size of the compressed bundle."""


def decompress_bundle(data: memoryview) -> Decompressed:
    """Decompress the bundle that `data` begins with.

    Raises:
        MalformedBundleError: it is cut, of an unknown version or method, or damaged.
    """
    if len(data) < _PREFIX.size:
        raise MalformedBundleError(f"it ends after {len(data)} bytes, inside its header")
    _, version, method = _PREFIX.unpack_from(data)
    sizes = _SIZES_BY_VERSION.get(version)
    if sizes is None:
        raise MalformedBundleError(
            f"its compressed format is version {version}; versions 1 to 3 are known",
            "read it with a newer ktrace, or build with `--no-offload-compress`",
        )
    begin = _PREFIX.size + sizes.size + _HASH_SIZE
    if begin > len(data):
        raise MalformedBundleError(f"it ends after {len(data)} bytes, inside its header")
    *total, size = sizes.unpack_from(data, _PREFIX.size)
    # Version 1 does not say where it ends; its compressed stream does.
    end = total[0] if total else len(data)
    if not begin <= end <= len(data):
        raise MalformedBundleError(
            f"its header says that it has {end} bytes; {len(data)} are there"
        )
    if size > _LARGEST:
        raise MalformedBundleError(f"its header claims {size} bytes of content")
    stream = data[begin:end]
    if method == _ZLIB:
        content, used = _inflate(stream, size)
    elif method == _ZSTANDARD:
        content, used = _decompress_zstandard(stream, size)
    else:
        raise MalformedBundleError(
            f"it is compressed by method {method}; 0 (zlib) and 1 (Zstandard) are known"
        )
    if len(content) != size:
        raise MalformedBundleError(f"it holds {len(content)} bytes; its header says {size}")
    # Zstandard's own checksum is optional, and clang leaves it out.
    checksum = hashlib.md5(content, usedforsecurity=False).digest()[:_HASH_SIZE]
    wanted = bytes(data[begin - _HASH_SIZE : begin])
    if checksum != wanted:
        raise MalformedBundleError(
            f"its content has checksum {checksum.hex()}; its header says {wanted.hex()}"
        )
    return Decompressed(content, end if total else begin + used)


def _inflate(stream: memoryview, size: int) -> tuple[bytes, int]:
    inflater = zlib.decompressobj()
    try:
        # One byte more than promised is enough to see that there is more.
        content = inflater.decompress(stream, size + 1)
    except zlib.error as problem:
        raise MalformedBundleError(f"its compressed content is damaged: {problem}") from problem
    return content, len(stream) - len(inflater.unused_data)


def _decompress_zstandard(stream: memoryview, size: int) -> tuple[bytes, int]:
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore] # noqa: PLC0415

        inflater = zstd.ZstdDecompressor()
        try:
            content: bytes = inflater.decompress(stream, size + 1)
        except zstd.ZstdError as problem:
            raise MalformedBundleError(f"its compressed content is damaged: {problem}") from problem
        return content, len(stream) - len(inflater.unused_data)
    except ImportError:
        return _decompress_with_package(stream, size)


def _decompress_with_package(stream: memoryview, size: int) -> tuple[bytes, int]:
    try:
        import zstandard  # type: ignore[import-not-found,unused-ignore] # noqa: PLC0415
    except ImportError:
        raise MalformedBundleError(
            "it is compressed with Zstandard, which this Python cannot decompress",
            "`pip install zstandard`, or use Python 3.14 or newer",
        ) from None
    inflater = zstandard.ZstdDecompressor().decompressobj()
    pieces: list[bytes] = []
    length = position = 0
    try:
        # In small bites: a frame's own idea of its size must not become an allocation.
        while not inflater.eof and position < len(stream) and length <= size:
            pieces.append(inflater.decompress(stream[position : position + _BITE]))
            length += len(pieces[-1])
            position += _BITE
    except zstandard.ZstdError as problem:
        raise MalformedBundleError(f"its compressed content is damaged: {problem}") from problem
    return b"".join(pieces), min(position, len(stream)) - len(inflater.unused_data)
