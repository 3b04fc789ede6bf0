"""Words for the launches that a run did not trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ktrace_cli.launch.status import ProcessStatus
from ktrace_cli.trace_file.layout import LossReason
from ktrace_cli.units import counted

_LOSS_WORDS = {
    LossReason.NO_MEMORY: "no memory on the device, or no thread, for its trace buffer",
    LossReason.POOL_EXHAUSTED: "`--memory` had no room for its trace buffer",
    LossReason.CAPTURE: "launched during stream capture",
    LossReason.ENTRY_POINT: "launched through a HIP call that ktrace does not trace",
    LossReason.ARGUMENT: "the trace argument is missing or no 8-byte argument",
    LossReason.LAUNCH_FAILED: "HIP refused the launch, or its grid was empty",
    LossReason.COPY_FAILED: "the trace buffer could not be copied back",
    LossReason.WRITE_FAILED: "the recording could not be written",
    LossReason.NOT_FINISHED: "not finished when the process ended",
    LossReason.RECORD_FORMAT: "annotated with another version of ktrace",
    LossReason.UNIT_KEY: (
        "two of its translation units share one unit key: compile them with different "
        "-DKTRACE_UNIT_NAME"
    ),
    LossReason.FAULTED: "the kernel faulted: its records are lost; `--hang` keeps them",
    LossReason.FORKED: (
        "launched in a child of fork whose parent had called HIP: fork before the first HIP call, "
        "or start children with spawn"
    ),
}


def loss_lines(processes: Iterable[ProcessStatus]) -> list[str]:
    """Say what was not traced and why, one line per reason, for all processes together."""
    losses: Counter[LossReason] = Counter()
    for process in processes:
        losses.update(process.losses)
    return [_line(reason, count) for reason, count in losses.items()]


def _line(reason: LossReason, count: int) -> str:
    if reason is LossReason.CODE_OBJECT:
        return counted(count, "code object", "code objects") + " could not be read"
    return f"{counted(count, 'launch was', 'launches were')} not traced: {_LOSS_WORDS[reason]}"
