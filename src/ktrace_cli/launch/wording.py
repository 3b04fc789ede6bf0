"""Small pieces of sentences: alternatives, and the name that was meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """Find the known name that is most like `name`; "" if none is."""
    matches = difflib.get_close_matches(name, list(known), n=1)
    return matches[0] if matches else ""


def listed(names: Iterable[str]) -> str:
    """Write alternatives: `a, b or c`."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last
