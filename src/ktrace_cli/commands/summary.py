"""`ktrace summary`: how long the phases of each kernel take, and what is uneven about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated

import orjson
import typer

from ktrace_cli import console
from ktrace_cli.analysis.document import to_document
from ktrace_cli.analysis.grouping import By
from ktrace_cli.analysis.markdown import to_markdown
from ktrace_cli.analysis.phase_tables import Style
from ktrace_cli.analysis.phases import WAITS
from ktrace_cli.analysis.report import ASCII, UNICODE, Line
from ktrace_cli.analysis.results import Request, Summary
from ktrace_cli.analysis.summary import summarize
from ktrace_cli.analysis.summary_report import write_report
from ktrace_cli.analysis.tracing_cost import cite_selftest
from ktrace_cli.commands.recording import (
    RecordingArgument,
    StrictOption,
    check_losses,
    describe_devices,
    find_recording,
    load_timeline,
)
from ktrace_cli.commands.selection import (
    BlocksOption,
    DispatchOption,
    FromOption,
    KernelOption,
    LimitOption,
    SectionOption,
    ToOption,
    Unit,
    UnitOption,
    WavesOption,
    XcdOption,
    read_selection,
    select_sections,
    select_waves,
)
from ktrace_cli.commands.sources import NamesOption, ShapeOption, read_source_or_time
from ktrace_cli.commands.terminal import show_report
from ktrace_cli.errors import UsageError
from ktrace_cli.selftest_file.reading import find_selftest
from ktrace_cli.timeline.cycles import in_cycles
from ktrace_cli.timeline.progress import with_progress


class Format(str, Enum):
    """What a summary is written as."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


@dataclass(frozen=True)
class _Output:
    """How a summary is written."""

    format: Format
    devices: str
    top: int
    histograms: list[str]


ByOption = Annotated[
    By | None,
    typer.Option(
        "--by",
        show_default=False,
        help="Also show each kernel's phases for each XCD, shader engine, CU, role (KTRACE_GROUP),"
        " lane, workgroup or launch.",
    ),
]
HistogramOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PHASE",
        show_default=False,
        help="Also draw how long phases of this name (a shell pattern) take; may be repeated.",
    ),
]
TopOption = Annotated[
    int, typer.Option(metavar="N", min=0, help="Most rows of a table, kernels and marks; 0: all.")
]
WaitOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATTERN",
        show_default=False,
        help="Names of phases (shell patterns) in which a wave waits: lanes are not called"
        f" overlapped meanwhile; may be repeated. Without it: {', '.join(WAITS)}.",
    ),
]
SelftestOption = Annotated[
    Path | None,
    typer.Option(
        "--selftest",
        metavar="FILE",
        show_default=False,
        help="Estimate what tracing itself costs, by this result of `ktrace selftest -o` for the"
        " same target. Without it: KTRACE_SELFTEST.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Write JSON; its keys are a promise.")]
MarkdownOption = Annotated[
    bool, typer.Option("--markdown", help="Write GitHub's Markdown, for comments in CI.")
]


def summary(
    recording: RecordingArgument = None,
    by: ByOption = None,
    histogram: HistogramOption = None,
    top: TopOption = 20,
    wait: WaitOption = None,
    selftest: SelftestOption = None,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
    strict: StrictOption = False,
    unit: UnitOption = Unit.NS,
    kernel: KernelOption = None,
    dispatch: DispatchOption = None,
    section: SectionOption = None,
    blocks: BlocksOption = None,
    waves: WavesOption = None,
    xcd: XcdOption = None,
    begin: FromOption = None,
    end: ToOption = None,
    limit: LimitOption = None,
    names: NamesOption = None,
    shape: ShapeOption = None,
) -> None:
    """Show count and times of every phase of every kernel in RECORDING.

    Times are added over all waves, although these run at the same time.

    "% waves" is the share of the time of all waves; "self" leaves out what nests inside.
    """
    source, since = read_source_or_time(begin, names, shape)
    selection = read_selection(
        kernel=kernel,
        dispatch=dispatch,
        blocks=blocks,
        waves=waves,
        xcd=xcd,
        begin=since,
        end=end,
        limit=limit,
    )
    output_format = _choose_format(as_json=as_json, as_markdown=as_markdown)
    path = find_recording(recording)
    selection = select_sections(selection, path, section)
    timeline = load_timeline(path, source)
    shown = select_waves(timeline, selection)
    shown = in_cycles(shown) if unit is Unit.CYCLES else shown
    request = Request(by, tuple(wait or WAITS))
    with console.progress("adding up phases") as advance:
        result = summarize(with_progress(shown, advance), request)
    if named := find_selftest(selftest):
        result = cite_selftest(result, named, path)
    _write(result, _Output(output_format, describe_devices(timeline), top, histogram or []))
    check_losses(timeline, strict=strict)


def _choose_format(*, as_json: bool, as_markdown: bool) -> Format:
    if as_json and as_markdown:
        raise UsageError(
            "`--json` and `--markdown` exclude each other",
            why="a summary is written once",
            fix="call `ktrace summary` for each",
        )
    if as_json:
        return Format.JSON
    return Format.MARKDOWN if as_markdown else Format.TEXT


def _write(result: Summary, output: _Output) -> None:
    if output.format is Format.JSON:
        document = orjson.dumps(to_document(result), option=orjson.OPT_INDENT_2).decode()
        console.data(document + "\n")
        return
    is_plain = output.format is Format.TEXT and not console.can_write(UNICODE.characters)
    glyphs = ASCII if is_plain else UNICODE
    style = Style(result.unit, glyphs, output.top, has_self=not result.is_window)
    blocks = [Line((output.devices,)), *write_report(result, style, output.histograms)]
    if output.format is Format.MARKDOWN:
        console.data(to_markdown(blocks))
    else:
        show_report(blocks)
