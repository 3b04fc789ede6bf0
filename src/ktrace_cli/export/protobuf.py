"""Protocol buffer encoding of single messages."""

from __future__ import annotations

_VARINT, _LENGTH = 0, 2
_ONE_BYTE = tuple(bytes([value]) for value in range(0x80))


def varint(value: int) -> bytes:
    """Encode a number; a negative one as the 64 bits of its two's complement."""
    if 0 <= value < 0x80:
        return _ONE_BYTE[value]
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    """Encode an integer, enum or bool field."""
    return varint(field << 3 | _VARINT) + varint(value)


def text(field: int, value: str) -> bytes:
    """Encode a string field."""
    return message(field, value.encode(errors="replace"))


def message(field: int, *parts: bytes) -> bytes:
    """Encode a field that holds a message made of `parts`."""
    body = b"".join(parts)
    return varint(field << 3 | _LENGTH) + varint(len(body)) + body
