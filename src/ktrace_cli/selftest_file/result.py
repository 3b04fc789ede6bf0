"""The result of a selftest as plain data: what was checked, on what machine, what a marker costs.

It knows no device and no file; selftest.schema.json, beside this file, describes its JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

SCHEMA_VERSION = 1
SCHEMA_KEY = "ktrace_selftest"
"""What tells a selftest's JSON from any other: it holds the version of the schema."""


class State(str, Enum):
    """How a check ended."""

    PASS = "pass"
    FAIL = "fail"
    SKIPPED = "skipped"


class Source(str, Enum):
    """Where a figure comes from."""

    COUNTED = "counted"
    """No clock had a part in it."""
    DEVICE = "device"
    """A clock of the device measured it: on the software device that is a model."""
    HOST = "host"
    """The host's clock measured it."""


class Situation(str, Enum):
    """What else the device does while a marker is executed."""

    LONE_WAVE = "lone_wave"
    """One wave, in which one marker follows the other."""
    SPACED = "spaced"
    """One wave that does other work for long between markers."""
    FULL_OCCUPANCY = "full_occupancy"
    PIPELINED_LOOP = "pipelined_loop"


@dataclass(frozen=True)
class Figure:
    """One number that a check found."""

    name: str
    value: float | str | None
    """None: it could not be told."""
    unit: str
    source: Source
    meaning: str = ""


@dataclass(frozen=True)
class Check:
    """One thing that was tried."""

    name: str
    state: State
    text: str
    """What was found, or why it was skipped or failed, in a sentence."""
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True)
class MarkerCost:
    """By how much one execution of a marker prolongs its wave."""

    marker: str
    """`mark`, `mark_payload`, `push_pop` (both together) or `range`."""
    situation: Situation
    cycles: float
    """Of the core clock."""
    ns: float


@dataclass(frozen=True)
class SelftestResult:
    """All that a selftest found."""

    version: str
    """Of ktrace."""
    date: str
    """ISO 8601, UTC."""
    is_quick: bool
    is_modelled: bool
    """Times of the device are those of the software device."""
    machine: Mapping[str, str | int | None]
    checks: tuple[Check, ...]
    costs: tuple[MarkerCost, ...] = field(default=())

    @property
    def target(self) -> str:
        """The device's target without its features: gfx942."""
        return str(self.machine.get("target") or "").partition(":")[0]

    @property
    def has_passed(self) -> bool:
        """Whether no check failed."""
        return all(check.state is not State.FAIL for check in self.checks)

    def cost_range(self, marker: str) -> tuple[float, float] | None:
        """Return the least and the largest cost of a marker in cycles; None: not measured."""
        cycles = [cost.cycles for cost in self.costs if cost.marker == marker]
        return (min(cycles), max(cycles)) if cycles else None

    def describe(self) -> str:
        """Say in a few words which selftest this is: `gfx942, modelled, 2026-11-30`."""
        times = "modelled" if self.is_modelled else "measured"
        return f"{self.target}, {times}, {self.date[:10]}"


def to_document(result: SelftestResult) -> dict[str, Any]:
    """Return what `ktrace selftest --json` prints; its keys are a promise."""
    return {
        SCHEMA_KEY: SCHEMA_VERSION,
        "ktrace": result.version,
        "date": result.date,
        "quick": result.is_quick,
        "passed": result.has_passed,
        "modelled_time": result.is_modelled,
        "machine": dict(result.machine),
        "checks": [_check(check, is_modelled=result.is_modelled) for check in result.checks],
        "costs": [
            {
                "marker": cost.marker,
                "situation": cost.situation.value,
                "cycles": round(cost.cycles, 3),
                "ns": round(cost.ns, 3),
            }
            for cost in result.costs
        ],
    }


def _check(check: Check, *, is_modelled: bool) -> dict[str, Any]:
    return {
        "name": check.name,
        "state": check.state.value,
        "text": check.text,
        "figures": [
            {
                "name": figure.name,
                "value": figure.value,
                "unit": figure.unit,
                "source": figure.source.value,
                "modelled": is_modelled and figure.source is Source.DEVICE,
                "meaning": figure.meaning,
            }
            for figure in check.figures
        ],
    }
