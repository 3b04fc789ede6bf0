"""What rules find in a kernel: evidence for something, and what might be gained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from ktrace_cli.analysis.results import KernelSummary
from ktrace_cli.planning.evidence import Stalls
from ktrace_cli.planning.resources import Code

_HIGH: Final = 0.10
_MED: Final = 0.03


class Priority(str, Enum):
    """How soon; the value is its name in JSON."""

    HIGH = "HIGH"
    MED = "MED"
    LOW = "LOW"

    @property
    def rank(self) -> int:
        """0 is the most urgent."""
        return list(Priority).index(self)


@dataclass(frozen=True)
class KernelTime:
    """How much of a program's time a kernel takes."""

    name: str
    calls: int
    share: float
    """Of all kernels' time, of 1."""
    origin: str


@dataclass(frozen=True)
class KernelEvidence:
    """All that was given of one kernel."""

    name: str
    stalls: Stalls | None = None
    summary: KernelSummary | None = None
    counters: Mapping[str, Any] | None = None
    """One of `kernels` in the JSON of `ktrace pmc`."""
    traced: Code | None = None
    """What a recording holds: with markers in it."""
    code: Code | None = None
    """A code object that was named."""
    time: KernelTime | None = None
    """What `ktrace discover` tells."""


@dataclass(frozen=True)
class Match:
    """A place where a rule holds."""

    where: str
    """Source line, phase or address; "" for the whole kernel."""
    evidence: str
    """The numbers that made the rule fire."""
    priority: Priority
    gain: str
    """A hypothesis: nobody has measured it. "" if there is none to be had."""
    weight: float
    """A part of the kernel's time, for the order; 0 where it is not known."""


@dataclass(frozen=True)
class Finding:
    """One thing to do about a kernel."""

    rule: str
    """The key of the rule."""
    title: str
    cause: str
    fix: str
    source: str
    match: Match


def priority_of(share: float) -> Priority:
    """Return how soon something is worth doing that takes this part of a kernel's time."""
    if share >= _HIGH:
        return Priority.HIGH
    return Priority.MED if share >= _MED else Priority.LOW


def gain_of(share: float) -> str:
    """Say what could be gained if these cycles went away altogether."""
    return f"at most {100 * share:.1f} % of the traced cycles, if all of this wait goes away"
