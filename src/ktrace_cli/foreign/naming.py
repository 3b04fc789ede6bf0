"""What a buffer itself does not tell: names of kernel, events and lanes, and edges between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Naming:
    """Names by number. An event of a named lane has a lane of its own, where nothing nests."""

    kernel: str
    """Of launches of which nothing tells more."""
    target: str = ""
    """gfx942; "" if it is not known."""
    names: Mapping[int, str] = field(default_factory=dict)
    lanes: Mapping[int, str] = field(default_factory=dict)
    """Of events, by their number."""
    kernels: tuple[tuple[str, frozenset[int]], ...] = ()
    """Kernels that may have been launched, each with the events that it may have. Launches are
    told apart by their events."""
    edges: tuple[tuple[str, str], ...] = ()
    has_joint_clock: bool = False
    """Whether occurrences of all waves of a workgroup count in order of time, for `edges`."""
