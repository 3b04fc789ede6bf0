"""What `run` may be asked to trace, checked before the program starts.

The interposer reads the same texts (preload/interposer/config.cpp); docs/reference/environment.md
describes them. Checking here turns a typing error into a usage error instead of an untraced run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from ktrace_cli.errors import UsageError
from ktrace_cli.units import counted

SMALLEST_WORDS = 32
LARGEST_WORDS = 1 << 20
LARGEST_NUMBER = 31  # of a wave or an XCC: their masks have 32 bits
SMALLEST_MEMORY = 1 << 16


def check_output(output: Path | None) -> None:
    """Check the name of the recording.

    Raises:
        UsageError: it is standard output, or the name of what `decode` makes of a recording.
    """
    if output is None:
        return
    if str(output) == "-":
        raise UsageError(
            "cannot record to standard output",
            why="it is the program's own, and several processes may record",
            fix="name a file: `-o run.bin`",
        )
    if output.name.endswith((".pftrace", ".pftrace.gz")):
        raise UsageError(
            f"will not record to {output}",
            why="`-o` names the recording, which is no Perfetto trace yet",
            fix="`-f pftrace -o run.bin` leaves both run.bin and run.pftrace.gz",
        )


def check_words(text: str) -> None:
    """Check the words of a wave's region.

    Raises:
        UsageError: no power of two within the limits.
    """
    number = int(text) if text.isdecimal() else 0
    if number & (number - 1) or not SMALLEST_WORDS <= number <= LARGEST_WORDS:
        raise UsageError(
            f"cannot give waves {text!r} words",
            why=f"wanted a power of two from {SMALLEST_WORDS} to {LARGEST_WORDS}",
            fix="write for example `--words 256`",
        )


def check_memory(size: int) -> None:
    """Check the bytes of a device's trace buffers.

    Raises:
        UsageError: too few.
    """
    if size < SMALLEST_MEMORY:
        raise UsageError(
            f"cannot trace with {counted(size, 'byte')} of memory",
            why=f"wanted {SMALLEST_MEMORY} or more",
            fix="write for example `--memory 512M`",
        )


def check_numbers(option: str, text: str) -> None:
    """Check a list of waves or XCCs such as `0,4-7`.

    Raises:
        UsageError: it is none.
    """
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not first <= last <= LARGEST_NUMBER:
            raise UsageError(
                f"cannot read `{option} {text}`",
                why=f"{part!r} is no number from 0 to {LARGEST_NUMBER} and no range of them",
                fix=f"write for example `{option} 0,4-7`",
            )


def check_blocks(text: str) -> None:
    """Check the axes of a workgroup filter such as `0:64:8,0`.

    Raises:
        UsageError: an axis is no `*`, number or LO:HI[:STRIDE].
    """
    axes = text.split(",")
    wrong = [axis for axis in axes if not _is_axis(axis)]
    if wrong or len(axes) > 3:
        raise UsageError(
            f"cannot read `--blocks {text}`",
            why=f"{wrong[0]!r} is no `*`, number or LO:HI[:STRIDE] with a power of two as STRIDE"
            if wrong
            else f"it has {len(axes)} axes, workgroups have 3",
            fix="write for example `--blocks 0:64:8,0`",
        )


def check_patterns(patterns: Iterable[str]) -> None:
    """Check the regular expressions among patterns of kernel names.

    Raises:
        UsageError: one cannot be compiled, or spans lines.
    """
    for pattern in patterns:
        why = "it has more than one line" if "\n" in pattern else ""
        if len(pattern) > 1 and pattern.startswith("/") and pattern.endswith("/"):
            try:
                re.compile(pattern[1:-1])
            except re.error as error:
                why = f"it is no regular expression: {error}"
        if why or not pattern:
            raise UsageError(
                f"cannot look for kernels like {pattern!r}",
                why=why or "it is empty",
                fix="write for example `--kernel 'gemm*'` or `--kernel '/attn_(fwd|bwd)/'`",
            )


def _is_axis(axis: str) -> bool:
    if axis == "*" or axis.isdecimal():
        return True
    match = re.fullmatch(r"(\d*):(\d*)(?::(\d+))?", axis)
    if match is None:
        return False
    low, high = int(match[1] or 0), int(match[2]) if match[2] else 1 << 32
    stride = int(match[3] or 1)
    return low < high and stride > 0 and not stride & (stride - 1)
