"""`ktrace inspect`: which kernels of a file are annotated, with what, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from ktrace_cli import console
from ktrace_cli.analysis.code_times import read_recorded
from ktrace_cli.analysis.inspect_report import report_code_object, report_comparison
from ktrace_cli.analysis.report import Block
from ktrace_cli.code_object.contents import CodeObject
from ktrace_cli.code_object.files import FoundCodeObject, read_file
from ktrace_cli.commands.reporting import JsonOption, MarkdownOption, check_forms, write_result
from ktrace_cli.errors import CodeObjectError, ExitStatus, KtraceError, UsageError
from ktrace_cli.kernel_code.comparison import Comparison, compare
from ktrace_cli.kernel_code.document import list_comparison, list_inspected
from ktrace_cli.kernel_code.inspected import (
    Assumptions,
    InspectedCodeObject,
    inspect_all,
    inspect_annotated,
)
from ktrace_cli.kernel_code.measured import Measured

_NOTHING_ANNOTATED = (
    "no kernel here is annotated: put KTRACE_PARAM and KTRACE_WAVE into a kernel and compile it "
    "with -DKTRACE_ENABLE"
)


class FailOn(str, Enum):
    """What makes a comparison fail."""

    OCCUPANCY = "occupancy"


@dataclass
class _File:
    """One file, all that it says, and what could not be read."""

    path: Path
    found: list[FoundCodeObject] = field(default_factory=list)
    inspected: list[InspectedCodeObject] = field(default_factory=list)
    measured: Measured = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    errors: list[KtraceError] = field(default_factory=list)
    refusal: KtraceError | None = None
    """Why nothing at all could be read; also in `errors`."""


def inspect(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILES",
            help="Code objects, bundles, programs, libraries or recordings. The kernels that two "
            "files have in common are compared.",
        ),
    ],
    json: JsonOption = False,
    markdown: MarkdownOption = False,
    workgroup_size: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=1024,
            show_default=False,
            help="Work-items of a workgroup, for the occupancy. Without it: as recorded, else the "
            "most that the kernel allows.",
        ),
    ] = None,
    dynamic_lds: Annotated[
        int | None,
        typer.Option(
            metavar="BYTES",
            min=0,
            show_default=False,
            help="LDS that launches add, of a workgroup.",
        ),
    ] = None,
    fail_on: Annotated[
        FailOn | None,
        typer.Option(
            "--fail-on",
            show_default=False,
            help="Of two files: exit with status 3 if fewer waves of a kernel fit in the second.",
        ),
    ] = None,
) -> None:
    """Show the kernels in FILES: which are annotated, markers, code, what they use.

    Of two files, show what differs.
    """
    check_forms(as_json=json, as_markdown=markdown)
    if fail_on and len(files) != 2:
        raise UsageError("`--fail-on` compares two files", fix="give the old and the new build")
    assumptions = Assumptions(workgroup_size, dynamic_lds)
    read = [_read(path, assumptions, is_pair=len(files) == 2) for path in files]
    if len(files) == 1 and read[0].refusal:
        raise read[0].refusal
    comparison = _compare(read)
    blocks = _blocks(read, comparison)
    listings = [list_inspected(one, file.measured) for file in read for one in file.inspected]
    document: dict[str, Any] = {"code_objects": listings}
    if comparison:
        document["comparison"] = list_comparison(comparison)
    write_result(blocks, document, as_json=json, as_markdown=markdown)
    _finish(read)
    if fail_on:
        _fail_on_occupancy(comparison, files)


def _read(path: Path, assumptions: Assumptions, *, is_pair: bool) -> _File:
    """Read a file and inspect what is in it; one that cannot be read hides nothing of others."""
    file = _File(path)
    try:
        content = read_file(path)
    except KtraceError as error:
        file.refusal = error
        file.errors.append(error)
        return file
    file.notices += content.notices
    if content.recording:
        recorded = read_recorded(content.recording)
        file.measured = recorded.measured
        file.notices += [f"{path}: {sentence}" for sentence in recorded.notices]
        assumptions = replace(assumptions, launch_by_kernel=recorded.launches)
    inspect_one = inspect_all if is_pair else inspect_annotated
    file.found = content.found
    file.inspected = [inspect_one(found, assumptions) for found in content.found]
    file.errors += content.problems
    file.errors += [error for found in content.found for error in _damage(found)]
    return file


def _compare(read: Sequence[_File]) -> Comparison | None:
    """Compare two files that have kernels in common."""
    if len(read) != 2:
        return None
    found = compare(read[0].inspected, read[1].inspected)
    return found if found.kernels else None


def _blocks(read: Sequence[_File], comparison: Comparison | None) -> list[Block]:
    if comparison:
        names = str(read[0].path), str(read[1].path)
        return list(report_comparison(comparison, names))
    return [
        block
        for file in read
        for one in file.inspected
        for block in report_code_object(one, file.measured)
    ]


def _finish(read: Sequence[_File]) -> None:
    """Tell what is missing or damaged, and fail if something could not be read."""
    for notice in (notice for file in read for notice in file.notices):
        console.warn(notice)
    for failure in (one.failure for file in read for one in file.inspected if one.failure):
        console.warn(f"{failure.what}: {failure.why}; try: {failure.fix}")
    found = [one.code_object for file in read for one in file.found]
    if any(one.kernels for one in found) and not any(map(_may_be_annotated, found)):
        console.say(_NOTHING_ANNOTATED)
    errors = [error for file in read for error in file.errors]
    for error in errors:
        console.error(error)
    if errors:
        raise typer.Exit(ExitStatus.FAILED)


def _fail_on_occupancy(comparison: Comparison | None, files: Sequence[Path]) -> None:
    if comparison is None or all(one.waves_per_simd is None for one in comparison.kernels):
        raise KtraceError(
            f"cannot compare the occupancy of {files[0]} and {files[1]}",
            why="they have no kernel in common for a target whose rules are known",
            fix="give two builds of the same kernels, for the same target",
            status=ExitStatus.NOT_COMPARABLE,
        )
    if any(one.has_lower_occupancy for one in comparison.kernels):
        raise typer.Exit(ExitStatus.REGRESSED)


def _damage(found: FoundCodeObject) -> list[CodeObjectError]:
    what = f"{found.origin} is damaged; the rest of it was read"
    fix = "build or copy it again"
    return [CodeObjectError(what, why=why, fix=fix) for why in found.code_object.problems]


def _may_be_annotated(code_object: CodeObject) -> bool:
    # Before linking, notes tell of markers but not of the kernels that they are in.
    is_unlinked = not code_object.is_loadable and bool(code_object.events)
    return is_unlinked or any(kernel.is_annotated for kernel in code_object.kernels)
