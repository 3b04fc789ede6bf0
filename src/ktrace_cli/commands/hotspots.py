"""`ktrace hotspots`: which instructions, lines and phases of a kernel wait, and for what."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ktrace_cli import console
from ktrace_cli.att.document import to_document
from ktrace_cli.att.hotspots import Request, analyse
from ktrace_cli.att.report import Mode, Style, write_report
from ktrace_cli.commands.reporting import JsonOption, MarkdownOption, check_forms, write_result

FolderArgument = Annotated[
    Path,
    typer.Argument(
        metavar="DIR",
        show_default=False,
        help="A folder ui_output_agent_*_dispatch_* that `rocprofv3 --att` wrote, or one that holds"
        " it.",
    ),
]
ModeOption = Annotated[
    Mode, typer.Option("--mode", help="Show stalls by instruction, by source line, or by both.")
]
TopOption = Annotated[
    int, typer.Option("--topk", metavar="N", min=0, help="Most rows of a table; 0: all.")
]
DetailOption = Annotated[
    bool,
    typer.Option(
        "--detail",
        help="Also show the source around each line with its worst instructions, the code around"
        " each instruction, and what waits waited for.",
    ),
]
ContextOption = Annotated[
    int,
    typer.Option(
        "--context",
        metavar="N",
        min=0,
        max=1000,
        help="Lines of source, and instructions, before and after.",
    ),
]
KernelOption = Annotated[
    str | None,
    typer.Option(
        "--kernel",
        metavar="PATTERN",
        show_default=False,
        help="Which kernel of the bundle: `gemm*`, or `/regular expression/`. Without it the one"
        " with the most cycles.",
    ),
]
CodeObjectOption = Annotated[
    Path | None,
    typer.Option(
        "--code-object",
        metavar="FILE",
        show_default=False,
        help="The code object that was traced, for phases, target and resources. Without it"
        " *_code_object_id_N.out beside the bundle.",
    ),
]


def hotspots(
    folder: FolderArgument,
    mode: ModeOption = Mode.BOTH,
    topk: TopOption = 15,
    detail: DetailOption = False,
    context: ContextOption = 3,
    kernel: KernelOption = None,
    code_object: CodeObjectOption = None,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Show where a kernel waits, by its thread trace (ATT) in DIR: phases, lines, instructions."""
    check_forms(as_json=as_json, as_markdown=as_markdown)
    found = analyse(Request(folder, kernel, code_object, context))
    style = Style(mode, topk, detail, context)
    write_result(
        write_report(found, style), to_document(found), as_json=as_json, as_markdown=as_markdown
    )
    for note in found.notes:
        console.say(note)
    for sentence in found.fault_sentences:
        console.warn(sentence)
