"""The words at the end of a run: what was recorded, or what was seen when nothing was."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from ktrace_cli.launch.run import RunResult
from ktrace_cli.trace_file.layout import LossReason
from ktrace_cli.units import format_bytes

_LOSS_WORDS = {
    LossReason.NO_MEMORY: "the device had no memory for their buffers",
    LossReason.POOL_EXHAUSTED: "the trace buffers of `--memory` were all in use",
    LossReason.CAPTURE: "they were launched during stream capture",
    LossReason.ENTRY_POINT: "they were launched through a HIP call that ktrace does not trace",
    LossReason.ARGUMENT: "the trace argument is missing or no 8-byte argument",
    LossReason.CODE_OBJECT: "code objects that could not be read",
    LossReason.LAUNCH_FAILED: "HIP refused them",
    LossReason.COPY_FAILED: "their buffers could not be copied back",
    LossReason.WRITE_FAILED: "the recording could not be written",
    LossReason.NOT_FINISHED: "they had not finished when the process ended",
    LossReason.RECORD_FORMAT: "their annotations are of another version of ktrace",
}


def recordings(result: RunResult) -> list[Path]:
    """List the files that hold at least one dispatch, as short as the working folder allows."""
    return [_shortest(p.output) for p in result.processes if p.output and p.dispatches]


def result_line(result: RunResult) -> str:
    """Say in one line what the run left behind and what to do next."""
    files = recordings(result)
    if not files:
        return f"nothing was recorded: {_what_was_seen(result)}"
    dispatches = sum(p.dispatches for p in result.processes)
    size = format_bytes(sum(p.size for p in result.processes))
    names = ", ".join(map(str, files[:4])) + (f" and {len(files) - 4} more" if files[4:] else "")
    return (
        f"recorded {_count(dispatches, 'dispatch', 'dispatches')} in {names} ({size}); "
        f"next: `ktrace decode {shlex.quote(str(files[0]))}`"
    )


def warnings(result: RunResult) -> list[str]:
    """Say what is missing from the recordings, one line each."""
    lines = []
    if result.not_preloaded and not result.processes:
        lines.append(f"the interposer was not loaded into the program: {result.not_preloaded}")
    losses: dict[LossReason, int] = {}
    for process in result.processes:
        for reason, count in process.losses.items():
            losses[reason] = losses.get(reason, 0) + count
        if process.message:
            lines.append(f"process {process.pid} ({process.program}): {process.message}")
    for reason, count in losses.items():
        if reason is LossReason.CODE_OBJECT:
            lines.append(f"{count:,} {_LOSS_WORDS[reason]}")
        else:
            launches = _count(count, "launch was", "launches were")
            lines.append(f"{launches} not traced: {_LOSS_WORDS[reason]}")
    return lines


def _what_was_seen(result: RunResult) -> str:
    if not result.processes:
        return "no process called HIP through a library that ktrace can see"
    objects = sum(p.code_objects for p in result.processes)
    annotated = sum(p.annotated_code_objects for p in result.processes)
    kernels = sum(p.annotated_kernels for p in result.processes)
    launches = sum(p.launches for p in result.processes)
    traced = sum(p.annotated_launches for p in result.processes)
    seen = (
        f"saw {_count(objects, 'code object', 'code objects')} ({annotated:,} annotated, with "
        f"{_count(kernels, 'annotated kernel', 'annotated kernels')}) and "
        f"{_count(launches, 'launch', 'launches')} ({traced:,} of annotated kernels)"
    )
    if any(p.output_failed for p in result.processes):
        return seen
    if not annotated:
        return f"{seen}; compile the kernel with ktrace.hpp and -DKTRACE_ENABLE"
    return seen


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _shortest(path: Path) -> Path:
    relative = os.path.relpath(path)
    return Path(relative) if len(relative) < len(str(path)) else path
