"""Counters of dispatches as plain data: each with the process and the pass that it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ktrace_cli.importers.host_trace import FileRepairs
from ktrace_cli.model.counts import count_of, counted, sentences


@dataclass(frozen=True)
class Pass:
    """One process in one run: dispatch ids and orders of launches have a meaning within it only."""

    path: Path
    pid: int
    """0 if the file does not tell."""
    guid: str = ""
    """Of a database that holds several processes."""


@dataclass(frozen=True)
class Dispatch:
    """What was counted while one launch ran."""

    origin: Pass
    number: int
    """Dispatch_Id, in the order of launches."""
    kernel: str
    target: str
    """gfx942; "" if the file does not tell."""
    grid: int
    """In work-items; 0 if not known."""
    workgroup: int
    values: Mapping[str, float]
    """By name of the counter; one that was not collected is not there."""


@dataclass(frozen=True)
class Faults(FileRepairs):
    """What of the files is missing or repaired. All counts; those above 0 are reported."""

    no_numbers: int = count_of(
        "value of a counter is no number and is left out",
        "values of counters are no numbers and are left out",
    )
    negative: int = count_of(
        "value of a counter is below 0 and is left out",
        "values of counters are below 0 and are left out",
    )
    added_up: int = count_of(
        "counter stands several times for a dispatch: added up, as instances of one counter",
        "counters stand several times for a dispatch: added up, as instances of one counter",
    )
    nameless: int = count_of(
        "value names no counter that the file tells of, and is left out",
        "values name no counter that the file tells of, and are left out",
    )
    unknown_kernels: int = count_of(
        "dispatch names no kernel that the file tells of: it is called by its number",
        "dispatches name no kernel that the file tells of: they are called by their numbers",
    )

    def sentences(self) -> list[str]:
        """Return one line of words for each count above 0."""
        return sentences(self)

    def counted(self) -> dict[str, int]:
        """Return the counts above 0."""
        return counted(self)


@dataclass
class Measured:
    """Everything that files say of counters."""

    dispatches: list[Dispatch] = field(default_factory=list)
    faults: dict[Path, Faults] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    """What else the user should know: sentences."""
