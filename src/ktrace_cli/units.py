"""Units as types. `timeline.clock` holds the only bridge between ticks and nanoseconds."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NewType

from ktrace_cli.errors import UsageError

Ticks = NewType("Ticks", int)
"""Core clock cycles (s_memtime)."""

Nanoseconds = NewType("Nanoseconds", int)
"""Nanoseconds of the recording's host clock."""


def format_duration(ns: float) -> str:
    """Write a duration with three significant digits and its unit: `1.23 us`."""
    for limit, scale, unit in ((1e3, 1.0, "ns"), (1e6, 1e3, "us"), (1e9, 1e6, "ms")):
        if abs(ns) < limit * 0.9995:
            return f"{_three_digits(ns / scale)} {unit}"
    return f"{_three_digits(ns / 1e9)} s"


def format_cycles(cycles: float) -> str:
    """Write a number of core clock cycles with three significant digits: `1.23 kcy`."""
    for limit, scale, unit in ((1e3, 1.0, "cy"), (1e6, 1e3, "kcy"), (1e9, 1e6, "Mcy")):
        if abs(cycles) < limit * 0.9995:
            return f"{_three_digits(cycles / scale)} {unit}"
    return f"{_three_digits(cycles / 1e9)} Gcy"


def format_time(time: float, unit: str) -> str:
    """Write a time of a timeline whose unit is `ns` or `cycles`."""
    return format_cycles(time) if unit == "cycles" else format_duration(time)


def format_bytes(size: int) -> str:
    """Write a size in binary units: `1.5 MiB`."""
    value = float(size)
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{int(value)} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"


def counted(number: int, one: str, many: str = "") -> str:
    """Write a number with its noun: `1 wave` or `4,032 waves`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _three_digits(value: float) -> str:
    if value == int(value) and abs(value) < 1000:
        return str(int(value))
    digits = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    return f"{value:.{digits}f}"


def parse_size(text: str) -> int:
    """Read a size such as `512M`, `2G`, `1.5GiB` or `65536`; K, M, G are binary.

    Raises:
        UsageError: it is none.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(?:([KMGT])(?:i?B)?|B)?\s*", text, re.IGNORECASE)
    if match is None:
        raise UsageError(
            f"cannot read the size {text!r}",
            why="wanted a number and K, M, G or T",
            fix="write for example `512M`",
        )
    power = " KMGT".index((match[2] or " ").upper())
    return int(float(match[1]) * 1024**power)


def parse_duration(option: str, text: str) -> int:
    """Read a time such as `1.5ms`, `20us`, `3 s` or `0`, in whole nanoseconds, rounded down.

    Args:
        option: what the user gave it to, for messages.
        text: the time.

    Raises:
        UsageError: it is none.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(ns|us|µs|ms|s)?\s*", text, re.ASCII)
    if match is None or not (match[2] or set(match[1]) <= {"0", "."}):
        raise UsageError(
            f"cannot read `{option} {text}`",
            why="wanted a number with the unit ns, us, ms or s",
            fix=f"write for example `{option} 1.5ms`",
        )
    unit = {"s": 10**9, "ms": 10**6, "us": 10**3, "µs": 10**3}.get(match[2] or "", 1)
    whole, _, fraction = match[1].partition(".")
    return int(whole or 0) * unit + int(fraction[:9].ljust(9, "0")) * unit // 10**9


def significant(value: float, digits: int) -> str:
    """Write a number rounded to `digits` digits, with commas and never with an exponent."""
    return format(Decimal(f"{value:.{digits}g}"), ",f")
