"""What `run` may be asked to trace, checked before the program starts.

The interposer reads the same texts (preload/interposer/config.cpp); docs/reference/environment.md
describes them. Checking here turns a typing error into a usage error instead of an untraced run.
"""

from __future__ import annotations

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
