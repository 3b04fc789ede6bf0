"""The words at the end of a run: what was recorded, or what was seen when nothing was."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from pathlib import Path

from ktrace_cli.launch.run import RunResult
from ktrace_cli.trace_file.layout import LossReason
from ktrace_cli.units import format_bytes

_LOSS_WORDS = {
    LossReason.NO_MEMORY: "the device had no memory for a trace buffer",
    LossReason.POOL_EXHAUSTED: "the trace buffers of `--memory` were all in use",
    LossReason.CAPTURE: "launched during stream capture",
    LossReason.ENTRY_POINT: "launched through a HIP call that ktrace does not trace",
    LossReason.ARGUMENT: "the trace argument is missing or no 8-byte argument",
    LossReason.LAUNCH_FAILED: "HIP refused the launch",
    LossReason.COPY_FAILED: "the trace buffer could not be copied back",
    LossReason.WRITE_FAILED: "the recording could not be written",
    LossReason.NOT_FINISHED: "not finished when the process ended",
    LossReason.RECORD_FORMAT: "annotated with another version of ktrace",
    LossReason.UNIT_KEY: (
        "two of its translation units share one unit key: compile them with different "
        "-DKTRACE_UNIT_NAME"
    ),
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
    lines += [
        f"process {process.pid} ({process.program}): {process.message}"
        for process in result.processes
        if process.message
    ]
    losses: Counter[LossReason] = Counter()
    for process in result.processes:
        losses.update(process.losses)
    lines += [_loss(reason, count) for reason, count in losses.items()]
    return lines + _partly_recorded(result)


def _loss(reason: LossReason, count: int) -> str:
    if reason is LossReason.CODE_OBJECT:
        return _count(count, "code object", "code objects") + " could not be read"
    launches = _count(count, "launch was", "launches were")
    return f"{launches} not traced: {_LOSS_WORDS[reason]}"


def _partly_recorded(result: RunResult) -> list[str]:
    lines = []
    if words := _sum(result, "dropped_words"):
        dropped = _count(
            words, "word did not fit its wave's region", "words did not fit their waves' regions"
        )
        lines.append(f"{dropped}; `--words` makes regions larger")
    if claims := _sum(result, "claim_launches"):
        launches = _count(claims, "launch", "launches")
        lines.append(
            f"{launches} had more waves than `--memory` holds: the first to start are recorded"
        )
    if unseen := _sum(result, "unseen_launches"):
        launches = _count(unseen, "launch was", "launches were")
        lines.append(f"{launches} of kernels whose code object ktrace did not see: not traced")
    return lines


def notes(result: RunResult) -> list[str]:
    """Say what ktrace did on its own account that is no loss, one line each."""
    grown = _sum(result, "grown_launches")
    if not grown:
        return []
    return [
        f"{_count(grown, 'launch', 'launches')} got larger regions than the rule gives, because "
        "an earlier launch needed them"
    ]


def _what_was_seen(result: RunResult) -> str:
    if not result.processes:
        return "no process called HIP through a library that ktrace can see"
    if any(process.is_refused for process in result.processes):
        return "ktrace's settings were not understood, so it did not look"
    objects = _sum(result, "code_objects")
    annotated = _sum(result, "annotated_code_objects")
    kernels = _count(_sum(result, "annotated_kernels"), "annotated kernel", "annotated kernels")
    launches = _count(_sum(result, "launches"), "launch", "launches")
    seen = (
        f"saw {_count(objects, 'code object', 'code objects')} ({annotated:,} annotated, with "
        f"{kernels}) and {launches} ({_sum(result, 'annotated_launches'):,} of annotated kernels)"
    )
    if unread := _sum(result, "unread_fat_binaries"):
        binaries = _count(unread, "registered binary was", "registered binaries were")
        seen += f"; {binaries} not looked into"
    if unselected := _sum(result, "unselected_launches"):
        return f"{seen}; `--kernel` left out {_count(unselected, 'launch', 'launches')}"
    if objects and not annotated and not unread and not _sum(result, "unseen_launches"):
        return f"{seen}; compile the kernel with ktrace.hpp and -DKTRACE_ENABLE"
    return seen


def _sum(result: RunResult, name: str) -> int:
    return sum(getattr(process, name) for process in result.processes)


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _shortest(path: Path) -> Path:
    relative = os.path.relpath(path)
    return Path(relative) if len(relative) < len(str(path)) else path
