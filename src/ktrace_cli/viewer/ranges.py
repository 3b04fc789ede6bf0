"""The part of a file that a request asks for (RFC 9110, section 14)."""

from __future__ import annotations

import re

_RANGE = re.compile(r"bytes=\s*(\d*)\s*-\s*(\d*)\s*", re.ASCII)
_DIGITS = 18  # more than any file's size has


def parse_range(header: str | None, size: int) -> range | None:
    """Return which bytes of `size` a Range header asks for.

    None: it asks for all, or for what we do not understand, which is answered with all.
    An empty range: it asks for bytes that the file does not have.
    """
    match = _RANGE.fullmatch(header or "")
    if match is None or match[1] == match[2] == "" or len(max(match.groups(), key=len)) > _DIGITS:
        return None
    if match[1] == "":
        return range(max(size - int(match[2]), 0), size)
    first = int(match[1])
    last = int(match[2]) if match[2] else size - 1
    if match[2] and last < first:
        return None
    return range(min(first, size), min(last + 1, size))
