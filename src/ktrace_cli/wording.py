"""Small pieces of sentences: alternatives, and the name that was meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LIKENESS = 0.65  # of two names that differ by a slip of the finger: `pip` and `pid` have 0.67


def nearest(name: str, known: Iterable[str]) -> str:
    """Find the known name that is most like `name`; "" if none is: a poor guess helps nobody."""
    matches = difflib.get_close_matches(name, list(known), n=1, cutoff=_LIKENESS)
    return matches[0] if matches else ""


def listed(names: Iterable[str]) -> str:
    """Write alternatives: `a, b or c`."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last
