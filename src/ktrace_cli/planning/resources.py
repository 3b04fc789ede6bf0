"""How near kernels are to their next occupancy: by their code, of files or of recordings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ktrace_cli.analysis.code_times import find_launches
from ktrace_cli.code_object.files import read_file
from ktrace_cli.errors import KtraceError
from ktrace_cli.kernel_code.document import list_inspected
from ktrace_cli.kernel_code.inspected import Assumptions, inspect_resources
from ktrace_cli.planning.evidence import NextStep

_WRONG = (KeyError, TypeError, ValueError, AttributeError, OverflowError)


@dataclass(frozen=True)
class Code:
    """What the code object of a kernel tells."""

    kernel: str
    """Its name, mangled or not."""
    target: str
    """Processor; "" where its rules are not known."""
    step: NextStep | None


def recorded_steps(path: Path) -> dict[str, Code]:
    """Return the code of a recording's kernels, by their mangled names.

    Launches of one kernel may differ: its most frequent ones count, as in `ktrace inspect`.

    Raises:
        KtraceError: the recording cannot be read.
    """
    content = read_file(path)
    launches = find_launches(content.recording) if content.recording else {}
    return {
        kernel.kernel: kernel
        for found in content.found
        for kernel in read_codes(
            list_inspected(inspect_resources(found, Assumptions(None, None, launches)), {}),
            path,
            is_recorded=True,
        )
    }


def read_code_objects(path: Path) -> tuple[list[Code], list[str]]:
    """Return the kernels of a code object, bundle or program, and what is damaged in it.

    Raises:
        KtraceError: it cannot be read, or holds no code object.
    """
    content = read_file(path)
    if content.problems and not content.found:
        raise content.problems[0]
    codes = [
        code
        for found in content.found
        for code in read_codes(list_inspected(inspect_resources(found, Assumptions()), {}), path)
    ]
    faults = [f"{problem.what}: {problem.why}" for problem in content.problems]
    damage = [words for found in content.found for words in found.code_object.problems]
    return codes, [*content.notices, *faults, *(f"{path}: {words}" for words in damage)]


def read_codes(
    listing: Mapping[str, Any], path: Path, *, is_recorded: bool = False
) -> Iterator[Code]:
    """Read one of `code_objects` in what `ktrace inspect --json` wrote.

    Raises:
        KtraceError: something in it is not as it writes it.
    """
    try:
        for kernel in listing["kernels"]:
            found = kernel["occupancy"]
            name = str(kernel["mangled_name"] if is_recorded else kernel["name"])
            target = str(found["processor"]) if found else ""
            yield Code(name, target, _step(kernel, found))
    except _WRONG as problem:
        raise KtraceError(
            f"cannot read {path}",
            why=f"it is not made as `ktrace inspect --json` makes it: {problem!r}",
            fix="write it again with this ktrace, or name the code object",
        ) from problem


def _step(kernel: Mapping[str, Any], found: Mapping[str, Any] | None) -> NextStep | None:
    if not found or found["next_step"] is None or not found["waves_per_simd"]:
        return None
    launch, step = kernel["launch"], found["next_step"]
    needs = tuple((str(n["name"]), int(n["used"]), int(n["most"])) for n in step["needs"])
    build = "of the traced build" if kernel["annotated"] else "of its code object"
    size = int(launch["workgroup_size"])
    origin = f"{build}, for workgroups of {size:,} work-items ({launch['known_from']})"
    now = int(found["waves_per_simd"])
    return NextStep(int(step["waves_per_simd"]), now, needs, (), origin)
