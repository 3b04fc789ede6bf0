"""Protocol buffers, field by field: as much of the encoding as Perfetto's traces need."""

from __future__ import annotations

from collections.abc import Iterator

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
_SIGN = 1 << 63
_MASK = (1 << 64) - 1

Value = int | bytes


class MalformedError(Exception):
    """Bytes that are no message."""


def fields(data: bytes) -> Iterator[tuple[int, Value]]:
    """Yield number and value of each field: a number, or the bytes of a text or message.

    Raises:
        MalformedError: it ends within a field, or has one of an unknown type.
    """
    at, size = 0, len(data)
    while at < size:
        # Most tags and lengths are one byte long.
        if (tag := data[at]) < 0x80:
            at += 1
        else:
            tag, at = _varint(data, at)
        kind = tag & 7
        if kind == VARINT:
            if at < size and (value := data[at]) < 0x80:
                at += 1
            else:
                value, at = _varint(data, at)
            yield tag >> 3, value
            continue
        if kind == LENGTH:
            length, at = _varint(data, at)
        elif kind in (FIXED64, FIXED32):
            length = 8 if kind == FIXED64 else 4
        else:
            raise MalformedError(f"field {tag >> 3} at byte {at} has type {kind}")
        stop = at + length
        if stop > size:
            raise MalformedError(
                f"field {tag >> 3} at byte {at} wants {length} bytes of {size - at}"
            )
        part = data[at:stop]
        yield tag >> 3, part if kind == LENGTH else int.from_bytes(part, "little")
        at = stop


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while shift < 70:
        if at >= len(data):
            raise MalformedError(f"a number is cut off at byte {at}")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _MASK, at
        shift += 7
    raise MalformedError(f"a number at byte {at} has more than 64 bits")


def signed(value: int) -> int:
    """Return a 64-bit number as a signed one."""
    return value - (1 << 64) if value & _SIGN else value


def as_bytes(value: Value) -> bytes:
    """Return a field that must be a text or message.

    Raises:
        MalformedError: it is a number.
    """
    if isinstance(value, bytes):
        return value
    raise MalformedError("a field that should be a message is a number")


def as_number(value: Value) -> int:
    """Return a field that must be a number.

    Raises:
        MalformedError: it is none.
    """
    if isinstance(value, int):
        return value
    raise MalformedError("a field that should be a number is a message")
