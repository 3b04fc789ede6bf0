"""What the user wants added to the times of a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ktrace_cli.errors import UsageError


def parse_shifts(options: Sequence[str], files: Sequence[Path]) -> dict[Path, int]:
    """Read `FILE=NS`.

    Raises:
        UsageError: NS is no whole number, or FILE is none of `files`.
    """
    shifts: dict[Path, int] = {}
    for option in options:
        name, _, amount = option.rpartition("=")
        try:
            ns = int(amount)
        except ValueError:
            name = ""
        if not name:
            raise UsageError(
                f"cannot read --shift {option}",
                why="wanted FILE=NS, with a whole number of nanoseconds",
                fix="write for example `--shift trace.json=-1500000`",
            )
        if Path(name) not in files:
            known = ", ".join(map(str, files))
            raise UsageError(f"--shift names {name}", why=f"the files to merge are {known}")
        shifts[Path(name)] = ns
    return shifts
