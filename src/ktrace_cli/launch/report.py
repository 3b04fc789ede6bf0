"""The words at the end of a run: what was recorded, or what was seen when nothing was."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ktrace_cli.launch.run import RunResult
from ktrace_cli.units import counted, format_bytes, format_duration

if TYPE_CHECKING:
    from ktrace_cli.launch.status import ProcessStatus

_MOST_NAMES = 4
_MERGED = "merged.pftrace.gz"


def recordings(result: RunResult) -> list[Path]:
    """List the files that hold at least one dispatch, as short as the working folder allows."""
    return [_shortest(p.output) for p in result.processes if p.output and p.dispatches]


def result_line(result: RunResult, *, names_next: bool = True) -> str:
    """Say in one line what the run left behind and, with `names_next`, what to do next."""
    files = recordings(result)
    if not files:
        line = f"nothing was recorded: {_what_was_seen(result)}"
        if result.not_replaced:
            line += f"; {_shortest(result.not_replaced)} is still the one of an earlier run"
        return line
    dispatches = counted(_sum(result, "recorded_dispatches"), "dispatch", "dispatches")
    size = format_bytes(_sum(result, "size"))
    line = f"recorded {dispatches} in {_names(files)} ({size})"
    if not names_next:
        return line
    return f"{line}; next: `ktrace {_next(result, files)}`"


def _next(result: RunResult, files: Sequence[Path]) -> str:
    """Return the command that shows most: what hangs, everything together, or the one file."""
    hanging = [p.output for p in result.processes if p.output and p.unfinished_dispatches]
    if hanging:
        return f"summary {shlex.quote(str(_shortest(hanging[0])))}"
    if len(files) > _MOST_NAMES:
        return f"merge FILE... -o {_MERGED}"
    names = shlex.join(map(str, files))
    return f"merge {names} -o {_MERGED}" if len(files) > 1 else f"decode {names}"


def warnings(result: RunResult) -> list[str]:
    """Say what is missing from the recordings, one line each."""
    lines = [
        f"process {process.pid} ({process.program}): {process.message}"
        for process in result.processes
        if process.message
    ]
    if any(process.losses for process in result.processes):
        from ktrace_cli.launch.losses import loss_lines  # noqa: PLC0415 - loads numpy

        lines += loss_lines(result.processes)
    return (
        lines
        + _not_copied_back(result)
        + _not_returned(result)
        + _not_seen(result)
        + _partly_recorded(result)
        + _still_running(result)
    )


def _not_copied_back(result: RunResult) -> list[str]:
    """Say what processes that did not close their recording still had to copy."""
    running = _running(result)
    return [
        f"process {process.pid} ({process.program}) ended before "
        f"{counted(missing, 'launch was', 'launches were')} copied back: not traced; a process "
        "that ends by `exit` waits for them, and `--hang` records kernels that do not end"
        for process in result.processes
        if not process.is_closed and process not in running and (missing := process.open_launches)
    ]


def _not_returned(result: RunResult) -> list[str]:
    """Say what is in no other count of a process that told all it knew."""
    missing = sum(process.open_launches for process in result.processes if process.is_closed)
    if not missing:
        return []
    launches = counted(missing, "launch was", "launches were")
    return [
        f"{launches} not traced: HIP did not return from the call: the process was "
        "ending, the thread was cancelled, or HIP threw an exception"
    ]


def _not_seen(result: RunResult) -> list[str]:
    """Say which launches the interposer knows that it does not know."""
    lines = []
    if unseen := _sum(result, "unseen_launches"):
        launches = counted(unseen, "launch was", "launches were")
        lines.append(f"{launches} of kernels whose code object ktrace did not see: not traced")
    if children := _sum(result, "untraced_children"):
        programs = counted(children, "program was", "programs were")
        lines.append(
            f"{programs} started with an environment without ktrace's variables: not traced; "
            "pass LD_PRELOAD and KTRACE_* on"
        )
    if copies := _sum(result, "unhooked_copies"):
        lines.append(
            f"the calls of {counted(copies, 'copy', 'copies')} of HIP were not seen: one process "
            "loaded more of them than ktrace can tell apart"
        )
    return lines


def _without_waves(result: RunResult) -> list[str]:
    """Say that filters of waves left nothing of a dispatch but its times on the host."""
    if not result.without_waves:
        return []
    options = {
        "--blocks": result.options.blocks,
        "--waves": result.options.waves,
        "--xcc": result.options.xcc,
    }
    given = " ".join(f"{name} {value}" for name, value in options.items() if value)
    if result.without_waves == _sum(result, "dispatches"):
        return [f"no wave was recorded: `{given}` chose none of any dispatch"]
    return [
        f"{counted(result.without_waves, 'dispatch has', 'dispatches have')} no wave: "
        f"`{given}` chose none of theirs"
    ]


def _partly_recorded(result: RunResult) -> list[str]:
    lines = _without_waves(result)
    if words := _sum(result, "dropped_words"):
        dropped = counted(
            words, "word did not fit its wave's region", "words did not fit their waves' regions"
        )
        lines.append(f"{dropped}; `--words` makes regions larger")
    if claims := _sum(result, "claim_launches"):
        launches = counted(claims, "launch", "launches")
        lines.append(
            f"{launches} had more waves than `--memory` holds: the first to start are recorded"
        )
    if saturated := _sum(result, "saturated_launches"):
        launches = counted(saturated, "launch", "launches")
        lines.append(
            f"{launches} kept the first words of a full region, not the last: compile the kernel "
            "with -DKTRACE_RING for `--full ring`"
        )
    if unfinished := _sum(result, "unfinished_dispatches"):
        dispatches = counted(unfinished, "dispatch was", "dispatches were")
        lines.append(
            f"{dispatches} recorded without an end; `ktrace summary` names the open phases"
        )
    return lines


def _still_running(result: RunResult) -> list[str]:
    """Say which processes outlived the program: what they do from now on is in no count."""
    return [
        f"process {process.pid} ({process.program}) is still running: what it records from now on "
        "is not in this report"
        for process in _running(result)
    ]


def _running(result: RunResult) -> list[ProcessStatus]:
    """Return those that have not ended: one that has ended by exec left its id to the next."""
    last_of_pid = {process.pid: process for process in result.processes}
    return [p for p in last_of_pid.values() if not p.is_closed and _is_running(p.pid)]


def notes(result: RunResult) -> list[str]:
    """Say what ktrace did on its own account that is no loss, one line each."""
    lines = []
    if grown := _sum(result, "grown_launches"):
        launches = counted(grown, "launch", "launches")
        lines.append(
            f"{launches} got larger regions than the rule gives, because an earlier launch needed "
            "them"
        )
    if waited := _sum(result, "waited_launches"):
        launches = counted(waited, "launch", "launches")
        duration = format_duration(_sum(result, "waited_ns"))
        lines.append(
            f"{launches} waited {duration} in all for a trace buffer; more `--memory` avoids it"
        )
    if unbound := _sum(result, "unbound_libraries"):
        libraries = counted(unbound, "library was", "libraries were")
        lines.append(
            f"{libraries} opened without the RTLD_DEEPBIND that the program asked for, so that "
            "ktrace sees the calls"
        )
    if result.left_beside and recordings(result):
        lines.append(f"`--force` left recordings of an earlier run: {_names(result.left_beside)}")
    if result.kept_session:
        lines.append(
            f"processes of the run outlive it, and what they start needs {result.kept_session}: "
            "remove it when they have ended"
        )
    return lines


def _what_was_seen(result: RunResult) -> str:
    if all(process.is_bystander for process in result.processes):
        return "no process called HIP through a library that ktrace can see"
    if any(process.is_refused for process in result.processes):
        return "ktrace's settings were not understood, so it did not look"
    objects = _sum(result, "code_objects")
    annotated = _sum(result, "annotated_code_objects")
    kernels = counted(_sum(result, "annotated_kernels"), "annotated kernel", "annotated kernels")
    launches = counted(_sum(result, "launches"), "launch", "launches")
    graphs = _sum(result, "graph_launches")
    seen = (
        f"saw {counted(objects, 'code object', 'code objects')} ({annotated:,} annotated, with "
        f"{kernels}) and {launches} ({_sum(result, 'annotated_launches'):,} of annotated kernels"
        f"{f', {graphs:,} in graphs' if graphs else ''})"
    )
    if unread := _sum(result, "unread_fat_binaries"):
        binaries = counted(unread, "registered binary was", "registered binaries were")
        seen += f"; {binaries} not looked into"
    if left_out := _left_out(result):
        return f"{seen}; {left_out}"
    if objects and not annotated and not unread and not _sum(result, "unseen_launches"):
        return f"{seen}; compile the kernel with ktrace.hpp and -DKTRACE_ENABLE"
    return seen


def _left_out(result: RunResult) -> str:
    """Say which options left out launches of annotated kernels."""
    parts = []
    if unselected := _sum(result, "unselected_launches"):
        parts.append(f"the filters of kernels left out {counted(unselected, 'launch', 'launches')}")
        if result.not_chosen:
            parts[-1] += f" (annotated kernels here: {', '.join(result.not_chosen)})"
    if skipped := _sum(result, "skipped_launches"):
        parts.append(f"{_skipping(result)} left out {counted(skipped, 'launch', 'launches')}")
    return ", ".join(parts)


def _skipping(result: RunResult) -> str:
    options = result.options
    names = {
        "the range of iterations": options.kernel_iterations,
        "the collection period": options.periods,
    }
    return " or ".join(name for name, given in names.items() if given) or " or ".join(names)


def _sum(result: RunResult, name: str) -> int:
    return sum(getattr(process, name) for process in result.processes)


def _names(files: Sequence[Path]) -> str:
    more = f" and {len(files) - _MOST_NAMES} more" if files[_MOST_NAMES:] else ""
    return ", ".join(map(str, files[:_MOST_NAMES])) + more


def _shortest(path: Path) -> Path:
    relative = os.path.relpath(path)
    return Path(relative) if len(relative) < len(str(path)) else path


def _is_running(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"  # ended, and not yet waited for
