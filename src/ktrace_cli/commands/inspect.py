"""`ktrace inspect`: which kernels of a file are annotated, with what, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from ktrace_cli import console
from ktrace_cli.code_object.contents import CodeObject, Event, Kernel, Resources
from ktrace_cli.code_object.files import FileCodeObjects, FoundCodeObject, read_file
from ktrace_cli.code_object.listing import kind_name, list_code_object
from ktrace_cli.code_object.names import display_name, shorten
from ktrace_cli.errors import CodeObjectError, ExitStatus, KtraceError
from ktrace_cli.units import format_bytes

_NAME_WIDTH = 100
_NOTHING_ANNOTATED = (
    "no kernel here is annotated: put KTRACE_PARAM and KTRACE_WAVE into a kernel and compile it "
    "with -DKTRACE_ENABLE"
)


def inspect(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILES", help="Code objects, bundles, programs, libraries or recordings."
        ),
    ],
    json: Annotated[bool, typer.Option("--json", help="Write JSON to stdout.")] = False,
) -> None:
    """Show the kernels in FILES: which are annotated, their markers and what they use."""
    contents, errors = _read(files)
    found = [one for content in contents for one in content.found]
    if json:
        listings = [list_code_object(one.code_object, one.origin) for one in found]
        text = orjson.dumps({"code_objects": listings}, option=orjson.OPT_INDENT_2)
        console.data(text.decode() + "\n")
    else:
        for one in found:
            console.table(_tree(one))
    for notice in (notice for content in contents for notice in content.notices):
        console.warn(notice)
    has_kernels = any(one.code_object.kernels for one in found)
    if has_kernels and not any(_may_be_annotated(one.code_object) for one in found):
        console.say(_NOTHING_ANNOTATED)
    errors += [problem for content in contents for problem in content.problems]
    errors += [error for one in found for error in _damage(one)]
    for error in errors:
        console.error(error)
    if errors:
        raise typer.Exit(ExitStatus.FAILED)


def _read(files: Sequence[Path]) -> tuple[list[FileCodeObjects], list[KtraceError]]:
    """Read all files; one that cannot be read hides nothing of the others."""
    contents: list[FileCodeObjects] = []
    errors: list[KtraceError] = []
    for path in files:
        content = _read_one(path)
        if isinstance(content, FileCodeObjects):
            contents.append(content)
        elif len(files) == 1:
            raise content
        else:
            errors.append(content)
    return contents, errors


def _read_one(path: Path) -> FileCodeObjects | KtraceError:
    try:
        return read_file(path)
    except KtraceError as error:
        return error


def _damage(found: FoundCodeObject) -> list[CodeObjectError]:
    what = f"{found.origin} is damaged; the rest of it was read"
    fix = "build or copy it again"
    return [CodeObjectError(what, why=why, fix=fix) for why in found.code_object.problems]


def _may_be_annotated(code_object: CodeObject) -> bool:
    # Before linking, notes tell of markers but not of the kernels that they are in.
    is_unlinked = not code_object.is_loadable and bool(code_object.events)
    return is_unlinked or bool(_annotated(code_object))


def _annotated(code_object: CodeObject) -> list[Kernel]:
    return [kernel for kernel in code_object.kernels if kernel.is_annotated]


def _tree(found: FoundCodeObject) -> Tree:
    code_object = found.code_object
    annotated = _annotated(code_object)
    tree = Tree(Text(found.origin, style="bold"))
    total = len(code_object.kernels)
    plural = "" if total == 1 else "s"
    tree.add(Text(f"{code_object.target}: {total} kernel{plural}, {len(annotated)} annotated"))
    for warning in code_object.warnings:
        tree.add(Text(f"note: {warning}"))
    for kernel in annotated:
        _add_annotated(tree, code_object, kernel)
    if code_object.events_in_functions and annotated:
        branch = tree.add(Text("in functions that kernels call"))
        branch.add(_event_table(code_object.events_in_functions))
    for edge in code_object.edges:
        tree.add(Text(f"edge: {edge.source} -> {edge.destination}"))
    others = [kernel for kernel in code_object.kernels if not kernel.is_annotated]
    if others:
        tree.add(Text("not annotated")).add(_kernel_table(others))
    return tree


def _add_annotated(tree: Tree, code_object: CodeObject, kernel: Kernel) -> None:
    name = shorten(display_name(kernel.name), _NAME_WIDTH)
    branch = tree.add(Text.assemble((name, "bold"), ": annotated"))
    annotation = kernel.annotation
    if annotation is not None and annotation.trace_argument is not None:
        argument = annotation.trace_argument
        total = sum(one.is_explicit for one in kernel.arguments)
        place = f"argument {argument.index + 1} of {total} (offset {argument.offset})"
        branch.add(Text(f"trace argument: {place}"))
    elif annotation is not None:
        branch.add(Text.assemble(("cannot be traced: ", "red"), annotation.refusal))
    branch.add(Text(_resources(kernel.resources)))
    events = code_object.events_in(kernel)
    if events:
        branch.add(_event_table(events))
    else:
        branch.add(Text("no markers: only the time of whole waves is recorded"))


def _resources(resources: Resources) -> str:
    spills = f"{resources.sgpr_spills} SGPR and {resources.vgpr_spills} VGPR spills"
    return (
        f"{resources.vgprs} VGPRs ({resources.agprs} AGPRs), {resources.sgprs} SGPRs, {spills}, "
        f"{format_bytes(resources.lds_bytes)} LDS, "
        f"{format_bytes(resources.scratch_bytes)} scratch per lane, "
        f"up to {resources.max_workgroup_size} work-items per workgroup"
    )


def _event_table(events: Sequence[Event]) -> Table:
    table = Table("event", "kind", "lane", "source", "places", box=None, pad_edge=False)
    for event in events:
        source = f"{event.file}:{event.line}"
        places = str(len(event.pcs))
        row = (event.name, kind_name(event), event.lane or "-", source, places)
        table.add_row(*(Text(cell) for cell in row))
    return table


def _kernel_table(kernels: Sequence[Kernel]) -> Table:
    table = Table("kernel", "VGPRs", "SGPRs", "LDS", "scratch", box=None, pad_edge=False)
    for kernel in kernels:
        resources = kernel.resources
        table.add_row(
            Text(shorten(display_name(kernel.name), _NAME_WIDTH)),
            str(resources.vgprs),
            str(resources.sgprs),
            format_bytes(resources.lds_bytes),
            format_bytes(resources.scratch_bytes),
        )
    return table
