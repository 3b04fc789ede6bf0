"""`ktrace diff`: whether the phases of one side's runs are slower than those of another's."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated

import orjson
import typer

from ktrace_cli import console
from ktrace_cli.analysis.compare.compare import Request, compare
from ktrace_cli.analysis.compare.document import to_document
from ktrace_cli.analysis.compare.report import write_comparison
from ktrace_cli.analysis.compare.results import Comparison, Verdict
from ktrace_cli.analysis.compare.rules import parse_floor, parse_rules
from ktrace_cli.analysis.compare.sides import only_kernels
from ktrace_cli.analysis.markdown import to_markdown
from ktrace_cli.analysis.report import Heading
from ktrace_cli.commands.comparing import (
    AllowOption,
    FailOption,
    FloorOption,
    KernelOption,
    LossOption,
    UnitOption,
    allowed_differences,
    list_files,
    load_runs,
    unit_of,
)
from ktrace_cli.commands.sources import NamesOption, ShapeOption, ToolOption, read_source
from ktrace_cli.commands.terminal import show_report
from ktrace_cli.errors import ExitStatus, UsageError

_STATUS = {
    Verdict.PASSED: ExitStatus.DONE,
    Verdict.REGRESSED: ExitStatus.REGRESSED,
    Verdict.NOT_COMPARABLE: ExitStatus.NOT_COMPARABLE,
}
FilesArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="BASE NEW",
        help="Recordings, files of `ktrace baseline`, or folders of recordings.",
        show_default=False,
        readable=False,  # that a file cannot be read is no usage error
    ),
]
BaseOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--base",
        metavar="FILE",
        show_default=False,
        readable=False,
        help="A run of the base; may be repeated.",
    ),
]
NewOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--new",
        metavar="FILE",
        show_default=False,
        readable=False,
        help="A run of the new side; may be repeated.",
    ),
]
TopOption = Annotated[
    int, typer.Option(metavar="N", min=0, help="Most rows of a table, and kernels; 0: all.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Write JSON; its keys are a promise.")]
MarkdownOption = Annotated[
    bool, typer.Option("--markdown", help="Write GitHub's Markdown, for comments in CI.")
]


def diff(
    files: FilesArgument = None,
    base: BaseOption = None,
    new: NewOption = None,
    fail_on: FailOption = None,
    floor: FloorOption = None,
    allow_different: AllowOption = None,
    allow_loss: LossOption = False,
    kernel: KernelOption = None,
    unit: UnitOption = None,
    tool: ToolOption = None,
    names: NamesOption = None,
    shape: ShapeOption = None,
    top: TopOption = 20,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Tell whether phases of NEW are slower than those of BASE.

    Exits with 3 if one is slower than allowed, with 4 if the two cannot be compared.
    """
    if as_json and as_markdown:
        raise UsageError("`--json` and `--markdown` exclude each other", fix="give one of them")
    allowed = allowed_differences(allow_different or (), allow_loss=allow_loss)
    olds, news = (list_files(side) for side in _sides(files or (), base or (), new or ()))
    used = unit or unit_of([*olds, *news])
    request = Request(
        rules=parse_rules(fail_on or (), used.value),
        allowed=allowed,
        floor=None if floor is None else parse_floor(floor, used.value),
    )
    runs = load_runs([*olds, *news], used, read_source(tool, names, shape))
    runs = only_kernels(runs, kernel) if kernel else runs
    result = compare([*chain(*runs[: len(olds)])], [*chain(*runs[len(olds) :])], request)
    _write(result, top, as_json=as_json, as_markdown=as_markdown)
    raise typer.Exit(_STATUS[result.verdict])


def _sides(
    files: Sequence[Path], base: Sequence[Path], new: Sequence[Path]
) -> tuple[Sequence[Path], Sequence[Path]]:
    """Return the files of both sides."""
    given = list(files)
    if not base and given:
        base, given = given[:1], given[1:]
    if not new and given:
        new, given = given[:1], given[1:]
    if not base or not new or given:
        raise UsageError(
            "two sides are compared",
            why=f"{given[0]} is on neither" if given else "one is missing",
            fix="call `ktrace diff BASE NEW`; for several runs of a side name a folder, or repeat"
            " `--base FILE` and `--new FILE`",
        )
    return base, new


def _write(result: Comparison, top: int, *, as_json: bool, as_markdown: bool) -> None:
    verdict, blocks = write_comparison(result, top)
    if as_json:
        document = orjson.dumps(to_document(result), option=orjson.OPT_INDENT_2).decode()
        console.data(document + "\n")
    elif as_markdown:
        console.data(to_markdown([Heading(verdict.text), *blocks]))
    else:
        show_report([verdict, *blocks])
