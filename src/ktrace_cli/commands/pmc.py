"""`ktrace pmc`: what hardware counters say of caches and memory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ktrace_cli import console
from ktrace_cli.commands.reporting import JsonOption, MarkdownOption, check_forms, write_result
from ktrace_cli.counters.counters import Request, analyse
from ktrace_cli.counters.document import to_document
from ktrace_cli.counters.report import write_report
from ktrace_cli.errors import UsageError

FilesArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILES",
        show_default=False,
        readable=False,  # that a file cannot be read is no usage error
        help="counter_collection.csv, results.json or results.db of rocprofv3, or folders of these.",
    ),
]


def pmc(
    files: FilesArgument = None,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Show what counters say of caches and memory, kernel by kernel."""
    check_forms(as_json=as_json, as_markdown=as_markdown)
    if not files:
        raise UsageError("nothing to read", fix="name files")
    result = analyse(Request(tuple(files)))
    write_result(
        write_report(result), to_document(result), as_json=as_json, as_markdown=as_markdown
    )
    for note in result.notes:
        console.say(note)
    for fault in result.faults:
        console.warn(fault)
