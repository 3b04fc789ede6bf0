"""Options and output that commands with a text, a Markdown and a JSON form share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import orjson
import typer

from ktrace_cli import console
from ktrace_cli.analysis.markdown import to_markdown
from ktrace_cli.analysis.report import Block
from ktrace_cli.commands.terminal import show_report
from ktrace_cli.errors import UsageError

JsonOption = Annotated[bool, typer.Option("--json", help="Write JSON; its keys are a promise.")]
MarkdownOption = Annotated[
    bool, typer.Option("--markdown", help="Write GitHub's Markdown, for comments in CI.")
]


def check_forms(*, as_json: bool, as_markdown: bool) -> None:
    """Refuse two forms at once.

    Raises:
        UsageError: both were asked for.
    """
    if as_json and as_markdown:
        raise UsageError("`--json` and `--markdown` exclude each other", fix="give one of them")


def write_result(
    blocks: Sequence[Block], document: Mapping[str, Any], *, as_json: bool, as_markdown: bool
) -> None:
    """Write a result to stdout in the form that was asked for."""
    if as_json:
        console.data(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode() + "\n")
    elif as_markdown:
        console.data(to_markdown(blocks))
    else:
        show_report(blocks)
