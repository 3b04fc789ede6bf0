"""Options that choose what of a recording is read: kernels, dispatches, places, times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from ktrace_cli import console
from ktrace_cli.model import Timeline
from ktrace_cli.places import parse_blocks, parse_numbers
from ktrace_cli.timeline.sections import launches_of_sections
from ktrace_cli.timeline.select import Selection, select
from ktrace_cli.units import counted, parse_duration


class Unit(str, Enum):
    """What times are in."""

    NS = "ns"
    CYCLES = "cycles"


UnitOption = Annotated[
    Unit,
    typer.Option(
        help="Times in nanoseconds, or in cycles of each XCC's core clock; these clocks are not"
        " aligned with each other."
    ),
]
_PANEL = "What of the recording"
_LARGEST_NUMBER = (1 << 32) - 1
_LARGEST_XCD = (1 << 16) - 1

KernelOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATTERN",
        rich_help_panel=_PANEL,
        help="Only kernels whose name is like this: `gemm*`, or `/regular expression/`; may be"
        " repeated.",
    ),
]
DispatchOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LIST",
        rich_help_panel=_PANEL,
        help="Only these traced launches, from 1: `1-2,5`; may be repeated.",
    ),
]
SectionOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATTERN",
        rich_help_panel=_PANEL,
        help="Only what these tests of `pytest --ktrace` launched: a test's id or a shell pattern,"
        " `::call` behind it for one phase; may be repeated.",
    ),
]
BlocksOption = Annotated[
    str | None,
    typer.Option(
        metavar="X[,Y[,Z]]",
        rich_help_panel=_PANEL,
        help="Only these workgroups; an axis is `*`, a number, or LO:HI[:STRIDE].",
    ),
]
WavesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--waves",
        "--wave",
        metavar="LIST",
        rich_help_panel=_PANEL,
        help="Only these waves of each workgroup, from 0: `0,4-7`; may be repeated.",
    ),
]
XcdOption = Annotated[
    list[str] | None,
    typer.Option(
        "--xcd",
        "--xcc",
        metavar="LIST",
        rich_help_panel=_PANEL,
        help="Only what ran on these XCDs: `0,2-3`; may be repeated.",
    ),
]
FromOption = Annotated[
    list[str] | None,
    typer.Option(
        "--from",
        metavar="TIME|TOOL",
        rich_help_panel=_PANEL,
        help="Leave out what ended before: `1.5ms` after the recording's first wave began. Or"
        " whose buffer a file holds that is no recording: flydsl, quack or tileops.",
    ),
]
ToOption = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="TIME",
        rich_help_panel=_PANEL,
        help="Leave out what began after: `20us`; ns, us, ms and s are known.",
    ),
]
LimitOption = Annotated[
    int | None,
    typer.Option(
        metavar="WAVES",
        min=1,
        rich_help_panel=_PANEL,
        help="At most so many waves, the first ones.",
        show_default=False,
    ),
]


def read_selection(
    *,
    kernel: Sequence[str] | None = None,
    dispatch: Sequence[str] | None = None,
    blocks: str | None = None,
    waves: Sequence[str] | None = None,
    xcd: Sequence[str] | None = None,
    begin: str | None = None,
    end: str | None = None,
    limit: int | None = None,
) -> Selection:
    """Read the options of this module.

    Raises:
        UsageError: one of them cannot be read.
    """
    return Selection(
        kernels=kernel or (),
        dispatches=[
            n for text in dispatch or () for n in parse_numbers("--dispatch", text, _LARGEST_NUMBER)
        ],
        blocks=parse_blocks(blocks) if blocks is not None else (),
        waves=[n for text in waves or () for n in parse_numbers("--waves", text, _LARGEST_NUMBER)],
        xcds=[n for text in xcd or () for n in parse_numbers("--xcd", text, _LARGEST_XCD)],
        begin=parse_duration("--from", begin) if begin is not None else None,
        end=parse_duration("--to", end) if end is not None else None,
        limit=limit or 0,
    )


def select_sections(
    selection: Selection, recording: Path, patterns: Sequence[str] | None
) -> Selection:
    """Return a selection that also leaves out what no test of these patterns launched.

    Raises:
        KtraceError: the recording has no sections.
        UsageError: a pattern names none, or all of them together launched nothing.
    """
    if not patterns:
        return selection
    return replace(selection, launches=launches_of_sections(recording, patterns))


def select_waves(timeline: Timeline, selection: Selection) -> Timeline:
    """Return what is selected of a timeline, and say how much that is.

    Raises:
        UsageError: a pattern or number names nothing, or all of them together no wave.
    """
    chosen = select(timeline, selection)
    if not selection.is_everything:
        waves = counted(len(timeline.waves), "wave")
        of_all = "; the warnings are of the whole recording" if timeline.losses.counted() else ""
        console.say(f"selected {len(chosen.waves):,} of {waves}{of_all}")
    return chosen
