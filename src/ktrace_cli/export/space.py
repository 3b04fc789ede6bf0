"""Where a timeline goes in a trace of several: numbers of its own, a shift, a place in the tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Space:
    """What a writer may number, from where, and under what its tracks are shown.

    A trace of several timelines gives each of them the numbers that those before it left free:
    `replace(written.next_space, shift_ns=…, title=…)`. The default is a trace of its own.
    """

    first_uuid: int = 1
    """Tracks: this one is the process."""
    first_sequence: int = 75
    """Packet sequences."""
    first_flow: int = 1
    """Arrows."""
    shift_ns: int = 0
    """Added to every time."""
    title: str = ""
    """Shown as the process's name; empty: its command line."""
    pid: int | None = None
    """Shown as the process's id; None: its own. Those of several hosts may be the same."""
    process_uuid: int = 0
    """A track that stands for the process and is described already; 0: it gets one of its own."""
    shows_clocks: bool = True
    """Whether the host's clocks are told: at most one timeline of a trace may tell them."""
    parents: Mapping[int, int] = field(default_factory=dict)
    """By row of Timeline.dispatches, the track below which a dispatch is shown, with all its waves.
    Others are shown by kernel, below the process."""


ALONE = Space()
"""A trace of one timeline."""
