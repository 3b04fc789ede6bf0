"""`ktrace att`: trace the instructions of a program's kernels, and show where they wait."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ktrace_cli import console
from ktrace_cli.att.document import to_document
from ktrace_cli.att.hotspots import Request, analyse
from ktrace_cli.att.report import Mode, Style, write_report
from ktrace_cli.commands.reporting import JsonOption, MarkdownOption, check_forms, write_result
from ktrace_cli.commands.rocprof_options import FolderOption, OneKernelOption
from ktrace_cli.errors import ExitStatus
from ktrace_cli.rocprof.folder import make_folder
from ktrace_cli.rocprof.jobs import ThreadTrace, parse_mask
from ktrace_cli.rocprof.thread_trace import Policy, trace_instructions
from ktrace_cli.rocprof.tool import find_rocprofv3
from ktrace_cli.units import parse_size

_WHAT = "What is traced"
Command = Annotated[
    list[str],
    typer.Argument(metavar="PROGRAM", help="What to run, and its arguments.", show_default=False),
]
IterationOption = Annotated[
    str | None,
    typer.Option(
        "--iteration", metavar="N", show_default=False, rich_help_panel=_WHAT,
        help="Which launches of the kernel, counted from 1: `3` or `3-5`. Without it the second,"
        " as the first warms up; the first where there is no other.",
    ),
]  # fmt: skip
CuOption = Annotated[
    int,
    typer.Option(
        "--cu", metavar="N", min=0, max=255, rich_help_panel=_WHAT,
        help="The compute unit of each shader engine.",
    ),
]  # fmt: skip
EnginesOption = Annotated[
    str, typer.Option("--shader-engines", metavar="MASK", rich_help_panel=_WHAT, help="Which.")
]
SimdsOption = Annotated[
    str, typer.Option("--simds", metavar="MASK", rich_help_panel=_WHAT, help="Which of the CU.")
]
GpusOption = Annotated[
    str,
    typer.Option(
        "--gpus", metavar="N,…", show_default=False, rich_help_panel=_WHAT,
        help="Indices of the GPUs to trace on. Without it: all.",
    ),
]  # fmt: skip
BufferOption = Annotated[
    str,
    typer.Option(
        "--buffer", metavar="SIZE", help="Room for the trace. Twice as much is tried when full."
    ),
]
MaxBufferOption = Annotated[
    str, typer.Option("--max-buffer", metavar="SIZE", help="The most that is tried.")
]
DecoderOption = Annotated[
    Path | None,
    typer.Option(
        "--decoder", metavar="DIR", show_default=False, exists=True, file_okay=False,
        help="The folder of librocprof-trace-decoder.so, where rocprofv3 does not find it.",
    ),
]  # fmt: skip
NoDebugOption = Annotated[
    bool,
    typer.Option("--no-debug-info", help="Do not ask FlyDSL and Triton for source lines."),
]
ModeOption = Annotated[
    Mode, typer.Option("--mode", help="Show stalls by instruction, by source line, or by both.")
]
TopOption = Annotated[
    int, typer.Option("--topk", metavar="N", min=0, help="Most rows of a table; 0: all.")
]


def att(
    command: Command,
    kernel: OneKernelOption = None,
    iteration: IterationOption = None,
    cu: CuOption = 1,
    shader_engines: EnginesOption = "0xf",
    simds: SimdsOption = "0xf",
    gpus: GpusOption = "",
    buffer: BufferOption = "96M",
    max_buffer: MaxBufferOption = "1536M",
    decoder: DecoderOption = None,
    no_debug_info: NoDebugOption = False,
    folder: FolderOption = None,
    mode: ModeOption = Mode.BOTH,
    topk: TopOption = 15,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Trace the instructions of PROGRAM's kernels with rocprofv3, and show where they wait."""
    check_forms(as_json=as_json, as_markdown=as_markdown)
    wanted = ThreadTrace(
        kernel=kernel or "",
        iteration=iteration or "2",
        compute_unit=cu,
        shader_engines=parse_mask("--shader-engines", shader_engines),
        simds=parse_mask("--simds", simds),
        gpus=gpus,
        decoder=decoder,
    )
    policy = Policy(
        parse_size(buffer), parse_size(max_buffer), not no_debug_info, iteration is None
    )
    policy.check()
    wanted.check()
    tool = find_rocprofv3()
    run = trace_instructions(tool, wanted, policy, command, make_folder(folder, "att"))
    found = [analyse(Request(bundle)) for bundle in run.bundles]
    blocks = [block for one in found for block in write_report(one, Style(mode, topk, False, 3))]
    document = {
        "schema_version": 1,
        "kind": "att",
        "status": run.status,
        "notes": list(run.notes),
        "losses": list(run.losses),
        "hotspots": [to_document(one) for one in found],
    }
    write_result(blocks, document, as_json=as_json, as_markdown=as_markdown)
    for note in (*run.notes, *(note for one in found for note in one.notes)):
        console.say(note)
    for line in (*run.losses, *(line for one in found for line in one.fault_sentences)):
        console.warn(line)
    for bundle in run.bundles:
        console.say(f"`ktrace hotspots {bundle}` shows it again")
    if run.status:
        raise typer.Exit(ExitStatus.FAILED)
