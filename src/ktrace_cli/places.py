"""Which workgroups, waves and XCCs are meant, as users write it: `0:64:8,0` and `0,4-7`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ktrace_cli.errors import UsageError

_LARGEST_BLOCK = 1 << 32


@dataclass(frozen=True)
class Axis:
    """Indexes of workgroups on one axis: low, low + stride, … below high."""

    low: int
    high: int
    stride: int

    @property
    def is_everything(self) -> bool:
        """Whether no index is left out."""
        return self.low == 0 and self.high == _LARGEST_BLOCK and self.stride == 1


def parse_blocks(text: str) -> tuple[Axis, ...]:
    """Read a workgroup filter such as `0:64:8,0`, at most an axis for each of x, y and z.

    Raises:
        UsageError: an axis is no `*`, number or LO:HI[:STRIDE].
    """
    parts = text.split(",")
    axes = [_axis(part) for part in parts]
    wrong = [part for part, axis in zip(parts, axes, strict=True) if axis is None]
    if wrong or len(axes) > 3:
        raise UsageError(
            f"cannot read `--blocks {text}`",
            why=f"{wrong[0]!r} is no `*`, number or LO:HI[:STRIDE] with a power of two as STRIDE"
            if wrong
            else f"it has {len(axes)} axes, workgroups have 3",
            fix="write for example `--blocks 0:64:8,0`",
        )
    return tuple(axis for axis in axes if axis is not None)


def parse_numbers(option: str, text: str, largest: int) -> tuple[range, ...]:
    """Read a list of numbers and ranges of them such as `0,4-7`.

    Args:
        option: what the user gave it to, for messages.
        text: the list.
        largest: the largest number that may be named.

    Raises:
        UsageError: it is no such list.
    """
    numbers = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part, re.ASCII)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not first <= last <= largest:
            raise UsageError(
                f"cannot read `{option} {text}`",
                why=f"{part!r} is no number from 0 to {largest} and no range of them",
                fix=f"write for example `{option} 0,4-7`",
            )
        numbers.append(range(first, last + 1))
    return tuple(numbers)


def _axis(text: str) -> Axis | None:
    if text == "*":
        return Axis(0, _LARGEST_BLOCK, 1)
    if re.fullmatch(r"\d+", text, re.ASCII):
        return Axis(int(text), int(text) + 1, 1)
    match = re.fullmatch(r"(\d*):(\d*)(?::(\d+))?", text, re.ASCII)
    if match is None:
        return None
    low, high = int(match[1] or 0), int(match[2]) if match[2] else _LARGEST_BLOCK
    stride = int(match[3] or 1)
    is_power_of_two = stride > 0 and not stride & (stride - 1)
    return Axis(low, high, stride) if low < high and is_power_of_two else None
