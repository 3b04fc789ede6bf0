"""How stages that take long tell how far they are. They do not know who listens."""

from __future__ import annotations

from collections.abc import Callable

Advance = Callable[[float], None]
"""Is told each share of the work that was done; all of them add up to 1."""


def unwatched(share: float) -> None:
    """Take it that nobody waits."""


def part_of(advance: Advance, share: float) -> Advance:
    """Return what to tell of a piece of work that is `share` of the whole."""
    return lambda done: advance(done * share)
