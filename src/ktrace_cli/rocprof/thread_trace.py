"""Traces instructions of kernels with rocprofv3: again with more room where that was too little."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ktrace_cli.counters.launches import Launches, read_launches
from ktrace_cli.errors import KtraceError, UsageError
from ktrace_cli.importers.kernel_names import shown_name
from ktrace_cli.rocprof.failures import (
    FULL,
    ending_of,
    fatal_in,
    losses_in,
    nothing_collected,
)
from ktrace_cli.rocprof.jobs import ThreadTrace, expression_of, thread_trace_job
from ktrace_cli.rocprof.output import tables_in
from ktrace_cli.rocprof.tool import Outcome, Tool, run_job
from ktrace_cli.units import counted, format_bytes
from ktrace_cli.wording import nearest

FIRST_BUFFER: Final = 0x6000000
LARGEST_BUFFER: Final = 0x60000000
_LEAST_BUFFER: Final = 1 << 20
_MOST_BUFFER: Final = (2 << 30) - 1
_BUNDLES: Final = "ui_output_agent_*_dispatch_*"
_DEBUG_INFO: Final = {"FLYDSL_DEBUG_ENABLE_DEBUG_INFO": "1", "TRITON_DISABLE_LINE_INFO": "0"}
_MOST_LISTED: Final = 8


@dataclass(frozen=True)
class Policy:
    """How it is tried."""

    first_buffer: int = FIRST_BUFFER
    """Bytes for the trace."""
    largest_buffer: int = LARGEST_BUFFER
    """What it may become where it was full."""
    debug_info: bool = True
    """Whether frameworks that compile kernels are asked for source lines."""
    may_take_first: bool = True
    """Whether the first launch will do where there are no more."""

    def check(self) -> None:
        """Refuse sizes that rocprofv3 does.

        Raises:
            UsageError: one is out of its range, or the largest is smaller than the first.
        """
        for option, size in (
            ("--buffer", self.first_buffer),
            ("--max-buffer", self.largest_buffer),
        ):
            if not _LEAST_BUFFER <= size <= _MOST_BUFFER:
                raise UsageError(
                    f"`{option}` is {format_bytes(size)}",
                    why="rocprofv3 takes at least 1 MiB, and less than 2 GiB",
                    fix=f"write for example `{option} 192M`",
                )
        if self.largest_buffer < self.first_buffer:
            raise UsageError(
                f"`--max-buffer` is {format_bytes(self.largest_buffer)}",
                why=f"`--buffer` is {format_bytes(self.first_buffer)} already",
                fix="give a larger `--max-buffer`",
            )


@dataclass(frozen=True)
class Traced:
    """What one or more runs gave."""

    bundles: tuple[Path, ...]
    """Folders with decoded traces."""
    notes: tuple[str, ...]
    losses: tuple[str, ...]
    status: int
    """Of the program in the run that is shown."""


@dataclass
class _Attempts:
    """Runs so far."""

    tool: Tool
    folder: Path
    added: dict[str, str]
    notes: list[str]
    count: int = 0

    def run(self, wanted: ThreadTrace, buffer_size: int, command: Sequence[str]) -> Outcome:
        self.count += 1
        folder = self.folder / f"attempt_{self.count}"
        folder.mkdir()
        job = thread_trace_job(wanted, folder, buffer_size)
        return run_job(self.tool, job, command, folder, self.added)


def trace_instructions(
    tool: Tool,
    wanted: ThreadTrace,
    policy: Policy,
    command: Sequence[str],
    folder: Path,
) -> Traced:
    """Run a program until its kernels' instructions are traced whole, or room is at its end.

    Args:
        tool: rocprofv3.
        wanted: what to trace.
        policy: how often, and with how much room.
        command: the program and its arguments.
        folder: an empty one; each run gets a folder in it.

    Raises:
        KtraceError: nothing could be traced.
    """
    tool.require("--att", "trace instructions")
    added = {k: v for k, v in _DEBUG_INFO.items() if policy.debug_info and k not in os.environ}
    notes = [f"set for the program: {' '.join(f'{k}={v}' for k, v in added.items())}"]
    attempts = _Attempts(tool, folder, added, notes if added else [])
    size, may_take_first = policy.first_buffer, policy.may_take_first
    while True:
        outcome = attempts.run(wanted, size, command)
        if fatal := fatal_in(outcome):
            raise fatal
        bundles = sorted(path for path in outcome.folder.rglob(_BUNDLES) if path.is_dir())
        larger = min(2 * size, policy.largest_buffer)
        if outcome.said(FULL) and larger > size:
            attempts.notes.append(
                f"the trace buffer of {format_bytes(size)} was full: ran again with"
                f" {format_bytes(larger)}"
            )
            size = larger
        elif bundles:
            losses = [*losses_in(outcome), ending_of(outcome.status)]
            said = tuple(loss for loss in losses if loss)
            return Traced(tuple(bundles), tuple(attempts.notes), said, outcome.status)
        elif may_take_first and _is_launched_once(outcome, wanted):
            attempts.notes.append("the kernel is launched once only: its first launch was traced")
            wanted, may_take_first = replace(wanted, iteration="1"), False
        else:
            raise _why_nothing(outcome, wanted)


def _launched(outcome: Outcome) -> list[Launches]:
    """Return the kernels that were launched, as far as the run tells."""
    files = tables_in(outcome.folder, "kernel_trace.csv")
    return read_launches(files)[0] if files else []


def _matching(launched: Sequence[Launches], wanted: ThreadTrace) -> list[Launches]:
    if not wanted.kernel:
        return list(launched)
    expression = re.compile(expression_of(wanted.kernel))
    return [one for one in launched if expression.search(one.name)]


def _is_launched_once(outcome: Outcome, wanted: ThreadTrace) -> bool:
    counts: dict[str, int] = {}
    for one in _matching(_launched(outcome), wanted):
        counts[one.name] = counts.get(one.name, 0) + one.count
    return bool(counts) and max(counts.values()) == 1 and wanted.iteration != "1"


def _why_nothing(outcome: Outcome, wanted: ThreadTrace) -> KtraceError:
    launched = _launched(outcome)
    if not launched:
        return nothing_collected(outcome, "trace of instructions")
    matching = _matching(launched, wanted)
    if not matching:
        names = list(dict.fromkeys(shown_name(one.name) for one in launched))
        known = [*names, *(name.partition("<")[0] for name in names)]
        meant = nearest(wanted.kernel.strip("*/^$"), known)
        more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
        return KtraceError(
            f"`--kernel {wanted.kernel}` selects nothing",
            why=f"the program launched {', '.join(names[:_MOST_LISTED])}{more}",
            fix=f"did you mean `--kernel '{meant}'`?" if meant else "name one of these",
        )
    most = max(sum(one.count for one in matching if one.name == m.name) for m in matching)
    if most < int(wanted.iteration.partition("-")[0]):
        return KtraceError(
            f"`--iteration {wanted.iteration}` selects nothing",
            why=f"the kernel was launched {counted(most, 'time')}",
            fix="name an earlier launch, for example `--iteration 1`",
        )
    if any(outcome.folder.rglob("*.att")):
        return KtraceError(
            "the trace was not decoded",
            why="rocprofv3 wrote .att files, but no folder ui_output_agent_…",
            fix=f"see {outcome.folder / 'rocprofv3.log'}; decoder and driver may be of different"
            " releases",
        )
    return KtraceError(
        "rocprofv3 traced no instruction",
        why="the kernel ran, but none of its waves on the compute units that were traced",
        fix="trace others: `--cu 0`, `--shader-engines 0xffffffff`",
    )
