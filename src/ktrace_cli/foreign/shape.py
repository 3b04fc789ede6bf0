"""What a buffer's bytes do not tell of its shape: `--shape KEY=VALUE,...` or a side-car file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ktrace_cli.errors import UsageError
from ktrace_cli.model import Columns
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.units import parse_size

_HERTZ = {"": 1, "hz": 1, "khz": 10**3, "mhz": 10**6, "ghz": 10**9}
_MOST = (1 << 31) - 1


@dataclass(frozen=True)
class Shape:
    """Numbers that were told; 0: not told."""

    grid: tuple[int, ...] = ()
    """Workgroups, by axis or in all."""
    warps: int = 0
    """Of a workgroup."""
    capacity: int = 0
    """Events that fit a warp or group."""
    groups: int = 0
    """Of a workgroup."""
    bytes: int = 0
    """Of the device's buffer, of which a file holds the begin."""
    clock: int = 0
    """Hertz of the clock that was recorded."""

    @property
    def blocks(self) -> int:
        """How many workgroups; 0: not told."""
        product = 1
        for axis in self.grid:
            product *= axis
        return product if self.grid else 0

    def over(self, other: Shape) -> Shape:
        """Return this one, with what it lacks from another."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name)}
        return replace(other, **own)


def parse_shape(text: str) -> Shape:
    """Read `blocks=132x2,warps=8,capacity=4096`.

    Raises:
        UsageError: a key is not known, or a value is none.
    """
    found: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        key, equals, value = (each.strip() for each in part.partition("="))
        if not equals or key not in _READERS:
            raise UsageError(
                f"cannot read `--shape {text}`",
                why=f"{part!r} is none of {', '.join(f'{key}=' for key in _READERS)}",
                fix="write for example `--shape blocks=132,warps=8,capacity=4096`",
            )
        name, reader = _READERS[key]
        found[name] = reader(text, key, value)
    return Shape(**found)


def shape_of(document: Mapping[str, Any], where: str) -> Shape:
    """Read the shape in a side-car file: keys as those of `--shape`, or as others call them.

    Raises:
        UsageError: a value is none.
    """
    parts = []
    for key, names in _ALIASES.items():
        value = next((document[name] for name in names if name in document), None)
        if isinstance(value, list):
            value = "x".join(map(str, value))
        if value is not None:
            parts.append(f"{key}={value}")
    try:
        return parse_shape(",".join(parts))
    except UsageError as problem:
        raise UsageError(f"cannot read the shape in {where}", why=problem.why) from problem


def axes_of(block: Ints, shape: Shape) -> Columns:
    """Return x, y, z of linear numbers of workgroups; all is x where the grid is not told."""
    x, y = (*shape.grid, 1)[:2] if len(shape.grid) > 1 else (0, 0)
    if not x:
        return np.column_stack([block, np.zeros_like(block), np.zeros_like(block)])
    return np.column_stack([block % x, block // x % y, block // x // y])


def _number(text: str, key: str, value: str) -> int:
    if re.fullmatch(r"[0-9]{1,10}", value) and 0 < int(value) <= _MOST:
        return int(value)
    raise _refuse(text, key, value, "a number from 1 on")


def _grid(text: str, key: str, value: str) -> tuple[int, ...]:
    axes = value.split("x")
    if len(axes) > 3:
        raise _refuse(text, key, value, "up to three numbers")
    return tuple(_number(text, key, axis) for axis in axes)


def _bytes(_text: str, _key: str, value: str) -> int:
    return parse_size(value)


def _hertz(text: str, key: str, value: str) -> int:
    match = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]{1,9})?)\s*([kmg]?hz)?", value.lower())
    if match is None or not float(match[1]):
        raise _refuse(text, key, value, "a rate such as 1.755GHz")
    return round(float(match[1]) * _HERTZ[match[2] or ""])


def _refuse(text: str, key: str, value: str, wanted: str) -> UsageError:
    return UsageError(f"cannot read `--shape {text}`", why=f"{key}= wants {wanted}, not {value!r}")


# What others call these keys in files that they write.
_ALIASES = {
    "blocks": ("blocks", "grid"),
    "warps": ("warps", "warps_per_block"),
    "capacity": ("capacity", "per_warp_cap", "max_events"),
    "groups": ("num_groups",),
    "bytes": ("bytes",),
    "clock": ("clock",),
}
_READERS: dict[str, tuple[str, Any]] = {
    "blocks": ("grid", _grid),
    "warps": ("warps", _number),
    "capacity": ("capacity", _number),
    "groups": ("groups", _number),
    "bytes": ("bytes", _bytes),
    "clock": ("clock", _hertz),
}
