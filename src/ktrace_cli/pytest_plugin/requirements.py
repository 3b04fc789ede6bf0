"""What `@pytest.mark.ktrace` demands, read from its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ktrace_cli.errors import UsageError
from ktrace_cli.pytest_plugin.names import MARKER
from ktrace_cli.units import parse_duration
from ktrace_cli.wording import listed, nearest

STATISTICS = ("max", "p99", "p95", "p90", "p50", "mean")
CYCLES = "cycles"
_NS_BY_UNIT = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, CYCLES: 1}
_LONGEST = 2**63
"""Nanoseconds or cycles: recordings hold no longer times."""
_EXAMPLE = f"write for example `@pytest.mark.{MARKER}(max={{'mainloop': '50us'}})`"
_ARGUMENTS = (*STATISTICS, "min_count", "kernel", "unit", "require")


@dataclass(frozen=True)
class Limit:
    """What one phase may take, or how often it must be there."""

    key: str
    """As it was written: `PHASE` or `KERNEL:PHASE`."""
    statistic: str
    """One of STATISTICS, or min_count."""
    value: float
    """Nanoseconds, cycles or a count."""


@dataclass(frozen=True)
class Requirement:
    """All that one marker demands."""

    limits: tuple[Limit, ...]
    kernel: str
    """A shell pattern for kernels of phases that name none; "" is any."""
    unit: str
    """What times are in: ns or cycles."""


def read_requirement(arguments: Sequence[Any], named: Mapping[str, Any]) -> Requirement:
    """Read the arguments of a marker.

    Raises:
        UsageError: one is not understood.
    """
    if arguments:
        raise _wrong(f"{arguments[0]!r}", "it takes named arguments only")
    for name in named:
        if name not in _ARGUMENTS:
            meant = nearest(name, _ARGUMENTS)
            why = f"there is no `{name}`; wanted {listed(_ARGUMENTS)}"
            raise _wrong(f"{name}=…", why, f"did you mean `{meant}`?" if meant else _EXAMPLE)
    unit, kernel = named.get("unit"), named.get("kernel", "")
    if unit is not None and unit not in _NS_BY_UNIT:
        raise _wrong(f"unit={unit!r}", f"wanted {listed(_NS_BY_UNIT)}")
    if not isinstance(kernel, str):
        raise _wrong(f"kernel={kernel!r}", "wanted a shell pattern for names of kernels")
    limits = [
        Limit(key, name, _value(name, key, value, unit))
        for name in (*STATISTICS, "min_count")
        for key, value in _phases(name, named.get(name, {})).items()
    ]
    return Requirement(tuple(limits), kernel, CYCLES if unit == CYCLES else "ns")


def _phases(name: str, given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping) or not all(isinstance(k, str) and k for k in given):
        raise _wrong(f"{name}={given!r}", "wanted a dictionary with names of phases as keys")
    return given


def _value(name: str, key: str, value: Any, unit: str | None) -> float:
    shown = f"{name}={{{key!r}: {value!r}}}"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if name == "min_count":
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise _wrong(shown, "wanted a number of occurrences, from 1")
        return value
    time = _written_time(name, shown, value, unit) if isinstance(value, str) else None
    if time is None:
        if not is_number or not 0 <= value < float("inf"):
            raise _wrong(shown, "wanted a time such as '50us'")
        if unit is None:
            raise _wrong(shown, "a number needs a unit: write '50us', or unit='us' beside it")
        time = value * _NS_BY_UNIT[unit]
    if time > _LONGEST:
        raise _wrong(shown, f"no time is longer than 2^63 {CYCLES if unit == CYCLES else 'ns'}")
    return float(time)


def _written_time(name: str, shown: str, text: str, unit: str | None) -> int:
    if unit == CYCLES:
        raise _wrong(shown, "with unit='cycles' limits are numbers")
    try:
        return parse_duration(name, text)
    except UsageError as problem:
        raise _wrong(shown, problem.why) from problem


def _wrong(shown: str, why: str, fix: str = _EXAMPLE) -> UsageError:
    return UsageError(f"cannot read `@pytest.mark.{MARKER}({shown})`", why=why, fix=fix)
